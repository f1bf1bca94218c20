/* Time of the fused attention core: a measured row, else roofline over interpolated efficiency. */
#include "config.h"

#include "cost/book.h"
#include "cost/roofline.h"

#include <math.h>

/* Beyond this many doublings from the nearest measured point an estimate is a model's. */
#define NEAR 1.0
/* Expected relative error: near measured points; a doubling farther; mask of the other kind; no
 * rows at all. */
#define ERROR_NEAR 0.06 /* ... which weighs as much as so many neighbours' residuals */
#define ALL_COUNT_AS 3.0
/* A mean absolute error of a normal distribution times this is its sigma. */
#define SIGMA_OF_MEAN 1.2533
#define ERROR_DOUBLING 0.05
#define ERROR_OTHER_MASK 0.15
#define ERROR_GUESSED 0.30
/* Without rows: what FlashAttention-2 reaches on A100 for a few thousand tokens. */
#define EFFICIENCY_FORWARD 0.62
#define EFFICIENCY_BACKWARD 0.52

static CostTime
estimate(const CostBook *book, const CostAttention *a)
{
    CostEstimate at;
    gboolean other_mask = FALSE;
    if (!book->attention ||
        !cost_attention_table_log_efficiency(book->attention, a, &at, &other_mask)) {
        double efficiency = a->backward ? EFFICIENCY_BACKWARD : EFFICIENCY_FORWARD;
        return (CostTime){cost_attention_roofline_ns(book->system, a) / efficiency, COST_MODELLED,
                          ERROR_GUESSED, ERROR_GUESSED};
    }
    double error = (at.support * SIGMA_OF_MEAN * at.residual + ALL_COUNT_AS * ERROR_NEAR) /
                       (at.support + ALL_COUNT_AS) +
                   ERROR_DOUBLING * at.distance;
    if (other_mask)
        error = hypot(error, ERROR_OTHER_MASK);
    gboolean modelled = other_mask || at.distance > NEAR || cluster_dtype_bytes(a->dtype) != 2;
    double ns = cost_attention_reference_ns(book->system, a) / exp(at.y);
    return (CostTime){ns, modelled ? COST_MODELLED : COST_INTERPOLATED, error,
                      other_mask ? ERROR_OTHER_MASK : 0};
}

CostTime
cost_attention(const CostBook *book, const CostAttention *a)
{
    g_assert(a->batch > 0 && a->heads > 0 && a->kv_heads > 0 && a->head_dim > 0);
    g_assert(a->seq_q > 0 && a->seq_kv > 0);
    double measured = 0;
    if (book->attention && cost_attention_table_find(book->attention, a, &measured))
        return cost_measured_time(
            measured, cost_attention_roofline_ns(book->system, a) /
                          cost_attention_roofline_ns(book->measured[CLUSTER_TABLE_ATTENTION], a));
    CostTime time = estimate(book, a);
    time.ns = MAX(time.ns, (double)book->system->kernel_floor_ns);
    return time;
}
