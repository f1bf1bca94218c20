/* Max-min fair speeds of activities over shared resources, by progressive filling.
 *
 *   maximise speeds lexicographically, smallest first, subject to
 *     x_j <= cap_j   and   for each resource i:  sum_j r_ij * x_j <= C_i
 *   (r_ij: rate of resource i used by activity j at full speed; units of C per second)
 *   0 < cap_j <= 1;  C_i >= 0: the users of a resource of capacity 0 stand still, x_j = 0
 *
 * All unfrozen speeds rise together; when a resource saturates, or a cap is reached, the activities
 * concerned freeze (Bertsekas & Gallager, Data Networks, 6.5.2; weighted by r_ij). */
#pragma once

#include <glib.h>

typedef struct {
    guint32 resource;
    double rate; /* r_ij > 0 */
} SimUse;

/* `uses` of activity j are uses[first[j] .. first[j+1]-1]; resource indices < n_resources; `cap` NULL:
 * 1 for all. Writes speed[0..n_activities-1]. O(uses * rounds), rounds <= min(activities, resources) + 1
 * + distinct caps. */
void sim_maxmin_solve(guint n_activities, const guint32 *first, const SimUse *uses,
                      guint n_resources, const double *capacity, const double *cap, double *speed);

/* The same with buffers that are kept between calls; all zero is a valid empty one. */
typedef struct {
    guint32 *user_first; /* activities by resource */
    guint32 *users;
    double *user_rate;
    double *level; /* speed at which the resource saturates; infinite when nobody rises on it */
    guint8 *changed;
    gsize n_resources, n_uses;
} SimMaxmin;

void sim_maxmin_solve_in(SimMaxmin *buffers, guint n_activities, const guint32 *first,
                         const SimUse *uses, guint n_resources, const double *capacity,
                         const double *cap, double *speed);
void sim_maxmin_clear(SimMaxmin *buffers);
