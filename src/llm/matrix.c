/* Weight matrices and what surrounds them: gathers, reductions, casts to 8 bits.
 *
 * In fp8 each operand is cast on its way into a GEMM: read 2 bytes, write 1 and 1 again transposed, as the
 * weight gradient wants it. What is gathered is cast before, and travels in 8 bits. Weights are cast in each
 * forward, unless their copies stay for the iteration.
 *
 * With user buffers (SPEC.md 7.4) a gather goes round a ring in t - 1 steps, and each shard's part of the GEMM
 * runs when it is there; a reduce-scatter follows its GEMM in four parts. Whole collectives beside a GEMM, as
 * column-cut matrices have them backward, are the same with and without. */
#include "config.h"

#include "llm/emit.h"

enum { SCATTER_PARTS = 4 };

static gboolean
is_fp8(const LlmEmit *e)
{
    return e->matrices == CLUSTER_FP8;
}

static void
emit_cast(LlmEmit *e, const char *name, gint64 rows, gint64 columns)
{
    if (is_fp8(e)) {
        llm_emit_memory(e, name, COST_CAST, 4.0 * (double)rows * (double)columns);
    }
}

static void
emit_weight_cast(LlmEmit *e, gint64 in, gint64 out)
{
    if (!e->cut->fp8_weights_kept) {
        emit_cast(e, "fp8_cast_weight", in, out);
    }
}

static double
gathered_bytes(const LlmEmit *e, gint64 rows, gint64 columns)
{
    return (double)rows * (double)columns * (is_fp8(e) ? 1.0 : e->element);
}

/* Rows of part i of n tokens in `parts`. */
static gint64
part_rows(const LlmEmit *e, gint64 i, gint64 parts)
{
    return e->tokens * (i + 1) / parts - e->tokens * i / parts;
}

/* Shared experts have no user buffers. */
static gboolean
overlaps(const LlmEmit *e, gint64 parts)
{
    return e->cut->tp_overlap && e->gathers && e->segment != LLM_SEGMENT_EXPERTS &&
           e->tokens >= parts;
}

/* TransformerEngine starts all parts and messages of a GEMM in one call from Python (comm_gemm_overlap). */
static void
one_call(LlmEmit *e, guint first)
{
    for (guint i = first + 1; i < e->ops->len; i++)
        g_array_index(e->ops, LlmOp, i).same_call = TRUE;
}

/* A GEMM over all tokens, of which each rank has a shard of `columns`: own shard first, then each as it
 * arrives. */
static void
emit_ring(LlmEmit *e, const char *name, CostGemmPass pass, gint64 columns, gint64 in, gint64 out)
{
    gint64 ranks = e->cut->tp;
    int before = e->last_compute, arrived = -1;
    guint first = e->ops->len;
    for (gint64 i = 0; i < ranks; i++) {
        int sent = -1;
        if (i + 1 < ranks) {
            double bytes = gathered_bytes(e, part_rows(e, i + 1, ranks), columns);
            sent = llm_emit_exchange(e, "ring_exchange", NET_SEND_RECV, LLM_GROUP_TP, bytes,
                                     before >= 0 ? before : e->last_compute);
        }
        llm_emit_join(e, arrived);
        llm_emit_matrix(e, name, pass, part_rows(e, i, ranks), in, out, 1);
        arrived = sent;
    }
    one_call(e, first);
}

static void
emit_gathered(LlmEmit *e, const char *name, CostGemmPass pass, gint64 columns, gint64 in,
              gint64 out)
{
    if (overlaps(e, e->cut->tp)) {
        emit_ring(e, name, pass, columns, in, out);
        return;
    }
    if (e->gathers) {
        llm_emit_join(e, llm_emit_collective(e, "all_gather", NET_ALL_GATHER,
                                             gathered_bytes(e, e->tokens, columns)));
    }
    llm_emit_matrix(e, name, pass, e->tokens, in, out, 1);
}

/* --- forward -------------------------------------------------------------------------------- */

void
llm_emit_column_forward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out)
{
    emit_cast(e, "fp8_cast", e->local_tokens, in);
    emit_weight_cast(e, in, out);
    emit_gathered(e, linear->forward, COST_GEMM_FORWARD, in, in, out);
}

void
llm_emit_row_forward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out, gboolean combine)
{
    emit_cast(e, "fp8_cast", e->tokens, in);
    emit_weight_cast(e, in, out);
    if (!combine || !overlaps(e, SCATTER_PARTS)) {
        llm_emit_matrix(e, linear->forward, COST_GEMM_FORWARD, e->tokens, in, out, 1);
        if (combine) {
            llm_emit_combine(e);
        }
        return;
    }
    int scattered = -1;
    guint first = e->ops->len;
    for (gint64 i = 0; i < SCATTER_PARTS; i++) {
        gint64 rows = part_rows(e, i, SCATTER_PARTS);
        llm_emit_matrix(e, linear->forward, COST_GEMM_FORWARD, rows, in, out, 1);
        scattered = llm_emit_collective(e, "reduce_scatter", NET_REDUCE_SCATTER,
                                        (double)rows * (double)out * e->element);
    }
    one_call(e, first);
    llm_emit_join(e, scattered);
}

void
llm_emit_plain_forward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out)
{
    emit_cast(e, "fp8_cast", e->local_tokens, in);
    emit_weight_cast(e, in, out);
    llm_emit_matrix(e, linear->forward, COST_GEMM_FORWARD, e->local_tokens, in, out, 1);
}

void
llm_emit_grouped_forward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out,
                         gboolean arrived)
{
    /* Rows that came in 8 bits are only transposed. */
    emit_cast(e, "fp8_cast", arrived ? llm_share(e->rows, 2) : e->rows, in);
    emit_weight_cast(e, e->local_experts * in, out);
    llm_emit_matrix(e, linear->forward, COST_GEMM_FORWARD, e->rows, in, out, e->local_experts);
}

/* --- backward ------------------------------------------------------------------------------- */

static int
emit_regather(LlmEmit *e, gint64 columns)
{
    return llm_emit_collective(e, "re_gather", NET_ALL_GATHER,
                               gathered_bytes(e, e->tokens, columns));
}

static void
emit_wgrad(LlmEmit *e, const LlmLinear *linear, gint64 rows, gint64 in, gint64 out, gint64 groups)
{
    if (e->weight_grad) {
        llm_emit_matrix(e, linear->wgrad, COST_GEMM_WGRAD, rows, in, out, groups);
    }
}

void
llm_emit_row_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out,
                      gboolean is_gathered, gint64 next)
{
    if (e->input_grad && is_gathered) {
        emit_cast(e, "fp8_cast_grad", e->tokens, out);
        llm_emit_matrix(e, linear->dgrad, COST_GEMM_DGRAD, e->tokens, in, out, 1);
    } else if (e->input_grad) {
        emit_cast(e, "fp8_cast_grad", e->local_tokens, out);
        emit_gathered(e, linear->dgrad, COST_GEMM_DGRAD, out, in, out);
    } else if (e->gathers) {
        e->ahead = emit_regather(e, next);
    }
    emit_wgrad(e, linear, e->tokens, in, out, 1);
}

void
llm_emit_column_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out)
{
    int regather = e->ahead;
    int reduced = -1;
    if (e->input_grad) {
        emit_cast(e, "fp8_cast_grad", e->tokens, out);
    }
    if (regather < 0 && e->gathers && e->weight_grad) {
        regather = emit_regather(e, in);
    }
    e->ahead = -1;
    if (e->input_grad) {
        llm_emit_matrix(e, linear->dgrad, COST_GEMM_DGRAD, e->tokens, in, out, 1);
        NetOp op = e->gathers ? NET_REDUCE_SCATTER : NET_ALL_REDUCE;
        const char *name = e->gathers ? "reduce_scatter" : "all_reduce";
        double bytes = (double)e->tokens * (double)in * e->element;
        reduced = llm_emit_collective(e, name, op, bytes);
    }
    llm_emit_join(e, regather);
    emit_wgrad(e, linear, e->tokens, in, out, 1);
    llm_emit_join(e, reduced);
}

static void
emit_uncut_backward(LlmEmit *e, const LlmLinear *linear, gint64 rows, gint64 in, gint64 out,
                    gint64 groups)
{
    if (e->input_grad) {
        emit_cast(e, "fp8_cast_grad", rows, out);
        llm_emit_matrix(e, linear->dgrad, COST_GEMM_DGRAD, rows, in, out, groups);
    }
    emit_wgrad(e, linear, rows, in, out, groups);
}

void
llm_emit_plain_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out)
{
    emit_uncut_backward(e, linear, e->local_tokens, in, out, 1);
}

void
llm_emit_grouped_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out)
{
    emit_uncut_backward(e, linear, e->rows, in, out, e->local_experts);
}
