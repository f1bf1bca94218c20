/* Lists of shapes, and the command line. */
#include "config.h"

#include "calib/options.h"
#include "calib/row.h"
#include "calib/shapes.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static void
test_good(void)
{
    char text[] = "# what a step needs\n\ngemm\tbf16\twgrad\t4096\t1024\t8192\t1\t1\t32\r\n"
                  "gemm fp8 forward 65536 2048 7168 1 8\n"
                  "attention bf16 2 32 8 128 4096 1 64\n"
                  "memory norm 33554432 128\n"
                  "collective all_gather bf16 16 2 1048576";
    CalibShapes s;
    CalibError error;
    g_assert_true(calib_shapes_parse("shapes.tsv", text, &s, &error));
    g_assert_cmpuint(s.n, ==, 5);
    g_assert_cmpint(s.shapes[0].what.gemm.pass, ==, CALIB_WGRAD);
    g_assert_cmpint(s.shapes[0].what.gemm.k, ==, 8192);
    g_assert_cmpfloat(s.shapes[0].calls, ==, 32);
    g_assert_cmpint(s.shapes[1].what.gemm.groups, ==, 8);
    g_assert_cmpint(s.shapes[1].what.gemm.dtype, ==, CALIB_FP8);
    g_assert_cmpfloat(s.shapes[1].calls, ==, 1);
    g_assert_cmpint(s.shapes[2].what.attention.kv_heads, ==, 8);
    g_assert_true(s.shapes[2].what.attention.causal);
    g_assert_cmpint(s.shapes[3].what.memory.kernel, ==, CALIB_NORM);
    g_assert_cmpint(s.shapes[4].what.collective.nodes, ==, 2);
    calib_shapes_clear(&s);
}

static void
test_bad(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"gem bf16 forward 1 1 1 1 1\n",
         "s:1: no kind of shape: 'gem'; write gemm, attention, memory or collective first"},
        {"\n#\ngemm bf16 forward 1 1 1 1\n",
         "s:3: too few or too many words after 'gemm'; write gemm dtype pass m n k batch groups "
         "[calls]"},
        {"gemm bf32 forward 1 1 1 1 1\n",
         "s:1: no dtype: 'bf32'; write fp32, tf32, fp16, bf16 or fp8"},
        {"gemm bf16 backward 1 1 1 1 1\n",
         "s:1: no pass: 'backward'; write forward, dgrad or wgrad"},
        {"gemm bf16 forward 0 1 1 1 1\n", "s:1: no size: '0'; write a whole number of at least 1"},
        {"gemm bf16 forward 1 1 -5 1 1\n",
         "s:1: no size: '-5'; write a whole number of at least 1"},
        {"gemm bf16 forward 1 1 3000000000 1 1\n",
         "s:1: no size: '3000000000'; write a whole number of at least 1"},
        {"gemm bf16 forward 8 8 8 2 2\n",
         "s:1: batch and groups both above 1: '2'; write 1 for one of them"},
        {"gemm bf16 forward 8 8 8 1 1 nan\n",
         "s:1: no number of calls: 'nan'; write a number above "
         "0"},
        {"attention bf16 1 32 5 128 512 1\n",
         "s:1: no divisor of heads: '5'; write kv_heads that heads are a multiple of"},
        {"attention bf16 1 32 8 128 512 yes\n", "s:1: neither causal nor not: 'yes'; write 0 or 1"},
        {"memory launch 4\n", "s:1: no kernel: 'launch'; write copy, norm, softmax, add, adam or "
                              "another of memory.tsv"},
        {"collective copy bf16 2 1 8\n",
         "s:1: no collective: 'copy'; write all_reduce, all_gather, "
         "reduce_scatter, all_to_all, broadcast or send_recv"},
        {"collective all_reduce bf16 5 2 8\n",
         "s:1: no group of as many ranks on each node: '5'; write a multiple of nodes, at least 2"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strdup(cases[i].text);
        CalibShapes s = {.n = 77};
        CalibError error = {{0}};
        g_assert_false(calib_shapes_parse("s", text, &s, &error));
        g_assert_cmpstr(error.text, ==, cases[i].message);
        g_assert_cmpuint(s.n, ==, 77);
    }
}

static CalibOptionsStatus
parse(const char *line, CalibOptions *ret, CalibError *error)
{
    char **words = g_strsplit(line, " ", -1);
    CalibOptionsStatus status = calib_options_parse((int)g_strv_length(words), words, ret, error);
    g_strfreev(words); /* texts are not looked at */
    return status;
}

static void
test_options(void)
{
    CalibOptions o;
    CalibError error;
    g_assert_cmpint(
        parse("x -o d --budget=1.5h --only gemm,overlap --dtypes fp8 --resume", &o, &error), ==,
        CALIB_OPTIONS_RUN);
    g_assert_cmpfloat(o.budget_s, ==, 5400);
    g_assert_true(o.kinds[CALIB_CASE_GEMM] && o.kinds[CALIB_CASE_OVERLAP]);
    g_assert_false(o.kinds[CALIB_CASE_MEMORY] || o.kinds[CALIB_CASE_COLLECTIVE]);
    g_assert_true(o.dtypes[CALIB_FP8] && !o.dtypes[CALIB_BF16] && o.dtypes_given && o.resume);
    g_assert_cmpint(o.launch.rank, ==, -1);
    g_assert_cmpint(parse("x -o d", &o, &error), ==, CALIB_OPTIONS_RUN);
    g_assert_cmpfloat(o.budget_s, ==, 600);
    g_assert_true(o.kinds[CALIB_CASE_MEMORY] && !o.resume && !o.dry_run);
    g_assert_cmpint(parse("x -o d --rank 1 --world 4 --rendezvous f", &o, &error), ==,
                    CALIB_OPTIONS_RUN);
    g_assert_cmpint(o.launch.world, ==, 4);
}

static void
test_bad_options(void)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"x", "-o is missing; write -o DIR, where the tables go"},
        {"x -o", "-o: needs a value; see --help"},
        {"x -o d --quick", "--quick: no such option; see --help"},
        {"x -o d more", "'more' is no option; see --help"},
        {"x -o d --budget 10", "--budget: '10' is no time; write for example 10min"},
        {"x -o d --budget -3s", "--budget: '-3s' is no time; write for example 10min"},
        {"x -o d --only gemm,gems", "--only: 'gems' is none; write some of gemm, memory, "
                                    "attention, collective, overlap with commas between"},
        {"x -o d --dtypes int8", "--dtypes: 'int8' is none; write some of fp32, tf32, fp16, bf16, "
                                 "fp8 with commas between"},
        {"x -o d --rank 1", "--rank, --world and --rendezvous belong together; write all three"},
        {"x -o d --rank 4 --world 4 --rendezvous f", "--rank: 4 is not one of 4; write 0 to 3"},
        {"x -o d --world 0", "--world: '0' is no number; write a whole number from 1 on"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        CalibOptions o = {.budget_s = 77};
        CalibError error = {{0}};
        g_assert_cmpint(parse(cases[i].line, &o, &error), ==, CALIB_OPTIONS_WRONG);
        g_assert_cmpstr(error.text, ==, cases[i].message);
        g_assert_cmpfloat(o.budget_s, ==, 77);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/calib/shapes/good", test_good);
    g_test_add_func("/calib/shapes/bad", test_bad);
    g_test_add_func("/calib/options/good", test_options);
    g_test_add_func("/calib/options/bad", test_bad_options);
    return g_test_run();
}
