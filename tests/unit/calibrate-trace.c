/* Kernels, the calls behind them, and unions of their time: against counting every nanosecond. */
#include "config.h"

#include "calibrate/call.h"
#include "calibrate/import.h"
#include "calibrate/profile.h"

#include <string.h>

static CalibrateTrace *
trace_of(const char *name, const char *events)
{
    GError *error = NULL;
    g_autofree char *text = g_strdup_printf("{\"traceEvents\": [%s]}", events);
    CalibrateTrace *trace = calibrate_trace_parse(name, text, strlen(text), &error);
    g_assert_no_error(error);
    return trace;
}

static void
append(GString *out, const char *category, const char *name, int begin_us, int us, int correlation,
       const char *more)
{
    g_string_append_printf(out,
                           "%s{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 1, "
                           "\"tid\": 1, \"ts\": %d, \"dur\": %d, \"args\": {\"correlation\": "
                           "%d%s}}",
                           out->len > 0 ? "," : "", category, name, begin_us, us, correlation,
                           more);
}

/* Kernels of 0 to 30 us within 200 us: whatever lies how, each union is the count of microseconds of which it is true. */
static void
test_unions(void)
{
    static const char *const names[] = {"my_gemm", "flash_fwd", "add_kernel",
                                        "ncclKernel_AllReduce", "internode::dispatch"};
    enum { SPAN = 240 };
    for (guint run = 0; run < 200; run++) {
        g_autoptr(GString) events = g_string_new(NULL);
        gboolean on[SPAN][6] = {{FALSE}};
        int n = g_test_rand_int_range(1, 25), first = SPAN, last = 0;
        for (int i = 0; i < n; i++) {
            int kind = g_test_rand_int_range(0, 6), begin = g_test_rand_int_range(0, 200);
            int us = g_test_rand_int_range(0, 31);
            append(events, kind < 5 ? "kernel" : "gpu_memcpy", kind < 5 ? names[kind] : "copy",
                   begin, us, i, "");
            for (int t = begin; t < begin + us; t++)
                on[t][kind] = TRUE;
            first = MIN(first, begin);
            last = MAX(last, begin + us);
        }
        g_autoptr(CalibrateTrace) trace = trace_of("t", events->str);
        CalibrateProfile p = calibrate_profile(trace);
        gint64 busy = 0, compute = 0, nccl = 0, communication = 0, exposed = 0;
        for (int t = 0; t < SPAN; t++) {
            gboolean computes = on[t][0] || on[t][1] || on[t][2], sends = on[t][3] || on[t][4];
            compute += computes;
            nccl += on[t][3];
            communication += sends;
            exposed += sends && !computes;
            busy += computes || sends || on[t][5];
        }
        g_assert_cmpint(p.span_ns, ==, 1000 * (last - first));
        g_assert_cmpint(p.busy_ns, ==, 1000 * busy);
        g_assert_cmpint(p.compute_ns, ==, 1000 * compute);
        g_assert_cmpint(p.nccl_ns, ==, 1000 * nccl);
        g_assert_cmpint(p.communication_ns, ==, 1000 * communication);
        g_assert_cmpint(p.exposed_ns, ==, 1000 * exposed);
        g_assert_cmpuint(p.n_gpu, ==, (guint)n);
    }
}

/* A kernel is alone when no other one shares a microsecond with it. */
static void
test_alone(void)
{
    for (guint run = 0; run < 200; run++) {
        g_autoptr(GString) events = g_string_new(NULL);
        int n = g_test_rand_int_range(1, 8);
        for (int i = 0; i < n; i++)
            append(events, "kernel", "k", g_test_rand_int_range(0, 100),
                   g_test_rand_int_range(1, 20), i, "");
        g_autoptr(CalibrateTrace) trace = trace_of("t", events->str);
        const CalibrateKernel *k = (const CalibrateKernel *)trace->kernels->data;
        for (int i = 0; i < n; i++) {
            gboolean alone = TRUE;
            for (int j = 0; j < n; j++)
                alone = alone && (j == i || k[j].begin_ns >= k[i].begin_ns + k[i].duration_ns ||
                                  k[i].begin_ns >= k[j].begin_ns + k[j].duration_ns);
            g_assert_cmpint(k[i].alone, ==, alone);
        }
    }
}

/* The innermost known op around the launch counts: of 1 the mm, of 2 the bmm inside of it. External ids, which may be
 * those of others, do not. */
static void
test_links(void)
{
#define MM ", \"Input Dims\": [[2, 3], [3, 4]], \"Input type\": [\"float\", \"float\"]"
    g_autoptr(GString) events = g_string_new(NULL);
    append(events, "kernel", "a", 100, 5, 1, ", \"External id\": 77");
    append(events, "kernel", "b", 110, 5, 2, "");
    append(events, "kernel", "c", 120, 5, 3, "");
    append(events, "kernel", "d", 130, 5, 4, "");
    append(events, "cuda_runtime", "cudaLaunchKernel", 12, 2, 1, "");
    append(events, "cuda_runtime", "cudaLaunchKernel", 21, 2, 2, "");
    append(events, "cuda_driver", "cuLaunchKernel", 50, 2, 3, "");
    append(events, "cpu_op", "aten::mm", 10, 20, 0, MM);
    append(events, "cpu_op", "aten::bmm", 20, 5, 0,
           ", \"Input Dims\": [[9, 2, 3], [9, 3, 4]], \"Input type\": [\"float\", \"float\"]");
    append(events, "cpu_op", "aten::mm", 60, 5, 0, MM ", \"External id\": 77");
    g_autoptr(CalibrateTrace) t = trace_of("t_rank-12.json", events->str);
    g_assert_cmpint(t->rank, ==, 12);
    g_assert_true(t->rank_of_name);
    const CalibrateKernel *k = (const CalibrateKernel *)t->kernels->data;
    static const gint64 batches[] = {1, 9};
    for (guint i = 0; i < 2; i++) {
        const CalibrateCall *call = calibrate_kernel_call(t, &k[i]);
        g_assert_cmpint((int)call->kind, ==, CALIBRATE_CALL_GEMM);
        g_assert_cmpint(call->gemm.batch, ==, batches[i]);
    }
    g_assert_cmpint(k[2].op, ==, -1); /* launched outside of any */
    g_assert_cmpint(k[3].op, ==, -1); /* no launch */
}

static void
test_no_gpu(void)
{
    g_autoptr(GString) events = g_string_new(NULL);
    append(events, "user_annotation", "ProfilerStep#7", 5, 100, 0, "");
    append(events, "gpu_user_annotation", "ProfilerStep#7", 50, 10, 0, "");
    append(events, "kernel", "k", 0, -3, 0, "");
    g_autoptr(CalibrateTrace) t = trace_of("t", events->str);
    CalibrateProfile p = calibrate_profile(t);
    g_assert_cmpuint(p.n_gpu, ==, 0);
    g_assert_cmpuint(t->n_untimed, ==, 1);
    g_assert_cmpint(t->rank, ==, -1);
    g_assert_cmpuint(t->steps->len, ==, 1);
    g_assert_cmpint(g_array_index(t->steps, CalibrateStep, 0).duration_ns, ==, 100000);
}

/* Two all-reduces of 8 ranks, 1024 bf16 each, of 30 and 20 us: the least counts. A product beside the second counts
 * not, one alone does. */
static void
test_rows(void)
{
#define COLLECTIVE                                                                                 \
    ", \"Collective name\": \"allreduce\", \"In msg nelems\": 1024, \"Out msg nelems\": 1024, "    \
    "\"Group size\": 8, \"dtype\": \"BFloat16\", \"Process Group Ranks\": \"[0, 1, 2, 3, 4, 5, "   \
    "...]\""
#define LINEAR                                                                                     \
    ", \"Input Dims\": [[16, 64], [64, 32]], \"Input type\": [\"c10::BFloat16\", "                 \
    "\"c10::BFloat16\"], \"Input Strides\": [[64, 1], [1, 64]]"
    g_autoptr(GString) events = g_string_new(NULL);
    append(events, "kernel", "ncclDevKernel_AllReduce", 100, 30, 1, COLLECTIVE);
    append(events, "kernel", "ncclDevKernel_AllReduce", 200, 20, 2, COLLECTIVE);
    append(events, "kernel", "x_gemm", 210, 9, 3, "");
    append(events, "kernel", "x_gemm", 300, 7, 4, "");
    append(events, "cuda_runtime", "cudaLaunchKernel", 11, 1, 3, "");
    append(events, "cuda_runtime", "cudaLaunchKernel", 21, 1, 4, "");
    append(events, "cpu_op", "aten::mm", 10, 5, 0, LINEAR);
    append(events, "cpu_op", "aten::mm", 20, 5, 0, LINEAR);
    g_autoptr(CalibrateTrace) t = trace_of("t", events->str);
    g_auto(CalibrateImport) import;
    GError *error = NULL;
    calibrate_import_init(&import);
    import.per_node = 4;
    g_assert_true(calibrate_import_trace(&import, t, &error));
    g_assert_no_error(error);
    g_autoptr(GArray) gemm = calibrate_rows_merged(import.rows, CALIBRATE_TABLE_GEMM);
    g_assert_cmpuint(gemm->len, ==, 1);
    g_assert_cmpstr(g_array_index(gemm, CalibrateRow, 0).key, ==, "bf16\t16\t32\t64\t1\tforward");
    g_assert_cmpfloat(g_array_index(gemm, CalibrateRow, 0).us[0], ==, 7);
    g_autoptr(GArray) rows = calibrate_rows_merged(import.rows, CALIBRATE_TABLE_COLLECTIVE);
    g_assert_cmpuint(rows->len, ==, 1);
    g_assert_cmpstr(g_array_index(rows, CalibrateRow, 0).key, ==, "all_reduce\tbf16\t8\t2\t2048");
    g_assert_cmpfloat(g_array_index(rows, CalibrateRow, 0).us[0], ==, 20);
    const GArray *left_out = calibrate_rows_left_out(import.rows);
    g_assert_cmpuint(left_out->len, ==, 1);
    g_assert_cmpstr(g_array_index(left_out, CalibrateLeftOut, 0).reason, ==,
                    "kernels beside which others ran");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("A profile's kernels, calls and unions");
    g_test_add_func("/calibrate/trace/unions", test_unions);
    g_test_add_func("/calibrate/trace/alone", test_alone);
    g_test_add_func("/calibrate/trace/links", test_links);
    g_test_add_func("/calibrate/trace/no-gpu", test_no_gpu);
    g_test_add_func("/calibrate/trace/rows", test_rows);
    return g_test_run();
}
