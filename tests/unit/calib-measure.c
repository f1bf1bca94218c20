/* Timing one case until it is steady; orders to other ranks. */
#include "config.h"

#include <signal.h>
#include <unistd.h>

#include "calib/follow.h"
#include "calib/measure.h"

#include "calib-recorded.h"

static CalibCase
gemm(int64_t size)
{
    CalibCase what = {.kind = CALIB_CASE_GEMM};
    what.gemm = (CalibGemm){CALIB_BF16, CALIB_FORWARD, size, size, size, 1, 1};
    return what;
}

static CalibCase
all_reduce(int64_t bytes)
{
    CalibCase what = {.kind = CALIB_CASE_COLLECTIVE};
    what.collective = (CalibCollective){CALIB_ALL_REDUCE, CALIB_BF16, 8, 1, false, bytes};
    return what;
}

static CalibTime
measure(Recorded *r, const CalibCase *what, double limit_s)
{
    CalibBackend backend = recorded_backend(r);
    CalibError error;
    CalibTime time;
    CalibStatus status =
        calib_measure(&backend, r->machine.world, what, false, limit_s, &time, &error);
    g_assert_cmpint(status, ==, CALIB_OK);
    return time;
}

/* A hiccup of 38 % and others among quiet samples: pilot and one round, and the median is the quiet time. */
static void
test_quiet(void)
{
    Recorded r = recorded_new(8);
    CalibCase what = gemm(8192);
    CalibTime time = measure(&r, &what, 10);
    g_assert_true(time.steady);
    g_assert_cmpuint(r.n_runs, ==, 2);
    g_assert_cmpfloat(fabs(time.us[0] / recorded_us(&r, &what, 0) - 1), <, 0.003);
    g_assert_cmpuint(time.samples, ==, 9);
}

/* Events resolve half a microsecond: a kernel of 3 us is timed over 100 calls and more, and comes out to 0.3 %. */
static void
test_short_kernels(void)
{
    Recorded r = recorded_new(8);
    CalibCase what = gemm(128);
    r.resolution_us = 0.5;
    double us = recorded_us(&r, &what, 0);
    CalibTime time = measure(&r, &what, 10);
    g_assert_cmpuint(time.calls, >=, 20);
    g_assert_cmpfloat(time.calls * us, >=, 300);
    g_assert_cmpfloat(fabs(time.us[0] / us - 1), <, 0.003);
    CalibCase large = gemm(16384);
    g_assert_cmpuint(measure(&r, &large, 10).calls, ==, 1);
}

/* Samples 10 % apart stay so: every round is tried, and the row says that it is not steady. */
static void
test_restless(void)
{
    Recorded r = recorded_new(8);
    CalibCase what = gemm(8192);
    r.restless = TRUE;
    CalibTime time = measure(&r, &what, 10);
    g_assert_false(time.steady);
    g_assert_cmpuint(r.n_runs, ==, 5);
    g_assert_cmpfloat(time.spread_frac, >, CALIB_STEADY_FRAC);
    /* no time for more than the first round */
    r.n_runs = 0;
    g_assert_false(measure(&r, &what, 0.0).steady);
    g_assert_cmpuint(r.n_runs, ==, 2);
}

/* Clocks that rise over 30 ms: the first round is still on the ramp, a later one is not, and only that counts. */
static void
test_clock_ramp(void)
{
    Recorded r = recorded_new(8);
    CalibCase what = gemm(8192);
    r.ramp_us = 30000;
    CalibTime time = measure(&r, &what, 10);
    g_assert_true(time.steady);
    g_assert_cmpuint(r.n_runs, >, 2);
    g_assert_cmpfloat(fabs(time.us[0] / recorded_us(&r, &what, 0) - 1), <, 0.004);
}

static void
test_overlap(void)
{
    Recorded r = recorded_new(8);
    CalibCase what = {.kind = CALIB_CASE_OVERLAP};
    what.overlap.work = CALIB_WORK_MEMORY;
    what.overlap.memory = (CalibMemory){CALIB_COPY, 1 << 30};
    what.overlap.traffic = all_reduce(1 << 28).collective;
    what.overlap.channels = 8;
    CalibTime time = measure(&r, &what, 10);
    for (unsigned t = 0; t < CALIB_OVERLAP_TIMES; t++)
        g_assert_cmpfloat(fabs(time.us[t] / recorded_us(&r, &what, t) - 1), <, 0.003);
}

/* Rank 0 of two tells the other what comes; a follower does the same runs and goes home when it is told to. */
static CalibStatus
play_back(void *state, void *data, size_t size, CalibError *error)
{
    Recorded *r = state;
    (void)error;
    g_assert_cmpuint(r->n_played + size, <=, r->orders->len);
    memcpy(data, r->orders->data + r->n_played, size);
    r->n_played += (guint)size;
    return CALIB_OK;
}

static void
test_ranks(void)
{
    Recorded leader = recorded_new(8), follower = recorded_new(8);
    CalibBackend backend = recorded_backend(&leader);
    CalibError error;
    CalibCase shared = all_reduce(1 << 20), alone = gemm(1024);
    leader.machine.world = 2;
    leader.orders = g_byte_array_new();
    measure(&leader, &alone, 10);
    g_assert_cmpuint(leader.n_shared, ==, 0);
    unsigned before = leader.n_runs;
    measure(&leader, &shared, 10);
    g_assert_cmpuint(leader.n_shared, ==, leader.n_runs - before);
    g_assert_cmpint(calib_dismiss(&backend, 2, NULL, &error), ==, CALIB_OK);

    follower.orders = leader.orders;
    CalibBackend other = recorded_backend(&follower);
    other.share = play_back;
    g_assert_cmpint(calib_follow(&other, &error), ==, CALIB_OK);
    g_assert_cmpuint(follower.n_runs, ==, leader.n_runs - before);
    g_assert_cmpuint(follower.last.calls, ==, leader.last.calls);
    g_assert_cmpuint(follower.n_played, ==, leader.orders->len);

    /* rank 0 fails alone: the other ends with what it said */
    const CalibError disk = {"gemm.tsv.part: No space left on device"};
    g_assert_cmpint(calib_dismiss(&backend, 2, &disk, &error), ==, CALIB_OK);
    g_assert_cmpint(calib_follow(&other, &error), ==, CALIB_FAILED);
    g_assert_cmpstr(error.text, ==, disk.text);
    g_byte_array_unref(leader.orders);
}

static void
test_failure(void)
{
    Recorded r = recorded_new(8);
    CalibBackend backend = recorded_backend(&r);
    CalibCase what = gemm(1024);
    CalibTime time = {.samples = 7};
    CalibError error;
    r.fail_at = 2;
    g_assert_cmpint(calib_measure(&backend, 1, &what, false, 10, &time, &error), ==, CALIB_FAILED);
    g_assert_cmpstr(error.text, ==, "recorded.c:1: ncclAllReduce: rank 3 is lost");
    g_assert_cmpuint(time.samples, ==, 7);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/calib/measure/quiet-cases-take-one-round", test_quiet);
    g_test_add_func("/calib/measure/short-kernels-are-timed-over-many-calls", test_short_kernels);
    g_test_add_func("/calib/measure/restless-cases-are-flagged", test_restless);
    g_test_add_func("/calib/measure/rounds-on-a-clock-ramp-do-not-count", test_clock_ramp);
    g_test_add_func("/calib/measure/overlaps-have-four-times", test_overlap);
    g_test_add_func("/calib/measure/other-ranks-follow", test_ranks);
    g_test_add_func("/calib/measure/failures-leave-the-result-untouched", test_failure);
    return g_test_run();
}
