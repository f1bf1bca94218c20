/* Processes find rank 0, and rank 0 waits until all are there. */
#include "config.h"

#include "calib/crew_join.h"

#include "calib/channel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Of a connection and its first answer: a stranger's port may take both and say nothing. */
#define KNOCK_S 3.0
#define PAUSE_NS 100000000

typedef struct {
    int32_t rank, world; /* rank -1: only asks whether anyone is there */
    char run[64], version[32];
} Hello;

static double
now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static Hello
hello_of(int rank, int world, const char *run)
{
    Hello hello;
    memset(&hello, 0, sizeof hello);
    hello.rank = rank;
    hello.world = world;
    snprintf(hello.run, sizeof hello.run, "%s", run);
    snprintf(hello.version, sizeof hello.version, "%s", PACKAGE_VERSION);
    return hello;
}

static CalibCrew *
crew_new(int rank, int world, const CalibCrewLimits *limits)
{
    int n = rank == 0 ? world : 1;
    CalibCrew *crew = calloc(1, sizeof *crew);
    int *channels = calloc((size_t)n, sizeof *channels);
    if (crew == NULL || channels == NULL)
        abort();
    for (int i = 0; i < n; i++)
        channels[i] = -1;
    *crew = (CalibCrew){rank, world, *limits, channels};
    return crew;
}

void
calib_crew_free(CalibCrew *crew)
{
    if (crew == NULL)
        return;
    for (int i = 0; i < (crew->rank == 0 ? crew->world : 1); i++)
        if (crew->channels[i] >= 0)
            close(crew->channels[i]);
    free(crew->channels);
    free(crew);
}

/* --- rank 0 ----------------------------------------------------------------------------------- */

/* NULL: welcome. */
static const char *
judge(const CalibCrew *crew, const Hello *hello)
{
    if (strcmp(hello->version, PACKAGE_VERSION) != 0)
        return "rank 0 runs dtsim-calibrate " PACKAGE_VERSION
               "; start the same program on all ranks";
    if (hello->world != crew->world)
        return "rank 0 has another --world; give all ranks the same";
    if (hello->rank < 1 || hello->rank >= crew->world)
        return "there is no such rank; give each process its own --rank from 0 on";
    if (crew->channels[hello->rank] >= 0)
        return "this rank came twice; give each process its own --rank";
    return NULL;
}

/* One that rank 0 was too slow for has closed its channel, and comes again. Returns how many are in. */
static int
forget_the_gone(CalibCrew *crew)
{
    int joined = 1;
    for (int rank = 1; rank < crew->world; rank++) {
        CalibFrame frame;
        char none;
        if (crew->channels[rank] >= 0 &&
            calib_channel_peek(crew->channels[rank], &frame, &none, 0) == CALIB_GONE) {
            close(crew->channels[rank]);
            crew->channels[rank] = -1;
        }
        joined += crew->channels[rank] >= 0;
    }
    return joined;
}

/* One that comes wrongly to this run ends it: the rank that it should have had would not come. */
static CalibStatus
welcome(CalibCrew *crew, int channel, const char *run, CalibError *error)
{
    Hello hello = {0};
    CalibFrame frame;
    if (calib_channel_receive(channel, KNOCK_S, &frame, &hello, sizeof hello) != CALIB_RECEIVED ||
        frame.kind != CALIB_FRAME_HELLO || strncmp(hello.run, run, sizeof hello.run) != 0) {
        close(channel);
        return CALIB_OK;
    }
    CalibError reply = {{0}};
    forget_the_gone(crew);
    const char *wrong = hello.rank >= 0 ? judge(crew, &hello) : NULL;
    if (wrong != NULL)
        snprintf(reply.text, sizeof reply.text, "rank %d: %s", hello.rank, wrong);
    calib_channel_send(channel, wrong == NULL ? CALIB_FRAME_WELCOME : CALIB_FRAME_REFUSED, CALIB_OK,
                       &reply, sizeof reply);
    if (wrong == NULL && hello.rank > 0) {
        crew->channels[hello.rank] = channel;
        return CALIB_OK;
    }
    close(channel);
    if (wrong == NULL)
        return CALIB_OK;
    *error = reply;
    return CALIB_FAILED;
}

static CalibStatus
complain_of_absent(CalibCrew *crew, CalibError *error)
{
    char ranks[64] = "";
    int n = 0, absent = 0;
    for (int rank = 1; rank < crew->world; rank++) {
        if (crew->channels[rank] >= 0)
            continue;
        if (++absent <= 8)
            n += snprintf(ranks + n, sizeof ranks - (size_t)n, " %d", rank);
    }
    snprintf(error->text, sizeof error->text, "%d of %d processes did not come in %g s: rank%s%s%s",
             absent, crew->world, crew->limits.join_s, absent == 1 ? "" : "s", ranks,
             absent > 8 ? " ..." : "");
    return CALIB_FAILED;
}

static CalibStatus
wait_for_all(CalibCrew *crew, int listener, const char *run, CalibError *error)
{
    double begin = now_s();
    while (forget_the_gone(crew) < crew->world) {
        double left = crew->limits.join_s - (now_s() - begin);
        int channel = left > 0 ? calib_channel_accept(listener, left) : -1;
        if (channel < 0 && now_s() - begin >= crew->limits.join_s)
            return complain_of_absent(crew, error);
        if (channel >= 0 && welcome(crew, channel, run, error) != CALIB_OK)
            return CALIB_FAILED;
    }
    return CALIB_OK;
}

/* --- the others ------------------------------------------------------------------------------- */

typedef enum { KNOCK_IN, KNOCK_NO_ONE, KNOCK_REFUSED } Knock;

/* `*ret`: the channel of a rank that is in. */
static Knock
knock(const char *host, int port, const Hello *hello, int *ret, CalibError *error)
{
    CalibFrame frame;
    CalibError reply;
    int channel = calib_channel_connect(host, port, KNOCK_S);
    if (channel < 0)
        return KNOCK_NO_ONE;
    if (!calib_channel_send(channel, CALIB_FRAME_HELLO, CALIB_OK, hello, sizeof *hello) ||
        calib_channel_receive(channel, KNOCK_S, &frame, &reply, sizeof reply) != CALIB_RECEIVED) {
        close(channel);
        return KNOCK_NO_ONE;
    }
    if (frame.kind == CALIB_FRAME_WELCOME) {
        *ret = channel;
        return KNOCK_IN;
    }
    close(channel);
    reply.text[sizeof reply.text - 1] = '\0';
    *error = reply;
    return KNOCK_REFUSED;
}

static Knock
knock_at_all(const CalibRendezvous *where, const Hello *hello, int *ret, CalibError *error)
{
    for (int i = 0; i < where->n_addresses; i++) {
        Knock answer = knock(where->addresses[i], where->port, hello, ret, error);
        if (answer != KNOCK_NO_ONE)
            return answer;
    }
    return KNOCK_NO_ONE;
}

/* Where rank 0 is, as far as it is known now. */
static CalibRendezvousStatus
look_up(const CalibPlace *place, CalibRendezvous *ret, CalibError *error)
{
    if (place->meet == CALIB_MEET_FILE)
        return calib_rendezvous_read(place->file, ret, error);
    memset(ret, 0, sizeof *ret);
    ret->world = place->world;
    ret->port = place->port;
    ret->n_addresses = 1;
    snprintf(ret->run, sizeof ret->run, "%s", place->run);
    if (strlen(place->host) < sizeof ret->addresses[0])
        strcpy(ret->addresses[0], place->host);
    return CALIB_RENDEZVOUS_READ;
}

static CalibStatus
complain_of_lead(const CalibPlace *place, bool seen, double limit_s, CalibError *error)
{
    if (place->meet == CALIB_MEET_FILE && !seen)
        snprintf(error->text, sizeof error->text,
                 "rank %d: %.200s: rank 0 did not write it in %g s", place->rank, place->file,
                 limit_s);
    else if (place->meet == CALIB_MEET_FILE)
        snprintf(error->text, sizeof error->text,
                 "rank %d: %.200s: rank 0 of this run does not answer; the file is an older run's, "
                 "or rank 0's host cannot be reached",
                 place->rank, place->file);
    else
        snprintf(error->text, sizeof error->text,
                 "rank %d: rank 0 does not answer on %.200s port %d in %g s", place->rank,
                 place->host, place->port, limit_s);
    return CALIB_FAILED;
}

/* A file of an older run is replaced when rank 0 comes. */
static CalibStatus
find_lead(CalibCrew *crew, const CalibPlace *place, CalibError *error)
{
    double begin = now_s();
    bool seen = false;
    do {
        CalibRendezvous where;
        CalibRendezvousStatus read = look_up(place, &where, error);
        if (read == CALIB_RENDEZVOUS_WRONG)
            return CALIB_FAILED;
        if (read == CALIB_RENDEZVOUS_READ) {
            seen = true;
            Hello hello = hello_of(place->rank, place->world, where.run);
            Knock answer = knock_at_all(&where, &hello, &crew->channels[0], error);
            if (answer != KNOCK_NO_ONE)
                return answer == KNOCK_IN ? CALIB_OK : CALIB_FAILED;
        }
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    } while (now_s() - begin < crew->limits.join_s);
    return complain_of_lead(place, seen, crew->limits.join_s, error);
}

/* --- meeting ---------------------------------------------------------------------------------- */

/* False: another run's rank 0 waits there now, or the file is none of ours. */
static bool
clear_file(const char *path, CalibError *error)
{
    CalibRendezvous old;
    int channel;
    switch (calib_rendezvous_read(path, &old, error)) {
    case CALIB_RENDEZVOUS_NOT_YET:
        return true;
    case CALIB_RENDEZVOUS_WRONG:
        return false;
    case CALIB_RENDEZVOUS_READ:
        break;
    }
    Hello hello = hello_of(-1, old.world, old.run);
    if (knock_at_all(&old, &hello, &channel, error) == KNOCK_IN) {
        close(channel);
        snprintf(error->text, sizeof error->text,
                 "%.300s: another run waits there for its ranks; name another file", path);
        return false;
    }
    if (unlink(path) == 0 || errno == ENOENT)
        return true;
    snprintf(error->text, sizeof error->text, "%.300s: an older run's, and cannot be removed: %s",
             path, strerror(errno));
    return false;
}

static CalibStatus
lead_by_file(CalibCrew *crew, const CalibPlace *place, CalibError *error)
{
    CalibRendezvous here;
    int port, listener;
    if (!clear_file(place->file, error) || (listener = calib_channel_listen(0, &port, error)) < 0)
        return CALIB_FAILED;
    calib_rendezvous_init(place->world, port, &here);
    CalibStatus status = CALIB_FAILED;
    if (calib_rendezvous_write(place->file, &here, error)) {
        status = wait_for_all(crew, listener, here.run, error);
        unlink(place->file);
    }
    close(listener);
    return status;
}

static CalibStatus
lead_on_port(CalibCrew *crew, const CalibPlace *place, CalibError *error)
{
    int port, listener = calib_channel_listen(place->port, &port, error);
    if (listener < 0)
        return CALIB_FAILED;
    CalibStatus status = wait_for_all(crew, listener, place->run, error);
    close(listener);
    return status;
}

/* What rank 0 could not do the others learn from an empty message. */
static CalibStatus
meet_by_mpi(CalibCrew *crew, const CalibPlace *place, CalibBroadcast broadcast, CalibError *error)
{
    CalibRendezvous where = {0};
    int port, listener = -1;
    if (place->rank == 0 && (listener = calib_channel_listen(0, &port, error)) >= 0)
        calib_rendezvous_init(place->world, port, &where);
    if (!broadcast(&where, sizeof where) || where.port == 0) {
        if (listener >= 0)
            close(listener);
        if (place->rank > 0 || listener >= 0)
            snprintf(error->text, sizeof error->text, "rank %d: MPI_Bcast brought no address",
                     place->rank);
        return CALIB_FAILED;
    }
    if (place->rank == 0) {
        CalibStatus status = wait_for_all(crew, listener, where.run, error);
        close(listener);
        return status;
    }
    Hello hello = hello_of(place->rank, place->world, where.run);
    Knock answer = knock_at_all(&where, &hello, &crew->channels[0], error);
    if (answer == KNOCK_NO_ONE)
        snprintf(error->text, sizeof error->text,
                 "rank %d: none of rank 0's addresses (%s ...) answers on port %d", place->rank,
                 where.addresses[0], where.port);
    return answer == KNOCK_IN ? CALIB_OK : CALIB_FAILED;
}

CalibStatus
calib_crew_join(const CalibPlace *place, const CalibCrewLimits *limits, CalibBroadcast broadcast,
                CalibCrew **ret, CalibError *error)
{
    *ret = NULL;
    if (place->world == 1)
        return CALIB_OK;
    CalibCrew *crew = crew_new(place->rank, place->world, limits);
    CalibStatus status;
    if (place->meet == CALIB_MEET_MPI)
        status = meet_by_mpi(crew, place, broadcast, error);
    else if (place->rank > 0)
        status = find_lead(crew, place, error);
    else
        status = place->meet == CALIB_MEET_FILE ? lead_by_file(crew, place, error)
                                                : lead_on_port(crew, place, error);
    if (status == CALIB_OK) {
        *ret = crew;
        return CALIB_OK;
    }
    calib_crew_fail(crew, error);
    calib_crew_free(crew);
    return status;
}
