/* Time of a GEMM: a measured row, else roofline over interpolated efficiency.
 *
 *   time = reference(shape) / efficiency(shape) x pass x misalignment, at least the kernel floor
 * The efficiency comes from rows of the dtype; fp16 and bf16 share theirs, as they run at one rate
 * on the same units.
 * A dtype without enough rows borrows the efficiency of another at its own peak: modelled.
 * A grouped GEMM is one launch whose tiles fill the waves together: a batch of as many GEMMs as there are
 * groups, none of which was measured. */
#include "config.h"

#include "cost/book.h"
#include "cost/roofline.h"

#include <math.h>

/* Fewer points say nothing about a three-dimensional surface. */
#define ENOUGH_POINTS 8
/* An estimate is a model's when it is farther than this from the nearest measured shape, or that
 * far outside the range of the table, in doublings. */
#define NEAR 1.0
#define EDGE 0.5
/* Growth of the error, from that of a row left out, per doubling of distance. */
#define ERROR_GROWTH 0.3
/* A mean absolute error of a normal distribution times this is its sigma. */
#define SIGMA_OF_MEAN 1.2533
/* The sigma of the whole table weighs as much as so many neighbours. */
#define ALL_COUNT_AS 3.0
/* Expected error of a borrowed efficiency, of the guess without any table, of a misaligned GEMM. */
#define ERROR_BORROWED 0.15
#define ERROR_GUESSED 0.25
#define ERROR_MISALIGNED 0.20
/* Of rows less a cast that was measured with them. */
#define ERROR_LESS_CAST 0.05
/* Of grouped ones against published figures (tests/data/cost/grouped.tsv). */
#define ERROR_GROUPED 0.15
/* Without any table: share of the roofline that large GEMMs reach on measured GPUs. */
#define EFFICIENCY_GUESSED 0.80

static const char *const pass_names[COST_N_GEMM_PASSES] = {
    [COST_GEMM_FORWARD] = "forward", [COST_GEMM_DGRAD] = "dgrad", [COST_GEMM_WGRAD] = "wgrad"};

const char *
cost_gemm_pass_name(CostGemmPass pass)
{
    g_assert((guint)pass < COST_N_GEMM_PASSES);
    return pass_names[pass];
}

static gboolean
has_points(const CostBook *book, ClusterDtype dtype)
{
    return book->gemm[dtype] && cost_gemm_table_n_points(book->gemm[dtype]) >= ENOUGH_POINTS;
}

static gboolean
is_16_bit(ClusterDtype dtype)
{
    return dtype == CLUSTER_FP16 || dtype == CLUSTER_BF16;
}

static gboolean
runs_alike(const CostBook *book, ClusterDtype a, ClusterDtype b)
{
    const gint64 *peaks = book->measured[CLUSTER_TABLE_GEMM]->peak_flops;
    return a == b || (is_16_bit(a) && is_16_bit(b) && peaks[a] > 0 && peaks[a] == peaks[b]);
}

/* Measured dtypes in order of preference; a table of 16-bit rows before the others. */
static gboolean
choose_table(const CostBook *book, ClusterDtype wanted, ClusterDtype *ret)
{
    const ClusterDtype order[] = {wanted,       CLUSTER_BF16, CLUSTER_FP16,
                                  CLUSTER_TF32, CLUSTER_FP8,  CLUSTER_FP32};
    for (guint i = 0; i < G_N_ELEMENTS(order); i++)
        if (has_points(book, order[i])) {
            *ret = order[i];
            return TRUE;
        }
    return FALSE;
}

static gboolean
find_measured(const CostBook *book, const CostGemm *g, double *ret_ns)
{
    if (book->gemm[g->dtype] && cost_gemm_table_find(book->gemm[g->dtype], g, ret_ns))
        return TRUE;
    ClusterDtype twin = g->dtype == CLUSTER_BF16 ? CLUSTER_FP16 : CLUSTER_BF16;
    return runs_alike(book, g->dtype, twin) && book->gemm[twin] &&
           cost_gemm_table_find(book->gemm[twin], g, ret_ns);
}

/* The query's roofline over that of the row as it was measured: overrides of the system; and a
 * measured wgrad adds into an fp32 gradient, one that does not is a little shorter. */
static double
change_since_measured(const CostBook *book, const CostGemm *g)
{
    CostGemm row = *g;
    row.accumulate_fp32 = g->pass == COST_GEMM_WGRAD;
    return cost_gemm_roofline_ns(book->system, g) /
           cost_gemm_roofline_ns(book->measured[CLUSTER_TABLE_GEMM], &row);
}

static CostTime
estimate(const CostBook *book, const CostGemm *g)
{
    ClusterDtype source;
    if (!choose_table(book, g->dtype, &source))
        return (CostTime){cost_gemm_roofline_ns(book->system, g) / EFFICIENCY_GUESSED,
                          COST_MODELLED, ERROR_GUESSED, ERROR_GUESSED};
    const CostGemmTable *table = book->gemm[source];
    CostEstimate at = cost_gemm_table_log_efficiency(table, g);
    double spread = 0, factor = cost_gemm_table_pass_factor(table, g->pass, &spread);
    /* of the neighbours, and of all rows as if there were some more of them */
    double residual =
        (at.support * SIGMA_OF_MEAN * at.residual + ALL_COUNT_AS * book->gemm_error[source]) /
        (at.support + ALL_COUNT_AS);
    double error = residual * (1 + ERROR_GROWTH * at.distance);
    double variance = error * error + spread * spread, common = 0;
    gboolean modelled = at.outside > EDGE || at.distance > NEAR;
    if (!runs_alike(book, g->dtype, source)) {
        common = ERROR_BORROWED;
        modelled = TRUE;
    }
    double ns = cost_gemm_reference_ns(book->system, g) / exp(at.y);
    /* Rows are of single GEMMs, and small ones may come out of a cache: all of a batch does not. */
    if (g->batch > 1)
        ns = MAX(ns, cost_gemm_roofline_ns(book->system, g));
    return (CostTime){ns * factor, modelled ? COST_MODELLED : COST_INTERPOLATED,
                      sqrt(variance + common * common), common};
}

/* Groups are equal, and rows that do not divide fill up the last of each: what a tile does anyway. With
 * fewer rows than groups some groups are empty. */
static CostGemm
batch_of_groups(const CostGemm *g)
{
    CostGemm batch = *g;
    gint64 *rows = g->pass == COST_GEMM_WGRAD ? &batch.k : &batch.m;
    gint64 groups = MIN(g->groups, *rows);
    *rows = (*rows + groups - 1) / groups;
    batch.batch *= groups;
    batch.groups = 0;
    return batch;
}

/* An error of the model, which is there for all such GEMMs. */
static void
add_common(CostTime *time, double error)
{
    time->error_frac = hypot(time->error_frac, error);
    time->common_frac = hypot(time->common_frac, error);
}

static CostTime
grouped(const CostBook *book, const CostGemm *g)
{
    CostGemm batch = batch_of_groups(g);
    CostTime time = estimate(book, &batch);
    time.ns = MAX(time.ns * cost_gemm_misalignment(&batch), (double)book->system->kernel_floor_ns);
    time.basis = COST_MODELLED;
    add_common(&time, ERROR_GROUPED);
    return time;
}

CostTime
cost_gemm(const CostBook *book, const CostGemm *g)
{
    g_assert(g->m > 0 && g->n > 0 && g->k > 0 && g->batch > 0 && g->groups >= 0);
    if (g->groups > 1)
        return grouped(book, g);
    double measured = 0;
    if (find_measured(book, g, &measured)) {
        CostTime time = cost_measured_time(measured, change_since_measured(book, g));
        time.ns = MAX(time.ns, MIN(measured, (double)book->system->kernel_floor_ns));
        if (book->gemm[g->dtype] && cost_gemm_table_less_cast(book->gemm[g->dtype])) {
            time.basis = MAX(time.basis, COST_INTERPOLATED);
            add_common(&time, ERROR_LESS_CAST);
        }
        return time;
    }
    CostTime time = estimate(book, g);
    double misalignment = cost_gemm_misalignment(g);
    if (misalignment > 1) {
        time.ns *= misalignment;
        time.basis = COST_MODELLED;
        add_common(&time, ERROR_MISALIGNED);
    }
    time.ns = MAX(time.ns, (double)book->system->kernel_floor_ns);
    return time;
}
