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
 * peak = static + max over tokens of (sum of delta of those before it + its rise), or what the optimizer's step
 * copies when all of them are done
 *
 * This is the simulated peak to the byte where nothing runs beside the compute that allocates.  What does is
 * bounded from above and added, and the sum is the margin within which the simulated peak lies below:
 *   gathered units   all of the rank, when they are kept for the backward; else the kept ones, and of the others
 *                    one in use, `prefetch` ahead of it, and those that are recomputed with it; and the buffer that
 *                    one of them is copied out of
 *   full gradients   all of the rank when reductions may lag behind; else those of one unit and its copy
 *   pairs whose layers interleave hold at most what both hold; activations on the host are not missing here */
#include "config.h"

#include "step/shard.h"

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

/* --- what is gathered and not yet reduced --------------------------------------------------------- */

typedef struct {
    gint64 all, most; /* units that come and go: their sum, and the largest */
    gint64 kept;      /* from forward to backward, in spite of reshard_after_forward */
} Units;

/* PyTorch's root, and what torchtitan keeps for the backward. */
static gboolean
is_kept(const PlanSpec *spec, const PlanUnit *unit)
{
    if (spec->framework == PLAN_TORCHTITAN)
        return unit->head;
    return unit->from == unit->to && spec->bucket == PLAN_BUCKET_UNITS &&
           (spec->framework == PLAN_FSDP || spec->framework == PLAN_LLM_FOUNDRY);
}

static Units
units_of(const StepBuild *b, guint pp_rank,
         gint64 (*bytes)(const StepBuild *b, const StepClass *class, StepParameters parameters))
{
    const StepClass *class =
        &g_array_index(b->classes, StepClass, g_array_index(b->ranks, StepRank, pp_rank).class);
    g_autoptr(GArray) stages = step_stages_on(b->schedule, pp_rank);
    Units sum = {0};
    for (guint k = 0; k < stages->len; k++) {
        g_autoptr(GArray) units = plan_stage_units(b->plan, g_array_index(stages, gint64, k));
        for (guint i = 0; i < units->len; i++) {
            const PlanUnit *u = &g_array_index(units, PlanUnit, i);
            gint64 n = bytes(b, class, (StepParameters){u->dense, u->expert});
            gboolean kept = is_kept(&b->plan->spec, u);
            *(kept ? &sum.kept : &sum.all) += n;
            sum.most = kept ? sum.most : MAX(sum.most, n);
        }
    }
    return sum;
}

static gint64
most_gathered(const StepBuild *b, guint pp_rank, gboolean pairs)
{
    const PlanSpec *spec = &b->plan->spec;
    if (spec->zero != 3)
        return 0;
    Units u = units_of(b, pp_rank, step_gathered_bytes);
    gint64 buffer = step_copies_units(b) ? MAX(u.most, u.kept) : 0; /* copied out of */
    if (!spec->reshard_after_forward)
        return u.all + u.kept + buffer;
    gint64 unit = MAX(spec->unit_layers, 1);
    gint64 together = 1 + (plan_recompute_unit(b->plan) - 1 + unit - 1) / unit;
    gint64 ahead = spec->prefetch_units * u.most;
    if (spec->prefetch_elements > 0)
        ahead = u.most + spec->prefetch_elements * plan_parameter_bytes(b->plan);
    /* A unit may be gathered anew before its last use is over; all units of a pair are there at once. */
    if (pairs)
        return u.all + buffer + ahead + (ahead > 0 ? 2 : 1) * u.kept;
    return together * u.most + buffer + ahead + (ahead > 0 ? 2 : 1) * u.kept;
}

static gint64
most_unreduced(const StepBuild *b, guint pp_rank, gboolean pairs)
{
    const PlanSpec *spec = &b->plan->spec;
    if (spec->zero < 2)
        return 0;
    Units u = units_of(b, pp_rank, step_unsharded);
    gint64 width = step_unsharded_width(b);
    Units fresh = units_of(b, pp_rank, step_fresh_bytes);
    gint64 adds = MAX(fresh.most, fresh.kept);
    gint64 copy = step_copies_units(b) ? plan_gradient_bytes(b->plan) : 0;
    gint64 largest = MAX(u.most, u.kept); /* the kept ones are reduced as one */
    gboolean in_turn = spec->reduce == PLAN_REDUCE_EACH && !pairs;
    for (guint s = 0; s < b->schedule->n_stages; s++) {
        StepReduction how = step_reduction_of(b, s);
        gboolean one_copy = copy > 0 && spec->framework != PLAN_DEEPSPEED;
        in_turn =
            in_turn && (how == STEP_REDUCE_BLOCKING || (how == STEP_REDUCE_BESIDE && one_copy));
    }
    if (in_turn)
        return largest * (width + copy) + u.kept * width;
    return (u.all + u.kept) * MAX(width, copy) + largest * copy + adds;
}

static gboolean
has_pairs(const StepBuild *b, guint pp_rank)
{
    const GArray *tokens = b->schedule->ranks[pp_rank];
    for (guint i = 0; i < tokens->len; i++)
        if (g_array_index(tokens, ScheduleToken, i).pair != SCHEDULE_SINGLE)
            return TRUE;
    return FALSE;
}

static Move *
known_move(StepBuild *b, Move *moves, ScheduleToken token)
{
    gboolean keeps = step_token_keeps(b, token);
    Move *m = &moves[token.stage * 8 + token.kind * 2 + (keeps ? 1 : 0)];
    if (!m->known)
        *m = move_of(b, token.stage, (ScheduleKind)token.kind, keeps);
    return m;
}

/* The walk over the tokens; *ret_loose: layers of two of them interleave, so that it is a bound. */
static gint64
walk(StepBuild *b, guint pp_rank, gint64 static_bytes, gboolean *ret_loose)
{
    const GArray *tokens = b->schedule->ranks[pp_rank];
    g_autofree Move *moves = g_new0(Move, (gsize)b->schedule->n_stages * 8);
    Level l = {static_bytes, static_bytes};
    for (guint i = 0; i < tokens->len; i++) {
        ScheduleToken token = g_array_index(tokens, ScheduleToken, i);
        const Move m = *known_move(b, moves, token);
        if (token.pair == SCHEDULE_PAIR_FIRST && i + 1 < tokens->len) {
            ScheduleToken next = g_array_index(tokens, ScheduleToken, i + 1);
            if (step_pair_interleaves(b, token, next)) {
                need(&l, m.rise + known_move(b, moves, next)->rise);
                *ret_loose = TRUE;
            }
        }
        need(&l, m.rise);
        add(&l, m.delta);
    }
    g_assert(l.now == static_bytes);
    return l.most;
}

void
step_closed_form(StepBuild *b, StepStage *stage, gint64 static_bytes)
{
    guint pp_rank = (guint)stage->pp_rank;
    gboolean pairs = has_pairs(b, pp_rank), loose = b->plan->spec.offload_activations > 0;
    gint64 beside = most_gathered(b, pp_rank, pairs) + most_unreduced(b, pp_rank, pairs);
    gint64 walked = MAX(walk(b, pp_rank, static_bytes, &loose),
                        static_bytes + step_optimizer_copies(b, pp_rank));
    stage->closed_form_bytes = walked + beside;
    stage->closed_form_margin_bytes = beside + (loose ? walked - static_bytes : 0);
}
