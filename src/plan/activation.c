/* Activations of a stage: sums over its layers, each with its own recompute (SPEC.md 7.9, 10). */
#include "config.h"

#include <math.h>

#include "plan/plan.h"

typedef double (*PieceBytes)(const LlmShape *shape, const LlmCut *cut, LlmPiece piece);

static gint64
whole(double bytes)
{
    return (gint64)ceil(bytes);
}

/* Sum of a function over the layers of a stage, counted by kind first. */
static double
sum_layers(const Plan *plan, gint64 stage, PieceBytes bytes, gboolean recomputes)
{
    gint64 counts[LLM_N_PIECES][LLM_RECOMPUTE_FULL + 1] = {{0}}, unit = plan_recompute_unit(plan);
    double sum = 0;

    for (gint64 i = 0; i < plan->layers[stage]; i++) {
        LlmRecompute how = recomputes ? plan_layer_recompute(plan, stage, i) : LLM_RECOMPUTE_NONE;
        if (how == LLM_RECOMPUTE_FULL && i % unit != 0)
            continue; /* of a unit only the input is kept */
        counts[plan_layer_piece(plan, stage, i)][how]++;
    }
    for (guint piece = 0; piece < LLM_N_PIECES; piece++)
        for (guint how = 0; how <= LLM_RECOMPUTE_FULL; how++)
            if (counts[piece][how] > 0) {
                LlmCut cut = plan_cut_for(plan, how);
                sum += (double)counts[piece][how] * bytes(plan->shape, &cut, piece);
            }
    return sum;
}

/* Of the embedding, the head and prediction modules on the stage. */
static double
sum_ends(const Plan *plan, gint64 stage, PieceBytes bytes)
{
    double sum = 0;

    if (plan_stage_has_embedding(plan, stage))
        sum += bytes(plan->shape, &plan->cut, LLM_PIECE_EMBEDDING);
    if (plan_stage_has_head(plan, stage))
        sum += bytes(plan->shape, &plan->cut, LLM_PIECE_HEAD);
    if (plan_stage_mtp(plan, stage) > 0)
        sum += (double)plan_stage_mtp(plan, stage) * bytes(plan->shape, &plan->cut, LLM_PIECE_MTP);
    return sum;
}

gint64
plan_stage_activation_bytes(const Plan *plan, gint64 stage)
{
    g_assert(stage >= 0 && stage < plan->n_stages);
    return whole(sum_layers(plan, stage, llm_activation_bytes, TRUE) +
                 sum_ends(plan, stage, llm_activation_bytes));
}

gint64
plan_stage_kept_bytes(const Plan *plan, gint64 stage)
{
    g_assert(stage >= 0 && stage < plan->n_stages);
    return whole(sum_layers(plan, stage, llm_activation_bytes, FALSE) +
                 sum_ends(plan, stage, llm_activation_bytes));
}

/* Layers, or units of them, run their backward one after another: the largest, not the sum. Of a unit all layers
 * are brought back together, and the inputs of those behind the first. */
gint64
plan_stage_transient_bytes(const Plan *plan, gint64 stage)
{
    gint64 unit = plan_recompute_unit(plan);
    double most = 0, bytes = 0;

    g_assert(stage >= 0 && stage < plan->n_stages);
    for (gint64 i = 0; i < plan->layers[stage]; i++) {
        LlmCut cut = plan_cut_for(plan, plan_layer_recompute(plan, stage, i));
        LlmPiece piece = plan_layer_piece(plan, stage, i);
        bytes = i % unit == 0 ? 0 : bytes + llm_activation_bytes(plan->shape, &cut, piece);
        bytes += llm_transient_bytes(plan->shape, &cut, piece);
        most = MAX(most, bytes);
    }
    if (plan_stage_has_embedding(plan, stage))
        most = MAX(most, llm_transient_bytes(plan->shape, &plan->cut, LLM_PIECE_EMBEDDING));
    if (plan_stage_mtp(plan, stage) > 0)
        most = MAX(most, llm_transient_bytes(plan->shape, &plan->cut, LLM_PIECE_MTP));
    return whole(most);
}

gint64
plan_stage_logits_bytes(const Plan *plan, gint64 stage)
{
    g_assert(stage >= 0 && stage < plan->n_stages);
    if (!plan_stage_has_head(plan, stage))
        return 0;
    return whole(llm_transient_bytes(plan->shape, &plan->cut, LLM_PIECE_HEAD));
}

/* Of what a microbatch keeps on a stage, the part that its weight gradient still needs once its input
 * gradient is done, and what the input gradient leaves for it. */
gint64
plan_stage_weight_grad_bytes(const Plan *plan, gint64 stage)
{
    g_assert(stage >= 0 && stage < plan->n_stages);
    double layers = 0;
    gint64 counts[LLM_N_PIECES] = {0};

    for (gint64 i = 0; i < plan->layers[stage]; i++)
        counts[plan_layer_piece(plan, stage, i)]++;
    for (guint piece = 0; piece < LLM_N_PIECES; piece++)
        if (counts[piece] > 0)
            layers += (double)counts[piece] * llm_weight_grad_bytes(plan->shape, &plan->cut, piece);
    return whole(layers + sum_ends(plan, stage, llm_weight_grad_bytes));
}
