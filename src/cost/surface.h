/* A smooth quantity over three logarithmic coordinates, known at scattered points: nearest
 * neighbours, local plane. Further coordinates tell apart what is alike but not the same: they count
 * where nearness is judged, and the plane knows no slope along them. */
#pragma once

#include <glib.h>

enum { COST_SURFACE_SLOPES = 3, COST_SURFACE_AXES = 8, COST_SURFACE_NEIGHBOURS = 16 };

typedef struct CostSurface CostSurface;

typedef struct {
    double y;
    double distance; /* to the nearest point, in the unit of x, along the first three axes */
    double outside;  /* how far x lies outside the range of the points; part of `distance` */
    double residual; /* mean |error| of the points near x when each is left out */
    double support;  /* of how many points it is the mean, the near ones counting more */
} CostEstimate;

CostSurface *cost_surface_new(void);
void cost_surface_free(CostSurface *surface);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CostSurface, cost_surface_free)

void cost_surface_add(CostSurface *surface, const double x[COST_SURFACE_AXES], double y);
/* After the last point; the order of adding does not matter. */
void cost_surface_build(CostSurface *surface);
guint cost_surface_n_points(const CostSurface *surface);
/* There must be points. The first time near some of them a hundred microseconds, for the residual; then some ten. */
CostEstimate cost_surface_at(const CostSurface *surface, const double x[COST_SURFACE_AXES]);
/* The estimate at the point that was added as the `point`th, without it and others at the same x, is the sum over
 * `weights` times y of the points added as the `ids`th, but for one thing: an estimate is kept within the least and
 * the most of them, the sum is not, so that it is linear in y. At most COST_SURFACE_NEIGHBOURS, whose number is
 * returned. */
guint cost_surface_makeup(const CostSurface *surface, guint point, guint *ids, double *weights);
/* Takes `less` (by order of adding) off the points; not after anything was asked for. */
void cost_surface_lower(CostSurface *surface, const double *less);
/* Median of |estimate - y| when a point (and all others at the same x) is left out and estimated,
 * over at most `most` points, evenly taken; 0 with fewer than two points. */
double cost_surface_leave_one_out(const CostSurface *surface, guint most);
/* Mean likewise. */
double cost_surface_mean_left_out(const CostSurface *surface, guint most);
