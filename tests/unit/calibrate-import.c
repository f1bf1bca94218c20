/* Calls, mamf-finder's lines and tables of others: what becomes of them, and complaints with their place. */
#include "config.h"

#include "calibrate/call.h"
#include "calibrate/import.h"

#include <math.h>
#include <string.h>

/* --- calls -------------------------------------------------------------------------------------- */

static CalibrateCall
call_of(const char *name, const char *dims, const char *types, const char *strides,
        const char *values)
{
    CalibrateEvent event = {.name = name, .category = "cpu_op", .phase = 'X'};
    for (guint i = 0; i < CALIBRATE_N_ARGS; i++)
        event.args[i] = "";
    event.args[CALIBRATE_ARG_INPUT_DIMS] = dims;
    event.args[CALIBRATE_ARG_INPUT_TYPE] = types;
    event.args[CALIBRATE_ARG_INPUT_STRIDES] = strides;
    event.args[CALIBRATE_ARG_CONCRETE_INPUTS] = values;
    g_autoptr(GString) packed = g_string_new(NULL);
    if (!calibrate_call_pack(&event, packed))
        return (CalibrateCall){.kind = CALIBRATE_CALL_NONE};
    return calibrate_call_read(packed->str);
}

/* y = x W^T of 16 tokens, 64 to 32: x by rows, W^T by columns. Its gradients: dx = dy W, dW = dy^T x. */
static void
test_products(void)
{
#define BF16 "c10::BFloat16\tc10::BFloat16"
    CalibrateCall y = call_of("aten::mm", "[16,64]\t[64,32]", BF16, "[64,1]\t[1,64]", "");
    g_assert_cmpint((int)y.kind, ==, CALIBRATE_CALL_GEMM);
    g_assert_null(y.refusal);
    g_assert_cmpint((int)y.gemm.dtype, ==, CLUSTER_BF16);
    g_assert_cmpint(y.gemm.m, ==, 16);
    g_assert_cmpint(y.gemm.n, ==, 32);
    g_assert_cmpint(y.gemm.k, ==, 64);
    g_assert_true(y.has_pass);
    g_assert_cmpint((int)y.gemm.pass, ==, COST_GEMM_FORWARD);
    CalibrateCall dx = call_of("aten::mm", "[16,32]\t[32,64]", BF16, "[32,1]\t[64,1]", "");
    g_assert_cmpint((int)dx.gemm.pass, ==, COST_GEMM_DGRAD);
    CalibrateCall dw = call_of("aten::mm", "[32,16]\t[16,64]", BF16, "[1,32]\t[64,1]", "");
    g_assert_cmpint((int)dw.gemm.pass, ==, COST_GEMM_WGRAD);
    CalibrateCall bias =
        call_of("aten::addmm", "[32]\t[16,64]\t[64,32]", "float\tfloat\tfloat", "", "");
    g_assert_null(bias.refusal);
    g_assert_true(bias.is_fp32);
    g_assert_false(bias.has_pass);
    CalibrateCall batch = call_of("aten::bmm", "[5,16,64]\t[5,64,32]", BF16, "", "");
    g_assert_cmpint(batch.gemm.batch, ==, 5);
    g_assert_nonnull(call_of("aten::mm", "[16,64]\t[63,32]", BF16, "", "").refusal);
    g_assert_nonnull(call_of("aten::mm", "[16,64]", BF16, "", "").refusal);
    g_assert_nonnull(call_of("aten::mm", "[0,64]\t[64,32]", BF16, "", "").refusal);
    g_assert_nonnull(call_of("aten::mm", "[16,64]\t[64,32]", "long int\tlong int", "", "").refusal);
    g_assert_cmpint((int)call_of("aten::t", "[16,64]", "float", "", "").kind, ==,
                    CALIBRATE_CALL_NONE);
}

static void
test_attention(void)
{
#define QKV "[2,16,512,64]\t[2,4,512,64]\t[2,4,512,64]"
#define TYPES "c10::Half\tc10::Half\tc10::Half\tScalar\tScalar"
    CalibrateCall a = call_of("aten::_scaled_dot_product_flash_attention", QKV, TYPES, "",
                              " \t\t\t0.\tTrue\tFalse");
    g_assert_cmpint((int)a.kind, ==, CALIBRATE_CALL_ATTENTION);
    g_assert_null(a.refusal);
    g_assert_cmpint(a.attention.batch, ==, 2);
    g_assert_cmpint(a.attention.heads, ==, 16);
    g_assert_cmpint(a.attention.kv_heads, ==, 4);
    g_assert_cmpint(a.attention.seq_q, ==, 512);
    g_assert_cmpint(a.attention.head_dim, ==, 64);
    g_assert_true(a.attention.causal);
    g_assert_false(a.attention.backward);
    CalibrateCall unsaid = call_of("aten::_scaled_dot_product_flash_attention", QKV, TYPES, "", "");
    g_assert_nonnull(unsaid.refusal);
    CalibrateCall last =
        call_of("flash_attn::_flash_attn_forward", "[2,512,16,64]\t[2,512,4,64]\t[2,512,4,64]",
                TYPES, "", " \t\t\t0.\t0.125\tFalse");
    g_assert_null(last.refusal);
    g_assert_cmpint(last.attention.heads, ==, 16);
    g_assert_cmpint(last.attention.seq_q, ==, 512);
    g_assert_false(last.attention.causal);
}

static void
test_memory(void)
{
    CalibrateCall add = call_of("aten::add", "[4,8]\t[4,8]", "float\tfloat", "", "");
    g_assert_null(add.refusal);
    g_assert_cmpint(add.bytes, ==, 3 * 4 * 8 * 4);
    g_assert_nonnull(call_of("aten::add", "[4,8]\t[8]", "float\tfloat", "", "").refusal);
    CalibrateCall norm = call_of("aten::native_layer_norm", "[4,8]\t\t[8]", "c10::Half", "", "");
    g_assert_cmpint(norm.bytes, ==, 2 * 2 * 4 * 8);
}

static CalibrateCall
collective_of(const char *name, const char *in, const char *out, const char *size,
              const char *ranks)
{
    g_autofree char *packed = g_strdup_printf("*\x1f%s\x1f%s\x1f%s\x1f"
                                              "BFloat16\x1f%s\x1f%s",
                                              name, in, out, size, ranks);
    return calibrate_call_read(packed);
}

/* Sizes as nccl-tests has them; nodes by ranks, lists of many ranks cut after some 30. */
static void
test_collectives(void)
{
    CalibrateCall gather = collective_of("_allgather_base", "100", "800", "8", "[0, 1]");
    g_assert_null(gather.refusal);
    g_assert_cmpint((int)gather.op, ==, NET_ALL_GATHER);
    g_assert_cmpint(gather.bytes, ==, 1600);
    g_assert_cmpint(collective_of("_reduce_scatter_base", "800", "100", "8", "").bytes, ==, 1600);
    g_assert_nonnull(collective_of("barrier", "0", "0", "8", "").refusal);
    g_assert_nonnull(collective_of("allreduce", "x", "1", "8", "").refusal);
    static const struct {
        const char *size, *ranks;
        guint per_node, nodes;
    } cases[] = {
        {"8", "[0, 1, 2, 3, 4, 5, 6, 7]", 8, 1},
        {"8", "[0, 1, 2, 3, 4, 5, 6, 7]", 4, 2},
        {"4", "[0, 8, 16, 24]", 8, 4},
        {"64", "[0, 1, 2, 3, ...]", 8, 8},
        {"16", "[0, 8, 16, ...]", 8, 16},
        {"3", "[1, 7, 9]", 8, 2},
        {"4", "[3, 1, 2, 0]", 8, 0},
        {"4", "", 8, 0},
        {"4", "[0, 1, 2, 3]", 0, 0},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        CalibrateCall call = collective_of("allreduce", "1", "1", cases[i].size, cases[i].ranks);
        g_test_message("%s", cases[i].ranks);
        g_assert_cmpuint(calibrate_call_nodes(&call, cases[i].per_node), ==, cases[i].nodes);
    }
}

/* --- texts -------------------------------------------------------------------------------------- */

typedef gboolean (*Reader)(CalibrateImport *import, const char *text, GError **error);

static gboolean
read_mamf(CalibrateImport *import, const char *text, GError **error)
{
    return calibrate_import_mamf(import, "m.txt", text, error);
}

static gboolean
read_tsv(CalibrateImport *import, const char *text, GError **error)
{
    return calibrate_import_tsv(import, "t.tsv", text, '\t', error);
}

/* "key time time\n..." */
static char *
rows_of(Reader reader, const char *text, CalibrateTableId id, GError **error)
{
    g_auto(CalibrateImport) import;
    calibrate_import_init(&import);
    if (!reader(&import, text, error))
        return NULL;
    g_autoptr(GArray) rows = calibrate_rows_merged(import.rows, id);
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < rows->len; i++) {
        const CalibrateRow *row = &g_array_index(rows, CalibrateRow, i);
        g_string_append_printf(out, "%s %.4g\n", row->key, row->us[0]);
    }
    return g_string_free(out, FALSE);
}

/* 2 x 1000 x 1000 x 1000 flop at 1 Tflop/s take 2 ms. */
static void
test_mamf(void)
{
    static const struct {
        const char *text, *rows;
    } cases[] = {
        {"** Command line:\npython mamf-finder.py --dtype bfloat16\n"
         "     1 |    1.0 TFLOPS @ 1000x1000x1000       | best:    1.0 TFLOPS @ 1000x1000x1000\r"
         "     2 |    2.0 TFLOPS @ 1000x1000x2000       | best:    2.0 TFLOPS @ 1000x1000x2000\r\n"
         "The best outcome was 2.0TFLOPS @ 1000x1000x2000 (MxNxK) (tried 2 shapes)\n",
         "bf16\t1000\t1000\t1000\t1\tforward 2000\nbf16\t1000\t1000\t2000\t1\tforward 2000\n"},
        {"Dtype: torch.float16\n"
         "  7 |  1.1(mean)  1.0(median)  2.0(max) @ 1000x1000x1000 | best: 5.0(mean) @ 1x1x1\n",
         "fp16\t1000\t1000\t1000\t1\tforward 2000\n"},
        {"--dtype=float8_e4m3fn\nTried 9 shapes => the best outcomes were:\n"
         "mean:   3.0 TFLOPS @ 10x10x10 (MxNxK)\n"
         "median: 4.0 TFLOPS @ 2000x1000x1000 (MxNxK)\nmax:    5.0 TFLOPS @ 10x10x10 (MxNxK)\n",
         "fp8\t2000\t1000\t1000\t1\tforward 1000\n"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        GError *error = NULL;
        g_autofree char *rows = rows_of(read_mamf, cases[i].text, CALIBRATE_TABLE_GEMM, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(rows, ==, cases[i].rows);
    }
}

static void
test_tsv(void)
{
    static const struct {
        CalibrateTableId id;
        const char *text, *rows;
    } cases[] = {
        {CALIBRATE_TABLE_GEMM,
         "# mine\nm\tn\tk\ttime_ms\tdtype\tother\n1\t2\t3\t0.5\tbfloat16\tx\n",
         "bf16\t1\t2\t3\t1\tforward 500\n"},
        {CALIBRATE_TABLE_GEMM,
         "dtype\tm\tn\tk\tbatch\tpass\ttime [s]\nfp16\t1\t2\t3\t4\tdgrad\t1e-6\n"
         "fp16\t1\t2\t3\t4\tdgrad\t3e-6\n",
         "fp16\t1\t2\t3\t4\tdgrad 2\n"},
        {CALIBRATE_TABLE_COLLECTIVE,
         "op\tdtype\tranks\tnodes\tsize (MiB)\ttime_us\nallreduce\tfp32\t8\t1\t0.5\t20\n",
         "all_reduce\tfp32\t8\t1\t524288 20\n"},
        {CALIBRATE_TABLE_MEMORY, "kernel\tbytes\ttime_ns\nadd\t4096\t2500\n", "add\t4096 2.5\n"},
        {CALIBRATE_TABLE_ATTENTION,
         "dtype\tbatch\theads\tkv_heads\thead_dim\tseq\tcausal\tforward_ms\tbackward_ms\n"
         "bf16\t1\t8\t8\t64\t512\ttrue\t0.1\t-\n",
         "bf16\t1\t8\t8\t64\t512\t1 100\n"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        GError *error = NULL;
        g_autofree char *rows = rows_of(read_tsv, cases[i].text, cases[i].id, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(rows, ==, cases[i].rows);
    }
}

static void
test_complaints(void)
{
#define GEMM "dtype\tm\tn\tk\ttime_us\n"
    static const struct {
        Reader reader;
        const char *text, *message;
    } cases[] = {
        {read_mamf, "1 | 2.0 TFLOPS @ 8x8x8\n",
         "m.txt: does not say what dtype was multiplied; write --dtype bf16"},
        {read_mamf, "",
         "m.txt: no line like '12 | 674.3 TFLOPS @ 4096x4096x4096'; "
         "write what mamf-finder printed"},
        {read_mamf, "torch.bfloat16\n",
         "m.txt: no line like '12 | 674.3 TFLOPS @ 4096x4096x4096'; "
         "write what mamf-finder printed"},
        {read_mamf, "torch.bfloat16\n1 | 0.0 TFLOPS @ 8x8x8\n",
         "m.txt:2: a shape without a rate that can be; write for example 674.3 TFLOPS @ "
         "4096x4096x4096"},
        {read_tsv, GEMM "bf16\t1\t2\t0\t5\n",
         "t.tsv:2: column k: '0' is not a whole number from 1 to 2147483647"},
        {read_tsv, GEMM "bf17\t1\t2\t3\t5\n",
         "t.tsv:2: column dtype: 'bf17' is no dtype; did you mean 'bf16'?; write one of fp32, tf32, "
         "fp16, bf16, fp8"},
        {read_tsv, GEMM "bf16\t1\t2\t3\t-\n", "t.tsv:2: column time_us: '-' is not a number"},
        {read_tsv, GEMM "bf16\t1\t2\t3\t-5\n",
         "t.tsv:2: column time_us: '-5' is no time; write one from a nanosecond to a million seconds"},
        {read_tsv, GEMM, "t.tsv: has a header, but no rows; write one a measurement"},
        {read_tsv, "dtype\tm\tn\tk\ttime\nbf16\t1\t2\t3\t5\n",
         "t.tsv: column time: has no unit; write ns, us, ms or s, as in time_us"},
        {read_tsv, "dtype\tm\tn\tk\ttime_MiB\nbf16\t1\t2\t3\t5\n",
         "t.tsv: column time_MiB: 'MiB' is no unit of it; write ns, us, ms or s, as in time_us"},
        {read_tsv, "op\tdtype\tranks\tnodes\tbytes\ttime_us\nall_reduce\tfp32\t1\t1\t8\t2\n",
         "t.tsv:2: column ranks: 1 ranks on 1 nodes are no group; write 2 ranks or more, as many "
         "on each node"},
        {read_tsv, "op\tdtype\tranks\tnodes\tbytes\ttime_us\nall_reduce\tfp32\t7\t2\t8\t2\n",
         "t.tsv:2: column ranks: 7 ranks on 2 nodes are no group; write 2 ranks or more, as many "
         "on each node"},
        {read_tsv, "op\tdtype\tranks\tbytes\ttime_us\nall_reduce\tfp32\t8\t8\t2\n",
         "t.tsv: no column nodes; write one, or --nodes N"},
        {read_tsv, "m\tn\tk\ttime_us\n1\t2\t3\t5\n",
         "t.tsv: no column dtype; write one, or --dtype bf16"},
        {read_tsv, "dtype\tm\tn\tk\nbf16\t1\t2\t3\n",
         "t.tsv: no column time_us; columns are dtype m n k"},
        {read_tsv, "kernel bytes time_us\ncopy 8 2\n",
         "t.tsv: its header is one column, 'kernel bytes time_us'; separate columns by tabs, or by "
         "commas in a file whose name ends in .csv"},
        {read_tsv, "kernel\tsize_KiB\ttime_us\nadd\t0.0001\t2\n",
         "t.tsv:2: column size_KiB: '0.0001' is no whole number of bytes from 1"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(rows_of(cases[i].reader, cases[i].text, CALIBRATE_TABLE_GEMM, &error));
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
    g_autoptr(GError) error = NULL;
    g_assert_null(rows_of(read_tsv, "a\tb\n1\t2\n", CALIBRATE_TABLE_GEMM, &error));
    g_assert_true(g_str_has_prefix(error->message, "t.tsv: has the columns of no table; write "));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("What others measured becomes rows");
    g_test_add_func("/calibrate/import/products", test_products);
    g_test_add_func("/calibrate/import/attention", test_attention);
    g_test_add_func("/calibrate/import/memory", test_memory);
    g_test_add_func("/calibrate/import/collectives", test_collectives);
    g_test_add_func("/calibrate/import/mamf", test_mamf);
    g_test_add_func("/calibrate/import/tsv", test_tsv);
    g_test_add_func("/calibrate/import/complaints", test_complaints);
    return g_test_run();
}
