/* Random streams: fixed values, independence by name, plausible moments. */
#include "config.h"

#include "sim/random.h"

#include <math.h>

static void
test_known(void)
{
    /* xoshiro256** from state 1, 2, 3, 4: the first outputs follow by hand from its definition:
     * rotl(2 * 5, 7) * 9 = 11520; then s1 becomes 0, so 0; then s1 = 262149... */
    SimRandom r = {{1, 2, 3, 4}};
    g_assert_cmpuint(sim_random_bits(&r), ==, 11520);
    g_assert_cmpuint(sim_random_bits(&r), ==, 0);
    g_assert_cmpuint(sim_random_bits(&r), ==, 1509978240);
    g_assert_cmpuint(sim_random_bits(&r), ==, G_GUINT64_CONSTANT(1215971899390074240));
}

static void
test_fixed(void)
{
    /* Pinned: a change here would silently change every published simulation. */
    static const struct {
        guint64 seed;
        const char *name;
        guint64 index, bits[2];
    } cases[] = {
        {0,
         "",
         0,
         {G_GUINT64_CONSTANT(0xfd791e314558547f), G_GUINT64_CONSTANT(0xe15c8004c31158de)}},
        {1,
         "failures",
         0,
         {G_GUINT64_CONSTANT(0x4f067f75a05a527e), G_GUINT64_CONSTANT(0xbb2a807f0a72d3b2)}},
        {1,
         "failures",
         7,
         {G_GUINT64_CONSTANT(0xba013b120331dc63), G_GUINT64_CONSTANT(0x3a0f383157c76990)}},
        {42,
         "jitter",
         3,
         {G_GUINT64_CONSTANT(0xcaa8947e4fb93c55), G_GUINT64_CONSTANT(0x080e08c3b4d85b92)}},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        SimRandom r = sim_random_init(cases[i].seed, cases[i].name, cases[i].index);
        for (guint k = 0; k < 2; k++)
            g_assert_cmphex(sim_random_bits(&r), ==, cases[i].bits[k]);
    }
}

static void
test_independence(void)
{
    /* Streams that differ in name, seed or index agree in half their bits, as strangers do; seed and
     * index are not interchangeable. */
    const SimRandom base = sim_random_init(1, "failures", 2);
    const SimRandom others[] = {sim_random_init(1, "repairs", 2), sim_random_init(2, "failures", 1),
                                sim_random_init(1, "failures", 3),
                                sim_random_init(0, "failures", 2)};
    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        SimRandom a = base, b = others[i];
        guint n_equal = 0;
        for (guint k = 0; k < 1000; k++)
            n_equal += 64 - (guint)__builtin_popcountll(sim_random_bits(&a) ^ sim_random_bits(&b));
        g_assert_cmpuint(n_equal, >, 31000);
        g_assert_cmpuint(n_equal, <, 33000);
    }
    SimRandom a = base, b = sim_random_init(1, "failures", 2);
    for (guint k = 0; k < 100; k++)
        g_assert_cmpuint(sim_random_bits(&a), ==, sim_random_bits(&b));
}

static void
test_uniform(void)
{
    SimRandom r = sim_random_init(7, "uniform", 0);
    double sum = 0;
    guint n = 100000;
    for (guint i = 0; i < n; i++) {
        double u = sim_random_uniform(&r);
        g_assert_true(u >= 0 && u < 1);
        sum += u;
    }
    /* The mean of n has deviation 1 / sqrt(12 n) = 0.0009. */
    g_assert_cmpfloat(fabs(sum / n - 0.5), <, 0.004);
}

static void
test_normal(void)
{
    SimRandom r = sim_random_init(7, "normal", 0);
    double sum = 0, squares = 0;
    guint n = 100000, n_far = 0;
    for (guint i = 0; i < n; i++) {
        double x = sim_random_normal(&r);
        sum += x;
        squares += x * x;
        n_far += fabs(x) > 2;
    }
    g_assert_cmpfloat(fabs(sum / n), <, 0.015);
    g_assert_cmpfloat(fabs(squares / n - 1), <, 0.02);
    g_assert_cmpfloat(fabs((double)n_far / n - 0.0455), <, 0.003); /* beyond two deviations */
}

static void
test_below(void)
{
    SimRandom r = sim_random_init(7, "below", 0);
    guint count[6] = {0};
    for (guint i = 0; i < 60000; i++)
        count[sim_random_below(&r, 6)]++;
    for (guint i = 0; i < 6; i++) {
        g_assert_cmpuint(count[i], >, 9600); /* 10000, deviation 91 */
        g_assert_cmpuint(count[i], <, 10400);
    }
    for (guint i = 0; i < 100; i++)
        g_assert_cmpuint(sim_random_below(&r, 1), ==, 0);
    for (guint i = 0; i < 1000; i++)
        g_assert_cmpuint(sim_random_below(&r, 3u << 30), <, 3u << 30);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sim/random/generator-follows-its-definition", test_known);
    g_test_add_func("/sim/random/streams-are-pinned", test_fixed);
    g_test_add_func("/sim/random/streams-are-independent-by-name-seed-index", test_independence);
    g_test_add_func("/sim/random/uniform-lies-in-0-to-1", test_uniform);
    g_test_add_func("/sim/random/normal-has-mean-0-deviation-1", test_normal);
    g_test_add_func("/sim/random/below-is-unbiased", test_below);
    return g_test_run();
}
