/* A crew from inside: calib/crew_join.c makes it, calib/crew.c talks over it. */
#pragma once

#include "calib/crew.h"

struct CalibCrew {
    int rank, world;
    CalibCrewLimits limits;
    int *channels; /* of rank 0: to each rank (its own: -1); of others: to rank 0, one */
};

/* Rank 0 tells all that are there. */
void calib_crew_fail(CalibCrew *crew, const CalibError *error);
