/* What a GPU sends in an iteration: closed forms of SPEC.md 7.4 to 7.7 in a test's own arithmetic. */
#pragma once

#include "step-fixture.h"

#include <math.h>

/* --- sums --------------------------------------------------------------------------------------- */

typedef struct {
    double sent[STEP_N_KINDS][NET_N_OPS];
    double count[STEP_N_KINDS][NET_N_OPS];
} Sums;

/* What a ring sends of a buffer; the test's own. */
static inline double
ring(NetOp op, double n, double bytes)
{
    if (n <= 1)
        return 0;
    switch (op) {
    case NET_ALL_REDUCE:
        return 2 * (n - 1) / n * bytes;
    case NET_SEND_RECV:
    case NET_BROADCAST:
        return bytes;
    default:
        return (n - 1) / n * bytes;
    }
}

static inline void
add(Sums *s, StepKind kind, NetOp op, gint64 ranks, double bytes, double count)
{
    if (ranks <= 1 || bytes <= 0 || count <= 0)
        return;
    s->sent[kind][op] += ring(op, (double)ranks, bytes) * count;
    s->count[kind][op] += count;
}

static inline Sums
sums_of(const StepStage *stage)
{
    Sums s = {0};
    g_assert_nonnull(stage->traffic);
    for (guint i = 0; i < stage->traffic->len; i++) {
        const StepTraffic *t = &g_array_index(stage->traffic, StepTraffic, i);
        if (t->kind == STEP_OPTIMIZER) /* 4 bytes of gradient norm or overflow flag */
            continue;
        s.sent[t->kind][t->op] += t->sent_bytes;
        s.count[t->kind][t->op] += (double)t->count;
    }
    return s;
}

/* --- closed forms of one pipeline rank ---------------------------------------------------------- */

typedef struct {
    const LlmShape *shape;
    const PlanSpec *spec; /* resolved */
    double n, x;          /* tokens of a rank, bytes of their hidden states */
    double m;             /* microbatches */
    Sums *out;
} Expect;

static inline gboolean
moe_layer(const LlmShape *s, gint64 i)
{
    return s->experts > 0 && i >= s->dense_layers && (i + 1) % s->moe_every == 0;
}

static inline void
tp(const Expect *e, NetOp op, double bytes, double count)
{
    add(e->out, STEP_TP, op, e->spec->tp, bytes, count * e->m);
}

/* A pair of a column- and a row-parallel matrix: with sequence parallelism 3 gathers (input, output gradient,
 * input again) and 2 scatters, without it 2 all-reduces; run again, the forward's once more. */
static inline void
expect_pair(const Expect *e, gboolean again)
{
    if (e->spec->sequence_parallel) {
        tp(e, NET_ALL_GATHER, e->x, again ? 4 : 3);
        tp(e, NET_REDUCE_SCATTER, e->x, again ? 3 : 2);
    } else {
        tp(e, NET_ALL_REDUCE, e->x, again ? 3 : 2);
    }
}

static inline void
expect_context(const Expect *e, gboolean again)
{
    const PlanSpec *p = e->spec;
    const LlmShape *s = e->shape;
    double cp = (double)p->cp, times = e->m * (again ? 2 : 1);
    double kv = 2 * e->n * (double)(s->kv_heads * s->head_dim / p->tp) * 2;
    double all = e->n * (double)((2 * s->heads + 2 * s->kv_heads) * s->head_dim / p->tp) * 2;
    gint64 inner = p->cp_inner;
    switch (p->cp_kind) {
    case LLM_CP_P2P:
        add(e->out, STEP_CP, NET_SEND_RECV, p->cp, kv, (cp - 1) * times);
        add(e->out, STEP_CP, NET_SEND_RECV, p->cp, kv, 2 * (cp - 1) * e->m);
        return;
    case LLM_CP_ALL_GATHER:
        add(e->out, STEP_CP, NET_ALL_GATHER, p->cp, cp * kv, times + e->m);
        add(e->out, STEP_CP, NET_REDUCE_SCATTER, p->cp, cp * kv, e->m);
        return;
    case LLM_CP_A2A:
        add(e->out, STEP_CP, NET_ALL_TO_ALL, p->cp, all, times + e->m);
        return;
    case LLM_CP_A2A_P2P:
        add(e->out, STEP_CP, NET_ALL_TO_ALL, inner, all, times + e->m);
        if (p->cp > inner) {
            double outer = cp / (double)inner;
            add(e->out, STEP_CP, NET_SEND_RECV, 2, kv, (outer - 1) * times);
            add(e->out, STEP_CP, NET_SEND_RECV, 2, kv, 2 * (outer - 1) * e->m);
        }
        return;
    }
}

/* Tokens to their experts and back, forward and backward. */
static inline void
expect_experts(const Expect *e, gboolean again)
{
    const PlanSpec *p = e->spec;
    const LlmShape *s = e->shape;
    double local = p->sequence_parallel ? e->n / (double)p->tp : e->n;
    double h = (double)s->hidden, experts = (double)s->experts, k = (double)s->experts_per_token;
    double rows = local * k, ep = (double)p->ep, etp = (double)p->etp, f = again ? 2 : 1;
    if (p->capacity_factor > 0) {
        double each = ceil(rows / experts * p->capacity_factor) * experts;
        rows = p->pad_to_capacity ? each : MIN(rows, each);
    }
    double away = p->fp8_dispatch ? 1 + 4.0 / 128 : 2;
    if (p->dispatch == LLM_DISPATCH_ALL_TO_ALL) {
        add(e->out, STEP_EP, NET_ALL_TO_ALL, p->ep, rows * h * away, f * e->m); /* dispatch */
        add(e->out, STEP_EP, NET_ALL_TO_ALL, p->ep, rows * h * 2, (f + 2) * e->m);
        add(e->out, STEP_EP, NET_ALL_TO_ALL, p->ep, rows * 4, (f + 1) * e->m); /* probabilities */
        if (!(p->capacity_factor > 0 && p->pad_to_capacity)) {
            add(e->out, STEP_TP, NET_ALL_GATHER, p->etp, etp * experts * 8, f * e->m);
            add(e->out, STEP_EP, NET_ALL_GATHER, p->ep, ep * etp * experts * 8, f * e->m);
        }
        add(e->out, STEP_TP, NET_ALL_GATHER, p->etp, etp * rows * h * 2, (f + 1) * e->m);
        add(e->out, STEP_TP, NET_REDUCE_SCATTER, p->etp, etp * rows * h * 2, (f + 1) * e->m);
        add(e->out, STEP_TP, NET_ALL_GATHER, p->etp, etp * rows * 4, f * e->m);
        add(e->out, STEP_TP, NET_REDUCE_SCATTER, p->etp, etp * rows * 4, e->m);
    } else {
        g_assert_cmpint(p->dispatch, ==, LLM_DISPATCH_ALL_GATHER);
        g_assert_cmpint(p->etp, ==, 1);
        add(e->out, STEP_EP, NET_ALL_GATHER, p->ep, ep * local * h * 2, (f + 1) * e->m);
        add(e->out, STEP_EP, NET_REDUCE_SCATTER, p->ep, ep * local * h * 2, (f + 1) * e->m);
        add(e->out, STEP_EP, NET_ALL_GATHER, p->ep, ep * local * experts * 5, f * e->m);
        add(e->out, STEP_EP, NET_REDUCE_SCATTER, p->ep, ep * local * experts * 4, e->m);
    }
}

/* --- parameters of one rank --------------------------------------------------------------------- */

typedef struct {
    double layers, embedding, head, expert;
} Psi;

static inline double
norm(const LlmShape *s)
{
    return (double)s->hidden * (s->norm == LLM_NORM_LAYER ? 2 : 1);
}

static inline double
whole_of_layer(const LlmShape *s, gboolean moe)
{
    double whole = 2 * norm(s) + (s->out_bias ? (double)s->hidden : 0);
    if (moe)
        return whole + (double)(s->hidden * s->experts);
    return whole + (s->mlp_bias ? (double)s->hidden : 0);
}

static inline double
vocabulary(const Expect *e)
{
    double each = 128.0 * (double)e->spec->tp;
    return ceil((double)e->shape->vocab / each) * each / (double)e->spec->tp *
           (double)e->shape->hidden;
}

static inline Psi
parameters_of(const Expect *e, gint64 first, gint64 layers, gboolean is_first, gboolean is_last)
{
    const LlmShape *s = e->shape;
    const PlanSpec *p = e->spec;
    double h = (double)s->hidden, d = (double)s->head_dim, t = (double)p->tp;
    double width = (double)(s->heads + 2 * s->kv_heads) * d;
    double attention = (h * width + (double)s->heads * d * h + (s->qkv_bias ? width : 0)) / t;
    double up = s->gated ? 2 : 1;
    Psi psi = {0};
    for (gint64 i = first; i < first + layers; i++) {
        gboolean moe = moe_layer(s, i);
        double f = (double)(moe ? s->shared_ffn : s->ffn);
        psi.layers += attention + whole_of_layer(s, moe) + (up + 1) * h * f / t;
        psi.layers += !moe && s->mlp_bias ? up * f / t : 0;
        if (moe)
            psi.expert += (double)(s->experts / p->ep) * (up + 1) * h *
                          ((double)s->expert_ffn / (double)p->etp);
    }
    if (is_first)
        psi.embedding = vocabulary(e) + (double)s->position_rows * h;
    if (is_last)
        psi.head = norm(s) + (s->tied && is_first ? 0 : vocabulary(e));
    return psi;
}

/* Sizes that the collectives of dense and of expert parameters have: how often, of so many parameters. */
static inline void
expect_sharded(const Expect *e, gboolean expert, double psi, double reductions, double gathers)
{
    const PlanSpec *p = e->spec;
    gint64 all = p->dp * p->cp, width = p->gradient_fp32 ? 4 : 2;
    if (expert)
        all = p->tp * p->cp * p->dp / (p->etp * p->ep);
    if (p->zero == 0) {
        add(e->out, STEP_DP, NET_ALL_REDUCE, all, psi * (double)width, reductions);
        return;
    }
    gint64 shard = all;
    if (p->shard_size > 0 && p->shard_size < p->dp * p->cp)
        shard = all / (p->dp * p->cp / p->shard_size); /* as many copies of the experts */
    add(e->out, STEP_DP, NET_REDUCE_SCATTER, shard, psi * (double)width, reductions);
    add(e->out, STEP_DP, NET_ALL_REDUCE, all / shard, psi / (double)shard * (double)width,
        reductions);
    add(e->out, STEP_DP, NET_ALL_GATHER, shard, psi * (p->fp8_gather ? 1 : 2), gathers);
}

static inline void
expect_data_parallel(const Expect *e, const Psi *psi)
{
    const PlanSpec *p = e->spec;
    double reductions = p->reduce == PLAN_REDUCE_EACH ? e->m : 1;
    double dense = psi->layers + psi->embedding + psi->head;
    if (p->zero < 3) {
        expect_sharded(e, FALSE, dense, reductions, 1);
        expect_sharded(e, TRUE, psi->expert, reductions, 1);
        return;
    }
    /* forward and backward; what PyTorch does not drop in between, forward only; a pipeline that keeps all of it
     * for the backward, once an iteration */
    double kept = 0;
    if (p->framework == PLAN_FSDP || p->framework == PLAN_LLM_FOUNDRY)
        kept = psi->embedding + psi->head;
    if (p->framework == PLAN_TORCHTITAN)
        kept = psi->head;
    double once = p->reshard_after_forward || p->pp == 1 ? e->m : 1;
    double twice = p->reshard_after_forward ? 2 * e->m : once;
    expect_sharded(e, FALSE, dense - kept, reductions, twice);
    expect_sharded(e, FALSE, kept, 0, once);
    expect_sharded(e, FALSE, kept, reductions, 0);
    expect_sharded(e, TRUE, psi->expert, reductions, twice);
}

/* --- all of it ---------------------------------------------------------------------------------- */

static inline void
expect_stage(const Expect *e, gint64 first, gint64 layers, gboolean is_first, gboolean is_last,
             double *ret_whole)
{
    const PlanSpec *p = e->spec;
    gboolean again = p->recompute == LLM_RECOMPUTE_FULL;
    for (gint64 i = first; i < first + layers; i++) {
        gboolean moe = moe_layer(e->shape, i);
        expect_pair(e, again);
        expect_context(e, again);
        if (moe)
            expect_experts(e, again);
        if (!moe || e->shape->shared_ffn > 0)
            expect_pair(e, again);
        *ret_whole += whole_of_layer(e->shape, moe);
    }
    if (is_first && p->sequence_parallel) { /* learned positions are added to whole sums */
        gboolean learned = e->shape->position == LLM_POSITION_LEARNED;
        tp(e, learned ? NET_ALL_REDUCE : NET_REDUCE_SCATTER, e->x, 1);
        tp(e, NET_ALL_GATHER, e->x, 1);
    } else if (is_first) {
        tp(e, NET_ALL_REDUCE, e->x, 1);
    }
    if (!is_last)
        return;
    if (p->sequence_parallel) {
        tp(e, NET_ALL_GATHER, e->x, 2);
        tp(e, NET_REDUCE_SCATTER, e->x, 1);
        *ret_whole += norm(e->shape);
    } else {
        tp(e, NET_ALL_REDUCE, e->x, 1);
    }
    tp(e, NET_ALL_REDUCE, 4 * e->n, p->fused_loss ? 1 : 3);
    if (p->fused_loss)
        tp(e, NET_ALL_REDUCE, 8 * e->n, 1);
}

/* Stages go round the ranks; layers are spread evenly. */
static inline void
expect_rank(const LlmShape *shape, const Plan *plan, gint64 pp_rank, Sums *out, double *ret_p2p)
{
    const PlanSpec *p = &plan->spec;
    gint64 stages = p->pp * p->vpp, layers = shape->layers / stages;
    Expect e = {.shape = shape, .spec = p, .m = (double)p->microbatches, .out = out};
    e.n = (double)(p->micro_batch * p->seq) / (double)p->cp;
    e.x = e.n * (double)shape->hidden * 2;
    double whole = 0, width = p->gradient_fp32 ? 4 : 2;
    *ret_p2p = 0;
    for (gint64 s = pp_rank; s < stages; s += p->pp) {
        expect_stage(&e, s * layers, layers, s == 0, s == stages - 1, &whole);
        Psi psi = parameters_of(&e, s * layers, layers, s == 0, s == stages - 1);
        expect_data_parallel(&e, &psi);
        double message = p->sequence_parallel ? e.x / (double)p->tp : e.x;
        *ret_p2p += p->pp > 1 ? message * e.m * ((s > 0) + (s < stages - 1)) : 0;
    }
    if (p->sequence_parallel)
        add(out, STEP_TP, NET_ALL_REDUCE, p->tp, whole * width, 1);
    if (shape->tied && p->pp > 1 && (pp_rank == 0 || pp_rank == p->pp - 1))
        add(out, STEP_PP, NET_ALL_REDUCE, 2, vocabulary(&e) * width, 1);
}

static inline void
compare(const char *what, gint64 pp_rank, const Sums *ran, const Sums *expected)
{
    for (guint kind = 0; kind < STEP_N_KINDS; kind++)
        for (guint op = 0; op < NET_N_OPS; op++) {
            double a = ran->sent[kind][op], b = expected->sent[kind][op];
            if (kind == STEP_PP && op == NET_SEND_RECV) /* messages: compared apart */
                continue;
            if (fabs(a - b) > 1e-9 * b + 0.5)
                g_error("%s, pipeline rank %d: %s %s sends %.0f bytes (%.0f times), closed form "
                        "%.0f (%.0f times)",
                        what, (int)pp_rank, step_kind_name((StepKind)kind), net_op_name((NetOp)op),
                        a, ran->count[kind][op], b, expected->count[kind][op]);
        }
}

/* --- changes of a plan that several tables make --------------------------------------------------- */

static inline void
change_zero_0(PlanSpec *s)
{
    s->zero = 0;
}

static inline void
change_zero_0_bf16(PlanSpec *s)
{
    s->zero = 0;
    s->gradient_fp32 = FALSE;
}

static inline void
change_bf16(PlanSpec *s)
{
    s->gradient_fp32 = FALSE;
}
