/* Makes, keeps and ends communicators. */
#include "config.h"

#include "calib/nccl_groups.h"

#include "calib/nccl_error.h"

#include <stdio.h>
#include <string.h>

static bool
can_split(void)
{
#if NCCL_VERSION_CODE >= 21800
    int version = 0;
    return ncclGetVersion(&version) == ncclSuccess && version >= 21800;
#else
    return false;
#endif
}

void
calib_groups_init(CalibGroups *groups, const CalibSeats *seats, int rank)
{
    memset(groups, 0, sizeof *groups);
    groups->seats = seats;
    groups->rank = rank;
    groups->splits = can_split();
    pthread_mutex_init(&groups->mutex, NULL);
}

/* --- stopping --------------------------------------------------------------------------------- */

static void
for_each(CalibGroups *g, void (*visit)(ncclComm_t comm, void *data), void *data)
{
    for (int which = -1; which < CALIB_MOST_GROUPS; which++) {
        CalibGroup *group = which < 0 ? &g->world : &g->groups[which];
        for (int i = 0; i < g->seats->n; i++)
            if (group->comms[i] != NULL)
                visit(group->comms[i], data);
    }
}

static void
look_at(ncclComm_t comm, void *data)
{
    ncclResult_t *worst = data, code = ncclSuccess;
    if (ncclCommGetAsyncError(comm, &code) != ncclSuccess)
        return;
#if NCCL_VERSION_CODE >= 21400
    if (code == ncclInProgress)
        return;
#endif
    if (code != ncclSuccess)
        *worst = code;
}

bool
calib_groups_are_well(CalibGroups *g, CalibError *error)
{
    ncclResult_t code = ncclSuccess;
    pthread_mutex_lock(&g->mutex);
    if (!g->stopped)
        for_each(g, look_at, &code);
    pthread_mutex_unlock(&g->mutex);
    if (code != ncclSuccess)
        calib_nccl_failed(g->rank, "ncclCommGetAsyncError", code, __FILE__, __LINE__, error);
    return code == ncclSuccess;
}

static void
abort_one(ncclComm_t comm, void *data)
{
    (void)data;
    ncclCommAbort(comm);
}

static void
forget(CalibGroups *g)
{
    memset(&g->world, 0, sizeof g->world);
    memset(g->groups, 0, sizeof g->groups);
}

void
calib_groups_stop(CalibGroups *g)
{
    pthread_mutex_lock(&g->mutex);
    if (!g->stopped)
        for_each(g, abort_one, NULL);
    g->stopped = true;
    forget(g);
    pthread_mutex_unlock(&g->mutex);
}

static void
destroy_one(ncclComm_t comm, void *data)
{
    (void)data;
    ncclCommDestroy(comm);
}

void
calib_groups_clear(CalibGroups *g, bool in_order)
{
    if (!in_order)
        calib_groups_stop(g);
    for_each(g, destroy_one, NULL);
    forget(g);
    pthread_mutex_destroy(&g->mutex);
}

/* --- making ----------------------------------------------------------------------------------- */

/* What is made becomes visible to the thread that looks and stops, at once and whole. */
static CalibStatus
keep(CalibGroups *g, CalibGroup *place, const CalibGroup *made, CalibError *error)
{
    pthread_mutex_lock(&g->mutex);
    bool stopped = g->stopped;
    if (!stopped) {
        *place = *made;
        place->used = ++g->clock;
    }
    pthread_mutex_unlock(&g->mutex);
    if (!stopped)
        return CALIB_OK;
    snprintf(error->text, sizeof error->text, "rank %d: stopped", g->rank);
    return CALIB_FAILED;
}

/* NULL: no wish. */
#if NCCL_VERSION_CODE >= 21700
static ncclConfig_t *
configure(ncclConfig_t *config, int channels)
{
    *config = (ncclConfig_t)NCCL_CONFIG_INITIALIZER;
    if (channels > 0)
        config->minCTAs = config->maxCTAs = channels;
    return config;
}
#endif

static CalibStatus
join(ncclComm_t *comm, int n, const ncclUniqueId *id, int member, int channels, int rank,
     CalibError *error)
{
#if NCCL_VERSION_CODE >= 21700
    ncclConfig_t config;
    CALIB_NCCL_CALL(rank,
                    ncclCommInitRankConfig(comm, n, *id, member, configure(&config, channels)));
#else
    (void)channels;
    CALIB_NCCL_CALL(rank, ncclCommInitRank(comm, n, *id, member));
#endif
    return CALIB_OK;
}

static CalibStatus
join_all(CalibGroups *g, CalibGroup *group, const ncclUniqueId *id, CalibError *error)
{
    for (int i = 0; i < g->seats->n; i++) {
        int member = calib_seats_rank(&g->seats->seats[i], group->ranks, group->nodes);
        if (member < 0)
            continue;
        CALIB_CUDA(g, cudaSetDevice(g->seats->seats[i].device));
        CALIB_TRY(
            join(&group->comms[i], group->ranks, id, member, group->channels, g->rank, error));
    }
    return CALIB_OK;
}

#if NCCL_VERSION_CODE >= 21800
static CalibStatus
split_all(CalibGroups *g, CalibGroup *group, CalibError *error)
{
    for (int i = 0; i < g->seats->n; i++) {
        ncclConfig_t config;
        int member = calib_seats_rank(&g->seats->seats[i], group->ranks, group->nodes);
        CALIB_CUDA(g, cudaSetDevice(g->seats->seats[i].device));
        CALIB_NCCL_CALL(g->rank,
                        ncclCommSplit(g->world.comms[i], member >= 0 ? 0 : NCCL_SPLIT_NOCOLOR,
                                      member >= 0 ? member : 0, &group->comms[i],
                                      configure(&config, group->channels)));
    }
    return CALIB_OK;
}
#endif

/* A group that was begun must be ended, whatever happens in it. */
static CalibStatus
make_all(CalibGroups *g, CalibGroup *group, const ncclUniqueId *id, bool split, CalibError *error)
{
    CalibStatus status;
    CALIB_NCCL_CALL(g->rank, ncclGroupStart());
#if NCCL_VERSION_CODE >= 21800
    status = split ? split_all(g, group, error) : join_all(g, group, id, error);
#else
    (void)split;
    status = join_all(g, group, id, error);
#endif
    ncclResult_t code = ncclGroupEnd();
    if (status == CALIB_OK && code != ncclSuccess)
        return calib_nccl_failed(g->rank, split ? "ncclCommSplit" : "ncclCommInitRank", code,
                                 __FILE__, __LINE__, error);
    return status;
}

CalibStatus
calib_groups_make_world(CalibGroups *g, const ncclUniqueId *id, CalibError *error)
{
    CalibGroup world = {.ranks = g->seats->nodes * g->seats->gpus, .nodes = g->seats->nodes};
    CALIB_TRY(make_all(g, &world, id, false, error));
    return keep(g, &g->world, &world, error);
}

bool
calib_groups_has_world(const CalibGroups *g)
{
    return g->world.ranks > 0;
}

static bool
find(CalibGroups *g, int ranks, int nodes, int channels, CalibGroup **ret)
{
    for (int which = -1; which < CALIB_MOST_GROUPS; which++) {
        CalibGroup *group = which < 0 ? &g->world : &g->groups[which];
        if (group->ranks == ranks && group->nodes == nodes && group->channels == channels) {
            *ret = group;
            return true;
        }
    }
    return false;
}

bool
calib_groups_needs_id(CalibGroups *g, int ranks, int nodes, int channels)
{
    CalibGroup *known;
    return !g->splits && !find(g, ranks, nodes, channels, &known);
}

/* An empty place, or that of the group that was not used for longest, which is ended. */
static CalibGroup *
clear_place(CalibGroups *g)
{
    CalibGroup *oldest = &g->groups[0];
    for (int i = 1; i < CALIB_MOST_GROUPS && oldest->ranks > 0; i++)
        if (g->groups[i].ranks == 0 || g->groups[i].used < oldest->used)
            oldest = &g->groups[i];
    CalibGroup old = *oldest;
    pthread_mutex_lock(&g->mutex);
    memset(oldest, 0, sizeof *oldest);
    pthread_mutex_unlock(&g->mutex);
    for (int i = 0; i < g->seats->n; i++)
        if (old.comms[i] != NULL)
            ncclCommDestroy(old.comms[i]);
    return oldest;
}

CalibStatus
calib_groups_make(CalibGroups *g, int ranks, int nodes, int channels, const ncclUniqueId *id,
                  CalibGroup **ret, CalibError *error)
{
#if NCCL_VERSION_CODE < 21700
    if (channels > 0)
        return calib_cannot(error, "NCCL before 2.17 is not told a number of channels");
#endif
    CalibGroup *known;
    if (find(g, ranks, nodes, channels, &known)) {
        known->used = ++g->clock;
        *ret = known;
        return CALIB_OK;
    }
    CalibGroup *place = clear_place(g);
    CalibGroup group = {.ranks = ranks, .nodes = nodes, .channels = channels};
    CALIB_TRY(make_all(g, &group, id, g->splits, error));
    CALIB_TRY(keep(g, place, &group, error));
    *ret = place;
    return CALIB_OK;
}
