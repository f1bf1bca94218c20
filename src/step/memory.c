/* Memory of each pipeline rank as its list of ops goes: a forward adds its stage's activations, the end of the
 * backward (or of the weight gradient) frees them; an input gradient alone frees what the weight gradient does
 * not need; and a backward needs its transient part on top. */
#include "config.h"

#include "step/build.h"

typedef struct {
    gint64 live, peak, activations_at_peak, logits_at_peak, logits;
    guint chunks, peak_chunks;
} Walk;

static void
consider(Walk *w, gint64 transient)
{
    gint64 now = w->live + w->logits + transient;
    if (now <= w->peak)
        return;
    w->peak = now;
    w->activations_at_peak = w->live + transient;
    w->logits_at_peak = w->logits;
}

static void
walk_token(Walk *w, const Plan *plan, ScheduleToken token)
{
    gint64 bytes = plan_stage_activation_bytes(plan, token.stage);
    gint64 kept = plan_stage_weight_grad_bytes(plan, token.stage);
    gint64 logits = plan_stage_logits_bytes(plan, token.stage);
    switch ((ScheduleKind)token.kind) {
    case SCHEDULE_F:
        w->live += bytes;
        w->logits += logits;
        w->chunks++;
        w->peak_chunks = MAX(w->peak_chunks, w->chunks);
        consider(w, 0);
        return;
    case SCHEDULE_I: /* what the weight gradient needs stays, the gradient of the logits included */
        consider(w, plan_stage_transient_bytes(plan, token.stage));
        w->live += kept - bytes;
        w->logits -= logits;
        consider(w, 0);
        return;
    case SCHEDULE_W:
        w->live -= kept;
        break;
    case SCHEDULE_B:
        consider(w, plan_stage_transient_bytes(plan, token.stage));
        w->live -= bytes;
        w->logits -= logits;
        break;
    }
    w->chunks--;
}

/* Of the weights, that an asynchronous schedule keeps. */
static guint
weight_versions(const StepBuild *b, guint pp_rank)
{
    const ScheduleType *type =
        b->schedule->asynchronous ? schedule_find(b->schedule->name, NULL) : NULL;
    return type ? type->weight_versions(&b->schedule->params, pp_rank) : 1;
}

static void
fill_stage(const StepBuild *b, StepStage *stage)
{
    const GArray *tokens = b->schedule->ranks[stage->pp_rank];
    Walk w = {0};
    for (guint i = 0; i < tokens->len; i++)
        walk_token(&w, b->plan, g_array_index(tokens, ScheduleToken, i));
    g_assert(w.live == 0 && w.logits == 0);
    stage->peak_microbatches = w.peak_chunks;
    stage->activations_bytes = w.activations_at_peak;
    stage->logits_bytes = w.logits_at_peak;
    g_autoptr(GArray) stages = step_stages_on(b->schedule, (guint)stage->pp_rank);
    const gint64 *held = (const gint64 *)(gpointer)stages->data;
    stage->fixed = plan_static_memory_of(b->plan, stage->pp_rank, held, stages->len,
                                         weight_versions(b, (guint)stage->pp_rank));
    for (guint i = 0; i < stages->len; i++)
        stage->parameters += plan_stage_parameters(b->plan, held[i]);
    stage->peak_bytes = stage->fixed.parameters_bytes + stage->fixed.gradients_bytes +
                        stage->fixed.optimizer_bytes + stage->fixed.fixed_bytes +
                        stage->fixed.communication_bytes + w.peak;
}

void
step_memory(StepBuild *b, StepResult *r)
{
    r->memory_limit_bytes = b->plan->system->memory_usable_bytes;
    for (guint i = 0; i < r->stages->len; i++) {
        StepStage *stage = &g_array_index(r->stages, StepStage, i);
        fill_stage(b, stage);
        if (stage->peak_bytes > r->memory_peak_bytes) {
            r->memory_peak_bytes = stage->peak_bytes;
            r->memory_peak_stage = i;
        }
    }
}
