/* A quantity over three coordinates, known at scattered points, read off between them by local planes: in small, what the
 * simulator does with its tables (src/cost/surface.c). It chooses points only; what a run gives is the simulator's to read. */
#pragma once

#include <stddef.h>

typedef struct {
    double x[3], y;
} CalibSurfacePoint;

/* Zeroed: empty. */
typedef struct {
    CalibSurfacePoint *points;
    size_t n, room;
} CalibSurface;

typedef struct {
    double y; /* at the query */
    double
        residual; /* root mean square of what the plane leaves of the points around: how bent the surface is */
} CalibSurfaceGuess;

void calib_surface_add(CalibSurface *surface, const double x[3], double y);
void calib_surface_clear(CalibSurface *surface);
/* There must be a point. */
CalibSurfaceGuess calib_surface_at(const CalibSurface *surface, const double x[3]);
