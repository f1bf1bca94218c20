/* What ops do to memory: an op's tag is replaced by one that also says what the op allocates when it starts and
 * frees when it ends, so that the engine knows nothing of it.
 *
 * A forward allocates at its first op what the piece keeps, and its workspace until its last op ends. A recompute
 * list brings back what was not kept. A backward frees both when it ends; split in two, the input gradient frees
 * what the weight gradient does not need, and the weight gradient the rest. Logits and their fp32 copy are there
 * from the head's forward to its backward. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "step/build.h"

guint
step_intern_effect(StepBuild *b, const StepEffect *effect)
{
    for (guint i = 0; i < b->effects->len; i++)
        if (memcmp(&g_array_index(b->effects, StepEffect, i), effect, sizeof *effect) == 0)
            return i;
    g_array_append_vals(b->effects, effect, 1);
    return b->effects->len - 1;
}

void
step_mark(StepBuild *b, SimTemplate *t, guint op, StepMemory kind, gint64 start_bytes,
          gint64 end_bytes)
{
    if (start_bytes == 0 && end_bytes == 0)
        return;
    StepOp marked = g_array_index(b->ops, StepOp, sim_template_tag(t, op));
    StepEffect effect = g_array_index(b->effects, StepEffect, marked.effect);
    effect.start[kind] += start_bytes;
    effect.end[kind] += end_bytes;
    marked.effect = step_intern_effect(b, &effect);
    sim_template_set_tag(t, op, step_intern_op(b, &marked));
}

StepFootprint
step_footprint(const StepBuild *b, LlmPiece piece, LlmRecompute recompute)
{
    gboolean inner = recompute == STEP_RECOMPUTE_INNER;
    LlmCut cut = plan_cut_for(b->plan, inner ? LLM_RECOMPUTE_FULL : recompute);
    gint64 kept = (gint64)ceil(llm_activation_bytes(b->plan->shape, &cut, piece));
    gint64 transient = (gint64)ceil(llm_transient_bytes(b->plan->shape, &cut, piece));
    StepFootprint f = {.kept = kept, .transient = transient};
    if (inner)
        f.kept = 0;
    if (piece == LLM_PIECE_HEAD) {
        f.logits = transient;
        f.transient = 0;
    }
    /* Scattering into the embedding's table is part of its input gradient; it has no list of its own later. */
    if (piece != LLM_PIECE_EMBEDDING)
        f.weight_grad = (gint64)ceil(llm_weight_grad_bytes(b->plan->shape, &cut, piece));
    return f;
}

gint64
step_workspace(const StepBuild *b, LlmPiece piece, LlmRecompute recompute, LlmPass pass)
{
    LlmCut cut =
        plan_cut_for(b->plan, recompute == STEP_RECOMPUTE_INNER ? LLM_RECOMPUTE_FULL : recompute);
    return (gint64)ceil(llm_workspace_bytes(b->plan->shape, &cut, piece, pass));
}

static void
mark_workspace(StepBuild *b, SimTemplate *t, gint64 bytes, guint first, guint last)
{
    step_mark(b, t, first, STEP_MEMORY_WORKSPACE, bytes, 0);
    step_mark(b, t, last, STEP_MEMORY_WORKSPACE, 0, -bytes);
}

void
step_mark_forward(StepBuild *b, SimTemplate *t, LlmPiece piece, LlmRecompute recompute, guint first,
                  guint last)
{
    if (first > last)
        return;
    StepFootprint f = step_footprint(b, piece, recompute);
    step_mark(b, t, first, STEP_MEMORY_ACTIVATIONS, f.kept, 0);
    step_mark(b, t, first, STEP_MEMORY_LOGITS, f.logits, 0);
    mark_workspace(b, t, step_workspace(b, piece, recompute, LLM_PASS_FORWARD), first, last);
}

void
step_mark_recompute(StepBuild *b, SimTemplate *t, LlmPiece piece, LlmRecompute recompute,
                    guint first, guint last)
{
    if (first > last)
        return;
    StepFootprint f = step_footprint(b, piece, recompute);
    step_mark(b, t, first, STEP_MEMORY_ACTIVATIONS, f.transient, 0);
    mark_workspace(b, t, step_workspace(b, piece, recompute, LLM_PASS_RECOMPUTE), first, last);
}

void
step_mark_backward(StepBuild *b, SimTemplate *t, LlmPiece piece, LlmRecompute recompute,
                   LlmPass pass, guint first, guint last)
{
    if (first > last)
        return;
    StepFootprint f = step_footprint(b, piece, recompute);
    gint64 freed = pass == LLM_PASS_BACKWARD     ? f.kept + f.transient
                   : pass == LLM_PASS_INPUT_GRAD ? f.kept + f.transient - f.weight_grad
                                                 : f.weight_grad;
    step_mark(b, t, last, STEP_MEMORY_ACTIVATIONS, 0, -freed);
    if (pass != LLM_PASS_WEIGHT_GRAD)
        step_mark(b, t, last, STEP_MEMORY_LOGITS, 0, -f.logits);
    mark_workspace(b, t, step_workspace(b, piece, recompute, pass), first, last);
}
