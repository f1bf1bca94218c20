/* What each table shows: efficiency over the shapes of products, bandwidth over sizes, attention over lengths. */
#include "config.h"

#include "calibrate/fit_rows.h"
#include "calibrate/plot_parts.h"
#include "cost/roofline.h"

/* Squares of a map are half an octave wide. */
#define CELLS_PER_OCTAVE 2
#define FIT_STEPS 64
/* As in the fit: below this many rows a map says nothing. */
#define LEAST_ROWS 8

static void
add_point(GArray *points, double x, double y)
{
    CalibratePoint point = {x, y};
    g_array_append_val(points, point);
}

/* --- maps --------------------------------------------------------------------------------------- */

typedef struct {
    int x, y; /* of its square */
    double value;
} Spot;

static int
compare_spots(gconstpointer a, gconstpointer b)
{
    const Spot *p = a, *q = b;
    if (p->x != q->x)
        return p->x < q->x ? -1 : 1;
    if (p->y != q->y)
        return p->y < q->y ? -1 : 1;
    return p->value < q->value ? -1 : p->value > q->value;
}

static double
edge(int cell)
{
    return exp2((double)cell / CELLS_PER_OCTAVE);
}

/* Squares are centred on powers of the square root of two. */
static int
cell_of(double value)
{
    return (int)floor(log2(value) * CELLS_PER_OCTAVE + 0.5);
}

static void
add_cells(CalibratePanel *panel, GArray *spots)
{
    g_array_sort(spots, compare_spots);
    for (guint i = 0, end; i < spots->len; i = end) {
        const Spot *first = &g_array_index(spots, Spot, i);
        for (end = i; end < spots->len && g_array_index(spots, Spot, end).x == first->x &&
                      g_array_index(spots, Spot, end).y == first->y;)
            end++;
        double half = exp2(0.5 / CELLS_PER_OCTAVE);
        CalibrateCell cell = {edge(first->x) / half, edge(first->x) * half, edge(first->y) / half,
                              edge(first->y) * half,
                              (g_array_index(spots, Spot, (i + end - 1) / 2).value +
                               g_array_index(spots, Spot, (i + end) / 2).value) /
                                  2};
        g_array_append_val(panel->cells, cell);
    }
}

gboolean
calibrate_plot_gemm(CalibratePlot *plot, const ClusterSystem *system, const ConfTable *table,
                    GError **error)
{
    for (guint i = 0; i < CLUSTER_N_DTYPES; i++) {
        ClusterDtype dtype = (ClusterDtype)i;
        g_autoptr(GArray) rows = calibrate_gemm_rows(system, table, dtype, error);
        g_autoptr(GArray) spots = g_array_new(FALSE, FALSE, sizeof(Spot));
        if (rows == NULL)
            return FALSE;
        for (guint r = 0; r < rows->len; r++) {
            const CalibrateGemmRow *row = &g_array_index(rows, CalibrateGemmRow, r);
            const CostGemm *g = &row->gemm;
            double m = (double)g->batch * (double)g->m, weight = (double)g->n * (double)g->k;
            Spot spot = {cell_of(m), cell_of(weight),
                         2 * m * weight / cost_peak_flops(system, dtype) * 1e9 / row->ns};
            if (g->pass == COST_GEMM_FORWARD)
                g_array_append_val(spots, spot);
        }
        if (spots->len < LEAST_ROWS)
            continue;
        CalibratePanel *panel = calibrate_plot_panel(
            plot, CLUSTER_TABLE_GEMM,
            g_strdup_printf("GEMM %s, share of %.4g Tflop/s", cluster_dtype_name(dtype),
                            cost_peak_flops(system, dtype) / 1e12),
            "m (rows)", "n k (weights)");
        add_cells(panel, spots);
    }
    return TRUE;
}

/* --- curves ------------------------------------------------------------------------------------- */

static int
compare_points(gconstpointer a, gconstpointer b)
{
    const CalibratePoint *p = a, *q = b;
    if (p->x < q->x || p->x > q->x)
        return p->x < q->x ? -1 : 1;
    return p->y < q->y ? -1 : p->y > q->y;
}

gboolean
calibrate_plot_attention(CalibratePlot *plot, const ClusterSystem *system, const ConfTable *table,
                         GError **error)
{
    g_autoptr(GArray) rows = calibrate_attention_rows(table, error);
    for (guint pass = 0; rows != NULL && pass < 2; pass++) {
        CalibratePanel *panel = NULL;
        for (guint i = 0; i < rows->len; i++) {
            const CalibrateAttentionRow *row = &g_array_index(rows, CalibrateAttentionRow, i);
            const CostAttention *a = &row->attention;
            if (a->backward != (pass == 1))
                continue;
            if (panel == NULL)
                panel = calibrate_plot_panel(plot, CLUSTER_TABLE_ATTENTION,
                                             g_strdup_printf("Attention %s, share of peak",
                                                             pass == 1 ? "backward" : "forward"),
                                             "sequence length", "share of peak");
            g_autofree char *name = g_strdup_printf("head dim %" G_GINT64_FORMAT ", %s",
                                                    a->head_dim, a->causal ? "causal" : "full");
            CalibrateCurve *curve = NULL;
            for (guint c = 0; c < panel->curves->len; c++)
                if (g_str_equal(((CalibrateCurve *)panel->curves->pdata[c])->name, name))
                    curve = panel->curves->pdata[c];
            if (curve == NULL)
                curve = calibrate_plot_curve(panel, g_steal_pointer(&name));
            add_point(curve->points, (double)a->seq_q,
                      cost_attention_flops(a) / cost_peak_flops(system, a->dtype) * 1e9 / row->ns);
        }
        for (guint c = 0; panel != NULL && c < panel->curves->len; c++) {
            CalibrateCurve *curve = panel->curves->pdata[c];
            g_array_sort(curve->points, compare_points);
            g_array_append_vals(curve->fit, curve->points->data, curve->points->len);
        }
    }
    return rows != NULL;
}

/* Rate against size of times against what is moved: both are (moved, ns), `fitted` a part of `times`; `share` is
 * moved over the size. */
static void
fit_rates(CalibrateCurve *curve, const GArray *times, const GArray *fitted, double share,
          CalibrateForm form)
{
    double low = HUGE_VAL, high = 0;
    for (guint i = 0; i < times->len; i++) {
        const CalibratePoint *p = &g_array_index(times, CalibratePoint, i);
        add_point(curve->points, p->x / share, p->x / p->y);
    }
    g_array_sort(curve->points, compare_points);
    for (guint i = 0; i < fitted->len; i++) {
        low = MIN(low, g_array_index(fitted, CalibratePoint, i).x);
        high = MAX(high, g_array_index(fitted, CalibratePoint, i).x);
    }
    if (fitted->len < 3)
        return;
    CalibrateLine line =
        calibrate_line_fit((const CalibratePoint *)(const void *)fitted->data, fitted->len, form);
    for (guint i = 0; i <= FIT_STEPS; i++) {
        double x = low * pow(high / low, (double)i / FIT_STEPS);
        add_point(curve->fit, x / share, x / (line.a + line.b * x + line.c * sqrt(x)));
    }
}

gboolean
calibrate_plot_memory(CalibratePlot *plot, const ClusterSystem *system, const ConfTable *table,
                      GError **error)
{
    g_autoptr(GArray) rows = calibrate_memory_rows(table, error);
    if (rows == NULL)
        return FALSE;
    if (rows->len == 0)
        return TRUE;
    CalibratePanel *panel = calibrate_plot_panel(
        plot, CLUSTER_TABLE_MEMORY, g_strdup("Kernels bound by memory"), "bytes moved", "GB/s");
    panel->ceiling = (double)system->memory_Bps / 1e9;
    panel->ceiling_name = "HBM, nominal";
    for (guint kernel = 0; kernel < COST_N_MEMORY_KERNELS; kernel++) {
        g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(CalibratePoint));
        g_autoptr(GArray) fitted = g_array_new(FALSE, FALSE, sizeof(CalibratePoint));
        for (guint i = 0; i < rows->len; i++) {
            const CalibrateMemoryRow *row = &g_array_index(rows, CalibrateMemoryRow, i);
            if (row->kernel != kernel)
                continue;
            add_point(times, row->bytes, row->ns);
            if (calibrate_is_beyond_caches(system, row->bytes))
                add_point(fitted, row->bytes, row->ns);
        }
        if (times->len > 0)
            fit_rates(calibrate_plot_curve(
                          panel, g_strdup(cost_memory_kernel_name((CostMemoryKernel)kernel))),
                      times, fitted, 1, CALIBRATE_LINE);
    }
    return TRUE;
}

static gboolean
has_curve(const CalibratePanel *panel, const char *name)
{
    for (guint i = 0; i < panel->curves->len; i++)
        if (g_str_equal(((const CalibrateCurve *)panel->curves->pdata[i])->name, name))
            return TRUE;
    return FALSE;
}

/* The rows like `like` as one curve. */
static void
add_group(CalibratePanel *panel, const GArray *rows, const CalibrateCollectiveRow *like)
{
    g_autofree char *name = like->nodes > 1
                                ? g_strdup_printf("%u on %u nodes", like->ranks, like->nodes)
                                : g_strdup_printf("%u GPUs", like->ranks);
    if (has_curve(panel, name))
        return;
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(CalibratePoint));
    for (guint i = 0; i < rows->len; i++) {
        const CalibrateCollectiveRow *row = &g_array_index(rows, CalibrateCollectiveRow, i);
        if (row->op == like->op && row->ranks == like->ranks && row->nodes == like->nodes)
            add_point(times, net_ring_bytes(row->op, row->ranks, row->bytes), row->ns);
    }
    fit_rates(calibrate_plot_curve(panel, g_steal_pointer(&name)), times, times,
              net_ring_bytes(like->op, like->ranks, 1), CALIBRATE_FILLED);
}

static int
compare_groups(gconstpointer a, gconstpointer b)
{
    const CalibrateCollectiveRow *p = a, *q = b;
    if (p->nodes != q->nodes)
        return p->nodes < q->nodes ? -1 : 1;
    if (p->ranks != q->ranks)
        return p->ranks < q->ranks ? -1 : 1;
    return p->bytes < q->bytes ? -1 : p->bytes > q->bytes;
}

gboolean
calibrate_plot_collective(CalibratePlot *plot, const ClusterSystem *system G_GNUC_UNUSED,
                          const ConfTable *table, GError **error)
{
    g_autoptr(GArray) rows = calibrate_collective_rows(table, error);
    if (rows == NULL)
        return FALSE;
    g_array_sort(rows, compare_groups);
    for (guint op = 0; op < NET_N_OPS; op++) {
        CalibratePanel *panel = NULL;
        for (guint i = 0; i < rows->len; i++) {
            const CalibrateCollectiveRow *row = &g_array_index(rows, CalibrateCollectiveRow, i);
            if (row->op != op)
                continue;
            if (panel == NULL)
                panel = calibrate_plot_panel(
                    plot, CLUSTER_TABLE_COLLECTIVE,
                    g_strdup_printf("%s, bus bandwidth", net_op_name((NetOp)op)), "size", "GB/s");
            add_group(panel, rows, row);
        }
    }
    return TRUE;
}
