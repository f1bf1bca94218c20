/* Lines of Megatron's logs over its versions and launchers. */
#include "config.h"

#include "calibrate/error.h"
#include "calibrate/megatron_log.h"

#include <math.h>
#include <string.h>

static CalibrateMegatronLog *
parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    CalibrateMegatronLog *log = calibrate_megatron_log_parse("a.log", text, strlen(text), &error);
    g_assert_no_error(error);
    return log;
}

static const CalibrateTraining *
run_of(const CalibrateMegatronLog *log, guint i)
{
    g_assert_cmpuint(i, <, log->runs->len);
    return log->runs->pdata[i];
}

static const CalibrateIteration *
line_of(const CalibrateMegatronLog *log, guint i)
{
    return &g_array_index(run_of(log, 0)->iterations, CalibrateIteration, i);
}

/* One line of each of the forms that public logs have. */
static void
test_forms(void)
{
    static const struct {
        const char *line;
        gint64 iteration, batch, skipped;
        double s, tflops;
    } cases[] = {
        /* 2020 */
        {" iteration      100/  1000 | elapsed time per iteration (ms): 1234.5 | learning rate 1.000E-04 | lm loss "
         "7.4 | loss scale 1.0 |",
         100, -1, 0, 1.2345, NAN},
        /* 2021 */
        {" iteration        2/    1000 | consumed samples:         2048 | elapsed time per iteration (ms): 129028.8 | "
         "global batch size:  1024 | number of skipped iterations:   1 | number of nan iterations:   0 |",
         2, 1024, 1, 129.0288, NAN},
        /* Megatron-DeepSpeed, by srun -l */
        {"511:  iteration    13910/  953674 | consumed tokens:  29171384320 | elapsed time per iteration (s): 11.18 | "
         "global batch size:  1024 | samples per second: 91.621 | TFLOPs: 40.83 |",
         13910, 1024, 0, 11.18, 40.83},
        /* with a date, and by torchrun */
        {" [2024-04-06 02:59:36] iteration       43/     100 | elapsed time per iteration (ms): 5444.9 | throughput per "
         "GPU (TFLOP/s/GPU): 239.8 | global batch size:   128 | number of nan iterations:   2 |",
         43, 128, 2, 5.4449, 239.8},
        {"[default3]: iteration       10/  292968 | elapsed time per iteration (s): 35.8651 | global batch size:  1024 "
         "| TFLOPs: 199.03 |",
         10, 1024, 0, 35.8651, 199.03},
        /* this one and the mean so far; a logger's words before it */
        {"[20251202 09:12:08][rank-7/8][INFO ] : iteration 126/ 5000 | elapsed time per iteration (ms): "
         "13372.8/13364.7 | throughput per GPU (TFLOP/s/GPU): 567.6/568.0 | global batch size: 128 |",
         126, 128, 0, 13.3728, 567.6},
        {"iteration 7/infinity | elapsed time per iteration (ms): 10.0 |", 7, -1, 0, 0.01, NAN},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(CalibrateMegatronLog) log = parse(cases[i].line);
        const CalibrateIteration *it = line_of(log, 0);
        g_assert_cmpint(it->iteration, ==, cases[i].iteration);
        g_assert_cmpint(it->global_batch, ==, cases[i].batch);
        g_assert_cmpint(it->skipped, ==, cases[i].skipped);
        g_assert_cmpfloat_with_epsilon(it->s, cases[i].s, 1e-9);
        g_assert_true(isnan(it->tflops) == isnan(cases[i].tflops));
        if (!isnan(it->tflops))
            g_assert_cmpfloat_with_epsilon(it->tflops, cases[i].tflops, 1e-9);
    }
}

#define IT(n, ms) " iteration " #n "/ 100 | elapsed time per iteration (ms): " #ms " |\n"

/* A line twice counts once; numbers that do not rise are a restart; pauses are remembered until the next line. */
static void
test_order(void)
{
    g_autoptr(CalibrateMegatronLog) log = parse(
        IT(1, 50.0) IT(2, 40.0) IT(2, 40.0) " validation loss at iteration 2 | x\n" IT(3, 60.0)
            IT(4, 40.0) "saving checkpoint at iteration 4 to /c\n" IT(3, 41.0) IT(4, 40.0));
    const GArray *lines = run_of(log, 0)->iterations;
    static const struct {
        gint64 iteration;
        guint start;
        gboolean after_pause;
    } expected[] = {{1, 1, FALSE}, {2, 1, FALSE}, {3, 1, TRUE},
                    {4, 1, FALSE}, {3, 2, TRUE},  {4, 2, FALSE}};
    g_assert_cmpuint(log->runs->len, ==, 1);
    g_assert_cmpuint(lines->len, ==, G_N_ELEMENTS(expected));
    for (guint i = 0; i < lines->len; i++) {
        const CalibrateIteration *it = &g_array_index(lines, CalibrateIteration, i);
        g_assert_cmpint(it->iteration, ==, expected[i].iteration);
        g_assert_cmpuint(it->start, ==, expected[i].start);
        g_assert_true(it->after_pause == expected[i].after_pause);
    }
}

static void
test_arguments(void)
{
    g_autoptr(CalibrateMegatronLog) log = parse(
        "  before ........ 1\n"
        "0: ------------------------ arguments ------------------------\n"
        "0:   tensor_model_parallel_size ...................... 4\n"
        "0:   data_path ....................................... ['/a b/c']\n"
        "0:   fp8 ............................................. None\n"
        "0:   wandb_project ................................... \n"
        "1: WARNING: could not find a file ... somewhere\n"
        "0:   check_weight_hash_across_dp_replicas_interval ... None\n"
        "0:   forward-compute ................................: (1, 2)\n"
        "0: -------------------- end of arguments ---------------------\n"
        "0:  > padded vocab (size: 50257) with 431 dummy tokens (new size: 50688)\n"
        "0:   after ........ 1\n"
        "0: [Rank 0] (after 1 iterations) memory (MB) | allocated: 1.0 | max reserved: 2048.0\n"
        "0: [Rank 8] (after 1 iterations) memory (MB) | allocated: 1.0 | max reserved: 1024.0\n" IT(
            1, 5.0) "------------------------ arguments ------------------------\n"
                    "  tensor_model_parallel_size ...................... 8\n" IT(1, 6.0));
    const CalibrateTraining *run = run_of(log, 0);
    g_assert_cmpuint(log->runs->len, ==, 2);
    g_assert_cmpuint(run->line, ==, 2);
    g_assert_cmpstr(calibrate_training_argument(run, "tensor_model_parallel_size"), ==, "4");
    g_assert_cmpstr(calibrate_training_argument(run, "data_path"), ==, "['/a b/c']");
    g_assert_cmpstr(calibrate_training_argument(run, "fp8"), ==, "");
    g_assert_cmpstr(calibrate_training_argument(run, "wandb_project"), ==, "");
    g_assert_cmpstr(calibrate_training_argument(run, "before"), ==, "");
    g_assert_cmpstr(calibrate_training_argument(run, "after"), ==, "");
    g_assert_cmpuint(g_hash_table_size(run->arguments), ==, 5);
    g_assert_cmpint(run->vocab, ==, 50257);
    g_assert_cmpfloat(run->reserved_bytes, ==, 2048.0 * 1048576);
    g_assert_cmpuint(g_hash_table_size(run->ranks), ==, 2);
    g_assert_cmpstr(calibrate_training_argument(run_of(log, 1), "tensor_model_parallel_size"), ==,
                    "8");
    g_assert_cmpint(run_of(log, 1)->vocab, ==, 50257); /* said once */
}

static void
test_torn(void)
{
    static const char *const none[] = {"",
                                       "training ...\n",
                                       " iteration 3/ 10 | lm loss: 1 |\n",
                                       "[exiting program at iteration 6000] datetime: x\n",
                                       IT(1, -5.0),
                                       IT(1, 0.0),
                                       IT(1, nan)};
    for (guint i = 0; i < G_N_ELEMENTS(none); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(calibrate_megatron_log_parse("a.log", none[i], strlen(none[i]), &error));
        g_assert_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_EMPTY);
        g_assert_true(g_str_has_prefix(error->message, "a.log: has no line of an iteration"));
    }
    /* Digits with nothing behind them, another's line in the middle, and two lines as one. */
    static const char *const torn[] = {
        " iteration 2/ 10 | elapsed time per iteration (ms): 12time (ms) | x\n",
        " iteration 2/ 10 | elapsed time per iteration (ms): 5\n",
        " iteration 2/ 10 | elapsed time per iteration (ms): 5 warning: x |\n",
        " iteration 2/ 10 | elapsed time per iteration (ms): 5 iteration 9/ 10 | global batch size: 8 |\n",
        " iteration 2/ 10 | elap iteration 9/ 10 | elapsed time per iteration (ms): 7.0 |\n",
        " iteration 2/ 10 | elapsed time per iteration 9/ 10 | elapsed time per iteration (ms): 7.0 |\n",
        " iteration 2/ 10 | consumed samples: 8 | elap 9/ 10 | consumed samples: 16 | elapsed time per iteration "
        "(ms): 7.0 |\n",
    };
    for (guint i = 0; i < G_N_ELEMENTS(torn); i++) {
        g_autofree char *text = g_strconcat(IT(1, 5.0), torn[i], IT(3, 6.0), NULL);
        g_autoptr(CalibrateMegatronLog) log = parse(text);
        g_assert_cmpuint(run_of(log, 0)->iterations->len, ==, 2);
        g_assert_cmpint(line_of(log, 1)->iteration, ==, 3);
        g_assert_cmpuint(log->notes->len, ==, 1);
        g_assert_true(g_str_has_prefix(log->notes->pdata[0], "a.log:2: "));
    }
    /* A batch that lost its last digit is none. */
    g_autoptr(CalibrateMegatronLog) cut =
        parse(" iteration 2/ 10 | elapsed time per iteration (ms): 5.0 | global batch size:  12");
    g_assert_cmpint(line_of(cut, 0)->global_batch, ==, -1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("a log of Megatron is its arguments and its iterations, whoever launched it");
    g_test_add_func("/calibrate/megatron-log/forms-of-lines", test_forms);
    g_test_add_func("/calibrate/megatron-log/order-of-lines", test_order);
    g_test_add_func("/calibrate/megatron-log/arguments", test_arguments);
    g_test_add_func("/calibrate/megatron-log/torn-lines", test_torn);
    return g_test_run();
}
