/* The builder of op lists: sizes, single ops, and the pattern of a tensor-parallel matrix. */
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

LlmEmit
llm_emit_begin(const LlmShape *shape, const LlmCut *cut, LlmPass pass)
{
    g_assert(cut->tp >= 1 && cut->cp >= 1 && cut->micro_batch >= 1 && cut->seq >= 1);
    gint64 seq_q = llm_share(cut->seq, cut->cp);
    gint64 heads = llm_share(shape->heads, cut->tp);
    gint64 kv_heads = llm_share(shape->kv_heads, cut->tp);
    gint64 ffn = llm_share(shape->ffn, cut->tp);
    gboolean gathers = cut->sequence_parallel && cut->tp > 1;
    gint64 tokens = cut->micro_batch * seq_q;
    gint64 vocab = cut->vocab_padded > 0 ? cut->vocab_padded : shape->vocab;
    return (LlmEmit){
        .shape = shape,
        .cut = cut,
        .input_grad = pass != LLM_PASS_WEIGHT_GRAD,
        .weight_grad = pass != LLM_PASS_INPUT_GRAD,
        .gathers = gathers,
        .tokens = tokens,
        .local_tokens = gathers ? llm_share(tokens, cut->tp) : tokens,
        .seq_q = seq_q,
        .heads = heads,
        .kv_heads = kv_heads,
        .qkv = (heads + 2 * kv_heads) * shape->head_dim,
        .context = heads * shape->head_dim,
        .ffn = ffn,
        .up = (shape->gated ? 2 : 1) * ffn,
        .vocab = llm_share(vocab, cut->tp),
        .element = llm_element_bytes(cut->dtype),
        .ops = g_array_new(FALSE, TRUE, sizeof(LlmOp)),
        .last_compute = -1,
        .joined = -1,
        .ahead = -1,
    };
}

static void
append_compute(LlmEmit *e, LlmOp *op)
{
    op->waits[0] = e->joined;
    op->waits[1] = op->waits[2] = -1;
    e->joined = -1;
    e->last_compute = (int)e->ops->len;
    g_array_append_val(e->ops, *op);
}

void
llm_emit_memory(LlmEmit *e, const char *name, CostMemoryKernel kernel, double bytes)
{
    LlmOp op = {.name = name, .kind = LLM_OP_MEMORY};
    op.memory.kernel = kernel;
    op.memory.bytes = bytes;
    append_compute(e, &op);
}

static void
append_gemm(LlmEmit *e, const char *name, const CostGemm *gemm)
{
    LlmOp op = {.name = name, .kind = LLM_OP_GEMM, .gemm = *gemm};
    op.flops = 2.0 * (double)gemm->m * (double)gemm->n * (double)gemm->k * (double)gemm->batch;
    append_compute(e, &op);
}

/* The attention core stays in 16 bits when the weights' GEMMs are in 8. */
static ClusterDtype
core_dtype(const LlmEmit *e)
{
    return e->cut->dtype == CLUSTER_FP8 ? CLUSTER_BF16 : e->cut->dtype;
}

void
llm_emit_batched(LlmEmit *e, const char *name, CostGemmPass pass, gint64 m, gint64 n, gint64 k)
{
    CostGemm gemm = {.dtype = core_dtype(e),
                     .pass = pass,
                     .m = m,
                     .n = n,
                     .k = k,
                     .batch = e->cut->micro_batch * e->heads};
    append_gemm(e, name, &gemm);
}

/* FLOPs: 4 b a d for each pair of query and key that is looked at, forward; 5 GEMMs instead of 2,
 * so 2.5 times that, backward. Causal: half of all pairs. With a window w < s a query looks at w
 * keys but for the first w queries: w - w^2 / 2s on average, which is given as a rectangle. With
 * context parallelism the ranks share the pairs evenly. */
void
llm_emit_attention(LlmEmit *e, const char *name, gboolean backward)
{
    double window = (double)e->shape->sliding_window;
    double seq = (double)e->cut->seq;
    gboolean windowed = window > 0 && window < seq;
    gint64 seen = windowed ? (gint64)ceil(window - window * window / (2.0 * seq)) : e->cut->seq;
    LlmOp op = {.name = name, .kind = LLM_OP_ATTENTION};
    op.attention = (CostAttention){.dtype = core_dtype(e),
                                   .batch = e->cut->micro_batch,
                                   .heads = e->heads,
                                   .kv_heads = e->kv_heads,
                                   .head_dim = e->shape->head_dim,
                                   .seq_q = e->seq_q,
                                   .seq_kv = seen,
                                   .causal = !windowed,
                                   .backward = backward};
    double pairs = (double)e->seq_q * (double)seen * (windowed ? 1.0 : 0.5);
    op.flops =
        4.0 * (double)e->cut->micro_batch * (double)e->context * pairs * (backward ? 2.5 : 1.0);
    append_compute(e, &op);
}

int
llm_emit_collective(LlmEmit *e, const char *name, NetOp collective, double bytes)
{
    if (e->cut->tp == 1) {
        return -1;
    }
    LlmOp op = {.name = name,
                .kind = LLM_OP_COLLECTIVE,
                .stream = LLM_STREAM_TP,
                .waits = {e->last_compute, -1, -1}};
    op.collective.op = collective;
    op.collective.bytes = (gint64)bytes;
    g_array_append_val(e->ops, op);
    return (int)e->ops->len - 1;
}

void
llm_emit_join(LlmEmit *e, int collective)
{
    e->joined = MAX(e->joined, collective);
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

/* --- matrices: y[n, out] = x[n, in] W; dx = dy W^T; dW[in, out] = x^T dy -------------------- */

static CostGemm
gemm_of(const LlmEmit *e, CostGemmPass pass, gint64 in, gint64 out)
{
    CostGemm gemm = {.dtype = e->cut->dtype, .pass = pass, .batch = 1};
    if (pass == COST_GEMM_WGRAD) {
        gemm.m = in;
        gemm.n = out;
        gemm.k = e->tokens;
        gemm.accumulate_fp32 = e->cut->gradient_fp32;
    } else {
        gemm.m = e->tokens;
        gemm.n = pass == COST_GEMM_FORWARD ? out : in;
        gemm.k = pass == COST_GEMM_FORWARD ? in : out;
    }
    return gemm;
}

void
llm_emit_forward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out)
{
    CostGemm gemm = gemm_of(e, COST_GEMM_FORWARD, in, out);
    append_gemm(e, linear->forward, &gemm);
}

static void
emit_dgrad(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out)
{
    if (e->input_grad) {
        CostGemm gemm = gemm_of(e, COST_GEMM_DGRAD, in, out);
        append_gemm(e, linear->dgrad, &gemm);
    }
}

static void
emit_wgrad(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out)
{
    if (e->weight_grad) {
        CostGemm gemm = gemm_of(e, COST_GEMM_WGRAD, in, out);
        append_gemm(e, linear->wgrad, &gemm);
    }
}

static int
emit_regather(LlmEmit *e)
{
    return llm_emit_collective(e, "re_gather", NET_ALL_GATHER, hidden_bytes(e));
}

void
llm_emit_row_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out,
                      gboolean is_gathered)
{
    if (e->input_grad && !is_gathered) {
        llm_emit_gather(e);
    }
    if (!e->input_grad && e->gathers) {
        e->ahead = emit_regather(e);
    }
    emit_dgrad(e, linear, in, out);
    emit_wgrad(e, linear, in, out);
}

void
llm_emit_column_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out)
{
    int regather = e->ahead;
    int reduced = -1;
    if (regather < 0 && e->gathers && e->weight_grad) {
        regather = emit_regather(e);
    }
    e->ahead = -1;
    emit_dgrad(e, linear, in, out);
    if (e->input_grad) {
        NetOp op = e->gathers ? NET_REDUCE_SCATTER : NET_ALL_REDUCE;
        const char *name = e->gathers ? "reduce_scatter" : "all_reduce";
        reduced = llm_emit_collective(e, name, op, hidden_bytes(e));
    }
    llm_emit_join(e, regather);
    emit_wgrad(e, linear, in, out);
    llm_emit_join(e, reduced);
}
