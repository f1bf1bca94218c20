/* Progressive filling: all unfrozen speeds rise together until a resource saturates; its users freeze
 * at that level and the others go on; so does an activity that reaches its own cap.
 *
 *   level of resource i = (C_i - sum over frozen j of r_ij x_j) / sum over rising j of r_ij
 *
 * Sums are formed anew for every resource that changed rather than updated by differences, so that
 * rates of very different size do not cancel. */
#include "config.h"

#include "sim/maxmin.h"

#include <math.h>

/* Levels this close are one level: resources that saturate together differ only by rounding. */
#define SAME_LEVEL 1e-12
/* The speed of an activity that is not frozen yet. */
#define RISING (-1.0)

void
sim_maxmin_clear(SimMaxmin *b)
{
    g_free(b->user_first);
    g_free(b->users);
    g_free(b->user_rate);
    g_free(b->level);
    g_free(b->changed);
    *b = (SimMaxmin){0};
}

static void
reserve(SimMaxmin *b, gsize n_resources, gsize n_uses)
{
    if (b->n_resources < n_resources || !b->level) {
        b->n_resources = MAX(16, 2 * n_resources);
        b->user_first = g_renew(guint32, b->user_first, b->n_resources + 1);
        b->level = g_renew(double, b->level, b->n_resources);
        b->changed = g_renew(guint8, b->changed, b->n_resources);
    }
    if (b->n_uses < n_uses || !b->users) {
        b->n_uses = MAX(16, 2 * n_uses);
        b->users = g_renew(guint32, b->users, b->n_uses);
        b->user_rate = g_renew(double, b->user_rate, b->n_uses);
    }
}

/* Turns "uses by activity" into "users by resource", each list in order of activity. */
static void
transpose(SimMaxmin *b, guint n_activities, const guint32 *first, const SimUse *uses,
          guint n_resources)
{
    guint32 n_uses = first[n_activities];
    for (guint i = 0; i <= n_resources; i++)
        b->user_first[i] = 0;
    for (guint32 u = 0; u < n_uses; u++) {
        g_assert(uses[u].resource < n_resources);
        b->user_first[uses[u].resource]++;
    }
    guint32 end = 0;
    for (guint i = 0; i <= n_resources; i++)
        b->user_first[i] = end += b->user_first[i];
    for (guint j = n_activities; j-- > 0;)
        for (guint32 u = first[j + 1]; u-- > first[j];) {
            guint32 place = --b->user_first[uses[u].resource];
            b->users[place] = j;
            b->user_rate[place] = uses[u].rate;
        }
}

static double
saturation_level(const SimMaxmin *b, guint i, double capacity, const double *speed)
{
    double frozen = 0, rising = 0;
    for (guint32 u = b->user_first[i]; u < b->user_first[i + 1]; u++) {
        double x = speed[b->users[u]];
        if (x >= 0)
            frozen += b->user_rate[u] * x;
        else
            rising += b->user_rate[u];
    }
    return rising > 0 ? (capacity - frozen) / rising : INFINITY;
}

static void
freeze(SimMaxmin *b, guint32 j, double level, const guint32 *first, const SimUse *uses,
       double *speed)
{
    speed[j] = level;
    for (guint32 u = first[j]; u < first[j + 1]; u++)
        b->changed[uses[u].resource] = TRUE;
}

static guint
freeze_users(SimMaxmin *b, guint i, double level, const guint32 *first, const SimUse *uses,
             double *speed)
{
    guint n = 0;
    for (guint32 v = b->user_first[i]; v < b->user_first[i + 1]; v++) {
        guint32 j = b->users[v];
        if (speed[j] >= 0)
            continue;
        freeze(b, j, level, first, uses, speed);
        n++;
    }
    return n;
}

/* Freezes those that still rise and have reached their cap; *ret_next: the lowest cap of the others. */
static guint
freeze_capped(SimMaxmin *b, guint n_activities, double level, const double *cap,
              const guint32 *first, const SimUse *uses, double *speed, double *ret_next)
{
    guint n = 0;
    *ret_next = 1;
    for (guint32 j = 0; j < n_activities; j++) {
        if (speed[j] >= 0)
            continue;
        if (cap[j] > level) {
            *ret_next = MIN(*ret_next, cap[j]);
            continue;
        }
        freeze(b, j, cap[j], first, uses, speed);
        n++;
    }
    return n;
}

static void
refresh_levels(SimMaxmin *b, guint n_resources, const double *capacity, const double *speed)
{
    for (guint i = 0; i < n_resources; i++)
        if (b->changed[i]) {
            b->level[i] = saturation_level(b, i, capacity[i], speed);
            b->changed[i] = FALSE;
        }
}

void
sim_maxmin_solve_in(SimMaxmin *b, guint n_activities, const guint32 *first, const SimUse *uses,
                    guint n_resources, const double *capacity, const double *cap, double *speed)
{
    reserve(b, n_resources, first[n_activities]);
    transpose(b, n_activities, first, uses, n_resources);
    double next_cap = 1, floor = 0;
    for (guint j = 0; j < n_activities; j++) {
        speed[j] = RISING;
        if (cap)
            next_cap = MIN(next_cap, cap[j]);
    }
    for (guint i = 0; i < n_resources; i++)
        b->changed[i] = TRUE;
    refresh_levels(b, n_resources, capacity, speed);
    for (guint n_rising = n_activities; n_rising > 0;) {
        double level = INFINITY;
        for (guint i = 0; i < n_resources; i++)
            level = MIN(level, b->level[i]);
        if (level >= next_cap * (1 - SAME_LEVEL)) {
            if (!cap || next_cap >= 1)
                break;
            floor = MAX(floor, next_cap);
            n_rising -=
                freeze_capped(b, n_activities, next_cap, cap, first, uses, speed, &next_cap);
        } else {
            level = floor = MAX(level, floor); /* rounding must not let a later level fall */
            for (guint i = 0; i < n_resources; i++)
                if (b->level[i] <= level * (1 + SAME_LEVEL))
                    n_rising -= freeze_users(b, i, level, first, uses, speed);
        }
        refresh_levels(b, n_resources, capacity, speed);
    }
    for (guint j = 0; j < n_activities; j++)
        if (speed[j] < 0)
            speed[j] = 1;
}

void
sim_maxmin_solve(guint n_activities, const guint32 *first, const SimUse *uses, guint n_resources,
                 const double *capacity, const double *cap, double *speed)
{
    SimMaxmin buffers = {0};
    sim_maxmin_solve_in(&buffers, n_activities, first, uses, n_resources, capacity, cap, speed);
    sim_maxmin_clear(&buffers);
}
