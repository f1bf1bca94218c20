/* Weight matrices and what surrounds them: gathers, reductions, casts to 8 bits.
 *
 * In fp8 each operand is cast on its way into a GEMM: read 2 bytes, write 1 and 1 again transposed, as the
 * weight gradient wants it. Weights are cast in each forward, unless their copies stay for the iteration. */
#include "config.h"

#include "llm/emit.h"

static void
emit_cast(LlmEmit *e, const char *name, gint64 rows, gint64 columns)
{
    if (e->matrices == CLUSTER_FP8) {
        llm_emit_memory(e, name, COST_CAST, 4.0 * (double)rows * (double)columns);
    }
}

static void
emit_rows_forward(LlmEmit *e, const LlmLinear *linear, gint64 rows, gint64 in, gint64 out)
{
    emit_cast(e, "fp8_cast", rows, in);
    if (!e->cut->fp8_weights_kept) {
        emit_cast(e, "fp8_cast_weight", in, out);
    }
    llm_emit_matrix(e, linear->forward, COST_GEMM_FORWARD, rows, in, out, 1);
}

void
llm_emit_forward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out)
{
    emit_rows_forward(e, linear, e->tokens, in, out);
}

static void
emit_dgrad(LlmEmit *e, const LlmLinear *linear, gint64 rows, gint64 in, gint64 out)
{
    if (e->input_grad) {
        emit_cast(e, "fp8_cast_grad", rows, out);
        llm_emit_matrix(e, linear->dgrad, COST_GEMM_DGRAD, rows, in, out, 1);
    }
}

static void
emit_wgrad(LlmEmit *e, const LlmLinear *linear, gint64 rows, gint64 in, gint64 out)
{
    if (e->weight_grad) {
        llm_emit_matrix(e, linear->wgrad, COST_GEMM_WGRAD, rows, in, out, 1);
    }
}

static int
emit_regather(LlmEmit *e, gint64 columns)
{
    double bytes = (double)e->tokens * (double)columns * e->element;
    return llm_emit_collective(e, "re_gather", NET_ALL_GATHER, bytes);
}

void
llm_emit_row_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out,
                      gboolean is_gathered, gint64 next)
{
    if (e->input_grad && !is_gathered) {
        llm_emit_gather(e);
    }
    if (!e->input_grad && e->gathers) {
        e->ahead = emit_regather(e, next);
    }
    emit_dgrad(e, linear, e->tokens, in, out);
    emit_wgrad(e, linear, e->tokens, in, out);
}

void
llm_emit_column_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out)
{
    int regather = e->ahead;
    int reduced = -1;
    if (regather < 0 && e->gathers && e->weight_grad) {
        regather = emit_regather(e, in);
    }
    e->ahead = -1;
    emit_dgrad(e, linear, e->tokens, in, out);
    if (e->input_grad) {
        NetOp op = e->gathers ? NET_REDUCE_SCATTER : NET_ALL_REDUCE;
        const char *name = e->gathers ? "reduce_scatter" : "all_reduce";
        double bytes = (double)e->tokens * (double)in * e->element;
        reduced = llm_emit_collective(e, name, op, bytes);
    }
    llm_emit_join(e, regather);
    emit_wgrad(e, linear, e->tokens, in, out);
    llm_emit_join(e, reduced);
}

void
llm_emit_plain_forward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out)
{
    emit_rows_forward(e, linear, e->local_tokens, in, out);
}

void
llm_emit_plain_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out)
{
    emit_dgrad(e, linear, e->local_tokens, in, out);
    emit_wgrad(e, linear, e->local_tokens, in, out);
}

void
llm_emit_grouped_forward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out,
                         gboolean arrived)
{
    emit_cast(e, "fp8_cast", arrived ? llm_share(e->rows, 2) : e->rows, in);
    if (!e->cut->fp8_weights_kept) {
        emit_cast(e, "fp8_cast_weight", e->local_experts * in, out);
    }
    llm_emit_matrix(e, linear->forward, COST_GEMM_FORWARD, e->rows, in, out, e->local_experts);
}

void
llm_emit_grouped_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out)
{
    if (e->input_grad) {
        emit_cast(e, "fp8_cast_grad", e->rows, out);
        llm_emit_matrix(e, linear->dgrad, COST_GEMM_DGRAD, e->rows, in, out, e->local_experts);
    }
    if (e->weight_grad) {
        llm_emit_matrix(e, linear->wgrad, COST_GEMM_WGRAD, e->rows, in, out, e->local_experts);
    }
}
