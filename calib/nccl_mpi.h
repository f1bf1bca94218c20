/* MPI, where it is built in (CALIB_MPI): says who is who, and carries one address from rank 0 to all. */
#pragma once

#include "calib/launch.h"

bool calib_mpi_is_built_in(void);
/* Fills in rank and world; alone, the place is one of one process. */
bool calib_mpi_open(CalibPlace *place, CalibError *error);
bool calib_mpi_broadcast(void *data, size_t size); /* rank 0's, to all */
/* The library by name and version. */
void calib_mpi_describe(char *text, size_t size);
/* Not after a failure: MPI's launcher then ends the other ranks. */
void calib_mpi_close(void);
