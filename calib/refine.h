/* Where to measure next: a box of a surface, cut into cells that are halved where interpolation errs most.
 *
 * The candidate of a cell is its centre. What a cell may be wrong by is expected from how much its neighbours bend (the
 * residual of their plane) and from how far off the guesses at nearby candidates turned out when these were measured,
 * less for a smaller cell. The cell with the largest expected error x weight x root of its width (of the first cells') is
 * next; once measured it gives way to eight of half the width. */
#pragma once

#include "calib/surface.h"

#include <stdbool.h>

typedef struct CalibRefine CalibRefine;

typedef struct {
    double low[3], high[3];
    double coarse, least; /* width of the first cells; cells are not halved below `least` */
    double (*weight)(const void *context, const double x[3]); /* 0: never a candidate */
    const void *context;                                      /* borrowed */
} CalibRefineBox;

CalibRefine *calib_refine_new(const CalibRefineBox *box);
void calib_refine_free(CalibRefine *refine);
const CalibSurface *calib_refine_surface(const CalibRefine *refine);
/* Any measured point, of a grid or a candidate. */
void calib_refine_tell(CalibRefine *refine, const double x[3], double y);
/* That product of the best candidate; 0: there is none, or nothing was told. */
double calib_refine_best(CalibRefine *refine, double ret_x[3]);
/* The best candidate has been measured (as y, where its coordinates are, after rounding, x), and its cell is cut. */
void calib_refine_cut(CalibRefine *refine, const double x[3], double y);
/* It could not be measured: its cell goes. */
void calib_refine_drop(CalibRefine *refine);
