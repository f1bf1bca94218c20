/* Efficiency of GEMMs between measured shapes.
 *
 * A shape is a point (log2 of the larger of m and n, log2 of the smaller, log2 k): C and its
 * transpose run nearly alike, so that shapes of the same orientation count as nearer, and so do those whose tiles
 * fall alike on the SMs (cost/tiling.h).
 *   log(reference / measured time) = surface at the point + coefficients . covariates
 * The coefficients say how kernels of this GPU differ from what the reference takes them to be: they are of the rows
 * themselves (cost/covariates.h), where there are enough. */
#include "config.h"

#include "cost/gemm_table.h"

#include "cost/book.h"
#include "cost/cells.h"
#include "cost/covariates.h"
#include "cost/roofline.h"
#include "cost/tiling.h"
#include "units/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Backward, 8-bit products are added up in fp32 registers every few steps, forward they are not: TransformerEngine's
 * split accumulator, torchao's use_fast_accum, XLA's precision of gradients. Fast accumulation is 1.1 to 1.2 times as
 * fast (pytorch/ao issue 2377, on H100). Where no backward rows say it. */
#define FP8_BACKWARD 1.15
#define FP8_BACKWARD_SPREAD 0.05

/* Doublings of m over n beyond which a matrix is no more of one orientation. */
#define SLIM 3.0

/* Fewer points say nothing about the covariates. */
#define ENOUGH_POINTS 100

/* Candidates for Fit.waves: dense tables gain by the larger, sparse ones may lose. */
static const double wave_scales[] = {1, 4};
/* Points that choose between them. */
#define JURY 400

typedef struct {
    CostGemmPass pass;
    gint64 m, n, k, batch;
    double ns;
} Row;

typedef struct {
    double waves; /* so many doublings of a shape does a doubling lost to waves count for */
    double coefficients[COST_TILING_COVARIATES];
    double least, most; /* what covariates come to at the points */
} Fit;

struct CostGemmTable {
    const ClusterSystem *system; /* borrowed */
    ClusterDtype dtype;
    gboolean less_cast;
    GArray *rows;         /* Row, sorted, unique: for exact hits */
    CostSurface *surface; /* of the forward rows */
    Fit fit;
    double factor[COST_N_GEMM_PASSES], spread[COST_N_GEMM_PASSES];
};

static CostGemm
gemm_of(const Row *row, ClusterDtype dtype)
{
    return (CostGemm){.dtype = dtype,
                      .pass = row->pass,
                      .m = row->m,
                      .n = row->n,
                      .k = row->k,
                      .batch = row->batch,
                      .accumulate_fp32 = row->pass == COST_GEMM_WGRAD};
}

/* A batch of GEMMs is as long as one whose rows are stacked: what differs, the second operand's
 * bytes and the tiles, is in the roofline. */
static void
coordinates(const CostGemmTable *t, const CostGemm *g, double x[COST_SURFACE_AXES])
{
    double m = log2((double)g->m * (double)g->batch), n = log2((double)g->n);
    x[0] = MAX(m, n);
    x[1] = MIN(m, n);
    x[2] = log2((double)g->k);
    x[3] = CLAMP(m - n, -SLIM, SLIM) / 2;
    G_STATIC_ASSERT(COST_SURFACE_AXES == 4 + COST_TILING_AXES);
    cost_tiling_axes(t->system, g, x + 4);
    x[4] *= t->fit.waves;
    x[5] *= t->fit.waves;
}

static double
covariates_sum(const CostGemmTable *t, const double *z)
{
    double sum = 0;
    for (guint i = 0; i < COST_TILING_COVARIATES; i++)
        sum += t->fit.coefficients[i] * z[i];
    return sum;
}

static CostEstimate
estimate(const CostGemmTable *t, const CostGemm *g)
{
    double x[COST_SURFACE_AXES];
    coordinates(t, g, x);
    CostEstimate at = cost_surface_at(t->surface, x);
    if (t->fit.most > t->fit.least) {
        CostGemm plain = *g; /* as the points are */
        double z[COST_TILING_COVARIATES];
        plain.accumulate_fp32 = FALSE;
        cost_tiling_covariates(t->system, &plain, cost_gemm_reference_ns(t->system, &plain), z);
        at.y += CLAMP(covariates_sum(t, z), t->fit.least, t->fit.most);
    }
    return at;
}

static int
compare_rows(gconstpointer a, gconstpointer b)
{
    const Row *p = a, *q = b;
    const gint64 left[] = {p->pass, p->batch, p->m, p->n, p->k};
    const gint64 right[] = {q->pass, q->batch, q->m, q->n, q->k};
    for (guint i = 0; i < G_N_ELEMENTS(left); i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

typedef struct {
    guint dtype, m, n, k, batch, time;
    int pass;
} Columns;

static gboolean
find_columns(const ConfTable *table, Columns *c, GError **error)
{
    c->pass = conf_table_find_column(table, "pass");
    return conf_table_need_column(table, "dtype", &c->dtype, error) &&
           conf_table_need_column(table, "m", &c->m, error) &&
           conf_table_need_column(table, "n", &c->n, error) &&
           conf_table_need_column(table, "k", &c->k, error) &&
           conf_table_need_column(table, "batch", &c->batch, error) &&
           conf_table_need_column(table, "time_us", &c->time, error);
}

static gboolean
read_pass(const ConfTable *table, guint i, int column, CostGemmPass *ret, GError **error)
{
    const char *text = column < 0 ? "forward" : conf_table_text(table, i, (guint)column);
    for (guint p = 0; p < COST_N_GEMM_PASSES; p++)
        if (g_str_equal(text, cost_gemm_pass_name((CostGemmPass)p))) {
            *ret = (CostGemmPass)p;
            return TRUE;
        }
    conf_table_complain(table, i, (guint)column, error,
                        "'%s' is no pass; write forward, dgrad or wgrad", text);
    return FALSE;
}

static gboolean
read_row(const ConfTable *table, guint i, const Columns *c, Row *row, GError **error)
{
    if (!cost_read_count(table, i, c->m, &row->m, error) ||
        !cost_read_count(table, i, c->n, &row->n, error) ||
        !cost_read_count(table, i, c->k, &row->k, error) ||
        !cost_read_count(table, i, c->batch, &row->batch, error) ||
        !cost_read_time(table, i, c->time, &row->ns, error))
        return FALSE;
    return read_pass(table, i, c->pass, &row->pass, error);
}

static gboolean
read_rows(CostGemmTable *t, const ConfTable *table, GError **error)
{
    Columns c;
    if (!find_columns(table, &c, error))
        return FALSE;
    for (guint i = 0; i < conf_table_n_rows(table); i++) {
        ClusterDtype dtype;
        if (!cost_read_dtype(table, i, c.dtype, &dtype, error))
            return FALSE;
        Row row;
        if (dtype != t->dtype)
            continue; /* read, and complained about, for its own dtype's table */
        if (!read_row(table, i, &c, &row, error))
            return FALSE;
        g_array_append_val(t->rows, row);
    }
    return TRUE;
}

/* Is there a comment line "with-cast: DTYPE"? */
static gboolean
rows_have_cast(const ConfTable *table, ClusterDtype dtype)
{
    g_auto(GStrv) lines = g_strsplit(conf_table_comment(table), "\n", -1);
    g_autofree char *wanted = g_strdup_printf("# with-cast: %s", cluster_dtype_name(dtype));
    return g_strv_contains((const char *const *)lines, wanted);
}

/* One kernel that reads 2 bytes an element and writes 1: what a cast with a known scale takes. What is left is no less
 * than the roofline. */
static void
take_off_casts(CostGemmTable *t)
{
    double rate = cost_memory_rate(t->system, COST_CAST);
    for (guint i = 0; i < t->rows->len; i++) {
        Row *row = &g_array_index(t->rows, Row, i);
        double elements = (double)row->m * (double)row->k * (double)row->batch;
        double cast = (double)t->system->kernel_floor_ns + 3.0 * elements / rate * 1e9;
        CostGemm g = gemm_of(row, t->dtype);
        row->ns = MAX(row->ns - cast, MIN(row->ns, cost_gemm_roofline_ns(t->system, &g)));
    }
}

/* Several measurements of one shape count as their geometric mean. */
static void
merge_rows(CostGemmTable *t)
{
    g_array_sort(t->rows, compare_rows);
    guint kept = 0;
    for (guint i = 0; i < t->rows->len;) {
        Row *first = &g_array_index(t->rows, Row, i);
        double sum = 0;
        guint j = i;
        for (; j < t->rows->len && compare_rows(first, &g_array_index(t->rows, Row, j)) == 0; j++)
            sum += log(g_array_index(t->rows, Row, j).ns);
        Row merged = *first;
        if (j > i + 1)
            merged.ns = exp(sum / (j - i));
        g_array_index(t->rows, Row, kept++) = merged;
        i = j;
    }
    g_array_set_size(t->rows, kept);
}

/* --- building --------------------------------------------------------------------------------- */

/* Takes what covariates explain off the points, whose y and z are in order of adding. */
static void
fit_covariates(CostGemmTable *t, const double *y, const double *z)
{
    guint n = cost_surface_n_points(t->surface);
    cost_covariates_fit(t->surface, y, z, COST_TILING_COVARIATES, t->fit.coefficients);
    g_autofree double *less = g_new(double, n);
    for (guint i = 0; i < n; i++) {
        less[i] = covariates_sum(t, z + (gsize)i * COST_TILING_COVARIATES);
        t->fit.least = i > 0 ? MIN(t->fit.least, less[i]) : less[i];
        t->fit.most = i > 0 ? MAX(t->fit.most, less[i]) : less[i];
    }
    cost_surface_lower(t->surface, less);
}

/* y and z of the forward rows, in their order. */
static guint
find_points(const CostGemmTable *t, double *y, double *z)
{
    guint n = 0;
    for (guint i = 0; i < t->rows->len; i++) {
        const Row *row = &g_array_index(t->rows, Row, i);
        if (row->pass != COST_GEMM_FORWARD)
            continue;
        CostGemm g = gemm_of(row, t->dtype);
        double reference_ns = cost_gemm_reference_ns(t->system, &g);
        cost_tiling_covariates(t->system, &g, reference_ns, z + (gsize)n * COST_TILING_COVARIATES);
        y[n++] = log(reference_ns / row->ns);
    }
    return n;
}

/* With `waves` as they are in t->fit; the rest of it is found. */
static void
build_surface(CostGemmTable *t, const double *y, const double *z)
{
    t->surface = cost_surface_new();
    guint n = 0;
    for (guint i = 0; i < t->rows->len; i++) {
        const Row *row = &g_array_index(t->rows, Row, i);
        if (row->pass != COST_GEMM_FORWARD)
            continue;
        CostGemm g = gemm_of(row, t->dtype);
        double x[COST_SURFACE_AXES];
        coordinates(t, &g, x);
        cost_surface_add(t->surface, x, y[n++]);
    }
    cost_surface_build(t->surface);
    if (n >= ENOUGH_POINTS)
        fit_covariates(t, y, z);
}

/* Of the surfaces that candidates make, that which misses least of points left out. */
static void
choose_surface(CostGemmTable *t)
{
    g_autofree double *y = g_new0(double, t->rows->len);
    g_autofree double *z = g_new(double, (gsize)t->rows->len *COST_TILING_COVARIATES);
    guint n = find_points(t, y, z);
    t->fit = (Fit){.waves = wave_scales[0]};
    build_surface(t, y, z);
    for (guint i = 1; n >= ENOUGH_POINTS && i < G_N_ELEMENTS(wave_scales); i++) {
        CostSurface *best = t->surface;
        Fit fit = t->fit;
        t->fit = (Fit){.waves = wave_scales[i]};
        build_surface(t, y, z);
        if (cost_surface_mean_left_out(best, JURY) > cost_surface_mean_left_out(t->surface, JURY)) {
            cost_surface_free(best);
            continue;
        }
        cost_surface_free(t->surface);
        t->surface = best;
        t->fit = fit;
    }
}

/* Median over the rows of `pass` of measured time / time of a forward GEMM of that shape. */
static void
fit_pass(CostGemmTable *t, CostGemmPass pass)
{
    g_autoptr(GArray) logs = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < t->rows->len && cost_surface_n_points(t->surface); i++) {
        const Row *row = &g_array_index(t->rows, Row, i);
        if (row->pass != pass)
            continue;
        CostGemm g = gemm_of(row, t->dtype);
        double forward = cost_gemm_reference_ns(t->system, &g) / exp(estimate(t, &g).y);
        double y = log(row->ns / forward);
        g_array_append_val(logs, y);
    }
    if (!logs->len)
        return;
    double centre = units_quantile_of(logs, 0.5);
    t->factor[pass] = exp(centre);
    for (guint i = 0; i < logs->len; i++)
        g_array_index(logs, double, i) = fabs(g_array_index(logs, double, i) - centre);
    t->spread[pass] = 1.4826 * units_quantile_of(logs, 0.5);
}

CostGemmTable *
cost_gemm_table_new(const ClusterSystem *system, const ConfTable *rows, ClusterDtype dtype,
                    GError **error)
{
    g_autoptr(CostGemmTable) t = g_new0(CostGemmTable, 1);
    t->system = system;
    t->dtype = dtype;
    t->rows = g_array_new(FALSE, FALSE, sizeof(Row));
    for (guint i = 0; i < G_N_ELEMENTS(t->factor); i++)
        t->factor[i] = 1;
    if (!read_rows(t, rows, error))
        return NULL;
    merge_rows(t);
    t->less_cast = rows_have_cast(rows, dtype);
    if (t->less_cast)
        take_off_casts(t);
    choose_surface(t);
    if (dtype == CLUSTER_FP8) {
        t->factor[COST_GEMM_DGRAD] = t->factor[COST_GEMM_WGRAD] = FP8_BACKWARD;
        t->spread[COST_GEMM_DGRAD] = t->spread[COST_GEMM_WGRAD] = FP8_BACKWARD_SPREAD;
    }
    fit_pass(t, COST_GEMM_DGRAD);
    fit_pass(t, COST_GEMM_WGRAD);
    return g_steal_pointer(&t);
}

void
cost_gemm_table_free(CostGemmTable *t)
{
    if (!t)
        return;
    g_array_unref(t->rows);
    cost_surface_free(t->surface);
    g_free(t);
}

guint
cost_gemm_table_n_rows(const CostGemmTable *t)
{
    return t->rows->len;
}

guint
cost_gemm_table_n_points(const CostGemmTable *t)
{
    return cost_surface_n_points(t->surface);
}

gboolean
cost_gemm_table_find(const CostGemmTable *t, const CostGemm *g, double *ret_ns)
{
    Row key = {.pass = g->pass, .m = g->m, .n = g->n, .k = g->k, .batch = g->batch};
    const Row *row =
        t->rows->len ? bsearch(&key, t->rows->data, t->rows->len, sizeof(Row), compare_rows) : NULL;
    if (row)
        *ret_ns = row->ns;
    return row != NULL;
}

gboolean
cost_gemm_table_less_cast(const CostGemmTable *t)
{
    return t->less_cast;
}

CostEstimate
cost_gemm_table_log_efficiency(const CostGemmTable *t, const CostGemm *g)
{
    return estimate(t, g);
}

double
cost_gemm_table_leave_one_out(const CostGemmTable *t, guint most)
{
    return cost_surface_leave_one_out(t->surface, most);
}

double
cost_gemm_table_pass_factor(const CostGemmTable *t, CostGemmPass pass, double *ret_spread)
{
    *ret_spread = t->spread[pass];
    return t->factor[pass];
}
