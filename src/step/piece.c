/* The op list of a piece becomes ops of a template: streams, waits, and the host that launches them. */
#include "config.h"

#include "step/build.h"

#define NOT_YET G_MAXUINT

StepStrand
step_strand_begin(StepBuild *b, StepClass *class, LlmPiece piece, LlmRecompute recompute,
                  LlmPass pass)
{
    StepStrand s = {.list = step_priced(b, class, piece, recompute, pass), .first = NOT_YET};
    s.indices = g_new(guint, s.list->len + 1);
    for (guint i = 0; i < s.list->len; i++)
        s.indices[i] = NOT_YET;
    return s;
}

void
step_strand_end(StepStrand *s)
{
    g_clear_pointer(&s->indices, g_free);
}

static const StepPriced *
priced_at(const StepStrand *s, guint i)
{
    return &g_array_index(s->list, StepPriced, i);
}

static int
before_on_slot(const StepStrand *s, guint i)
{
    int k = (int)i - 1;
    while (k >= 0 && priced_at(s, (guint)k)->slot != priced_at(s, i)->slot)
        k--;
    return k;
}

static gboolean
is_wgrad(const StepPriced *op)
{
    return op->segment == LLM_SEGMENT_EXPERTS_WGRAD || op->segment == LLM_SEGMENT_ATTENTION_WGRAD;
}

/* `op` of the template waits for the k-th of the list. One that does not run (or that can be late) is waited for
 * through what it would have waited for itself. */
static void
wait_for(const StepStrand *s, SimTemplate *t, guint op, guint k, gboolean for_wgrad)
{
    const StepPriced *on = priced_at(s, k);
    gboolean passed = s->free_wgrad && !for_wgrad && is_wgrad(on);
    if (!on->absent && !passed) {
        g_assert(s->indices[k] != NOT_YET); /* segments are in the order of their needs */
        sim_template_wait_op(t, op, s->indices[k]);
        return;
    }
    for (guint w = 0; w < G_N_ELEMENTS(on->waits); w++)
        if (on->waits[w] >= 0)
            wait_for(s, t, op, (guint)on->waits[w], for_wgrad);
    int before = before_on_slot(s, k);
    if (before >= 0)
        wait_for(s, t, op, (guint)before, for_wgrad);
}

/* A collective that waits for nothing needs what the compute before the list made, unless one before it on its
 * stream did already. */
static void
add_waits(const StepStrand *s, SimTemplate *t, guint i)
{
    const StepPriced *op = priced_at(s, i);
    gboolean waits = FALSE;
    for (guint w = 0; w < G_N_ELEMENTS(op->waits); w++)
        if (op->waits[w] >= 0) {
            wait_for(s, t, s->indices[i], (guint)op->waits[w], is_wgrad(op));
            waits = TRUE;
        }
    if (op->slot == STEP_SLOT_COMPUTE)
        return;
    sim_template_join(t, s->indices[i], SIM_JOIN_ALL, op->port, FALSE);
    if (!waits && before_on_slot(s, i) < 0)
        sim_template_wait_slot(t, s->indices[i], STEP_SLOT_COMPUTE);
}

static gboolean
is_wanted(const StepStrand *s, guint i, guint segments)
{
    const StepPriced *op = priced_at(s, i);
    return !op->absent && s->indices[i] == NOT_YET && (segments & 1u << op->segment) != 0;
}

/* First and last compute op of what is to be added; FALSE when there is none. */
static gboolean
find_compute(const StepStrand *s, guint segments, guint *ret_first, guint *ret_last)
{
    gboolean any = FALSE;
    for (guint i = 0; i < s->list->len; i++) {
        if (!is_wanted(s, i, segments) || priced_at(s, i)->slot != STEP_SLOT_COMPUTE)
            continue;
        if (!any)
            *ret_first = i;
        *ret_last = i;
        any = TRUE;
    }
    return any;
}

static void
place(StepStrand *s, guint i, guint index)
{
    s->indices[i] = index;
    s->first = MIN(s->first, index);
    s->last = MAX(s->last, index);
}

/* With a host that waits for each kernel nothing overlaps: launch, run, launch, run. */
static void
add_blocking(StepBuild *b, SimTemplate *t, StepStrand *s, guint segments)
{
    SimWork launch = step_work((double)b->plan->system->launch_ns);
    for (guint i = 0; i < s->list->len; i++) {
        if (!is_wanted(s, i, segments))
            continue;
        const StepPriced *op = priced_at(s, i);
        guint host = sim_template_add(t, STEP_SLOT_COMPUTE, launch, b->launch_tag);
        for (guint stream = 0; stream < LLM_N_STREAMS; stream++)
            sim_template_wait_slot(t, host, step_stream_slot(stream));
        place(s, i, sim_template_add(t, op->slot, op->work, op->tag));
        if (op->slot == STEP_SLOT_COMPUTE)
            continue;
        sim_template_join(t, s->indices[i], SIM_JOIN_ALL, op->port, FALSE);
        sim_template_wait_slot(t, s->indices[i], STEP_SLOT_COMPUTE);
    }
}

/* Before it launches this op the host waits for what it reads. What it launched until then is charged now: it
 * cannot run ahead of it. Returns the host's op. */
static guint
add_read(StepBuild *b, SimTemplate *t, StepStrand *s, const StepPriced *op, guint launched)
{
    launched = MIN(launched, s->unlaunched);
    SimWork launches = step_work((double)b->plan->system->launch_ns * launched);
    sim_template_add(t, STEP_SLOT_HOST, launches, b->launch_tag);
    SimWork sync = step_work((double)b->plan->system->sync_ns);
    guint read = sim_template_add(t, STEP_SLOT_HOST, sync, b->read_tag);
    wait_for(s, t, read, (guint)op->read, FALSE);
    s->unlaunched -= launched;
    return read;
}

/* The host launches kernels one after the other and runs ahead of the GPU, as far as no synchronise
 * stops it.  A list starts when the host is done with the one before, and ends not before all of its
 * own kernels are launched: so small kernels take the host's time, large ones their own. */
void
step_strand_add(StepBuild *b, SimTemplate *t, StepStrand *s, guint segments)
{
    if (b->plan->system->launch_blocking) {
        add_blocking(b, t, s, segments);
        return;
    }
    guint first = 0, last = 0, launched = s->unlaunched;
    gboolean any = find_compute(s, segments, &first, &last);
    for (guint i = 0; i < s->list->len; i++)
        s->unlaunched += is_wanted(s, i, segments) && !priced_at(s, i)->same_call;
    for (guint i = 0; i < s->list->len; i++) {
        if (!is_wanted(s, i, segments))
            continue;
        const StepPriced *op = priced_at(s, i);
        guint host = 0, read = op->read >= 0 ? add_read(b, t, s, op, launched) : 0;
        launched = (op->read >= 0 ? 0 : launched) + !op->same_call;
        if (any && i == last) {
            SimWork launches = step_work((double)b->plan->system->launch_ns * s->unlaunched);
            host = sim_template_add(t, STEP_SLOT_HOST, launches, b->launch_tag);
            s->unlaunched = 0;
        }
        place(s, i, sim_template_add(t, op->slot, op->work, op->tag));
        add_waits(s, t, i);
        if (op->read >= 0)
            sim_template_wait_op(t, s->indices[i], read);
        if (any && i == last)
            sim_template_wait_op(t, s->indices[i], host);
        if (any && i == first && first != last)
            sim_template_wait_slot(t, s->indices[i], STEP_SLOT_HOST);
    }
}

guint
step_add_piece(StepBuild *b, SimTemplate *t, StepClass *class, LlmPiece piece,
               LlmRecompute recompute, LlmPass pass)
{
    guint base = sim_template_n_ops(t);
    StepStrand s = step_strand_begin(b, class, piece, recompute, pass);
    step_strand_add(b, t, &s, STEP_ALL_SEGMENTS);
    guint first = s.first == NOT_YET ? base : s.first;
    step_strand_end(&s);
    return first;
}
