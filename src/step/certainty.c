/* How sure the time of an iteration is.
 *
 * A run adds up the times of few shapes, each many times.  With t_s the time that shape s has on the critical path,
 * e_s its relative error (one sigma), of which c_s is common to all shapes of its family, and T the sum:
 *
 *     variance = sum over shapes   t_s^2 (e_s^2 - c_s^2)      a shape errs by as much each time that it runs: its calls
 *                                                             add up, and are not divided by the root of their number
 *              + sum over families (sum t_s c_s)^2            what a model has wrong for one it has wrong for all
 *              + (0.08 T)^2                                   what no table knows (COMMON_ERROR)
 *
 * Different shapes err independently otherwise: that is how residuals of rows that are left out look.  Families are
 * the GEMMs of a dtype, attention, each kernel bound by memory, and collectives in a node and across nodes; only what
 * is modelled has a common part.  Ops that no shape stands for (launches, copies to the host, exchanges of tokens) err
 * by name.  A kind of work in the breakdown has the same sum over its own part of the path. */
#include "config.h"

#include <math.h>

#include "step/build.h"

/* What tables of short benchmarks cannot know: training runs hot and long (sustained clocks are 3 to 15 %
 * below short runs) and at the pace of the slowest of GPUs that differ by 5 to 8 %. All times of one run
 * err together by about this; it is also the mean error seen on published A100 runs (traces/published). */
#define COMMON_ERROR 0.08

enum {
    FAMILY_GEMM,
    FAMILY_ATTENTION = FAMILY_GEMM + CLUSTER_N_DTYPES,
    FAMILY_MEMORY,
    FAMILY_IN_NODE = FAMILY_MEMORY + COST_N_MEMORY_KERNELS,
    FAMILY_ACROSS,
    N_FAMILIES
};

typedef struct {
    const StepBuild *b;
    guint *source;  /* [tags] whose errors add up: the first op that errs with this one */
    double *own_ns; /* [tags] by source */
    double common_ns[N_FAMILIES];
    double total_ns;
} Certainty;

/* Ops of one shape; without one, that differ only in what they send or do to memory. */
static gboolean
err_together(const StepOp *x, const StepOp *y)
{
    if (x->shape > 0 || y->shape > 0)
        return x->shape == y->shape;
    return x->kind == y->kind && x->basis == y->basis && x->error_frac == y->error_frac &&
           g_strcmp0(x->name, y->name) == 0;
}

static const StepOp *
op_of(const StepBuild *b, guint tag)
{
    return &g_array_index(b->ops, StepOp, tag);
}

static guint
family_of(const StepShape *s)
{
    switch (s->kind) {
    case STEP_SHAPE_GEMM:
        return FAMILY_GEMM + (guint)s->gemm.dtype;
    case STEP_SHAPE_ATTENTION:
        return FAMILY_ATTENTION;
    case STEP_SHAPE_MEMORY:
        return FAMILY_MEMORY + (guint)s->memory.kernel;
    default:
        return s->collective.nodes > 1 ? FAMILY_ACROSS : FAMILY_IN_NODE;
    }
}

static void
add(Certainty *c, guint tag, double ns)
{
    const StepOp *op = op_of(c->b, tag);
    double error = op->error_frac, common = 0;
    if (ns <= 0)
        return;
    if (op->shape > 0) {
        const StepShape *shape = &g_array_index(c->b->shapes, StepShape, op->shape);
        common = MIN(shape->time.common_frac, error);
        c->common_ns[family_of(shape)] += common * ns;
    }
    c->own_ns[c->source[tag]] += sqrt(error * error - common * common) * ns;
    c->total_ns += ns;
}

static double
sigma_ns(Certainty *c)
{
    double variance = (COMMON_ERROR * c->total_ns) * (COMMON_ERROR * c->total_ns);
    for (guint tag = 0; tag < c->b->ops->len; tag++) {
        variance += c->own_ns[tag] * c->own_ns[tag];
        c->own_ns[tag] = 0;
    }
    for (guint family = 0; family < N_FAMILIES; family++) {
        variance += c->common_ns[family] * c->common_ns[family];
        c->common_ns[family] = 0;
    }
    c->total_ns = 0;
    return sqrt(variance);
}

/* What runs of kernels took is what their kernels took, in proportion. */
static double *
spread_runs(const StepBuild *b, const gint64 *path_ns)
{
    double *ns = g_new0(double, (gsize)b->ops->len * 2);
    for (guint i = 0; i < b->ops->len * 2; i++) {
        const StepOp *op = op_of(b, i / 2);
        double alone_ns = 0;
        for (guint k = 0; k < op->n_parts; k++)
            alone_ns += (double)g_array_index(b->run_parts, StepPartOfRun, op->part + k).ns;
        if (alone_ns <= 0) {
            ns[i] += (double)path_ns[i];
            continue;
        }
        for (guint k = 0; k < op->n_parts; k++) {
            const StepPartOfRun *part = &g_array_index(b->run_parts, StepPartOfRun, op->part + k);
            ns[2 * part->tag + i % 2] += (double)path_ns[i] * (double)part->ns / alone_ns;
        }
    }
    return ns;
}

static void
find_sources(Certainty *c)
{
    guint n = c->b->ops->len;
    c->source = g_new(guint, n);
    g_autofree guint *first = g_new0(guint, c->b->shapes->len); /* tag + 1 */
    for (guint tag = 0; tag < n; tag++) {
        guint shape = op_of(c->b, tag)->shape, i = 0;
        while (shape == 0 && !err_together(op_of(c->b, i), op_of(c->b, tag)))
            i++;
        if (shape > 0) {
            first[shape] = first[shape] > 0 ? first[shape] : tag + 1;
            i = first[shape] - 1;
        }
        c->source[tag] = i;
    }
}

static void
sum_shares(const StepBuild *b, const double *ns, StepResult *r)
{
    double total = 0, share[3] = {0};
    for (guint i = 0; i < b->ops->len * 2; i++) {
        share[op_of(b, i / 2)->basis] += ns[i];
        total += ns[i];
    }
    for (guint i = 0; i < 3; i++)
        r->share[i] = total > 0 ? share[i] / total : 0;
}

static gint
by_error(gconstpointer x, gconstpointer y)
{
    const StepShape *a = x, *b = y;
    if (a->path_ns != b->path_ns)
        return a->path_ns > b->path_ns ? -1 : 1;
    double work = a->calls * a->time.ns - b->calls * b->time.ns;
    return work > 0 ? -1 : work < 0;
}

/* Those that the programs run, the largest share of the path first. */
static GArray *
list_shapes(const StepBuild *b, const double *ns)
{
    GArray *list = g_array_new(FALSE, FALSE, sizeof(StepShape));
    step_count_shapes(b);
    for (guint i = 0; i < b->ops->len * 2; i++) {
        guint shape = op_of(b, i / 2)->shape;
        if (shape > 0)
            g_array_index(b->shapes, StepShape, shape).path_ns += ns[i];
    }
    for (guint i = 1; i < b->shapes->len; i++) {
        StepShape *shape = &g_array_index(b->shapes, StepShape, i);
        shape->error_ns = shape->path_ns * shape->time.error_frac;
        if (shape->calls > 0)
            g_array_append_vals(list, shape, 1);
    }
    g_array_sort(list, by_error); /* stable */
    return list;
}

void
step_certainty(StepBuild *b, const gint64 *path_ns, StepResult *r)
{
    guint n = b->ops->len;
    g_autofree double *ns = spread_runs(b, path_ns);
    Certainty c = {.b = b, .own_ns = g_new0(double, n)};
    find_sources(&c);
    sum_shares(b, ns, r);
    for (guint tag = 0; tag < n; tag++)
        add(&c, tag, ns[2 * tag] + ns[2 * tag + 1]);
    r->error_ns = (gint64)ceil(sigma_ns(&c));
    for (StepKind kind = 0; kind < STEP_N_KINDS; kind++) {
        for (guint tag = 0; tag < n; tag++) {
            if (kind == STEP_BUBBLE)
                add(&c, tag, ns[2 * tag + 1]);
            if (op_of(b, tag)->kind == kind)
                add(&c, tag, ns[2 * tag]);
        }
        r->breakdown_error_ns[kind] = (gint64)ceil(sigma_ns(&c));
    }
    r->shapes = list_shapes(b, ns);
    g_free(c.source);
    g_free(c.own_ns);
}
