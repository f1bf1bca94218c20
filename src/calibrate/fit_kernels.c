/* Fits to gemm.tsv, attention.tsv, memory.tsv and overlap.tsv. */
#include "config.h"

#include "calibrate/fit_parts.h"
#include "calibrate/fit_rows.h"
#include "cost/book.h"
#include "cost/roofline.h"

#include <math.h>

/* Products that would take so long at peak: tiles fill all SMs many times, launches are nothing. */
#define LARGE_NS 100e3
/* A slow-down's excess below this is none (cost/overlap_table.c). */
#define LEAST_EXCESS 0.01

static GArray *
points_new(void)
{
    return g_array_new(FALSE, FALSE, sizeof(CalibratePoint));
}

static void
add_point(GArray *points, double x, double y)
{
    CalibratePoint point = {x, y};
    g_array_append_val(points, point);
}

/* time = launch + roofline / efficiency */
static void
add_roofline(CalibrateModel *model, const CalibrateLine *line, double efficiency_today)
{
    double inverse = line->b;
    calibrate_model_constant(
        model, (CalibrateConstant){"efficiency", "", inverse > 0 ? 1 / inverse : NAN,
                                   line->b_error / (inverse * inverse), efficiency_today, NULL});
    calibrate_model_constant(
        model, (CalibrateConstant){"launch", "us", line->a / 1e3, line->a_error / 1e3, NAN, NULL});
}

static void
add_factor(CalibrateModel *model, const CalibrateLine *line, const char *name, double today)
{
    calibrate_model_constant(model,
                             (CalibrateConstant){name, "", line->b, line->b_error, today, NULL});
}

/* --- gemm.tsv ----------------------------------------------------------------------------------- */

static double
gemm_flops(const CostGemm *g)
{
    return 2.0 * (double)g->batch * (double)g->m * (double)g->n * (double)g->k;
}

/* What the model takes without any rows, of a product with no tile to spare. */
static double
gemm_efficiency_today(const ClusterSystem *system, ClusterDtype dtype)
{
    g_autoptr(CostBook) empty = cost_book_of_table(system, CLUSTER_TABLE_GEMM, NULL, NULL);
    CostGemm g = {.dtype = dtype, .m = 8192, .n = 8192, .k = 8192, .batch = 1};
    return cost_gemm_roofline_ns(system, &g) / cost_gemm(empty, &g).ns;
}

static void
fit_forward(CalibrateFit *fit, const ClusterSystem *system, const GArray *rows, ClusterDtype dtype)
{
    g_autoptr(GArray) all = points_new();
    for (guint i = 0; i < rows->len; i++) {
        const CalibrateGemmRow *row = &g_array_index(rows, CalibrateGemmRow, i);
        if (row->gemm.pass == COST_GEMM_FORWARD)
            add_point(all, cost_gemm_roofline_ns(system, &row->gemm), row->ns);
    }
    CalibrateLine line;
    const char *name = cluster_dtype_name(dtype);
    CalibrateModel *model =
        calibrate_fit_add(fit, CLUSTER_TABLE_GEMM, g_strdup_printf("%s forward", name),
                          "time = launch + roofline / efficiency", all, CALIBRATE_LINE, &line);
    if (model != NULL)
        add_roofline(model, &line, gemm_efficiency_today(system, dtype));
}

static void
fit_large(CalibrateFit *fit, const ClusterSystem *system, const GArray *rows, ClusterDtype dtype)
{
    g_autoptr(GArray) large = points_new();
    double peak = cost_peak_flops(system, dtype);
    for (guint i = 0; i < rows->len; i++) {
        const CalibrateGemmRow *row = &g_array_index(rows, CalibrateGemmRow, i);
        double at_peak = gemm_flops(&row->gemm) / peak * 1e9;
        if (row->gemm.pass == COST_GEMM_FORWARD && at_peak >= LARGE_NS)
            add_point(large, at_peak, row->ns);
    }
    CalibrateLine line;
    CalibrateModel *model = calibrate_fit_add(
        fit, CLUSTER_TABLE_GEMM, g_strdup_printf("%s large", cluster_dtype_name(dtype)),
        "time = FLOPs / (peak x share)", large, CALIBRATE_PROPORTION, &line);
    if (model != NULL)
        calibrate_model_constant(model,
                                 (CalibrateConstant){"share of peak", "", 1 / line.b,
                                                     line.b_error / (line.b * line.b), NAN, NULL});
}

/* What the model takes a pass for, beside a forward product, without any rows of it. */
static gboolean
pass_factor_today(const ClusterSystem *system, ClusterDtype dtype, CostGemmPass pass, double *ret,
                  GError **error)
{
    double spread;
    g_autoptr(ConfTable) none =
        conf_table_parse("gemm.tsv", "dtype\tm\tn\tk\tbatch\ttime_us\n", '\t', error);
    g_autoptr(CostGemmTable) empty =
        none != NULL ? cost_gemm_table_new(system, none, dtype, error) : NULL;
    if (empty != NULL)
        *ret = cost_gemm_table_pass_factor(empty, pass, &spread);
    return empty != NULL;
}

/* Beside a forward product of the same shape, as dtsim predicts it; an fp32 gradient is in both. */
static gboolean
fit_backward(CalibrateFit *fit, const ClusterSystem *system, const CostBook *book,
             const GArray *rows, ClusterDtype dtype, CostGemmPass pass, GError **error)
{
    g_autoptr(GArray) points = points_new();
    for (guint i = 0; i < rows->len; i++) {
        const CalibrateGemmRow *row = &g_array_index(rows, CalibrateGemmRow, i);
        CostGemm forward = row->gemm;
        forward.pass = COST_GEMM_FORWARD;
        if (row->gemm.pass == pass)
            add_point(points, cost_gemm(book, &forward).ns, row->ns);
    }
    double today;
    if (!pass_factor_today(system, dtype, pass, &today, error))
        return FALSE;
    CalibrateLine line;
    CalibrateModel *model = calibrate_fit_add(
        fit, CLUSTER_TABLE_GEMM,
        g_strdup_printf("%s %s", cluster_dtype_name(dtype), cost_gemm_pass_name(pass)),
        "time = forward x factor", points, CALIBRATE_PROPORTION, &line);
    if (model != NULL)
        add_factor(model, &line, "factor", today);
    return TRUE;
}

gboolean
calibrate_fit_gemm(CalibrateFit *fit, const ClusterSystem *system, const ConfTable *table,
                   GError **error)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (guint i = 0; i < CLUSTER_N_DTYPES; i++) {
        GArray *of_dtype = calibrate_gemm_rows(system, table, (ClusterDtype)i, error);
        if (of_dtype == NULL)
            return FALSE;
        g_ptr_array_add(rows, of_dtype);
    }
    g_autoptr(CostBook) book = cost_book_of_table(system, CLUSTER_TABLE_GEMM, table, error);
    if (book == NULL)
        return FALSE;
    for (guint i = 0; i < CLUSTER_N_DTYPES; i++)
        fit_forward(fit, system, rows->pdata[i], (ClusterDtype)i);
    for (guint i = 0; i < CLUSTER_N_DTYPES; i++)
        fit_large(fit, system, rows->pdata[i], (ClusterDtype)i);
    for (guint i = 0; i < CLUSTER_N_DTYPES; i++)
        for (guint pass = COST_GEMM_DGRAD; pass <= COST_GEMM_WGRAD; pass++)
            if (!fit_backward(fit, system, book, rows->pdata[i], (ClusterDtype)i,
                              (CostGemmPass)pass, error))
                return FALSE;
    return TRUE;
}

/* --- attention.tsv ------------------------------------------------------------------------------ */

static double
attention_efficiency_today(const ClusterSystem *system, const CostAttention *like)
{
    g_autoptr(CostBook) empty = cost_book_of_table(system, CLUSTER_TABLE_ATTENTION, NULL, NULL);
    CostAttention a = *like;
    a.seq_q = a.seq_kv = 8192;
    return cost_attention_roofline_ns(system, &a) / cost_attention(empty, &a).ns;
}

gboolean
calibrate_fit_attention(CalibrateFit *fit, const ClusterSystem *system, const ConfTable *table,
                        GError **error)
{
    g_autoptr(GArray) rows = calibrate_attention_rows(table, error);
    if (rows == NULL)
        return FALSE;
    for (guint kind = 0; kind < 4; kind++) {
        gboolean backward = kind >= 2, causal = kind % 2 == 1;
        g_autoptr(GArray) points = points_new();
        const CostAttention *like = NULL;
        for (guint i = 0; i < rows->len; i++) {
            const CalibrateAttentionRow *row = &g_array_index(rows, CalibrateAttentionRow, i);
            if (!row->attention.backward != !backward || !row->attention.causal != !causal)
                continue;
            like = &row->attention;
            add_point(points, cost_attention_roofline_ns(system, like), row->ns);
        }
        CalibrateLine line;
        CalibrateModel *model = calibrate_fit_add(
            fit, CLUSTER_TABLE_ATTENTION,
            g_strdup_printf("%s, %s", backward ? "backward" : "forward",
                            causal ? "causal" : "full"),
            "time = launch + roofline / efficiency", points, CALIBRATE_LINE, &line);
        if (model != NULL)
            add_roofline(model, &line, attention_efficiency_today(system, like));
    }
    return TRUE;
}

/* --- memory.tsv --------------------------------------------------------------------------------- */

static void
fit_kernel(CalibrateFit *fit, const ClusterSystem *system, const GArray *rows,
           CostMemoryKernel kernel)
{
    g_autoptr(GArray) points = points_new();
    for (guint i = 0; i < rows->len; i++) {
        const CalibrateMemoryRow *row = &g_array_index(rows, CalibrateMemoryRow, i);
        if (row->kernel == kernel && calibrate_is_beyond_caches(system, row->bytes))
            add_point(points, row->bytes, row->ns);
    }
    CalibrateLine line;
    CalibrateModel *model =
        calibrate_fit_add(fit, CLUSTER_TABLE_MEMORY, g_strdup(cost_memory_kernel_name(kernel)),
                          "time = launch + bytes / rate", points, CALIBRATE_LINE, &line);
    if (model == NULL)
        return;
    double GBps = line.b > 0 ? 1 / line.b : NAN, error = line.b_error / (line.b * line.b);
    const char *key = kernel == COST_COPY ? "gpu.memory-efficiency" : NULL;
    calibrate_model_constant(model,
                             (CalibrateConstant){"rate", "GB/s", GBps, error,
                                                 cost_memory_rate(system, kernel) / 1e9, key});
    calibrate_model_constant(
        model, (CalibrateConstant){"launch", "us", line.a / 1e3, line.a_error / 1e3, NAN, NULL});
    if (kernel == COST_COPY && !isnan(GBps))
        calibrate_fit_key_fraction(
            fit, "gpu", "memory-efficiency", GBps * 1e9 / (double)system->memory_Bps,
            error * 1e9 / (double)system->memory_Bps, system->memory_efficiency, model, NULL);
}

static void
fit_floor(CalibrateFit *fit, const ClusterSystem *system, const GArray *rows)
{
    g_autoptr(GArray) points = points_new();
    for (guint i = 0; i < rows->len; i++) {
        const CalibrateMemoryRow *row = &g_array_index(rows, CalibrateMemoryRow, i);
        if (calibrate_is_small(system, row->bytes))
            add_point(points, 1, row->ns);
    }
    CalibrateLine line;
    CalibrateModel *model = calibrate_fit_add(fit, CLUSTER_TABLE_MEMORY, g_strdup("smallest"),
                                              "time = floor", points, CALIBRATE_PROPORTION, &line);
    if (model == NULL)
        return;
    calibrate_model_constant(
        model, (CalibrateConstant){"floor", "us", line.b / 1e3, line.b_error / 1e3,
                                   (double)system->kernel_floor_ns / 1e3, "gpu.kernel-floor"});
    calibrate_fit_key_time(fit, "gpu", "kernel-floor", line.b, line.b_error,
                           system->kernel_floor_ns, model);
}

gboolean
calibrate_fit_memory(CalibrateFit *fit, const ClusterSystem *system, const ConfTable *table,
                     GError **error)
{
    g_autoptr(GArray) rows = calibrate_memory_rows(table, error);
    if (rows == NULL)
        return FALSE;
    for (guint kernel = 0; kernel < COST_N_MEMORY_KERNELS; kernel++)
        fit_kernel(fit, system, rows, (CostMemoryKernel)kernel);
    fit_floor(fit, system, rows);
    return TRUE;
}

/* --- overlap.tsv -------------------------------------------------------------------------------- */

static void
fit_pair(CalibrateFit *fit, const ClusterSystem *system, const GArray *rows, CostWork work,
         CostTraffic traffic)
{
    g_autoptr(GArray) points = points_new();
    double sms = (double)system->n_sms;
    for (guint i = 0; i < rows->len; i++) {
        const CalibrateOverlapRow *row = &g_array_index(rows, CalibrateOverlapRow, i);
        if (row->work != work || row->traffic != traffic || !(row->slowdown >= 1))
            continue;
        double hbm = cost_traffic_hbm_frac(system, traffic, row->sent_Bps, 1e9);
        double model = sms / MAX(sms - row->channels, 1) * (1 + hbm) - 1;
        add_point(points, MAX(model, LEAST_EXCESS), MAX(row->slowdown - 1, LEAST_EXCESS));
    }
    CalibrateLine line;
    CalibrateModel *model = calibrate_fit_add(
        fit, CLUSTER_TABLE_OVERLAP,
        g_strdup_printf("%s beside %s", cost_work_name(work), cost_traffic_name(traffic)),
        "slow-down - 1 = factor x that of the model", points, CALIBRATE_PROPORTION, &line);
    if (model != NULL)
        add_factor(model, &line, "factor", 1);
}

gboolean
calibrate_fit_overlap(CalibrateFit *fit, const ClusterSystem *system, const ConfTable *table,
                      GError **error)
{
    g_autoptr(GArray) rows = calibrate_overlap_rows(system, table, error);
    if (rows == NULL)
        return FALSE;
    for (guint work = 0; work < COST_N_WORKS; work++)
        for (guint traffic = 0; traffic < COST_N_TRAFFICS; traffic++)
            fit_pair(fit, system, rows, (CostWork)work, (CostTraffic)traffic);
    return TRUE;
}
