/* The shapes of a build, each once; and how often programs run them. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "step/build.h"

const char *const step_shape_kind_names[] = {"gemm", "attention", "memory", "collective", NULL};

void
step_shape_fields(const StepShape *s, gint64 f[STEP_SHAPE_FIELDS])
{
    const CostGemm *g = &s->gemm;
    const CostAttention *a = &s->attention;
    memset(f, 0, STEP_SHAPE_FIELDS * sizeof *f);
    if (s->kind == STEP_SHAPE_GEMM) {
        const gint64 fields[] = {g->dtype, g->pass,  g->m,      g->n,
                                 g->k,     g->batch, g->groups, g->accumulate_fp32};
        memcpy(f, fields, sizeof fields);
    } else if (s->kind == STEP_SHAPE_ATTENTION) {
        const gint64 fields[] = {a->dtype, a->batch,  a->heads,  a->kv_heads, a->head_dim,
                                 a->seq_q, a->seq_kv, a->causal, a->backward, a->v_dim};
        memcpy(f, fields, sizeof fields);
    } else if (s->kind == STEP_SHAPE_MEMORY) {
        f[0] = s->memory.kernel;
        f[1] = s->memory.bytes;
    } else {
        const gint64 fields[] = {s->collective.op,    s->collective.dtype, s->collective.ranks,
                                 s->collective.nodes, s->collective.even,  s->collective.bytes};
        memcpy(f, fields, sizeof fields);
    }
}

/* Groups alike in ranks and nodes may differ in cards and links: then in time. */
static gboolean
is_same(const StepShape *a, const StepShape *b)
{
    gint64 x[STEP_SHAPE_FIELDS], y[STEP_SHAPE_FIELDS];
    if (a->kind != b->kind || a->time.ns != b->time.ns)
        return FALSE;
    step_shape_fields(a, x);
    step_shape_fields(b, y);
    return memcmp(x, y, sizeof x) == 0;
}

guint
step_intern_shape(StepBuild *b, const StepShape *shape)
{
    for (guint i = 1; i < b->shapes->len; i++)
        if (is_same(&g_array_index(b->shapes, StepShape, i), shape))
            return i;
    g_array_append_vals(b->shapes, shape, 1);
    return b->shapes->len - 1;
}

guint
step_memory_shape(StepBuild *b, const char *name, CostMemoryKernel kernel, double bytes,
                  CostTime time)
{
    StepShape shape = {.kind = STEP_SHAPE_MEMORY, .name = name, .time = time};
    if (bytes < 0.5)
        return 0;
    shape.memory.kernel = kernel;
    shape.memory.bytes = (gint64)llround(bytes);
    return step_intern_shape(b, &shape);
}

/* Gradients are summed in their own width; all else is sent as the model computes, in 16 bits where that is in 8. */
static ClusterDtype
dtype_sent(const StepBuild *b, StepKind purpose, NetOp op)
{
    const PlanSpec *spec = &b->plan->spec;
    gboolean sums = op == NET_ALL_REDUCE || op == NET_REDUCE_SCATTER;
    if (purpose == STEP_DP && sums && spec->gradient_fp32)
        return CLUSTER_FP32;
    return spec->dtype == CLUSTER_FP8 ? CLUSTER_BF16 : spec->dtype;
}

guint
step_collective_shape(StepBuild *b, const char *name, StepKind purpose, NetOp op,
                      const NetGroup *group, gint64 bytes, CostTime time)
{
    StepShape shape = {.kind = STEP_SHAPE_COLLECTIVE, .name = name, .time = time};
    if (group->ranks < 2 || bytes < 1)
        return 0;
    shape.collective.op = op;
    shape.collective.dtype = dtype_sent(b, purpose, op);
    shape.collective.ranks = group->ranks;
    shape.collective.nodes = group->nodes;
    shape.collective.even =
        group->ranks % group->nodes == 0 && group->ranks_per_node * group->nodes == group->ranks;
    shape.collective.bytes = bytes;
    guint known = b->shapes->len, index = step_intern_shape(b, &shape);
    if (index == known && b->refused == NULL &&
        !net_collective_check(b->net, op, *group, &b->refused))
        g_prefix_error(&b->refused, "%s: ", name);
    return index;
}

guint
step_op_shape(StepBuild *b, const LlmOp *op, CostTime time)
{
    StepShape shape = {.name = op->name, .time = time};
    if (op->kind == LLM_OP_MEMORY)
        return step_memory_shape(b, op->name, op->memory.kernel, op->memory.bytes, time);
    shape.kind = op->kind == LLM_OP_GEMM ? STEP_SHAPE_GEMM : STEP_SHAPE_ATTENTION;
    if (op->kind == LLM_OP_GEMM)
        shape.gemm = op->gemm;
    else
        shape.attention = op->attention;
    return step_intern_shape(b, &shape);
}

static gboolean
fits_table(gint64 size)
{
    return size >= 1 && size <= G_MAXINT32;
}

gboolean
step_shape_is_measurable(const StepShape *s)
{
    const CostGemm *g = &s->gemm;
    const CostAttention *a = &s->attention;
    switch (s->kind) {
    case STEP_SHAPE_GEMM:
        return fits_table(g->m) && fits_table(g->n) && fits_table(g->k) && fits_table(g->batch) &&
               (g->groups <= 1 || g->batch == 1);
    case STEP_SHAPE_ATTENTION:
        return a->seq_q == a->seq_kv && (a->v_dim == 0 || a->v_dim == a->head_dim) &&
               a->heads % a->kv_heads == 0 && fits_table(a->batch);
    case STEP_SHAPE_COLLECTIVE:
        return s->collective.even;
    default:
        return TRUE;
    }
}

/* --- how often -------------------------------------------------------------------------------- */

static void
count_op(const StepBuild *b, guint32 tag, guint slot, double times, double *calls)
{
    const StepOp *op = &g_array_index(b->ops, StepOp, tag);
    for (guint k = 0; k < op->n_links; k++)
        count_op(b, g_array_index(b->chain_links, StepLinkOfChain, op->chain + k).tag, slot, times,
                 calls);
    for (guint k = 0; k < op->n_parts; k++)
        count_op(b, g_array_index(b->run_parts, StepPartOfRun, op->part + k).tag, slot, times,
                 calls);
    gboolean received = tag == b->wire_tag && slot != STEP_SLOT_SEND_F && slot != STEP_SLOT_SEND_B;
    if (op->n_links == 0 && op->n_parts == 0 && op->shape > 0 && !received)
        calls[op->shape] += times * (op->shape_calls > 0 ? op->shape_calls : 1);
}

void
step_count_shapes(const StepBuild *b)
{
    g_autofree double *calls = g_new(double, b->shapes->len);
    for (guint class = 0; class < b->classes->len; class ++) {
        const StepLowered *lowered = g_ptr_array_index(b->lowered, class);
        g_autoptr(GArray) called = step_count_calls(lowered->program);
        memset(calls, 0, b->shapes->len * sizeof *calls);
        for (guint i = 0; i < called->len; i++) {
            const StepCalled *c = &g_array_index(called, StepCalled, i);
            for (guint k = 0; k < sim_template_n_ops(c->template); k++)
                count_op(b, sim_template_tag(c->template, k), sim_template_slot(c->template, k),
                         (double)c->calls, calls);
        }
        for (guint s = 1; s < b->shapes->len; s++) {
            StepShape *shape = &g_array_index(b->shapes, StepShape, s);
            shape->calls = MAX(shape->calls, calls[s]);
        }
    }
}
