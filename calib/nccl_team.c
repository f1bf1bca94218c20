/* Joins, seats, and runs cases on all ranks, step by step: no rank goes on before all have done a step, and one that cannot
 * take it keeps all from it. */
#include "config.h"

#include "calib/nccl_team.h"

#include "calib/cuda_fused.h"
#include "calib/nccl_error.h"
#include "calib/nccl_hello.h"
#include "calib/nccl_mpi.h"
#include "calib/nccl_traffic.h"
#include "calib/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Slow file systems show a new file late; schedulers start ranks one after the other. */
#define JOIN_S 120
/* Of a process that has failed, to give back what it has. */
#define END_S 20
#define MOST_PROCESSES 65536

struct CalibTeam {
    int rank, world;
    bool failed;
    CalibCrew *crew;
    CalibSeats seats;
    CalibWatch *watch; /* NULL until NCCL is first needed */
    CalibGroups groups;
    CalibNcclGpu gpus[CALIB_MOST_GPUS];
    CalibGpu *others; /* all but the first */
    /* the step that runs: where a job that hangs finds it, however long that lasts */
    CalibCase what;
    CalibTiming timing;
    CalibNcclTraffic traffic;
    CalibCudaWork *works[CALIB_MOST_GPUS];
    CalibGroup *group;
    ncclUniqueId id;
    unsigned warm_calls;
    double us[CALIB_MAX_SAMPLES];
};

/* --- opening ---------------------------------------------------------------------------------- */

static CalibStatus
seat(CalibTeam *team, CalibError *error)
{
    CalibSeatsHello mine, *all = malloc((size_t)team->world * sizeof *all);
    if (all == NULL)
        return calib_cannot(error, "no host memory");
    CalibStatus status = calib_hello_describe(team->rank, &mine, error);
    status = calib_crew_agree(team->crew, status, NULL, 0, error);
    if (status == CALIB_OK)
        status = calib_crew_gather(team->crew, &mine, sizeof mine, all, error);
    /* all have the same table: all refuse it, or none */
    if (status == CALIB_OK && !calib_seats_find(all, team->world, team->rank, &team->seats, error))
        status = CALIB_FAILED;
    free(all);
    return status;
}

static CalibStatus
join_others(CalibTeam *team, const CalibLaunch *launch, CalibError *error)
{
    const CalibCrewLimits limits = {.join_s = JOIN_S,
                                    .answer_s = CALIB_PATIENCE_S + 4 * CALIB_GRACE_S};
    CalibPlace place;
    if (!calib_launch_find(launch, calib_mpi_is_built_in(), calib_launch_getenv, NULL, &place,
                           error))
        return CALIB_FAILED;
    if (place.meet == CALIB_MEET_MPI && !calib_mpi_open(&place, error))
        return CALIB_FAILED;
    if (place.world == 1 && place.expected > 1) {
        snprintf(error->text, sizeof error->text,
                 "MPI_Init: each of %d processes is alone; start them with the mpirun of the MPI "
                 "that dtsim-calibrate is built with, or with srun --mpi=pmix or pmi2",
                 place.expected);
        return CALIB_FAILED;
    }
    if (place.world > MOST_PROCESSES) {
        snprintf(error->text, sizeof error->text, "%d processes; start at most %d", place.world,
                 MOST_PROCESSES);
        return CALIB_FAILED;
    }
    team->rank = place.rank;
    team->world = place.world;
    CALIB_TRY(calib_crew_join(&place, &limits, calib_mpi_broadcast, &team->crew, error));
    return seat(team, error);
}

CalibStatus
calib_team_open(const CalibLaunch *launch, CalibTeam **ret, CalibError *error)
{
    CalibTeam *team = calloc(1, sizeof *team);
    if (team == NULL)
        return calib_cannot(error, "no host memory");
    CalibStatus status = join_others(team, launch, error);
    if (status != CALIB_OK) {
        team->failed = true;
        calib_team_close(team);
        return status;
    }
    calib_groups_init(&team->groups, &team->seats, team->rank);
    *ret = team;
    return CALIB_OK;
}

int
calib_team_device(const CalibTeam *team)
{
    return team->seats.seats[0].device;
}

int
calib_team_rank(const CalibTeam *team)
{
    return team->rank;
}

void
calib_team_describe(CalibTeam *team, CalibMachine *m)
{
    int version = 0;
    m->nodes = team->seats.nodes;
    if (m->gpus != team->seats.gpus) /* their numbers are others' */
        memset(m->mesh, 0, sizeof m->mesh);
    m->gpus = team->seats.gpus;
    m->hosts = team->seats.hosts;
    m->node = team->seats.node;
    m->rank = team->rank;
    m->world = team->world;
    if (ncclGetVersion(&version) == ncclSuccess) {
        /* 2.28.9 is 22809; before 2.9, 2.8.4 was 2804 */
        int major = version / (version >= 10000 ? 10000 : 1000);
        int minor = version / 100 % (version >= 10000 ? 100 : 10);
        snprintf(m->nccl, sizeof m->nccl, "%d.%d.%d", major, minor, version % 100);
    }
    calib_mpi_describe(m->mpi, sizeof m->mpi);
}

CalibStatus
calib_team_share(CalibTeam *team, void *data, size_t size, CalibError *error)
{
    return calib_crew_share(team->crew, data, size, error);
}

/* --- steps ------------------------------------------------------------------------------------ */

static bool
is_well(void *data, CalibError *error)
{
    CalibTeam *team = data;
    return calib_groups_are_well(&team->groups, error) && calib_crew_is_whole(team->crew, error);
}

static void
stop(void *data)
{
    CalibTeam *team = data;
    calib_groups_stop(&team->groups);
}

/* A job on all ranks, under watch; then all agree on how it went. */
static CalibStatus
step(void *data, CalibJob job, void *job_data, double *worst, unsigned n, CalibError *error)
{
    CalibTeam *team = data;
    CalibStatus status = calib_watch_run(team->watch, job, job_data, error);
    status = calib_crew_agree(team->crew, status, worst, n, error);
    if (status == CALIB_FAILED)
        team->failed = true;
    return status;
}

bool
calib_team_is_whole(CalibTeam *team, CalibError *error)
{
    return calib_crew_is_whole(team->crew, error);
}

static CalibStatus
start_watch(CalibTeam *team, CalibError *error)
{
    const CalibWatchSpec spec = {.name = "a collective",
                                 .limit_s = CALIB_PATIENCE_S,
                                 .grace_s = CALIB_GRACE_S,
                                 .is_well = is_well,
                                 .stop = stop,
                                 .data = team};
    if (team->watch == NULL)
        team->watch = calib_watch_new(&spec);
    if (team->watch != NULL)
        return CALIB_OK;
    snprintf(error->text, sizeof error->text, "rank %d: no thread is to be had", team->rank);
    return CALIB_FAILED;
}

/* --- GPUs and groups -------------------------------------------------------------------------- */

static CalibStatus
prepare_gpu(CalibNcclGpu *g, CalibError *error)
{
    CALIB_CUDA(g->gpu, cudaSetDevice(g->gpu->device));
    CALIB_CUDA(g->gpu, cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking));
    CALIB_CUDA(g->gpu, cudaMalloc((void **)&g->small, CALIB_SMALL_BYTES));
    CALIB_CUDA(g->gpu, cudaMemsetAsync(g->small, 0, CALIB_SMALL_BYTES, g->gpu->streams[0]));
    CALIB_CUDA(g->gpu, cudaStreamSynchronize(g->gpu->streams[0]));
    return CALIB_OK;
}

static CalibStatus
open_gpus(void *data, CalibError *error)
{
    CalibTeam *team = data;
    int n = team->seats.n;
    if (n > 1)
        team->others = calloc((size_t)n - 1, sizeof *team->others);
    if (n > 1 && team->others == NULL)
        return calib_cannot(error, "no host memory");
    for (int i = 1; i < n; i++) {
        team->gpus[i].gpu = &team->others[i - 1];
        CALIB_TRY(
            calib_gpu_open(team->seats.seats[i].device, team->rank, team->gpus[i].gpu, error));
        CALIB_TRY(calib_fused_open(team->gpus[i].gpu, error));
    }
    for (int i = 0; i < n; i++)
        CALIB_TRY(prepare_gpu(&team->gpus[i], error));
    return CALIB_OK;
}

static CalibStatus
make_id(void *data, CalibError *error)
{
    CalibTeam *team = data;
    if (team->rank == 0)
        CALIB_NCCL_CALL(team->rank, ncclGetUniqueId(&team->id));
    return CALIB_OK;
}

static CalibStatus
share_id(CalibTeam *team, CalibError *error)
{
    CALIB_TRY(step(team, make_id, team, NULL, 0, error));
    return calib_crew_share(team->crew, &team->id, sizeof team->id, error);
}

static CalibStatus
make_world(void *data, CalibError *error)
{
    CalibTeam *team = data;
    return calib_groups_make_world(&team->groups, &team->id, error);
}

/* Once, before the first collective: what is measured before it has its GPU to itself. A rank that cannot have its GPUs
 * ready now will not have them later. */
static CalibStatus
start(CalibTeam *team, CalibGpu *first, CalibError *error)
{
    if (calib_groups_has_world(&team->groups))
        return CALIB_OK;
    CALIB_TRY(start_watch(team, error));
    team->gpus[0].gpu = first;
    CalibStatus status = step(team, open_gpus, team, NULL, 0, error);
    if (status == CALIB_OK)
        status = share_id(team, error);
    if (status == CALIB_OK)
        status = step(team, make_world, team, NULL, 0, error);
    team->failed = team->failed || status != CALIB_OK;
    return status == CALIB_OK ? CALIB_OK : CALIB_FAILED;
}

static const CalibCollective *
collective_of(const CalibCase *what)
{
    return what->kind == CALIB_CASE_OVERLAP ? &what->overlap.traffic : &what->collective;
}

static int
channels_of(const CalibCase *what)
{
    return what->kind == CALIB_CASE_OVERLAP ? what->overlap.channels : 0;
}

static CalibStatus
make_group(void *data, CalibError *error)
{
    CalibTeam *team = data;
    const CalibCollective *c = collective_of(&team->what);
    CALIB_TRY(calib_groups_make(&team->groups, c->ranks, c->nodes, channels_of(&team->what),
                                &team->id, &team->group, error));
    calib_nccl_traffic_join(&team->traffic, team->group);
    return CALIB_OK;
}

static CalibStatus
find_group(CalibTeam *team, CalibError *error)
{
    const CalibCollective *c = collective_of(&team->what);
    if (calib_groups_needs_id(&team->groups, c->ranks, c->nodes, channels_of(&team->what)))
        CALIB_TRY(share_id(team, error));
    return step(team, make_group, team, NULL, 0, error);
}

/* --- a collective ----------------------------------------------------------------------------- */

static CalibStatus
lay_out(void *data, CalibError *error)
{
    CalibTeam *team = data;
    bool beside = team->what.kind == CALIB_CASE_OVERLAP;
    CALIB_TRY(calib_nccl_traffic_init(&team->traffic, collective_of(&team->what), beside,
                                      &team->seats, team->gpus, team->rank, error));
    for (unsigned i = 0; beside && i < team->traffic.n; i++)
        CALIB_TRY(calib_overlap_work_new(team->traffic.traffic.gpus[i], &team->what.overlap,
                                         &team->works[i], error));
    return CALIB_OK;
}

/* NCCL connects on the first call. */
static CalibStatus
pilot(void *data, CalibError *error)
{
    CalibTeam *team = data;
    CalibTraffic *t = &team->traffic.traffic;
    if (t->n > 0) {
        CALIB_TRY(t->align(t, error));
        CALIB_TRY(t->launch(t, error));
    }
    CALIB_TRY(calib_traffic_finish(t, error));
    return calib_traffic_time(t, 1, 1, team->us, error);
}

static CalibStatus
take_samples(void *data, CalibError *error)
{
    CalibTeam *team = data;
    CalibTraffic *t = &team->traffic.traffic;
    if (t->n > 0)
        CALIB_TRY(calib_traffic_repeat(t, team->warm_calls, error));
    return calib_traffic_time(t, team->timing.calls, team->timing.samples, team->us, error);
}

static unsigned
warm_calls(double warm_us, double each_us)
{
    enum { MOST = 10000 };
    double calls = each_us > 0 ? warm_us / each_us : 0;
    return calls > MOST ? MOST : (unsigned)calls;
}

static CalibStatus
time_collective(CalibTeam *team, double *us, CalibError *error)
{
    CALIB_TRY(step(team, pilot, team, team->us, 1, error));
    team->warm_calls = warm_calls(team->timing.warm_us, team->us[0]);
    CALIB_TRY(step(team, take_samples, team, team->us, team->timing.samples, error));
    memcpy(us, team->us, team->timing.samples * sizeof *us);
    return CALIB_OK;
}

/* --- beside compute --------------------------------------------------------------------------- */

static CalibStatus
time_overlap(CalibTeam *team, double *us, CalibError *error)
{
    const CalibTogether together = {team, step};
    CalibOverlapRun *run = calib_overlap_run_new(&team->traffic.traffic, team->works);
    if (run == NULL)
        abort();
    CalibStatus status = calib_overlap_run(run, &together, &team->timing, us, error);
    if (!team->failed)
        calib_overlap_run_free(run);
    return status;
}

static void
drop_works(CalibTeam *team)
{
    for (int i = 0; i < CALIB_MOST_GPUS; i++) {
        if (team->works[i] == NULL)
            continue;
        cudaSetDevice(team->traffic.traffic.gpus[i]->device);
        team->works[i]->free(team->works[i]);
        team->works[i] = NULL;
    }
}

CalibStatus
calib_team_run(CalibTeam *team, CalibGpu *first, const CalibCase *what, const CalibTiming *timing,
               double *us, CalibError *error)
{
    if (team->failed) {
        snprintf(error->text, sizeof error->text, "rank %d: NCCL has failed before", team->rank);
        return CALIB_FAILED;
    }
    CALIB_TRY(start(team, first, error));
    team->what = *what;
    team->timing = *timing;
    CalibStatus status = step(team, lay_out, team, NULL, 0, error);
    if (status == CALIB_OK)
        status = find_group(team, error);
    if (status == CALIB_OK)
        status = what->kind == CALIB_CASE_OVERLAP ? time_overlap(team, us, error)
                                                  : time_collective(team, us, error);
    if (!team->failed) {
        drop_works(team);
        cudaSetDevice(first->device);
    }
    return status;
}

/* --- closing ---------------------------------------------------------------------------------- */

static void
close_gpus(CalibTeam *team)
{
    for (int i = 0; i < team->seats.n; i++) {
        CalibNcclGpu *g = &team->gpus[i];
        if (g->gpu == NULL)
            continue;
        cudaSetDevice(team->seats.seats[i].device);
        cudaFree(g->buffer);
        cudaFree(g->small);
        if (g->stream != NULL)
            cudaStreamDestroy(g->stream);
        if (i == 0)
            continue;
        calib_fused_close(g->gpu);
        calib_gpu_close(g->gpu);
    }
    free(team->others);
}

/* Nothing is waited for on a GPU on which a collective hangs. What was to be said has been. */
void
calib_team_give_up(CalibTeam *team)
{
    if (team == NULL || !team->failed)
        return;
    fflush(NULL);
    if (team->watch != NULL && calib_watch_is_stuck(team->watch))
        _exit(1);
    calib_watch_end_after(END_S, 1);
}

void
calib_team_close(CalibTeam *team)
{
    if (team == NULL)
        return;
    calib_watch_free(team->watch);
    if (team->groups.seats != NULL) {
        drop_works(team);
        calib_groups_clear(&team->groups, !team->failed);
        close_gpus(team);
        cudaSetDevice(team->seats.seats[0].device);
    }
    calib_crew_free(team->crew);
    if (!team->failed)
        calib_mpi_close();
    free(team);
}
