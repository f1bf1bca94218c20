/* The few calls of MPI. */
#include "config.h"

#include "calib/nccl_mpi.h"

#include <stdio.h>
#include <string.h>

#ifdef CALIB_MPI
#include <mpi.h>

bool
calib_mpi_is_built_in(void)
{
    return true;
}

bool
calib_mpi_open(CalibPlace *place, CalibError *error)
{
    int is_open = 0;
    MPI_Initialized(&is_open);
    if ((!is_open && MPI_Init(NULL, NULL) != MPI_SUCCESS) ||
        MPI_Comm_rank(MPI_COMM_WORLD, &place->rank) != MPI_SUCCESS ||
        MPI_Comm_size(MPI_COMM_WORLD, &place->world) != MPI_SUCCESS) {
        snprintf(error->text, sizeof error->text, "MPI_Init failed");
        return false;
    }
    if (place->world == 1)
        place->meet = CALIB_MEET_NOT;
    return true;
}

bool
calib_mpi_broadcast(void *data, size_t size)
{
    return MPI_Bcast(data, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS;
}

void
calib_mpi_describe(char *text, size_t size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, is_open = 0;
    MPI_Initialized(&is_open);
    if (is_open)
        MPI_Get_library_version(version, &length);
    snprintf(text, size, "%.*s", (int)strcspn(version, ",\n\t"), version);
}

void
calib_mpi_close(void)
{
    int is_open = 0, is_over = 0;
    MPI_Initialized(&is_open);
    MPI_Finalized(&is_over);
    if (is_open && !is_over)
        MPI_Finalize();
}

#else

bool
calib_mpi_is_built_in(void)
{
    return false;
}

bool
calib_mpi_open(CalibPlace *place, CalibError *error)
{
    (void)place;
    snprintf(error->text, sizeof error->text, "built without MPI");
    return false;
}

bool
calib_mpi_broadcast(void *data, size_t size)
{
    (void)data;
    (void)size;
    return false;
}

void
calib_mpi_describe(char *text, size_t size)
{
    (void)size;
    *text = '\0';
}

void
calib_mpi_close(void)
{
}

#endif
