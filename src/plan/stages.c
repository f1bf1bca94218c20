/* What a stage is made of: its layers and how each is recomputed, and the units in which its parameters are
 * gathered and its gradients reduced. */
#include "config.h"

#include "plan/plan.h"

#include "plan/resolve.h"

LlmPiece
plan_layer_piece(const Plan *plan, gint64 stage, gint64 i)
{
    g_assert(i >= 0 && i < plan->layers[stage]);
    return llm_layer_piece(plan->shape, plan->first_layer[stage] + i);
}

gboolean
plan_stage_has_embedding(const Plan *plan, gint64 stage)
{
    (void)plan;
    return stage == 0;
}

gboolean
plan_stage_has_head(const Plan *plan, gint64 stage)
{
    return stage == plan->n_stages - 1;
}

gint64
plan_stage_mtp(const Plan *plan, gint64 stage)
{
    return plan_stage_has_head(plan, stage) ? plan->shape->mtp_layers : 0;
}

/* --- recompute (SPEC.md 7.9) ------------------------------------------------------------------- */

/* Layers of a stage that are recomputed under PLAN_RECOMPUTE_BLOCK: an entry of the list, whose last one holds
 * for the stages after it. */
static gint64
block_layers(const PlanSpec *spec, gint64 stage)
{
    const char *at = spec->recompute_stages;
    if (at == NULL)
        return MAX(spec->recompute_layers, 1);
    gint64 value = 0;
    for (gint64 s = 0; s <= stage && *at != '\0'; s++) {
        char *end = NULL;
        value = g_ascii_strtoll(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
    return value;
}

LlmRecompute
plan_layer_recompute(const Plan *plan, gint64 stage, gint64 i)
{
    const PlanSpec *spec = &plan->spec;
    if (spec->recompute != LLM_RECOMPUTE_FULL)
        return spec->recompute;
    gint64 every = MAX(spec->recompute_layers, 1);
    gboolean recomputed = TRUE;
    if (spec->recompute_method == PLAN_RECOMPUTE_BLOCK)
        recomputed = i < block_layers(spec, stage);
    else if (spec->recompute_method == PLAN_RECOMPUTE_EVERY)
        recomputed = (plan->first_layer[stage] + i) % every == 0;
    return recomputed ? LLM_RECOMPUTE_FULL : LLM_RECOMPUTE_NONE;
}

gint64
plan_recompute_unit(const Plan *plan)
{
    const PlanSpec *spec = &plan->spec;
    gboolean uniform =
        spec->recompute == LLM_RECOMPUTE_FULL && spec->recompute_method == PLAN_RECOMPUTE_UNIFORM;
    return uniform ? MAX(spec->recompute_layers, 1) : 1;
}

/* "4,4,3,2": a number for each stage, or for the first ones. */
static gboolean
check_stage_list(const PlanSpec *spec, const gint64 *layers, GError **error)
{
    gint64 stages = spec->pp * spec->vpp;
    g_auto(GStrv) words = g_strsplit(spec->recompute_stages, ",", -1);

    if ((gint64)g_strv_length(words) > stages)
        return plan_refuse(error,
                           "--recompute-stages: %u counts for " PLAN_D
                           " stages; write at most one for each",
                           g_strv_length(words), stages);
    for (gint64 s = 0; words[s] != NULL; s++) {
        guint64 value;
        if (!g_ascii_string_to_unsigned(words[s], 10, 0, (guint64)layers[s], &value, NULL))
            return plan_refuse(error,
                               "--recompute-stages: '%.20s' (stage " PLAN_D
                               ") is not a number of its " PLAN_D " layers; write 0 to " PLAN_D,
                               words[s], s, layers[s], layers[s]);
    }
    return TRUE;
}

gboolean
plan_resolve_recompute(PlanSpec *spec, const gint64 *layers, GError **error)
{
    gboolean full = spec->recompute == LLM_RECOMPUTE_FULL;
    gint64 most = 0;

    for (gint64 s = 0; s < spec->pp * spec->vpp; s++)
        most = MAX(most, layers[s]);
    if (spec->recompute_layers == 0)
        spec->recompute_layers = 1;
    if (spec->recompute_layers < 0 || (full && spec->recompute_layers > MAX(most, 1)))
        return plan_refuse(error,
                           "--recompute-layers: " PLAN_D " layers and the largest stage has " PLAN_D
                           "; write 1 to " PLAN_D,
                           spec->recompute_layers, most, MAX(most, 1));
    if (spec->recompute_microbatches < 0)
        return plan_refuse(error,
                           "--recompute-microbatches: " PLAN_D
                           " is negative; write a number of microbatches, or 0 for all",
                           spec->recompute_microbatches);
    if (spec->recompute_microbatches > 0 && !full)
        return plan_refuse(error, "--recompute-microbatches: it says how many are recomputed in "
                                  "full; write --recompute full");
    if (spec->offload_activations < 0 || spec->offload_activations > most)
        return plan_refuse(error,
                           "--offload-activations: " PLAN_D
                           " layers and the largest stage has " PLAN_D "; write 0 to " PLAN_D,
                           spec->offload_activations, most, most);
    if (spec->recompute == LLM_RECOMPUTE_SELECTIVE && spec->recompute_modules == 0)
        return plan_refuse(error, "--recompute-modules: selective recompute of no module; name "
                                  "one, as core_attn, or write --recompute none");
    if (spec->recompute_stages == NULL)
        return TRUE;
    if (!full || spec->recompute_method != PLAN_RECOMPUTE_BLOCK)
        return plan_refuse(error, "--recompute-stages: it counts the layers of the block method; "
                                  "write --recompute full --recompute-method block");
    return check_stage_list(spec, layers, error);
}

LlmCut
plan_cut_for(const Plan *plan, LlmRecompute recompute)
{
    LlmCut cut = plan->cut;
    cut.recompute = recompute;
    return cut;
}

/* --- units -------------------------------------------------------------------------------------- */

static void
add_parameters(PlanUnit *unit, LlmPieceParameters p, gint64 times)
{
    unit->dense += times * p.dense;
    unit->expert += times * p.expert;
}

/* Embedding, head and prediction modules of a stage; layers are added by the caller. */
static void
add_ends(const Plan *plan, gint64 stage, PlanUnit *unit)
{
    const LlmShape *shape = plan->shape;
    if (unit->embedding)
        add_parameters(unit, llm_piece_parameters(shape, &plan->cut, LLM_PIECE_EMBEDDING), 1);
    if (!unit->head)
        return;
    LlmPieceParameters head = llm_piece_parameters(shape, &plan->cut, LLM_PIECE_HEAD);
    if (shape->tied && plan->rank_of[0] == plan->rank_of[stage]) /* the embedding is here already */
        head.dense -= plan->vocab_padded / plan->spec.tp * shape->hidden;
    add_parameters(unit, head, 1);
    if (shape->mtp_layers > 0)
        add_parameters(unit, llm_piece_parameters(shape, &plan->cut, LLM_PIECE_MTP),
                       shape->mtp_layers);
}

static void
append(GArray *units, const Plan *plan, gint64 stage, PlanUnit unit)
{
    for (gint64 i = unit.from; i < unit.to; i++)
        add_parameters(
            &unit, llm_piece_parameters(plan->shape, &plan->cut, plan_layer_piece(plan, stage, i)),
            1);
    add_ends(plan, stage, &unit);
    g_array_append_val(units, unit);
}

/* Embedding and head on their own, layers by the number that a unit has. */
static GArray *
module_units(const Plan *plan, gint64 stage)
{
    GArray *units = g_array_new(FALSE, TRUE, sizeof(PlanUnit));
    gint64 layers = plan->layers[stage], step = MAX(plan->spec.unit_layers, 1);
    if (plan_stage_has_embedding(plan, stage))
        append(units, plan, stage, (PlanUnit){.embedding = TRUE});
    for (gint64 i = 0; i < layers; i += step)
        append(units, plan, stage, (PlanUnit){.from = i, .to = MIN(i + step, layers)});
    if (plan_stage_has_head(plan, stage))
        append(units, plan, stage, (PlanUnit){.from = layers, .to = layers, .head = TRUE});
    return units;
}

/* Whole layers until a bucket is full, counted from the end of the stage as gradients become ready; what is
 * left over is the first bucket. */
static GArray *
bucket_units(const Plan *plan, gint64 stage, gint64 elements)
{
    GArray *units = g_array_new(FALSE, TRUE, sizeof(PlanUnit));
    gint64 layers = plan->layers[stage], to = layers;
    while (to > 0 || units->len == 0) {
        PlanUnit unit = {.from = to, .to = to};
        unit.head = units->len == 0 && plan_stage_has_head(plan, stage);
        PlanUnit counted = {.head = unit.head};
        add_ends(plan, stage, &counted);
        gint64 filled = counted.dense + counted.expert;
        while (unit.from > 0 && filled < elements) {
            LlmPieceParameters p = llm_piece_parameters(plan->shape, &plan->cut,
                                                        plan_layer_piece(plan, stage, --unit.from));
            filled += p.dense + p.expert;
        }
        unit.embedding = unit.from == 0 && plan_stage_has_embedding(plan, stage);
        append(units, plan, stage, unit);
        to = unit.from;
    }
    for (guint i = 0; i < units->len / 2; i++) { /* forward order */
        PlanUnit *a = &g_array_index(units, PlanUnit, i),
                 *b = &g_array_index(units, PlanUnit, units->len - 1 - i), swap = *a;
        *a = *b;
        *b = swap;
    }
    return units;
}

GArray *
plan_stage_units(const Plan *plan, gint64 stage)
{
    const PlanSpec *spec = &plan->spec;
    g_assert(stage >= 0 && stage < plan->n_stages);
    if (spec->bucket == PLAN_BUCKET_UNITS)
        return module_units(plan, stage);
    gboolean cut = spec->bucket == PLAN_BUCKET_ALL || stage == 0;
    return bucket_units(plan, stage, cut ? spec->bucket_elements : G_MAXINT64);
}
