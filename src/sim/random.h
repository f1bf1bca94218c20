/* Named streams of random numbers: adding a draw in one place moves no other.
 * A stream is seeded by (seed, name, index) through a fixed hash; the generator is xoshiro256**. */
#pragma once

#include <glib.h>

typedef struct {
    guint64 state[4];
} SimRandom;

SimRandom sim_random_init(guint64 seed, const char *name, guint64 index);
guint64 sim_random_bits(SimRandom *r);
double sim_random_uniform(SimRandom *r);           /* [0, 1) */
double sim_random_normal(SimRandom *r);            /* mean 0, deviation 1 */
guint32 sim_random_below(SimRandom *r, guint32 n); /* 0..n-1, unbiased */
