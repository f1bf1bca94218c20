/* Sockets with time limits. */
#include "config.h"

#include "calib/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x64746331 /* "dtc1" */
#define SEND_LIMIT_S 60

static double
now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int
left_ms(double limit_s, double begin_s)
{
    if (limit_s < 0)
        return -1;
    double left = ceil(1e3 * (limit_s - (now_s() - begin_s)));
    return left > 0 ? (int)left : 0;
}

/* True: `events` or an error are there. */
static bool
wait_for(int fd, short events, double limit_s, double begin_s)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = events};
        int n = poll(&p, 1, left_ms(limit_s, begin_s));
        if (n >= 0 || errno != EINTR)
            return n > 0;
    }
}

/* A node that vanished answers no probe: it is lost after a minute. */
static void
prepare(int fd)
{
    const int on = 1, idle_s = 30, interval_s = 10, count = 3;
    const struct timeval limit = {.tv_sec = SEND_LIMIT_S};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

/* --- meeting ---------------------------------------------------------------------------------- */

static int
listen_on(int family, int port, int *ret_port)
{
    const int on = 1, off = 0;
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t size = family == AF_INET6 ? sizeof six : sizeof four;
    void *address = family == AF_INET6 ? (void *)&six : (void *)&four;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, address, size) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, address, &size) != 0) {
        int code = errno;
        close(fd);
        errno = code;
        return -1;
    }
    *ret_port = ntohs(family == AF_INET6 ? six.sin6_port : four.sin_port);
    return fd;
}

int
calib_channel_listen(int port, int *ret_port, CalibError *error)
{
    int fd = listen_on(AF_INET6, port, ret_port);
    if (fd < 0)
        fd = listen_on(AF_INET, port, ret_port);
    if (fd < 0)
        snprintf(error->text, sizeof error->text,
                 "rank 0: cannot listen on port %d: %s; set MASTER_PORT to another", port,
                 strerror(errno));
    return fd;
}

/* One that has come may be gone again by now: the listener does not block, what is accepted does. */
int
calib_channel_accept(int listener, double limit_s)
{
    if (!wait_for(listener, POLLIN, limit_s, now_s()))
        return -1;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        prepare(fd);
    return fd;
}

static int
connect_to(const struct addrinfo *a, double limit_s, double begin_s)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), code = 0;
    socklen_t size = sizeof code;
    if (fd < 0)
        return -1;
    bool connected = connect(fd, a->ai_addr, a->ai_addrlen) == 0 ||
                     (errno == EINPROGRESS && wait_for(fd, POLLOUT, limit_s, begin_s) &&
                      getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) == 0 && code == 0);
    if (!connected || fcntl(fd, F_SETFL, 0) != 0) {
        close(fd);
        return -1;
    }
    prepare(fd);
    return fd;
}

int
calib_channel_connect(const char *host, int port, double limit_s)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    char text[16];
    int fd = -1;
    double begin_s = now_s();
    snprintf(text, sizeof text, "%d", port);
    if (getaddrinfo(host, text, &hints, &found) != 0)
        return -1;
    for (struct addrinfo *a = found; a != NULL && fd < 0; a = a->ai_next)
        fd = connect_to(a, limit_s, begin_s);
    freeaddrinfo(found);
    return fd;
}

/* --- messages --------------------------------------------------------------------------------- */

static bool
send_all(int fd, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

bool
calib_channel_send(int channel, CalibFrameKind kind, CalibStatus status, const void *data,
                   size_t size)
{
    const CalibFrame frame = {MAGIC, kind, (int32_t)status, (uint32_t)size};
    return send_all(channel, &frame, sizeof frame) && send_all(channel, data, size);
}

bool
calib_channel_wait(int channel, double limit_s)
{
    return wait_for(channel, POLLIN, limit_s, now_s());
}

static CalibReceived
receive_all(int fd, void *data, size_t size, double limit_s, double begin_s)
{
    for (char *at = data; size > 0;) {
        if (!wait_for(fd, POLLIN, limit_s, begin_s))
            return CALIB_NOTHING;
        ssize_t n = recv(fd, at, size, MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return CALIB_GONE;
        at += n;
        size -= (size_t)n;
    }
    return CALIB_RECEIVED;
}

CalibReceived
calib_channel_receive_frame(int channel, double limit_s, CalibFrame *ret)
{
    CalibFrame frame;
    CalibReceived received = receive_all(channel, &frame, sizeof frame, limit_s, now_s());
    if (received == CALIB_RECEIVED && frame.magic != MAGIC)
        return CALIB_GONE;
    if (received == CALIB_RECEIVED)
        *ret = frame;
    return received;
}

CalibReceived
calib_channel_receive_data(int channel, double limit_s, void *data, size_t size)
{
    return receive_all(channel, data, size, limit_s, now_s());
}

CalibReceived
calib_channel_receive(int channel, double limit_s, CalibFrame *ret, void *data, size_t size)
{
    CalibReceived received = calib_channel_receive_frame(channel, limit_s, ret);
    if (received != CALIB_RECEIVED)
        return received;
    return ret->size == size ? calib_channel_receive_data(channel, limit_s, data, size)
                             : CALIB_GONE;
}

CalibReceived
calib_channel_peek(int channel, CalibFrame *ret, void *data, size_t size)
{
    struct {
        CalibFrame frame;
        char data[4096];
    } seen = {0};
    ssize_t n = recv(channel, &seen, sizeof seen, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return CALIB_NOTHING;
    if (n > 0 && n < (ssize_t)sizeof seen.frame)
        return CALIB_NOTHING;
    if (n <= 0 || seen.frame.magic != MAGIC)
        return CALIB_GONE;
    if (size > seen.frame.size)
        size = seen.frame.size;
    if (size > sizeof seen.data)
        size = sizeof seen.data;
    if ((size_t)n < sizeof seen.frame + size) /* the rest is on its way */
        return CALIB_NOTHING;
    *ret = seen.frame;
    memcpy(data, seen.data, size);
    return CALIB_RECEIVED;
}
