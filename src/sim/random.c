/* Named random streams: FNV-1a 64 of the name, mixed with seed and index through splitmix64, seeds
 * xoshiro256** (Blackman & Vigna, Scrambled linear pseudorandom number generators, 2021). */
#include "config.h"

#include "sim/random.h"

#include <math.h>

static guint64
fnv1a(const char *text)
{
    guint64 hash = G_GUINT64_CONSTANT(0xcbf29ce484222325);
    for (; *text; text++) {
        hash ^= (guchar)*text;
        hash *= G_GUINT64_CONSTANT(0x100000001b3);
    }
    return hash;
}

static guint64
splitmix64(guint64 *state)
{
    guint64 z = *state += G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

SimRandom
sim_random_init(guint64 seed, const char *name, guint64 index)
{
    /* Each part passes through the mixer before the next one joins, so that (seed 1, index 2) and
     * (seed 2, index 1) have nothing in common. */
    guint64 state = fnv1a(name);
    state = splitmix64(&state) ^ seed;
    state = splitmix64(&state) ^ index;
    SimRandom r;
    for (guint i = 0; i < G_N_ELEMENTS(r.state); i++)
        r.state[i] = splitmix64(&state); /* four outputs of a bijection: never all zero */
    return r;
}

static guint64
rotate_left(guint64 x, guint by)
{
    return x << by | x >> (64 - by);
}

guint64
sim_random_bits(SimRandom *r)
{
    guint64 *s = r->state, result = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double
sim_random_uniform(SimRandom *r)
{
    return (double)(sim_random_bits(r) >> 11) * 0x1p-53;
}

double
sim_random_normal(SimRandom *r)
{
    /* Marsaglia's polar method; the second deviate is dropped, so that the state is the stream. */
    for (;;) {
        double u = 2 * sim_random_uniform(r) - 1, v = 2 * sim_random_uniform(r) - 1;
        double s = u * u + v * v;
        if (s > 0 && s < 1)
            return u * sqrt(-2 * log(s) / s);
    }
}

guint32
sim_random_below(SimRandom *r, guint32 n)
{
    g_assert(n > 0);
    /* Lemire's method: the high half of a 32 x 32 bit product, rejecting the short first bucket. */
    guint32 short_bucket = (guint32)-n % n;
    for (;;) {
        guint64 product = (sim_random_bits(r) >> 32) * n;
        if ((guint32)product >= short_bucket)
            return (guint32)(product >> 32);
    }
}
