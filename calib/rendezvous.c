/* Writes and reads the file in which processes find each other. */
#include "config.h"

#include "calib/rendezvous.h"

#include "calib/row.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define FIRST_LINE "dtsim-calibrate rendezvous 1"
enum { MOST_BYTES = 4096 };

/* --- this host -------------------------------------------------------------------------------- */

static void
add_address(CalibRendezvous *r, const char *address)
{
    for (int i = 0; i < r->n_addresses; i++)
        if (strcmp(r->addresses[i], address) == 0)
            return;
    if (r->n_addresses < CALIB_MOST_ADDRESSES && strlen(address) < sizeof r->addresses[0])
        strcpy(r->addresses[r->n_addresses++], address);
}

/* Numbers of a link alone need the link's name, which differs from host to host. */
static bool
format_address(const struct sockaddr *a, char *text, socklen_t size)
{
    if (a->sa_family == AF_INET)
        return inet_ntop(AF_INET, &((const struct sockaddr_in *)a)->sin_addr, text, size) != NULL;
    if (a->sa_family != AF_INET6)
        return false;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)a)->sin6_addr;
    return !IN6_IS_ADDR_LINKLOCAL(six) && inet_ntop(AF_INET6, six, text, size) != NULL;
}

/* Loopback last: it leads elsewhere on other hosts, which then find another run's port or none. */
static void
add_interfaces(CalibRendezvous *r, bool loopback)
{
    struct ifaddrs *all;
    char text[64];
    if (getifaddrs(&all) != 0)
        return;
    for (struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        bool is_loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
        if ((i->ifa_flags & IFF_UP) != 0 && is_loopback == loopback && i->ifa_addr != NULL &&
            format_address(i->ifa_addr, text, sizeof text))
            add_address(r, text);
    }
    freeifaddrs(all);
}

static void
name_run(char *ret, size_t size)
{
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        random[0] = (uint64_t)time(NULL);
        random[1] = (uint64_t)getpid();
    }
    snprintf(ret, size, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

void
calib_rendezvous_init(int world, int port, CalibRendezvous *ret)
{
    char host[64] = "";
    memset(ret, 0, sizeof *ret);
    ret->world = world;
    ret->port = port;
    name_run(ret->run, sizeof ret->run);
    add_interfaces(ret, false);
    if (gethostname(host, sizeof host - 1) == 0 && *host != '\0')
        add_address(ret, host);
    add_interfaces(ret, true);
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool
read_line(const char *key, const char *value, CalibRendezvous *r)
{
    if (strcmp(key, "world") == 0)
        return calib_parse_int(value, &r->world) && r->world > 0;
    if (strcmp(key, "port") == 0)
        return calib_parse_int(value, &r->port) && r->port > 0 && r->port < 65536;
    if (strcmp(key, "run") == 0) {
        if (strlen(value) != 32)
            return false;
        strcpy(r->run, value);
        return true;
    }
    if (strcmp(key, "address") == 0 && strlen(value) < sizeof r->addresses[0]) {
        add_address(r, value);
        return true;
    }
    return false;
}

bool
calib_rendezvous_parse(const char *text, CalibRendezvous *ret)
{
    CalibRendezvous r = {0};
    size_t first = strlen(FIRST_LINE);
    if (strncmp(text, FIRST_LINE, first) != 0 || text[first] != '\n')
        return false;
    for (const char *at = text + first + 1; *at != '\0';) {
        char key[16], value[80];
        size_t length = strcspn(at, "\n"), space = strcspn(at, " \n");
        if (at[length] != '\n' || space >= length || space >= sizeof key ||
            length - space - 1 >= sizeof value)
            return false;
        snprintf(key, sizeof key, "%.*s", (int)space, at);
        snprintf(value, sizeof value, "%.*s", (int)(length - space - 1), at + space + 1);
        if (!read_line(key, value, &r))
            return false;
        at += length + 1;
    }
    if (r.world == 0 || r.port == 0 || *r.run == '\0' || r.n_addresses == 0)
        return false;
    *ret = r;
    return true;
}

CalibRendezvousStatus
calib_rendezvous_read(const char *path, CalibRendezvous *ret, CalibError *error)
{
    char text[MOST_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return CALIB_RENDEZVOUS_NOT_YET;
    if (fd < 0) {
        snprintf(error->text, sizeof error->text, "%.300s: %s", path, strerror(errno));
        return CALIB_RENDEZVOUS_WRONG;
    }
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    if (calib_rendezvous_parse(text, ret))
        return CALIB_RENDEZVOUS_READ;
    snprintf(error->text, sizeof error->text,
             "%.300s: not written by dtsim-calibrate; name a file that is not there yet", path);
    return CALIB_RENDEZVOUS_WRONG;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int
format(const CalibRendezvous *r, char *text, size_t size)
{
    int n =
        snprintf(text, size, FIRST_LINE "\nworld %d\nrun %s\nport %d\n", r->world, r->run, r->port);
    for (int i = 0; i < r->n_addresses; i++)
        n += snprintf(text + n, size - (size_t)n, "address %s\n", r->addresses[i]);
    return n;
}

static bool
write_text(const char *path, const char *text, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool written = write(fd, text, size) == (ssize_t)size && fsync(fd) == 0;
    return close(fd) == 0 && written;
}

/* A link is made only where there is no file, on network file systems, too. */
static bool
publish(const char *temporary, const char *path)
{
    if (link(temporary, path) == 0)
        return unlink(temporary) == 0;
    if (errno == EEXIST)
        return false;
    return rename(temporary, path) == 0;
}

bool
calib_rendezvous_write(const char *path, const CalibRendezvous *rendezvous, CalibError *error)
{
    char text[MOST_BYTES], temporary[4096];
    int length = format(rendezvous, text, sizeof text);
    int n = snprintf(temporary, sizeof temporary, "%s.%.8s", path, rendezvous->run);
    if (n < 0 || (size_t)n >= sizeof temporary) {
        snprintf(error->text, sizeof error->text, "--rendezvous: too long a path");
        return false;
    }
    if (write_text(temporary, text, (size_t)length) && publish(temporary, path))
        return true;
    int code = errno;
    unlink(temporary);
    snprintf(error->text, sizeof error->text, "%.300s: %s", path, strerror(code));
    return false;
}
