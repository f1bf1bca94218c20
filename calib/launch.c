/* Reads options and the environment of launchers. */
#include "config.h"

#include "calib/launch.h"

#include "calib/row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ports that Slurm's runs take where MASTER_PORT names none: one for each job and step. */
#define FIRST_PORT 20000
#define N_PORTS 10000

typedef struct {
    CalibEnvironment get;
    const void *data;
    CalibError *error;
} Reader;

const char *
calib_launch_getenv(const void *data, const char *name)
{
    (void)data;
    return getenv(name);
}

static const char *
look(const Reader *r, const char *name)
{
    const char *text = r->get(r->data, name);
    return text != NULL && *text != '\0' ? text : NULL;
}

static bool
refuse(const Reader *r, const char *name, const char *why)
{
    const char *text = look(r, name);
    snprintf(r->error->text, sizeof r->error->text, "%s: '%.100s' %s", name,
             text != NULL ? text : "", why);
    return false;
}

static bool
read_number(const Reader *r, const char *name, int least, int *ret)
{
    const char *text = look(r, name);
    if (text != NULL && calib_parse_int(text, ret) && *ret >= least)
        return true;
    return refuse(r, name,
                  "is no number that a launcher would set; start it below one, or give "
                  "--rank, --world and --rendezvous");
}

static bool
read_rank(const Reader *r, const char *rank, const char *world, CalibPlace *place)
{
    if (!read_number(r, rank, 0, &place->rank) || !read_number(r, world, 1, &place->world))
        return false;
    if (place->rank >= place->world)
        return refuse(r, rank, "is not below the number of processes");
    return true;
}

static bool
read_port(const Reader *r, CalibPlace *place)
{
    if (!read_number(r, "MASTER_PORT", 1, &place->port) || place->port > 65534)
        return refuse(r, "MASTER_PORT", "is no port; write one from 1024 to 65534");
    return true;
}

static bool
read_address(const Reader *r, CalibPlace *place)
{
    const char *host = look(r, "MASTER_ADDR");
    if (host == NULL || strlen(host) >= sizeof place->host)
        return refuse(r, "MASTER_ADDR", "is no host; name the one that rank 0 runs on");
    snprintf(place->host, sizeof place->host, "%s", host);
    place->meet = CALIB_MEET_PORT;
    return read_port(r, place);
}

/* --- launchers -------------------------------------------------------------------------------- */

static bool
find_torchrun(const Reader *r, CalibPlace *place)
{
    if (!read_rank(r, "RANK", "WORLD_SIZE", place))
        return false;
    if (place->world == 1)
        return true;
    if (!read_address(r, place))
        return false;
    const char *store = look(r, "TORCHELASTIC_USE_AGENT_STORE"),
               *run = look(r, "TORCHELASTIC_RUN_ID");
    if (store != NULL && strcmp(store, "True") == 0)
        place->port++; /* torchrun itself listens on the one that it names */
    snprintf(place->run, sizeof place->run, "torchrun %.48s", run != NULL ? run : "");
    return true;
}

bool
calib_launch_first_host(const char *list, char *ret, size_t size)
{
    size_t n = 0;
    for (const char *at = list; *at != '\0' && *at != ','; at++) {
        if (*at == '[') {
            size_t first = strcspn(at + 1, ",-]"), all = strcspn(at, "]");
            if (n + first >= size || at[all] == '\0')
                return false;
            memcpy(ret + n, at + 1, first);
            n += first;
            at += all;
            continue;
        }
        if (n + 1 >= size)
            return false;
        ret[n++] = *at;
    }
    ret[n] = '\0';
    return n > 0;
}

/* Rank 0 runs on the first host of a step, unless --distribution says otherwise. */
static bool
find_slurm_host(const Reader *r, CalibPlace *place)
{
    const char *list = look(r, "SLURM_STEP_NODELIST");
    if (look(r, "MASTER_ADDR") != NULL)
        return read_address(r, place);
    if (list == NULL || !calib_launch_first_host(list, place->host, sizeof place->host))
        return refuse(r, "SLURM_STEP_NODELIST",
                      "names no host; set MASTER_ADDR and MASTER_PORT to where rank 0 runs");
    place->meet = CALIB_MEET_PORT;
    if (look(r, "MASTER_PORT") != NULL)
        return read_port(r, place);
    int job = 0, step = 0;
    if (!read_number(r, "SLURM_JOB_ID", 0, &job) || !read_number(r, "SLURM_STEP_ID", 0, &step))
        return false;
    place->port = FIRST_PORT + (int)(((unsigned)job * 31u + (unsigned)step) % N_PORTS);
    return true;
}

static bool
find_slurm(const Reader *r, CalibPlace *place)
{
    const char *world =
        look(r, "SLURM_STEP_NUM_TASKS") != NULL ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
    if (!read_rank(r, "SLURM_PROCID", world, place))
        return false;
    if (place->world == 1)
        return true;
    const char *job = look(r, "SLURM_JOB_ID"), *step = look(r, "SLURM_STEP_ID");
    snprintf(place->run, sizeof place->run, "slurm %.24s.%.24s", job != NULL ? job : "", step);
    return find_slurm_host(r, place);
}

/* Each launcher of MPI says its processes' ranks in its own way. */
static const struct {
    const char *rank, *world;
} mpis[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
            {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
            {"PMI_RANK", "PMI_SIZE"}};
enum { N_MPIS = sizeof mpis / sizeof *mpis };

static int
find_mpi(const Reader *r)
{
    for (int i = 0; i < N_MPIS; i++)
        if (look(r, mpis[i].rank) != NULL && look(r, mpis[i].world) != NULL)
            return i;
    return -1;
}

/* An MPI that cannot talk to this launcher (srun without its --mpi, another MPI's mpirun) starts each process as the only
 * one of a run: all of them would write to one folder. */
static void
take_mpi(const Reader *r, int which, CalibPlace *place)
{
    const char *world = which >= 0                                ? mpis[which].world
                        : look(r, "SLURM_STEP_NUM_TASKS") != NULL ? "SLURM_STEP_NUM_TASKS"
                                                                  : "SLURM_NTASKS";
    const char *text = look(r, world);
    place->meet = CALIB_MEET_MPI;
    if (text == NULL || !calib_parse_int(text, &place->expected))
        place->expected = 0;
}

static bool
find_mpi_without(const Reader *r, int which, CalibPlace *place)
{
    if (!read_rank(r, mpis[which].rank, mpis[which].world, place))
        return false;
    if (place->world == 1)
        return true;
    if (look(r, "MASTER_ADDR") == NULL)
        return refuse(r, mpis[which].world,
                      "processes were started by MPI, which is not built in; build with MPI=1 or "
                      "--with-mpi, or set MASTER_ADDR and MASTER_PORT to where rank 0 runs");
    snprintf(place->run, sizeof place->run, "mpi");
    return read_address(r, place);
}

static void
take_options(const CalibLaunch *given, CalibPlace *place)
{
    place->rank = given->rank;
    place->world = given->world;
    if (place->world == 1)
        return;
    place->meet = CALIB_MEET_FILE;
    place->file = given->rendezvous;
}

bool
calib_launch_find(const CalibLaunch *given, bool has_mpi, CalibEnvironment get, const void *data,
                  CalibPlace *ret, CalibError *error)
{
    const Reader r = {get, data, error};
    CalibPlace place = {.world = 1};
    int mpi = find_mpi(&r);
    bool found = true;
    if (given->rank >= 0)
        take_options(given, &place);
    else if (has_mpi && (mpi >= 0 || look(&r, "PMIX_RANK") != NULL))
        take_mpi(&r, mpi, &place);
    else if (look(&r, "RANK") != NULL && look(&r, "WORLD_SIZE") != NULL)
        found = find_torchrun(&r, &place);
    else if (look(&r, "SLURM_STEP_ID") != NULL && look(&r, "SLURM_PROCID") != NULL)
        found = find_slurm(&r, &place);
    else if (mpi >= 0)
        found = find_mpi_without(&r, mpi, &place);
    if (found)
        *ret = place;
    return found;
}
