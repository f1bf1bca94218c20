/* Normal deviates without a state: one for each word of 64 random bits, so that the k-th draw of a stream is known
 * without those before it.
 *
 * z = sign * Q(u), the sign being one bit and Q the quantile of |z|, Q(u) = x with erf(x / sqrt 2) = u.  Q is a
 * straight line between 2048 equally likely values, but for the last cell, where it is solved for.  The values are
 * rounded to 2^-24, so that the last bit of a machine's erf does not matter. */
#pragma once

#include <glib.h>

#define SIM_NORMAL_CELLS 2048

typedef struct {
    double edge[SIM_NORMAL_CELLS]; /* Q(i / cells) */
} SimNormal;

void sim_normal_init(SimNormal *normal);
/* |z| in the last cell, `frac` (0..1) into it. */
double sim_normal_tail(double frac);

static inline double
sim_normal_draw(const SimNormal *normal, guint64 bits)
{
    guint cell = (guint)(bits >> 52) % SIM_NORMAL_CELLS;
    double into = (double)(gint64)(bits & ((G_GUINT64_CONSTANT(1) << 52) - 1)) * 0x1p-52;
    const double *edge = normal->edge + cell;
    double size = G_LIKELY(cell + 1 < SIM_NORMAL_CELLS) ? edge[0] + (edge[1] - edge[0]) * into
                                                        : sim_normal_tail(into);
    return bits >> 63 ? -size : size;
}

/* The n-th word of a stream of random bits that `key` names (splitmix64's n-th output). */
static inline guint64
sim_normal_bits(guint64 key, guint64 n)
{
    guint64 z = key + (n + 1) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
    return z ^ (z >> 31);
}
