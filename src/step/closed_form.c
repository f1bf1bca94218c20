/* The peak of a rank's memory by arithmetic, with no clock: the list of its tokens is walked once.
 *
 * A token changes what its rank holds by `delta` and on the way there holds up to `rise` more than when it began;
 * both follow from the pieces of its stage alone:
 *
 *   F      a piece adds what it keeps (and the head its logits), and needs its workspace while it runs
 *   B, I   from last to first: recompute brings back what was not kept, of all layers that are recomputed
 *          together, and the backward frees it with what was kept; I leaves what W needs
 *   W      frees that, piece by piece
 *
 * peak = static + max over tokens of (sum of delta of those before it + its rise). */
#include "config.h"

#include "step/build.h"

typedef struct {
    gint64 now, most;
} Level;

typedef struct {
    gint64 delta, rise;
    gboolean known;
} Move;

static void
add(Level *l, gint64 bytes)
{
    l->now += bytes;
    l->most = MAX(l->most, l->now);
}

static void
need(Level *l, gint64 bytes)
{
    l->most = MAX(l->most, l->now + bytes);
}

static void
go_forward(StepBuild *b, Level *l, LlmPiece piece, LlmRecompute recompute)
{
    StepFootprint f = step_footprint(b, piece, recompute);
    add(l, f.kept + f.logits);
    need(l, step_workspace(b, piece, recompute, LLM_PASS_FORWARD));
}

static void
go_again(StepBuild *b, Level *l, LlmPiece piece, LlmRecompute recompute)
{
    if (recompute == LLM_RECOMPUTE_NONE)
        return;
    add(l, step_footprint(b, piece, recompute).transient);
    need(l, step_workspace(b, piece, recompute, LLM_PASS_RECOMPUTE));
}

static void
go_back(StepBuild *b, Level *l, LlmPiece piece, LlmRecompute recompute, LlmPass pass)
{
    StepFootprint f = step_footprint(b, piece, recompute);
    gint64 weight_grad = pass == LLM_PASS_INPUT_GRAD ? f.weight_grad : 0;
    need(l, step_workspace(b, piece, recompute, pass));
    add(l, weight_grad - f.kept - f.transient - f.logits);
}

static void
go_weights(StepBuild *b, Level *l, LlmPiece piece, LlmRecompute recompute)
{
    need(l, step_workspace(b, piece, recompute, LLM_PASS_WEIGHT_GRAD));
    add(l, -step_footprint(b, piece, recompute).weight_grad);
}

/* How a layer is recomputed in a token that keeps everything, or not. */
static LlmRecompute
recompute_of(const StepBuild *b, guint stage, gint64 i, gboolean keeps)
{
    return keeps ? LLM_RECOMPUTE_NONE : step_layer_recompute(b, stage, i);
}

static void
walk_forward(StepBuild *b, Level *l, guint stage, gboolean keeps)
{
    const Plan *plan = b->plan;
    if (plan_stage_has_embedding(plan, stage))
        go_forward(b, l, LLM_PIECE_EMBEDDING, plan->spec.recompute);
    for (gint64 i = 0; i < plan->layers[stage]; i++)
        go_forward(b, l, plan_layer_piece(plan, stage, i), recompute_of(b, stage, i, keeps));
    if (plan_stage_has_head(plan, stage))
        go_forward(b, l, LLM_PIECE_HEAD, plan->spec.recompute);
    for (gint64 i = 0; i < plan_stage_mtp(plan, stage); i++)
        go_forward(b, l, LLM_PIECE_MTP, plan->spec.recompute);
}

/* Layers that are recomputed together are so before the last of them goes back. */
static void
walk_layers_back(StepBuild *b, Level *l, guint stage, LlmPass pass, gboolean keeps)
{
    const Plan *plan = b->plan;
    gint64 unit = plan_recompute_unit(plan), layers = plan->layers[stage];
    for (gint64 i = layers; i-- > 0;) {
        gboolean again = !keeps && ((i + 1) % unit == 0 || i + 1 == layers);
        for (gint64 k = i / unit * unit; k <= i && again; k++)
            go_again(b, l, plan_layer_piece(plan, stage, k), step_layer_recompute(b, stage, k));
        go_back(b, l, plan_layer_piece(plan, stage, i), recompute_of(b, stage, i, keeps), pass);
    }
}

static void
walk_backward(StepBuild *b, Level *l, guint stage, LlmPass pass, gboolean keeps)
{
    const Plan *plan = b->plan;
    LlmRecompute recompute = plan->spec.recompute;
    for (gint64 i = plan_stage_mtp(plan, stage); i > 0; i--) {
        go_again(b, l, LLM_PIECE_MTP, recompute);
        go_back(b, l, LLM_PIECE_MTP, recompute, pass);
    }
    if (plan_stage_has_head(plan, stage))
        go_back(b, l, LLM_PIECE_HEAD, recompute, pass);
    walk_layers_back(b, l, stage, pass, keeps);
    if (plan_stage_has_embedding(plan, stage))
        go_back(b, l, LLM_PIECE_EMBEDDING, recompute, pass);
}

static void
walk_weights(StepBuild *b, Level *l, guint stage, gboolean keeps)
{
    const Plan *plan = b->plan;
    for (gint64 i = plan_stage_mtp(plan, stage); i > 0; i--)
        go_weights(b, l, LLM_PIECE_MTP, plan->spec.recompute);
    if (plan_stage_has_head(plan, stage))
        go_weights(b, l, LLM_PIECE_HEAD, plan->spec.recompute);
    for (gint64 i = plan->layers[stage]; i-- > 0;)
        go_weights(b, l, plan_layer_piece(plan, stage, i), recompute_of(b, stage, i, keeps));
}

static Move
move_of(StepBuild *b, guint stage, ScheduleKind kind, gboolean keeps)
{
    Level l = {0, 0};
    switch (kind) {
    case SCHEDULE_F:
        walk_forward(b, &l, stage, keeps);
        break;
    case SCHEDULE_B:
        walk_backward(b, &l, stage, LLM_PASS_BACKWARD, keeps);
        break;
    case SCHEDULE_I:
        walk_backward(b, &l, stage, LLM_PASS_INPUT_GRAD, keeps);
        break;
    case SCHEDULE_W:
        walk_weights(b, &l, stage, keeps);
        break;
    }
    return (Move){l.now, l.most, TRUE};
}

gint64
step_closed_form(StepBuild *b, guint pp_rank, gint64 static_bytes)
{
    const GArray *tokens = b->schedule->ranks[pp_rank];
    g_autofree Move *moves = g_new0(Move, (gsize)b->schedule->n_stages * 8);
    Level l = {static_bytes, static_bytes};
    for (guint i = 0; i < tokens->len; i++) {
        ScheduleToken token = g_array_index(tokens, ScheduleToken, i);
        gboolean keeps = step_token_keeps(b, token);
        Move *m = &moves[token.stage * 8 + token.kind * 2 + (keeps ? 1 : 0)];
        if (!m->known)
            *m = move_of(b, token.stage, (ScheduleKind)token.kind, keeps);
        need(&l, m->rise);
        add(&l, m->delta);
    }
    g_assert(l.now == static_bytes);
    return l.most;
}
