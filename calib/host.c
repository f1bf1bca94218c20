/* Reads sysfs.
 *
 * Cards: ports of /sys/class/infiniband that are active (InfiniBand, RoCE, EFA). A node often has slower ones besides,
 * for storage and its users: only the fastest count. Where there are none, interfaces of /sys/class/net that belong to
 * a device and are up. */
#include "config.h"

#include "calib/host.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 1024, TEXT_SIZE = 128, MOST_SOCKETS = 64 };

/* The first line of a file; false: it is not there, or empty. */
static bool
read_line(const char *path, char *text)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    bool read = fgets(text, TEXT_SIZE, file) != NULL;
    fclose(file);
    if (read)
        text[strcspn(text, "\n")] = '\0';
    return read && *text != '\0';
}

/* Calls `see` with each entry's path. */
static void
each_entry(const char *folder, void (*see)(const char *path, void *data), void *data)
{
    DIR *entries = opendir(folder);
    if (entries == NULL)
        return;
    for (struct dirent *e; (e = readdir(entries)) != NULL;) {
        char path[PATH_SIZE];
        if (e->d_name[0] != '.' &&
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < PATH_SIZE)
            see(path, data);
    }
    closedir(entries);
}

static bool
read_entry(const char *folder, const char *name, char *text)
{
    char path[PATH_SIZE];
    return snprintf(path, sizeof path, "%s/%s", folder, name) < PATH_SIZE && read_line(path, text);
}

/* --- network cards ---------------------------------------------------------------------------- */

typedef struct {
    int n;
    double Gbps;
} Cards;

static void
count_card(Cards *cards, double Gbps)
{
    if (Gbps > cards->Gbps) {
        cards->Gbps = Gbps;
        cards->n = 0;
    }
    cards->n += Gbps > 0 && !(Gbps < cards->Gbps);
}

/* "4: ACTIVE"; "400 Gb/sec (4X NDR)" */
static void
see_port(const char *path, void *data)
{
    char state[TEXT_SIZE], rate[TEXT_SIZE];
    if (read_entry(path, "state", state) && strstr(state, "ACTIVE") != NULL &&
        read_entry(path, "rate", rate) && strstr(rate, "Gb/sec") != NULL)
        count_card(data, atof(rate));
}

static void
see_infiniband(const char *path, void *data)
{
    char ports[PATH_SIZE];
    if (snprintf(ports, sizeof ports, "%s/ports", path) < PATH_SIZE)
        each_entry(ports, see_port, data);
}

/* Mbit/s; interfaces without a device are virtual. */
static void
see_interface(const char *path, void *data)
{
    char device[PATH_SIZE], state[TEXT_SIZE], speed[TEXT_SIZE];
    if (snprintf(device, sizeof device, "%s/device", path) < PATH_SIZE &&
        access(device, F_OK) == 0 && read_entry(path, "operstate", state) &&
        strcmp(state, "up") == 0 && read_entry(path, "speed", speed))
        count_card(data, atof(speed) / 1000);
}

/* --- sockets ---------------------------------------------------------------------------------- */

typedef struct {
    int n, ids[MOST_SOCKETS];
} Sockets;

static void
see_processor(const char *path, void *data)
{
    Sockets *sockets = data;
    char id[TEXT_SIZE];
    if (!read_entry(path, "topology/physical_package_id", id))
        return;
    for (int i = 0; i < sockets->n; i++)
        if (sockets->ids[i] == atoi(id))
            return;
    if (sockets->n < MOST_SOCKETS)
        sockets->ids[sockets->n++] = atoi(id);
}

void
calib_host_describe(const char *sys, CalibMachine *machine)
{
    char path[PATH_SIZE];
    Cards cards = {0};
    Sockets sockets = {0};
    snprintf(path, sizeof path, "%s/class/infiniband", sys);
    each_entry(path, see_infiniband, &cards);
    if (cards.n == 0) {
        snprintf(path, sizeof path, "%s/class/net", sys);
        each_entry(path, see_interface, &cards);
    }
    snprintf(path, sizeof path, "%s/devices/system/cpu", sys);
    each_entry(path, see_processor, &sockets);
    machine->nics = cards.n;
    machine->nic_Gbps = cards.Gbps;
    machine->sockets = sockets.n;
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGE_SIZE);
    machine->host_memory_bytes = pages > 0 && page_bytes > 0 ? (int64_t)pages * page_bytes : 0;
    if (gethostname(machine->host, sizeof machine->host) != 0)
        machine->host[0] = '\0';
    machine->host[sizeof machine->host - 1] = '\0';
}
