/* Streams: walk a rank's calls slot by slot, wait, start, complete. */
#include "config.h"

#include "sim/state.h"

void
sim_stream_enqueue(SimEngine *e, guint32 stream)
{
    if (e->queue_head == e->queue_tail)
        e->queue_head = e->queue_tail = 0;
    if (e->queue_tail == e->queue_reserved) {
        e->queue_reserved = MAX(64, 2 * e->queue_reserved);
        e->queue = g_renew(guint32, e->queue, e->queue_reserved);
    }
    e->queue[e->queue_tail++] = stream;
}

/* Moves to the next call that has ops on the stream's slot. */
static gboolean
enter_next_call(const SimEngine *e, SimStream *s)
{
    const SimProgram *p = e->ranks[s->rank].program;
    const SimCall *end = sim_program_at(p, 0) + p->calls->len;
    const SimCall *call = s->call ? s->call + 1 : sim_program_at(p, 0);
    for (; call < end; call++) {
        guint n = sim_template_count(call->template, s->slot);
        if (n == 0)
            continue;
        s->call = call;
        s->op = sim_template_ops(call->template, s->slot);
        s->op_end = s->op + n;
        return TRUE;
    }
    return FALSE;
}

static gboolean
is_blocked(SimEngine *e, guint32 stream, guint slot, guint32 count)
{
    SimStream *s = &e->streams[stream];
    SimStream *other = s - s->slot + slot;
    if (other->done >= count)
        return FALSE;
    s->state = SIM_STREAM_WAITING;
    s->on = slot;
    s->need = count;
    other->waiters |= 1u << s->slot;
    return TRUE;
}

static gboolean
is_blocked_by_program(SimEngine *e, guint32 stream)
{
    SimStream *s = &e->streams[stream];
    const SimProgram *p = e->ranks[s->rank].program;
    const GArray *waits = p->waits[s->slot];
    guint32 call = s->call - sim_program_at(p, 0);
    for (; s->program_wait < waits->len; s->program_wait++) {
        const SimProgramWait *w = &g_array_index(waits, SimProgramWait, s->program_wait);
        if (w->call > call)
            return FALSE;
        if (is_blocked(e, stream, w->on, w->count))
            return TRUE;
    }
    return FALSE;
}

static gboolean
is_blocked_by_op(SimEngine *e, guint32 stream)
{
    const SimStream *s = &e->streams[stream];
    const SimOpWait *waits = (const SimOpWait *)(void *)s->call->template->waits->data;
    for (guint32 w = s->op->wait; w; w = waits[w].next)
        if (is_blocked(e, stream, waits[w].slot, s->call->base[waits[w].slot] + waits[w].count))
            return TRUE;
    return FALSE;
}

/* How long the stream's current op takes alone; asked for once an op. */
static gint64
pace(const SimEngine *e, const SimStream *s)
{
    gint64 duration_ns = s->op->duration_ns;
    if (!e->pace || duration_ns == 0)
        return duration_ns;
    guint call = s->call - sim_program_at(e->ranks[s->rank].program, 0);
    duration_ns = e->pace->duration(e->pace->user, s->rank, s->slot, s->op->tag, call, e->now_ns,
                                    duration_ns);
    g_assert(duration_ns >= 0);
    return MIN(duration_ns, SIM_TIME_LIMIT_NS + 1);
}

/* Is nothing else at work on the stream's rank? Then its work needs no activity for now. */
static gboolean
run_alone(SimEngine *e, guint32 stream, gint64 duration_ns)
{
    SimNeighbours *neighbours = &e->interference->ranks[e->streams[stream].rank];
    if (neighbours->first != SIM_NONE || neighbours->solo != SIM_NONE)
        return FALSE;
    neighbours->solo = stream;
    neighbours->solo_end_ns = e->now_ns + duration_ns;
    return TRUE;
}

void
sim_stream_run_beside(SimEngine *e, guint32 activity, guint32 rank, guint kind)
{
    SimInterference *in = e->interference;
    guint32 stream = in->ranks[rank].solo;
    gint64 left_ns = in->ranks[rank].solo_end_ns - e->now_ns;
    if (stream != SIM_NONE && left_ns > 0) { /* else it ends now, undisturbed */
        SimStream *s = &e->streams[stream];
        s->generation++;
        e->n_void++;
        in->ranks[rank].solo = SIM_NONE;
        guint32 solo =
            sim_fluid_start(&e->fluid, &e->heap, e->now_ns, left_ns, NULL, 0, stream, TRUE, TRUE);
        sim_interference_add(in, &e->fluid, solo, rank, s->op->kind);
    }
    sim_interference_add(in, &e->fluid, activity, rank, kind);
}

guint32
sim_stream_start_activity(SimEngine *e, const SimStream *s, guint32 uses, guint32 owner,
                          gboolean single)
{
    gint64 duration_ns = s->op->duration_ns;
    guint kind = s->op->kind;
    gboolean disturbs = FALSE;
    if (G_UNLIKELY(e->watched)) {
        duration_ns = pace(e, s);
        disturbs = e->interference && sim_interference_has(e->interference, kind);
    }
    if (duration_ns == 0 || (uses == 0 && !disturbs) ||
        (uses == 0 && single && run_alone(e, owner, duration_ns))) {
        sim_heap_push(&e->heap, e->now_ns + duration_ns,
                      single ? SIM_EVENT_STREAM : SIM_EVENT_MEETING, owner,
                      single ? e->streams[owner].generation : 0);
        return SIM_NONE;
    }
    const double *loads = (const double *)(const void *)s->call->template->loads->data;
    guint32 activity =
        sim_fluid_start(&e->fluid, &e->heap, e->now_ns, duration_ns,
                        loads + (gsize)s->op->index * SIM_LOADS, uses, owner, single, disturbs);
    if (!disturbs)
        return SIM_NONE;
    sim_stream_run_beside(e, activity, s->rank, kind);
    return activity;
}

/* Plain work: when nothing else can happen before its end, time goes on at once; this is the event
 * that a push would be followed by a pop of, so the order is the same. */
static inline void
start_plain(SimEngine *e, guint32 stream, gint64 duration_ns)
{
    SimStream *s = &e->streams[stream];
    gint64 end_ns = e->now_ns + duration_ns;
    s->state = SIM_STREAM_RUNNING;
    if (e->queue_head == e->queue_tail && end_ns < sim_heap_next_ns(&e->heap) &&
        !e->fluid.unsettled && end_ns <= SIM_TIME_LIMIT_NS) {
        e->now_ns = end_ns;
        e->n_events++;
        sim_stream_complete(e, stream, s->start_ns, s->start_ns);
    } else {
        sim_heap_push(&e->heap, end_ns, SIM_EVENT_STREAM, stream, s->generation);
    }
}

/* The same where paces or kinds of work matter. */
static G_GNUC_NO_INLINE void
start_watched(SimEngine *e, guint32 stream)
{
    SimStream *s = &e->streams[stream];
    if (!e->interference || !sim_interference_has(e->interference, s->op->kind)) {
        start_plain(e, stream, pace(e, s));
        return;
    }
    s->state = SIM_STREAM_RUNNING;
    sim_stream_start_activity(e, s, 0, stream, TRUE);
}

static void
advance(SimEngine *e, guint32 stream)
{
    SimStream *s = &e->streams[stream];
    if (s->op == s->op_end && !enter_next_call(e, s)) {
        s->state = SIM_STREAM_FINISHED;
        e->n_unfinished--;
        return;
    }
    if (e->ranks[s->rank].program->waits[s->slot] && is_blocked_by_program(e, stream))
        return;
    if (s->op->wait && is_blocked_by_op(e, stream))
        return;
    s->start_ns = e->now_ns;
    if (s->free_ns == e->now_ns)
        s->release = SIM_BY_STREAM; /* a tie goes to the op's own stream */
    if (s->op->join != SIM_JOIN_NONE)
        sim_meeting_join(e, stream);
    else if (G_UNLIKELY(e->watched))
        start_watched(e, stream);
    else
        start_plain(e, stream, s->op->duration_ns);
}

void
sim_stream_drain(SimEngine *e)
{
    while (e->queue_head < e->queue_tail)
        advance(e, e->queue[e->queue_head++]);
}

static void
record_span(const SimEngine *e, const SimStream *s, gint64 start_ns)
{
    const SimRank *rank = &e->ranks[s->rank];
    SimSpan *span = &rank->spans[s->call - sim_program_at(rank->program, 0)];
    if (span->start_ns < 0)
        span->start_ns = start_ns;
    span->end_ns = e->now_ns;
}

static void
wake_waiters(SimEngine *e, SimStream *s)
{
    SimStream *rank = s - s->slot;
    for (guint mask = s->waiters; mask; mask &= mask - 1) {
        guint slot = (guint)g_bit_nth_lsf(mask, -1);
        SimStream *waiter = &rank[slot];
        if (waiter->need > s->done)
            continue;
        s->waiters &= ~(1u << slot);
        waiter->state = SIM_STREAM_READY;
        waiter->release = s->slot + 1;
        sim_stream_enqueue(e, waiter - e->streams);
    }
}

void
sim_stream_complete(SimEngine *e, guint32 stream, gint64 start_ns, gint64 path_start_ns)
{
    SimStream *s = &e->streams[stream];
    const SimOp *op = s->op;
    if (e->probe)
        e->probe->op(e->probe->user, s->rank, s->slot, op->tag,
                     s->call - sim_program_at(e->ranks[s->rank].program, 0), start_ns, e->now_ns);
    if (s->slot == 0)
        record_span(e, s, start_ns);
    s->done++;
    gint64 elapsed_ns = e->now_ns - path_start_ns;
    gboolean disturbed = elapsed_ns != sim_path_isolated_ns(op);
    if (s->release != SIM_BY_STREAM || disturbed)
        sim_path_log(&s->log, s->done, s->release, s->release_stream, s->release_op,
                     disturbed ? elapsed_ns : -1);
    s->release = SIM_BY_STREAM;
    s->free_ns = e->now_ns;
    s->op++;
    e->n_ops++;
    if (s->waiters)
        wake_waiters(e, s);
    s->state = SIM_STREAM_READY;
    sim_stream_enqueue(e, stream);
}
