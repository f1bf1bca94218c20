/* What is planned, in which order, and how it goes on after answers. */
#include "config.h"

#include <unistd.h>
#include <signal.h>

#include "calib/plan.h"

#include "calib-recorded.h"

static CalibSweepSpec
spec_of(const Recorded *r, const CalibShapes *named)
{
    CalibSweepSpec spec = {.machine = &r->machine, .gpu = r->gpu, .named = named};
    for (int kind = 0; kind < CALIB_N_CASES; kind++)
        spec.kinds[kind] = true;
    spec.dtypes[CALIB_BF16] = spec.dtypes[CALIB_FP8] = true;
    return spec;
}

static CalibRow
answer(const Recorded *r, const CalibCase *what)
{
    CalibRow row = {.what = *what, .steady = true};
    for (unsigned t = 0; t < CALIB_OVERLAP_TIMES; t++)
        row.us[t] = recorded_us(r, what, t);
    return row;
}

/* Each case once, and within the GPU's memory; stages of a kind in order; the device first. */
static void
test_order(void)
{
    Recorded r = recorded_new(8);
    CalibShapes none = {0};
    CalibSweepSpec spec = spec_of(&r, &none);
    CalibPlan *plan = calib_plan_new(&spec);
    GArray *seen = g_array_new(FALSE, FALSE, sizeof(CalibCase));
    int stage[CALIB_N_CASES] = {0};
    CalibPoint point;
    for (guint n = 0; calib_plan_left(plan).n > 0 && calib_plan_next(plan, &point); n++) {
        if (point.stage == CALIB_STAGE_REFINE) { /* until the other kinds are through */
            calib_plan_tell(plan, NULL, 0.01);
            continue;
        }
        if (n == 0)
            g_assert_cmpint(point.stage, ==, CALIB_STAGE_DEVICE);
        g_assert_cmpint(point.stage, >=, stage[point.what.kind]);
        stage[point.what.kind] = point.stage;
        g_assert_cmpint(calib_case_footprint_bytes(&point.what), <,
                        r.machine.memory_free_bytes / 2);
        for (guint i = 0; i < seen->len; i++)
            g_assert_cmpint(calib_case_compare(&g_array_index(seen, CalibCase, i), &point.what), !=,
                            0);
        g_array_append_val(seen, point.what);
        CalibRow row = answer(&r, &point.what);
        calib_plan_tell(plan, &row, 0.01);
    }
    g_assert_cmpuint(seen->len, >, 1000);
    for (int kind = 0; kind < CALIB_N_CASES; kind++)
        g_assert_cmpint(stage[kind], ==, CALIB_STAGE_FINE);
    g_array_unref(seen);
    calib_plan_free(plan);
}

/* Named shapes come before grids, what a step spends most time in first, each once, and whatever dtype grids have. */
static void
test_named(void)
{
    char text[] = "gemm bf16 forward 512 512 512 1 1 1\n"
                  "gemm fp16 wgrad 8192 8192 8192 1 1 10\n"
                  "gemm bf16 forward 4096 4096 4096 1 1 2\n"
                  "gemm bf16 forward 4096 4096 4096 1 1 2\n"
                  "attention bf16 1 32 8 128 4096 1 64\n";
    Recorded r = recorded_new(1);
    CalibShapes named;
    CalibError error;
    g_assert_true(calib_shapes_parse("s", text, &named, &error));
    CalibSweepSpec spec = spec_of(&r, &named);
    CalibPlan *plan = calib_plan_new(&spec);
    CalibPoint point;
    guint n = 0;
    GString *order = g_string_new(NULL);
    g_assert_cmpuint(calib_plan_n_named_left(plan), ==, 4);
    while (calib_plan_next(plan, &point) && point.stage <= CALIB_STAGE_NAMED) {
        if (point.stage == CALIB_STAGE_NAMED && point.what.kind == CALIB_CASE_GEMM)
            g_string_append_printf(order, "%d ", (int)point.what.gemm.m);
        n += point.stage == CALIB_STAGE_NAMED;
        CalibRow row = answer(&r, &point.what);
        calib_plan_tell(plan, &row, 0.01);
    }
    g_assert_cmpuint(n, ==, 4);
    g_assert_cmpuint(calib_plan_n_named_left(plan), ==, 0);
    g_assert_cmpstr(order->str, ==, "8192 4096 512 ");
    g_string_free(order, TRUE);
    calib_shapes_clear(&named);
    calib_plan_free(plan);
}

/* Every op over 2 to 8 GPUs, from 8 B to where memory ends; all ranks' slices whole. */
static void
test_collectives(void)
{
    Recorded r = recorded_new(8);
    CalibShapes none = {0};
    CalibSweepSpec spec = spec_of(&r, &none);
    for (int kind = 0; kind < CALIB_N_CASES; kind++)
        spec.kinds[kind] = kind == CALIB_CASE_COLLECTIVE;
    CalibPlan *plan = calib_plan_new(&spec);
    guint counts[CALIB_N_OPS][9] = {{0}};
    int64_t least[CALIB_N_OPS], most[CALIB_N_OPS] = {0};
    for (int op = 0; op < CALIB_N_OPS; op++)
        least[op] = INT64_MAX;
    for (CalibPoint point; calib_plan_next(plan, &point);) {
        const CalibCollective *c = &point.what.collective;
        counts[c->op][c->ranks]++;
        least[c->op] = MIN(least[c->op], c->bytes);
        most[c->op] = MAX(most[c->op], c->bytes);
        if (c->op == CALIB_ALL_GATHER || c->op == CALIB_REDUCE_SCATTER || c->op == CALIB_ALL_TO_ALL)
            g_assert_cmpint(c->bytes % (2 * c->ranks), ==, 0);
        CalibRow row = answer(&r, &point.what);
        calib_plan_tell(plan, &row, 0.01);
    }
    for (int op = 0; op < CALIB_N_OPS; op++) {
        for (int ranks = 2; ranks <= 8; ranks++)
            g_assert_cmpuint(counts[op][ranks], >=, 28);
        g_assert_cmpint(least[op], ==, 8);
        g_assert_cmpint(most[op], >=, (int64_t)1 << 33);
    }
    calib_plan_free(plan);
}

/* With 4 nodes of 2: over 2 and 4 nodes, with one and with both GPUs of each. */
static void
test_nodes(void)
{
    Recorded r = recorded_new(2);
    r.machine.nodes = 4;
    CalibShapes none = {0};
    CalibSweepSpec spec = spec_of(&r, &none);
    CalibPlan *plan = calib_plan_new(&spec);
    gboolean seen[9][5] = {{FALSE}};
    for (CalibPoint point; calib_plan_left(plan).n > 0 && calib_plan_next(plan, &point);) {
        if (point.what.kind == CALIB_CASE_COLLECTIVE)
            seen[point.what.collective.ranks][point.what.collective.nodes] = TRUE;
        CalibRow row = answer(&r, &point.what);
        calib_plan_tell(plan, &row, 0.01);
    }
    g_assert_true(seen[2][1] && seen[2][2] && seen[4][2] && seen[4][4] && seen[8][4]);
    g_assert_false(seen[4][1] || seen[3][3] || seen[8][2]);
    calib_plan_free(plan);
}

/* From the first grid on kinds have their shares of the time, as long as each has something left. */
static void
test_shares(void)
{
    Recorded r = recorded_new(8);
    CalibShapes none = {0};
    CalibSweepSpec spec = spec_of(&r, &none);
    CalibPlan *plan = calib_plan_new(&spec);
    double used[CALIB_N_CASES] = {0}, all = 0;
    for (CalibPoint point; all < 10 && calib_plan_next(plan, &point);) {
        CalibRow row = answer(&r, &point.what);
        double seconds = point.stage == CALIB_STAGE_DEVICE ? 0.001 : 0.02;
        calib_plan_tell(plan, &row, seconds);
        used[point.what.kind] += point.stage == CALIB_STAGE_DEVICE ? 0 : seconds;
        all += point.stage == CALIB_STAGE_DEVICE ? 0 : seconds;
    }
    g_assert_cmpfloat(fabs(used[CALIB_CASE_GEMM] / all - 0.50), <, 0.03);
    g_assert_cmpfloat(fabs(used[CALIB_CASE_COLLECTIVE] / all - 0.20), <, 0.03);
    g_assert_cmpfloat(fabs(used[CALIB_CASE_MEMORY] / all - 0.10), <, 0.03);
    g_assert_cmpfloat(fabs(used[CALIB_CASE_ATTENTION] / all - 0.15), <, 0.03);
    calib_plan_free(plan);
}

static guint
log_of(CalibPlan *plan, const Recorded *r, guint n, double seconds, GArray *ret)
{
    for (CalibPoint point; n > 0 && calib_plan_next(plan, &point); n--) {
        g_array_append_val(ret, point.what);
        CalibRow row = answer(r, &point.what);
        calib_plan_tell(plan, &row, seconds);
    }
    return ret->len;
}

/* The same answers give the same questions, however long they took, once GEMMs are alone; refinement goes on after the
 * grid, with forward GEMMs above all, and what cannot be measured is not asked again. */
static void
test_refinement(void)
{
    Recorded r = recorded_new(8);
    CalibShapes none = {0};
    CalibSweepSpec spec = spec_of(&r, &none);
    for (int kind = 0; kind < CALIB_N_CASES; kind++)
        spec.kinds[kind] = kind == CALIB_CASE_GEMM;
    CalibPlan *one = calib_plan_new(&spec), *two = calib_plan_new(&spec);
    GArray *a = g_array_new(FALSE, FALSE, sizeof(CalibCase));
    GArray *b = g_array_new(FALSE, FALSE, sizeof(CalibCase));
    guint grid = calib_plan_left(one).n;
    g_assert_cmpuint(log_of(one, &r, grid + 300, 0.01, a), ==, grid + 300);
    g_assert_cmpuint(log_of(two, &r, grid + 300, 3.0, b), ==, grid + 300);
    g_assert_cmpmem(a->data, a->len * sizeof(CalibCase), b->data, b->len * sizeof(CalibCase));
    guint forward = 0;
    for (guint i = grid; i < a->len; i++)
        forward += g_array_index(a, CalibCase, i).gemm.pass == CALIB_FORWARD;
    g_assert_cmpuint(forward, >, 200);
    CalibPoint first, second;
    g_assert_true(calib_plan_next(one, &first));
    calib_plan_tell(one, NULL, 0.01);
    g_assert_true(calib_plan_next(one, &second));
    g_assert_cmpint(calib_case_compare(&first.what, &second.what), !=, 0);
    g_array_unref(a);
    g_array_unref(b);
    calib_plan_free(one);
    calib_plan_free(two);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/calib/plan/stages-in-order-and-no-case-twice", test_order);
    g_test_add_func("/calib/plan/named-shapes-first-costliest-first", test_named);
    g_test_add_func("/calib/plan/collectives-over-every-group-of-a-node", test_collectives);
    g_test_add_func("/calib/plan/collectives-over-nodes", test_nodes);
    g_test_add_func("/calib/plan/kinds-have-their-shares", test_shares);
    g_test_add_func("/calib/plan/refinement-is-the-same-each-time", test_refinement);
    return g_test_run();
}
