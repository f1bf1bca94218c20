/* How this process was started: alone, by hand, or by a launcher, which tells by the environment. */
#pragma once

#include "calib/backend.h"

typedef enum {
    CALIB_MEET_NOT,  /* alone */
    CALIB_MEET_FILE, /* a file says where rank 0 listens */
    CALIB_MEET_PORT, /* rank 0 listens on a port that all know */
    CALIB_MEET_MPI   /* MPI says who is who and where rank 0 listens */
} CalibMeet;

typedef struct {
    int rank, world; /* of MPI: not known yet */
    CalibMeet meet;
    const char *file; /* borrowed from CalibLaunch */
    char host[256];
    int port;
    char run[64]; /* a name of the run, so that no process joins another one */
    int expected; /* of MPI: processes that its launcher's traces speak of; 0: they do not say */
} CalibPlace;

/* getenv, or a test's table. */
typedef const char *(*CalibEnvironment)(const void *data, const char *name);
const char *calib_launch_getenv(const void *data, const char *name);

/* In this order: options; MPI where it is built in and its launcher's traces are there; RANK, WORLD_SIZE, MASTER_ADDR and
 * MASTER_PORT, as torchrun sets them; Slurm's step; the traces of an MPI that is not built in, which is refused unless
 * MASTER_ADDR and MASTER_PORT say where to meet. */
bool calib_launch_find(const CalibLaunch *given, bool has_mpi, CalibEnvironment get,
                       const void *data, CalibPlace *ret, CalibError *error);
/* "gpu[01-04,07],x" -> "gpu01". False: there is none, or it is too long. */
bool calib_launch_first_host(const char *list, char *ret, size_t size);
