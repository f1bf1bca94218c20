/* What a list needs for itself while it runs.
 *
 * Each tensor is alive from the step that makes it to the last that reads it; the most that is alive at once,
 * less what is counted as kept (and, where it was dropped, as brought back) for as long as the list runs, is the
 * workspace. Forward: what is kept appears step by step, the rest is freed after its last reader, and the output
 * is there in the end. Backward: gradients come and go while saved tensors are freed one by one after the step
 * that wants them; in the input gradient alone what the weight gradient needs stays to the end.
 *
 * Whole-sequence inputs that sequence parallelism gathers, forward and again backward, lie in a buffer that is
 * there all the time and is no part of this; gathered output gradients are.
 *
 * Symbols in comments: n tokens, l = n / u of them on this rank, h hidden, D bytes of an element, r rows of
 * experts. */
#include "config.h"

#include "llm/spans.h"

/* --- forward -------------------------------------------------------------------------------- */

/* The step that makes a kept tensor and the last that reads it. */
static const struct {
    LlmForwardStep born, read;
} forward_life[LLM_N_KEPT] = {
    [LLM_KEPT_INPUT] = {LLM_F_NORM, LLM_F_ADD},
    [LLM_KEPT_NORM] = {LLM_F_NORM, LLM_F_QKV},
    [LLM_KEPT_LATENTS] = {LLM_F_QKV, LLM_F_QKV},
    [LLM_KEPT_QKV] = {LLM_F_QKV, LLM_F_CORE},
    [LLM_KEPT_QK_NORM] = {LLM_F_QKV, LLM_F_QKV},
    [LLM_KEPT_CORE] = {LLM_F_CORE, LLM_F_CORE},
    [LLM_KEPT_CONTEXT] = {LLM_F_CORE, LLM_F_OUT},
    [LLM_KEPT_OUT] = {LLM_F_ADD, LLM_F_ADD},
    [LLM_KEPT_POST_NORM] = {LLM_F_COMBINE, LLM_F_ADD},
    [LLM_KEPT_MASK] = {LLM_F_ADD, LLM_F_ADD},
    [LLM_KEPT_MIDDLE] = {LLM_F_ADD, LLM_F_MLP_ADD},
    [LLM_KEPT_MLP_NORM] = {LLM_F_MLP_NORM, LLM_F_UP},
    [LLM_KEPT_SCORES] = {LLM_F_ROUTER, LLM_F_ACTIVATION},
    [LLM_KEPT_ROWS] = {LLM_F_SORT, LLM_F_UP},
    [LLM_KEPT_UP] = {LLM_F_UP, LLM_F_ACTIVATION},
    [LLM_KEPT_ACTIVATION] = {LLM_F_ACTIVATION, LLM_F_DOWN},
    [LLM_KEPT_SHARED_UP] = {LLM_F_DISPATCH, LLM_F_DISPATCH},
    [LLM_KEPT_SHARED_ACTIVATION] = {LLM_F_DISPATCH, LLM_F_DISPATCH},
    [LLM_KEPT_SHARED_OUT] = {LLM_F_DISPATCH, LLM_F_DISPATCH},
    [LLM_KEPT_MLP_POST_NORM] = {LLM_F_MLP_COMBINE, LLM_F_MLP_ADD},
    [LLM_KEPT_MLP_MASK] = {LLM_F_MLP_ADD, LLM_F_MLP_ADD},
    [LLM_KEPT_DOWN] = {LLM_F_MLP_ADD, LLM_F_MLP_ADD},
};

static void
attention_forward(LlmSpans *s)
{
    llm_span(s, llm_span_core(s, FALSE), LLM_F_CORE, LLM_F_CORE);
    if (s->e->gathers) { /* n h of partial sums, then l h */
        llm_span(s, s->whole, LLM_F_OUT, LLM_F_COMBINE);
        llm_span(s, s->local, LLM_F_COMBINE, LLM_F_ADD);
    } else {
        llm_span(s, s->whole, LLM_F_OUT, LLM_F_ADD);
    }
}

static void
mlp_forward(LlmSpans *s)
{
    if (s->e->gathers) {
        llm_span(s, s->whole, LLM_F_DOWN, LLM_F_MLP_COMBINE);
        llm_span(s, s->local, LLM_F_MLP_COMBINE, LLM_F_MLP_ADD);
    } else {
        llm_span(s, s->whole, LLM_F_DOWN, LLM_F_MLP_ADD);
    }
}

static void
experts_forward(LlmSpans *s)
{
    const LlmEmit *e = s->e;
    gboolean plain = e->cut->dispatch == LLM_DISPATCH_ALL_TO_ALL;
    gboolean sorted = llm_emit_sorts(e), etp = llm_group_size(e->cut, LLM_GROUP_ETP) > 1;
    double travel = e->cut->fp8_dispatch ? 1.0 / e->element : 1.0;
    if (plain) {
        llm_span(s, s->sent * travel, LLM_F_PERMUTE, LLM_F_DISPATCH);
    }
    if (sorted || etp || e->cut->fp8_dispatch) { /* else what arrives is the experts' input */
        llm_span(s, s->arrived * travel, LLM_F_DISPATCH, LLM_F_SORT);
    }
    if (etp && sorted) {
        llm_span(s, s->rows, LLM_F_SORT, LLM_F_SORT);
    }
    llm_span(s, s->rows, LLM_F_DOWN, sorted ? LLM_F_UNSORT : LLM_F_MLP_COMBINE);
    if (sorted) {
        llm_span(s, s->rows, LLM_F_UNSORT, LLM_F_MLP_COMBINE);
    }
    if (etp) {
        llm_span(s, s->arrived, LLM_F_MLP_COMBINE, LLM_F_MLP_COMBINE);
    }
    llm_span(s, plain ? s->sent : s->local, LLM_F_MLP_COMBINE, LLM_F_UNPERMUTE);
    llm_span(s, s->local, LLM_F_UNPERMUTE, LLM_F_MLP_ADD);
    if (e->shape->shared_ffn > 0) {
        if (e->gathers) {
            llm_span(s, s->whole, LLM_F_DISPATCH, LLM_F_DISPATCH);
        }
        llm_span(s, e->gathers ? s->local : s->whole, LLM_F_DISPATCH, LLM_F_UNPERMUTE);
    }
}

/* `again`: a recompute list, with everything on its way to being kept. */
static double
forward_peak(LlmSpans *s, gboolean again)
{
    const LlmKept *kept = &s->kept;
    for (guint item = 0; item < LLM_N_KEPT; item++) {
        double freed = again ? 0.0 : kept->dropped[item];
        llm_span(s, kept->bytes[item] - freed, forward_life[item].born, LLM_F_MLP_ADD);
        llm_span(s, freed, forward_life[item].born, forward_life[item].read);
    }
    attention_forward(s);
    (llm_kept_has_experts(s->layer) ? experts_forward : mlp_forward)(s);
    llm_span(s, s->local, LLM_F_MLP_ADD, LLM_F_MLP_ADD); /* the output */
    return llm_span_peak(s);
}

/* Selective recompute: what its modules need, on top of all that is kept or brought back. */
static double
selected_peak(LlmSpans *s)
{
    const LlmCut *cut = s->e->cut;
    gboolean experts = llm_kept_has_experts(s->layer);
    if (llm_recomputes(cut, LLM_MODULE_CORE_ATTENTION)) {
        double again =
            s->e->tokens * (double)s->e->context * s->e->element; /* its output, once more */
        llm_span(s, llm_span_core(s, FALSE) + again, LLM_F_CORE, LLM_F_CORE);
    }
    if (llm_recomputes(cut,
                       LLM_MODULE_SECOND_GEMM)) { /* what the output matrix sums, and its shard */
        llm_span(s, s->whole, LLM_F_OUT, LLM_F_COMBINE);
        llm_span(s, s->local, LLM_F_COMBINE, LLM_F_ADD);
    }
    if (!experts && llm_recomputes(cut, LLM_MODULE_MLP)) {
        mlp_forward(s);
    }
    if (experts && llm_recomputes(cut, LLM_MODULE_MOE)) {
        experts_forward(s);
    } else if (experts && llm_recomputes(cut, LLM_MODULE_SHARED_EXPERTS)) {
        llm_span(s, s->whole + s->local, LLM_F_DISPATCH, LLM_F_DISPATCH);
    }
    return llm_span_peak(s);
}

/* --- backward ------------------------------------------------------------------------------- */

/* The last step that reads a kept tensor; whether the weight gradient does. */
static const struct {
    LlmBackwardStep read;
    gboolean is_input;
} backward_life[LLM_N_KEPT] = {
    [LLM_KEPT_INPUT] = {LLM_B_NORM, FALSE},
    [LLM_KEPT_NORM] = {LLM_B_QKV, TRUE},
    [LLM_KEPT_LATENTS] = {LLM_B_QKV, TRUE},
    [LLM_KEPT_QKV] = {LLM_B_CORE, FALSE},
    [LLM_KEPT_QK_NORM] = {LLM_B_CORE, FALSE},
    [LLM_KEPT_CORE] = {LLM_B_CORE, FALSE},
    [LLM_KEPT_CONTEXT] = {LLM_B_CORE, TRUE},
    [LLM_KEPT_OUT] = {LLM_B_ADD, FALSE},
    [LLM_KEPT_POST_NORM] = {LLM_B_MLP_NORM, FALSE},
    [LLM_KEPT_MASK] = {LLM_B_MLP_NORM, FALSE},
    [LLM_KEPT_MIDDLE] = {LLM_B_MLP_NORM, FALSE},
    [LLM_KEPT_MLP_NORM] = {LLM_B_ROUTER, TRUE},
    [LLM_KEPT_SCORES] = {LLM_B_ROUTER, FALSE},
    [LLM_KEPT_ROWS] = {LLM_B_UP, TRUE},
    [LLM_KEPT_UP] = {LLM_B_ACTIVATION, FALSE},
    [LLM_KEPT_ACTIVATION] = {LLM_B_DOWN, TRUE},
    [LLM_KEPT_SHARED_UP] = {LLM_B_UNSORT, FALSE},
    [LLM_KEPT_SHARED_ACTIVATION] = {LLM_B_UNSORT, TRUE},
    [LLM_KEPT_SHARED_OUT] = {LLM_B_UNSORT, FALSE},
    [LLM_KEPT_MLP_POST_NORM] = {LLM_B_ADD, FALSE},
    [LLM_KEPT_MLP_MASK] = {LLM_B_ADD, FALSE},
    [LLM_KEPT_DOWN] = {LLM_B_NORM, FALSE},
};

static gboolean
is_apart(const LlmSpans *s)
{
    return s->e->shape->gated && !s->e->cut->fused_kernels;
}

/* An activation that is several kernels makes the gradients of both halves apart and then side by side; blocks of
 * the one size are no use to the other, so that all of them count. */
static void
activation_backward(LlmSpans *s, double up, double down, LlmBackwardStep end)
{
    llm_span(s, down, LLM_B_DOWN, LLM_B_ACTIVATION);
    llm_span(s, up, LLM_B_ACTIVATION, end);
    if (is_apart(s)) {
        llm_span(s, 3.0 * down, LLM_B_ACTIVATION, LLM_B_ACTIVATION);
    }
}

static void
mlp_backward(LlmSpans *s)
{
    const LlmEmit *e = s->e;
    double each = e->element * (double)e->tokens;
    if (e->gathers) { /* gradient of the output, n h */
        llm_span(s, s->whole, LLM_B_COMBINE, s->split ? LLM_B_NORM : LLM_B_DOWN);
    }
    activation_backward(s, each * (double)e->up, each * (double)e->ffn,
                        s->split ? LLM_B_NORM : LLM_B_UP);
    if (e->gathers) {
        llm_span(s, s->whole, LLM_B_UP, LLM_B_SORT);
        llm_span(s, s->local, LLM_B_SORT, LLM_B_MLP_NORM);
    } else {
        llm_span(s, s->whole, LLM_B_UP, LLM_B_MLP_NORM);
    }
}

static void
shared_backward(LlmSpans *s)
{
    const LlmEmit *e = s->e;
    double columns = (double)(e->shared_up + e->shared);
    double grads = e->element * (double)e->tokens * columns;
    LlmBackwardStep end = s->split ? LLM_B_NORM : LLM_B_UNSORT;
    if (e->gathers) {
        llm_span(s, s->whole, LLM_B_UNSORT, end);
        llm_span(s, s->local, LLM_B_UNSORT, LLM_B_MLP_NORM);
    }
    llm_span(s, s->whole, LLM_B_UNSORT, e->gathers ? LLM_B_UNSORT : LLM_B_MLP_NORM);
    llm_span(s, grads, LLM_B_UNSORT, end);
}

static void
experts_backward(LlmSpans *s)
{
    const LlmEmit *e = s->e;
    gboolean plain = e->cut->dispatch == LLM_DISPATCH_ALL_TO_ALL;
    gboolean sorted = llm_emit_sorts(e), etp = llm_group_size(e->cut, LLM_GROUP_ETP) > 1;
    double each = e->element * (double)e->rows;
    LlmBackwardStep end = s->split ? LLM_B_NORM : LLM_B_DOWN;
    if (plain) {
        llm_span(s, s->sent, LLM_B_UNPERMUTE, LLM_B_COMBINE);
    }
    llm_span(s, s->arrived, LLM_B_COMBINE, sorted || etp ? LLM_B_UNSORT : end);
    if (etp) {
        llm_span(s, s->rows, LLM_B_UNSORT, sorted ? LLM_B_UNSORT : end);
    }
    if (sorted) {
        llm_span(s, s->rows, LLM_B_UNSORT, end);
    }
    activation_backward(s, each * (double)e->expert_up, each * (double)e->expert_ffn,
                        s->split ? LLM_B_NORM : LLM_B_UP);
    llm_span(s, s->rows, LLM_B_UP, LLM_B_SORT);
    if (sorted) {
        llm_span(s, s->rows, LLM_B_SORT, LLM_B_DISPATCH);
    }
    if (etp) {
        llm_span(s, s->arrived, LLM_B_DISPATCH, LLM_B_DISPATCH);
    }
    llm_span(s, plain ? s->sent : s->local, LLM_B_DISPATCH, LLM_B_PERMUTE);
    llm_span(s, s->local, LLM_B_PERMUTE, LLM_B_MLP_NORM);
    llm_span(s, s->local + s->kept.bytes[LLM_KEPT_SCORES], LLM_B_ROUTER, LLM_B_ROUTER);
    if (e->shape->shared_ffn > 0) {
        shared_backward(s);
    }
}

static void
attention_backward(LlmSpans *s)
{
    const LlmEmit *e = s->e;
    double each = e->element * (double)e->tokens;
    if (e->gathers) {
        llm_span(s, s->whole, LLM_B_GATHER, s->split ? LLM_B_NORM : LLM_B_OUT);
    }
    llm_span(s, each * (double)e->context, LLM_B_OUT, LLM_B_CORE);
    llm_span(s, llm_span_core(s, TRUE), LLM_B_CORE, LLM_B_CORE);
    llm_span(s, each * (double)e->qkv, LLM_B_CORE, s->split ? LLM_B_NORM : LLM_B_QKV);
    if (e->gathers) {
        llm_span(s, s->whole, LLM_B_QKV, LLM_B_SCATTER);
        llm_span(s, s->local, LLM_B_SCATTER, LLM_B_NORM);
    } else {
        llm_span(s, s->whole, LLM_B_QKV, LLM_B_NORM);
    }
}

static double
backward_peak(LlmSpans *s)
{
    const LlmKept *kept = &s->kept;
    for (guint item = 0; item < LLM_N_KEPT; item++) {
        gboolean stays = s->split && backward_life[item].is_input;
        LlmBackwardStep read = backward_life[item].read;
        if (item == LLM_KEPT_ACTIVATION && is_apart(s)) {
            read = LLM_B_ACTIVATION;
        }
        llm_span(s, kept->bytes[item], 0, stays ? LLM_B_NORM : read);
    }
    llm_span(s, s->local, LLM_B_ADD, s->split ? LLM_B_NORM : LLM_B_MLP_NORM); /* of the output */
    if (s->e->cut->dropout) {
        llm_span(s, s->local, LLM_B_ADD, LLM_B_DOWN);
    }
    (llm_kept_has_experts(s->layer) ? experts_backward : mlp_backward)(s);
    llm_span(s, s->local, LLM_B_MLP_NORM, LLM_B_NORM); /* of the sum between attention and MLP */
    attention_backward(s);
    llm_span(s, s->local, LLM_B_NORM, LLM_B_NORM); /* of the input */
    return llm_span_peak(s);
}

/* --- pieces --------------------------------------------------------------------------------- */

static double
layer_workspace(const LlmEmit *e, LlmPiece layer, LlmPass pass)
{
    LlmSpans s = llm_spans_begin(e, layer, pass == LLM_PASS_INPUT_GRAD);
    double peak = 0, counted = s.kept.all;
    switch (pass) {
    case LLM_PASS_FORWARD:
        peak = forward_peak(&s, FALSE);
        counted -= s.kept.dropped_bytes;
        break;
    case LLM_PASS_BACKWARD:
    case LLM_PASS_INPUT_GRAD:
        peak = backward_peak(&s);
        break;
    case LLM_PASS_RECOMPUTE: /* the gradient of the output waits */
        if (e->cut->recompute == LLM_RECOMPUTE_FULL) {
            peak = forward_peak(&s, TRUE) + s.local;
        } else if (e->cut->recompute == LLM_RECOMPUTE_SELECTIVE) {
            peak = selected_peak(&s) + s.local + counted;
        }
        break;
    case LLM_PASS_WEIGHT_GRAD: /* its inputs and gradients are counted as such */
        break;
    case LLM_N_PASSES:
        g_assert_not_reached();
    }
    return MAX(peak - counted, 0.0);
}

/* Forward the rows looked up, n h, and what becomes of them, with learned positions first their sum of n h; backward
 * the gradient, gathered, and a gradient of the whole table, which is added to the main gradient afterwards. */
static double
embedding_workspace(const LlmEmit *e, LlmPass pass)
{
    double hidden = (double)e->shape->hidden * e->element;
    double whole = (double)e->tokens * hidden, local = (double)e->local_tokens * hidden;
    gboolean sums = e->gathers && e->shape->position == LLM_POSITION_LEARNED;
    if (pass == LLM_PASS_FORWARD) {
        return whole + local + (sums ? whole : 0.0);
    }
    if (pass == LLM_PASS_BACKWARD || pass == LLM_PASS_INPUT_GRAD) {
        return (e->gathers ? whole : 0.0) + local + (double)e->vocab * hidden;
    }
    return 0.0;
}

/* A loss of several kernels makes its exponentials, and their gradient, in fp32 beside the logits' copy. The
 * gradient in the logits' own type takes their place. PyTorch's (logits.float(), log_softmax, nll_loss) has forward
 * the copy and the log-softmax, backward that and two gradients, of the log-softmax and of the copy: 12 bytes a
 * logit, and the block of the 16-bit logits is too small for any of them. */
static double
head_workspace(const LlmEmit *e, LlmPass pass)
{
    double hidden = (double)e->shape->hidden * e->element;
    double whole = (double)e->tokens * hidden, local = (double)e->local_tokens * hidden;
    gboolean apart = !e->cut->fused_kernels && !e->cut->fused_loss;
    double copy = apart ? 4.0 * (double)e->tokens * (double)e->vocab : 0.0;
    double gradients = e->cut->log_softmax ? 2.0 * copy : copy;
    if (pass == LLM_PASS_FORWARD) {
        return copy;
    }
    if (pass == LLM_PASS_BACKWARD || pass == LLM_PASS_INPUT_GRAD) {
        return MAX(gradients, whole + (e->gathers ? local : 0.0) + local);
    }
    return 0.0;
}

double
llm_workspace_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece, LlmPass pass)
{
    g_assert(pass < LLM_N_PASSES);
    LlmEmit e = llm_kept_sizes(shape, cut, piece, pass);
    if (piece == LLM_PIECE_EMBEDDING) {
        return embedding_workspace(&e, pass);
    }
    if (piece == LLM_PIECE_HEAD) {
        return head_workspace(&e, pass);
    }
    double layer = layer_workspace(&e, llm_emit_layer_of(shape, piece), pass);
    if (piece != LLM_PIECE_MTP || pass == LLM_PASS_RECOMPUTE) {
        return layer;
    }
    /* The projection's gathered input is twice as wide as the buffer. */
    double wide = e.gathers ? (double)e.tokens * (double)shape->hidden * e.element : 0.0;
    return wide + MAX(layer, MAX(head_workspace(&e, pass), embedding_workspace(&e, pass)));
}
