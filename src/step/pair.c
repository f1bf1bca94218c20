/* Overlapped pairs: a forward and a backward of another microbatch as one unit (SPEC.md 3.15).
 *
 * Layer i of the forward goes with layer n-1-i of the backward, segment by segment, so that the exchange of one
 * is beside the compute of the other:
 *
 *   expert stream:  combine B             | dispatch F                     | dispatch B | combine F
 *   compute:        post B | post, attn F | experts B, their wgrad         | experts F  | attn B, its wgrad
 *
 * Launch order: combine B, attention F, experts B, dispatch F, wgrad of the experts B, dispatch B, experts F,
 * combine F, attention B, wgrad of the attention B.  With delay_wgrad only input gradients are between the
 * exchanges, and weight gradients run behind what the other stream waits for; without it each follows its input
 * gradient, as autograd has it, and the dispatch of B waits for both.  The last part of a forward layer, which
 * needs its combine, comes with the next layer's attention. */
#include "config.h"

#include "step/build.h"

#define BIT(segment) (1u << (segment))
#define EXPERT_PARTS (BIT(LLM_SEGMENT_EXPERTS) | BIT(LLM_SEGMENT_EXPERTS_WGRAD))
#define ATTENTION_PARTS (BIT(LLM_SEGMENT_ATTENTION) | BIT(LLM_SEGMENT_ATTENTION_WGRAD))

/* A layer of one of the two tokens on its way through the template. */
typedef struct {
    LlmPiece piece;
    LlmRecompute recompute;
    gboolean open;
    StepStrand ops;
} Layer;

typedef struct {
    StepBuild *b;
    StepClass *class;
    SimTemplate *t;
    ScheduleToken forward, backward;
    LlmPass pass;  /* of the backward */
    Layer f, back; /* the forward layer whose end is still to come; the backward layer */
} Pair;

static gboolean
has_experts(const StepBuild *b, guint stage)
{
    for (gint64 i = 0; i < b->plan->layers[stage]; i++) {
        LlmPiece piece = plan_layer_piece(b->plan, stage, i);
        if (piece == LLM_PIECE_MOE || piece == LLM_PIECE_MOE_WINDOW)
            return TRUE;
    }
    return FALSE;
}

/* Worth it when there is an exchange to hide; a host that waits for each kernel hides nothing. */
gboolean
step_pair_interleaves(const StepBuild *b, ScheduleToken x, ScheduleToken y)
{
    gboolean both = x.kind == SCHEDULE_F && (y.kind == SCHEDULE_B || y.kind == SCHEDULE_I);
    return both && b->plan->spec.ep > 1 && !b->plan->system->launch_blocking &&
           (has_experts(b, x.stage) || has_experts(b, y.stage));
}

static void
open_layer(Pair *p, Layer *layer, guint stage, gint64 i, LlmPass pass)
{
    layer->piece = plan_layer_piece(p->b->plan, stage, i);
    layer->recompute = step_layer_recompute(p->b, stage, i);
    layer->ops = step_strand_begin(p->b, p->class, layer->piece, layer->recompute, pass);
    layer->ops.free_wgrad = p->b->plan->spec.delay_wgrad;
    layer->open = TRUE;
}

static void
add(Pair *p, Layer *layer, guint segments)
{
    if (layer->open)
        step_strand_add(p->b, p->t, &layer->ops, segments);
}

/* What is left of the forward layer before. */
static void
close_forward(Pair *p)
{
    if (!p->f.open)
        return;
    add(p, &p->f, STEP_ALL_SEGMENTS);
    step_mark_forward(p->b, p->t, p->f.piece, p->f.recompute, p->f.ops.first, p->f.ops.last);
    step_strand_end(&p->f.ops);
    p->f.open = FALSE;
}

static void
close_backward(Pair *p)
{
    Layer *layer = &p->back;
    if (!layer->open)
        return;
    add(p, layer, STEP_ALL_SEGMENTS);
    step_mark_backward(p->b, p->t, layer->piece, layer->recompute, p->pass, layer->ops.first,
                       layer->ops.last);
    step_strand_end(&layer->ops);
    LlmCut cut = plan_cut_for(p->b->plan, layer->recompute);
    LlmPieceParameters n = llm_piece_parameters(p->b->plan->shape, &cut, layer->piece);
    step_add_accumulation(p->b, p->t, n.dense + n.expert, p->pass);
    layer->open = FALSE;
}

/* Layer i of the forward beside layer j of the backward; -1: none is left of it. */
static void
add_layers(Pair *p, gint64 i, gint64 j)
{
    gboolean delay = p->b->plan->spec.delay_wgrad;
    if (j >= 0) {
        step_add_recompute(p->b, p->t, p->class, p->backward.stage, j);
        open_layer(p, &p->back, p->backward.stage, j, p->pass);
        add(p, &p->back, BIT(LLM_SEGMENT_POST) | BIT(LLM_SEGMENT_COMBINE));
    }
    close_forward(p);
    if (i >= 0)
        open_layer(p, &p->f, p->forward.stage, i, LLM_PASS_FORWARD);
    add(p, &p->f, BIT(LLM_SEGMENT_ATTENTION));
    add(p, &p->back, delay ? BIT(LLM_SEGMENT_EXPERTS) : EXPERT_PARTS);
    add(p, &p->f, BIT(LLM_SEGMENT_DISPATCH));
    add(p, &p->back, BIT(LLM_SEGMENT_EXPERTS_WGRAD));
    add(p, &p->back, BIT(LLM_SEGMENT_DISPATCH));
    add(p, &p->f, BIT(LLM_SEGMENT_EXPERTS));
    add(p, &p->f, BIT(LLM_SEGMENT_COMBINE));
    add(p, &p->back, delay ? BIT(LLM_SEGMENT_ATTENTION) : ATTENTION_PARTS);
    close_backward(p);
}

static void
interleave(Pair *p)
{
    gint64 n_forward = p->b->plan->layers[p->forward.stage];
    gint64 n_backward = p->b->plan->layers[p->backward.stage];
    step_begin_token(p->b, p->t, p->class, p->forward);
    step_begin_token(p->b, p->t, p->class, p->backward);
    for (gint64 i = 0; i < MAX(n_forward, n_backward); i++) {
        gint64 j = n_backward - 1 - i; /* what one has more runs alone */
        add_layers(p, i < n_forward ? i : -1, MAX(j, -1));
    }
    close_forward(p);
    step_end_token(p->b, p->t, p->class, p->forward);
    step_end_token(p->b, p->t, p->class, p->backward);
}

SimTemplate *
step_pair_template(StepBuild *b, StepClass *class, ScheduleToken x, ScheduleToken y)
{
    Pair p = {.b = b,
              .class = class,
              .t = sim_template_new(),
              .forward = x,
              .backward = y,
              .pass = y.kind == SCHEDULE_I ? LLM_PASS_INPUT_GRAD : LLM_PASS_BACKWARD};
    if (step_pair_interleaves(b, x, y)) {
        interleave(&p);
    } else { /* one after the other on the compute stream */
        step_add_token(b, p.t, class, x);
        step_add_token(b, p.t, class, y);
    }
    step_keep_template(b, p.t);
    return p.t;
}
