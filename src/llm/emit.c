/* The builder of op lists: sizes and single ops. */
#include "config.h"

#include "llm/emit.h"

#include <math.h>

double
llm_element_bytes(ClusterDtype dtype)
{
    return dtype == CLUSTER_FP8 ? 2.0 : (double)cluster_dtype_bytes(dtype);
}

gint64
llm_share(gint64 whole, gint64 parts)
{
    return (whole + parts - 1) / parts;
}

ClusterDtype
llm_core_dtype(const LlmCut *cut)
{
    return cut->dtype == CLUSTER_FP8 ? CLUSTER_BF16 : cut->dtype;
}

gboolean
llm_recomputes(const LlmCut *cut, guint modules)
{
    guint chosen = cut->recompute_modules != 0 ? cut->recompute_modules : LLM_MODULE_CORE_ATTENTION;
    if ((chosen & LLM_MODULE_SECOND_GEMM) != 0) {
        chosen = LLM_MODULE_SECOND_GEMM | LLM_MODULE_NORM | LLM_MODULE_ACTIVATION | LLM_MODULE_MOE;
        chosen |= cut->attention == LLM_ATTENTION_FLASH ? 0 : LLM_MODULE_CORE_ATTENTION;
    }
    return cut->recompute == LLM_RECOMPUTE_SELECTIVE && (chosen & modules) != 0;
}

LlmPiece
llm_emit_layer_of(const LlmShape *shape, LlmPiece piece)
{
    return piece == LLM_PIECE_MTP ? llm_layer_piece(shape, shape->layers - 1) : piece;
}

/* Copies of tokens on their way: n_loc k without a capacity; with one, each expert takes at most
 * C = ceil(n_loc k / E * factor) from a rank, and exactly that when padded. The most loaded rank gets
 * `expert_load` times the mean, as far as the capacity lets it. */
static void
set_experts(LlmEmit *e)
{
    const LlmShape *shape = e->shape;
    const LlmCut *cut = e->cut;
    gint64 etp = MAX(cut->etp, 1), ep = MAX(cut->ep, 1);
    e->local_experts = llm_share(shape->experts, ep);
    e->expert_ffn = llm_share(shape->expert_ffn, etp);
    e->expert_up = (shape->gated ? 2 : 1) * e->expert_ffn;
    e->shared = llm_share(shape->shared_ffn, cut->tp);
    e->shared_up = (shape->gated ? 2 : 1) * e->shared;
    gint64 copies = e->local_tokens * shape->experts_per_token;
    double load = cut->expert_load > 0 ? cut->expert_load : 1.0;
    e->sent = copies;
    e->received = (gint64)ceil((double)copies * load);
    if (cut->capacity_factor > 0) {
        double each = (double)copies / (double)shape->experts * cut->capacity_factor;
        gint64 capacity = (gint64)ceil(each) * shape->experts;
        e->sent = cut->pad_to_capacity ? capacity : MIN(copies, capacity);
        e->received = cut->pad_to_capacity ? capacity : MIN(e->received, capacity);
    }
    e->rows = e->received * etp;
}

static void
set_layer(LlmEmit *e)
{
    const LlmShape *shape = e->shape;
    e->latent = shape->kv_lora > 0;
    e->heads = llm_share(shape->heads, e->cut->tp);
    e->kv_heads = e->latent ? e->heads : llm_share(shape->kv_heads, e->cut->tp);
    e->qk_dim = e->latent ? shape->qk_nope_dim + shape->qk_rope_dim : shape->head_dim;
    e->v_dim = e->latent ? shape->v_dim : shape->head_dim;
    e->qkv = (e->heads + e->kv_heads) * e->qk_dim + e->kv_heads * e->v_dim;
    e->context = e->heads * e->v_dim;
    e->ffn = llm_share(shape->ffn, e->cut->tp);
    e->up = (shape->gated ? 2 : 1) * e->ffn;
}

LlmEmit
llm_emit_begin(const LlmShape *shape, const LlmCut *cut, LlmPiece piece, LlmPass pass)
{
    g_assert(cut->tp >= 1 && cut->cp >= 1 && cut->micro_batch >= 1 && cut->seq >= 1);
    piece = llm_emit_layer_of(shape, piece);
    gint64 seq_q = llm_share(cut->seq, cut->cp);
    gboolean gathers = cut->sequence_parallel && cut->tp > 1;
    gint64 tokens = cut->micro_batch * seq_q;
    gint64 vocab = cut->vocab_padded > 0 ? cut->vocab_padded : shape->vocab;
    LlmEmit e = {
        .shape = shape,
        .cut = cut,
        .input_grad = pass != LLM_PASS_WEIGHT_GRAD,
        .weight_grad = pass != LLM_PASS_INPUT_GRAD,
        .gathers = gathers,
        .window = (piece == LLM_PIECE_LAYER_WINDOW || piece == LLM_PIECE_MOE_WINDOW) &&
                  shape->sliding_window > 0,
        .matrices = cut->dtype,
        .tokens = tokens,
        .local_tokens = gathers ? llm_share(tokens, cut->tp) : tokens,
        .seq_q = seq_q,
        .vocab = llm_share(vocab, cut->tp),
        .element = llm_element_bytes(cut->dtype),
        .ops = g_array_new(FALSE, TRUE, sizeof(LlmOp)),
        .segment = LLM_SEGMENT_ATTENTION,
        .last_compute = -1,
        .joined = {-1, -1, -1, -1},
        .ahead = -1,
    };
    set_layer(&e);
    if (shape->experts > 0) {
        set_experts(&e);
    }
    return e;
}

/* --- single ops ----------------------------------------------------------------------------- */

/* Weight gradients have parts of their own, and so has all that stands in a list of them alone. */
static LlmSegment
segment_of(const LlmEmit *e, gboolean is_wgrad)
{
    if (!is_wgrad && e->input_grad) {
        return e->segment;
    }
    return e->segment == LLM_SEGMENT_EXPERTS ? LLM_SEGMENT_EXPERTS_WGRAD
                                             : LLM_SEGMENT_ATTENTION_WGRAD;
}

static void
set_waits(const LlmEmit *e, LlmOp *op, int compute)
{
    guint n = 0;
    for (guint w = 0; w < G_N_ELEMENTS(op->waits); w++) {
        op->waits[w] = -1;
    }
    if (op->stream != LLM_STREAM_COMPUTE && compute >= 0) {
        op->waits[n++] = compute;
    }
    for (guint s = LLM_STREAM_TP; s < LLM_N_STREAMS; s++) {
        if (s != op->stream && e->joined[s] >= 0) {
            op->waits[n++] = e->joined[s];
        }
    }
}

static void
append_compute(LlmEmit *e, LlmOp *op, gboolean is_wgrad)
{
    op->stream = LLM_STREAM_COMPUTE;
    op->segment = segment_of(e, is_wgrad);
    set_waits(e, op, -1);
    for (guint s = 0; s < LLM_N_STREAMS; s++) {
        e->joined[s] = -1;
    }
    e->last_compute = (int)e->ops->len;
    g_array_append_val(e->ops, *op);
}

void
llm_emit_memory(LlmEmit *e, const char *name, CostMemoryKernel kernel, double bytes)
{
    LlmOp op = {.name = name, .kind = LLM_OP_MEMORY};
    op.memory.kernel = kernel;
    op.memory.bytes = bytes;
    append_compute(e, &op, FALSE);
}

static void
append_gemm(LlmEmit *e, const char *name, const CostGemm *gemm, gboolean is_wgrad)
{
    LlmOp op = {.name = name, .kind = LLM_OP_GEMM, .gemm = *gemm};
    op.flops = 2.0 * (double)gemm->m * (double)gemm->n * (double)gemm->k * (double)gemm->batch;
    append_compute(e, &op, is_wgrad);
}

/* y[rows, out] = x[rows, in] W; dx = dy W^T; dW[in, out] = x^T dy. */
void
llm_emit_matrix(LlmEmit *e, const char *name, CostGemmPass pass, gint64 rows, gint64 in, gint64 out,
                gint64 groups)
{
    CostGemm gemm = {.dtype = e->matrices, .pass = pass, .batch = 1};
    gemm.groups = groups > 1 ? groups : 0;
    if (pass == COST_GEMM_WGRAD) {
        gemm.m = in;
        gemm.n = out;
        gemm.k = rows;
        gemm.accumulate_fp32 = e->cut->gradient_fp32;
    } else {
        gemm.m = rows;
        gemm.n = pass == COST_GEMM_FORWARD ? out : in;
        gemm.k = pass == COST_GEMM_FORWARD ? in : out;
    }
    append_gemm(e, name, &gemm, pass == COST_GEMM_WGRAD);
}

void
llm_emit_batched(LlmEmit *e, const char *name, CostGemmPass pass, gint64 m, gint64 n, gint64 k)
{
    CostGemm gemm = {.dtype = llm_core_dtype(e->cut),
                     .pass = pass,
                     .m = m,
                     .n = n,
                     .k = k,
                     .batch = e->cut->micro_batch * e->heads};
    append_gemm(e, name, &gemm, FALSE);
}

/* FLOPs: 2 b a (d_qk + d_v) for each pair of query and key that is looked at, forward; backward three
 * GEMMs of width d_qk and two of d_v, 2 b a (3 d_qk + 2 d_v): 2.5 times the forward when the widths are
 * the same. */
void
llm_emit_attention(LlmEmit *e, const char *name, const CostAttention *attention, double pairs)
{
    LlmOp op = {.name = name, .kind = LLM_OP_ATTENTION, .attention = *attention};
    double qk = (double)e->qk_dim, v = (double)e->v_dim;
    double widths = attention->backward ? 3.0 * qk + 2.0 * v : qk + v;
    op.attention.dtype = llm_core_dtype(e->cut);
    op.attention.batch = e->cut->micro_batch;
    op.attention.head_dim = e->qk_dim;
    op.attention.v_dim = e->v_dim != e->qk_dim ? e->v_dim : 0;
    op.flops = 2.0 * (double)e->cut->micro_batch * (double)attention->heads * widths * pairs;
    append_compute(e, &op, FALSE);
}

gint64
llm_group_size(const LlmCut *cut, LlmGroup group)
{
    gint64 inner = MAX(cut->cp_inner, 1);
    switch (group) {
    case LLM_GROUP_TP:
        return cut->tp;
    case LLM_GROUP_CP:
        return cut->cp;
    case LLM_GROUP_CP_INNER:
        return inner;
    case LLM_GROUP_CP_OUTER:
        return cut->cp / inner;
    case LLM_GROUP_EP:
        return MAX(cut->ep, 1);
    case LLM_GROUP_ETP:
        return MAX(cut->etp, 1);
    case LLM_N_GROUPS:
        break;
    }
    g_assert_not_reached();
}

static LlmStream
stream_of(LlmGroup group)
{
    if (group == LLM_GROUP_TP || group == LLM_GROUP_ETP) {
        return LLM_STREAM_TP;
    }
    return group == LLM_GROUP_EP ? LLM_STREAM_EP : LLM_STREAM_CP;
}

int
llm_emit_exchange(LlmEmit *e, const char *name, NetOp collective, LlmGroup group, double bytes,
                  int after)
{
    if (llm_group_size(e->cut, group) == 1) {
        return -1;
    }
    LlmOp op = {.name = name, .kind = LLM_OP_COLLECTIVE, .stream = stream_of(group)};
    op.segment = segment_of(e, FALSE);
    op.collective.op = collective;
    op.collective.bytes = (gint64)ceil(bytes);
    op.collective.group = group;
    set_waits(e, &op, after);
    g_array_append_val(e->ops, op);
    return (int)e->ops->len - 1;
}

int
llm_emit_collective(LlmEmit *e, const char *name, NetOp collective, double bytes)
{
    return llm_emit_exchange(e, name, collective, LLM_GROUP_TP, bytes, e->last_compute);
}

void
llm_emit_join(LlmEmit *e, int collective)
{
    if (collective >= 0) {
        LlmStream stream = g_array_index(e->ops, LlmOp, collective).stream;
        e->joined[stream] = MAX(e->joined[stream], collective);
    }
}

static double
hidden_bytes(const LlmEmit *e)
{
    return (double)e->tokens * (double)e->shape->hidden * e->element;
}

void
llm_emit_blocking(LlmEmit *e, const char *name, NetOp op)
{
    llm_emit_join(e, llm_emit_collective(e, name, op, hidden_bytes(e)));
}

void
llm_emit_gather(LlmEmit *e)
{
    if (e->gathers) {
        llm_emit_blocking(e, "all_gather", NET_ALL_GATHER);
    }
}

void
llm_emit_combine(LlmEmit *e)
{
    if (e->gathers) {
        llm_emit_blocking(e, "reduce_scatter", NET_REDUCE_SCATTER);
    } else {
        llm_emit_blocking(e, "all_reduce", NET_ALL_REDUCE);
    }
}
