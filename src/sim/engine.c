/* Building an engine, the event loop, and what can be asked after a run. */
#include "config.h"

#include "sim/engine.h"
#include "sim/state.h"

G_DEFINE_QUARK(sim_error_quark, sim_error)

SimEngine *
sim_engine_new(void)
{
    SimEngine *e = g_new0(SimEngine, 1);
    sim_fluid_init(&e->fluid);
    return e;
}

void
sim_engine_free(SimEngine *e)
{
    if (!e)
        return;
    for (guint32 i = 0; i < e->n_streams; i++)
        g_free(e->streams[i].log.words);
    for (guint32 i = 0; i < e->n_ranks; i++) {
        g_free(e->ranks[i].ports);
        g_free(e->ranks[i].spans);
    }
    g_free(e->streams);
    g_free(e->meetings);
    g_free(e->ranks);
    g_free(e->queue);
    if (e->interference)
        sim_interference_clear(e->interference);
    g_free(e->interference);
    if (e->changes)
        g_array_unref(e->changes);
    sim_heap_clear(&e->heap);
    sim_fluid_clear(&e->fluid);
    g_free(e);
}

guint32
sim_engine_add_resource(SimEngine *e, double capacity_per_s)
{
    g_assert(!e->has_run);
    return sim_fluid_add_resource(&e->fluid, capacity_per_s);
}

guint32
sim_engine_add_meetings(SimEngine *e, guint members, guint n)
{
    g_assert(members >= 1 && !e->has_run && n < SIM_NONE - e->n_meetings);
    guint32 first = e->n_meetings;
    if (n > e->n_meetings_reserved - e->n_meetings) {
        e->n_meetings_reserved = MAX(e->n_meetings + n, e->n_meetings_reserved / 2 * 3);
        e->meetings = g_renew(SimMeeting, e->meetings, e->n_meetings_reserved);
    }
    e->n_meetings += n;
    for (guint32 i = first; i < e->n_meetings; i++)
        e->meetings[i] = (SimMeeting){.members = members, .first = SIM_NONE, .last = SIM_NONE};
    return first;
}

void
sim_engine_use(SimEngine *e, guint32 first_meeting, guint n, guint32 resource, guint kind,
               double weight)
{
    g_assert(n <= e->n_meetings && first_meeting <= e->n_meetings - n && !e->has_run);
    g_assert(resource < e->fluid.n_resources && kind < SIM_LOADS);
    g_assert(weight >= 0 && weight <= G_MAXDOUBLE);
    if (weight == 0)
        return;
    SimMeeting *m = e->meetings + first_meeting;
    for (guint i = 0; i < n;) { /* one node for each run of meetings that share a list so far */
        guint32 before = m[i].uses;
        guint32 list = sim_fluid_add_use(&e->fluid, before, resource, kind, weight);
        for (; i < n && m[i].uses == before; i++)
            m[i].uses = list;
    }
}

static void
add_streams(SimEngine *e, guint32 rank, guint n_slots)
{
    while (e->n_streams + n_slots > e->n_streams_reserved) {
        e->n_streams_reserved = MAX(16, 2 * e->n_streams_reserved);
        e->streams = g_renew(SimStream, e->streams, e->n_streams_reserved);
    }
    for (guint slot = 0; slot < n_slots; slot++)
        e->streams[e->n_streams++] = (SimStream){.rank = rank, .slot = slot, .next = SIM_NONE};
}

guint32
sim_engine_add_rank(SimEngine *e, const SimProgram *program, const guint32 *ports, guint n_ports)
{
    g_assert(!e->has_run);
    for (guint i = 0; i < program->calls->len; i++) /* a template must not grow after a call */
        g_assert(sim_program_at(program, i)->n_ops ==
                 sim_template_n_ops(sim_program_at(program, i)->template));
    if (e->n_ranks == e->n_ranks_reserved) {
        e->n_ranks_reserved = MAX(16, 2 * e->n_ranks_reserved);
        e->ranks = g_renew(SimRank, e->ranks, e->n_ranks_reserved);
    }
    SimRank rank = {.program = program, .n_ports = n_ports, .first_stream = e->n_streams};
    rank.ports = g_memdup2(ports, n_ports * sizeof(guint32));
    rank.spans = g_new(SimSpan, program->calls->len);
    for (guint i = 0; i < program->calls->len; i++)
        rank.spans[i] = (SimSpan){-1, -1};
    e->ranks[e->n_ranks] = rank;
    add_streams(e, e->n_ranks, program->n_slots);
    return e->n_ranks++;
}

void
sim_engine_set_probe(SimEngine *e, const SimProbe *probe)
{
    e->probe = NULL;
    if (probe && probe->op) {
        e->probe_copy = *probe;
        e->probe = &e->probe_copy;
    }
}

void
sim_engine_set_pace(SimEngine *e, const SimPace *pace)
{
    g_assert(!e->has_run);
    e->pace = NULL;
    if (pace && pace->duration) {
        e->pace_copy = *pace;
        e->pace = &e->pace_copy;
    }
}

void
sim_engine_set_interference(SimEngine *e, guint kind, guint beside, double speed)
{
    g_assert(!e->has_run && kind > 0 && kind < SIM_KINDS && beside > 0 && beside < SIM_KINDS);
    g_assert(speed > 0 && speed <= 1);
    if (!e->interference) {
        e->interference = g_new(SimInterference, 1);
        sim_interference_init(e->interference);
    }
    sim_interference_set(e->interference, kind, beside, speed);
}

void
sim_engine_schedule_capacity(SimEngine *e, gint64 when_ns, guint32 resource, double capacity_per_s)
{
    g_assert(!e->has_run && when_ns >= 0 && when_ns <= SIM_TIME_LIMIT_NS);
    g_assert(resource < e->fluid.n_resources);
    g_assert(capacity_per_s >= 0 && capacity_per_s <= G_MAXDOUBLE);
    if (!e->changes)
        e->changes = g_array_new(FALSE, FALSE, sizeof(SimChange));
    SimChange change = {when_ns, resource, e->changes->len, capacity_per_s};
    g_array_append_val(e->changes, change);
}

void
sim_engine_add_background(SimEngine *e, guint32 resource, double rate_per_s)
{
    g_assert(!e->has_run && resource < e->fluid.n_resources);
    g_assert(rate_per_s >= 0 && rate_per_s <= G_MAXDOUBLE);
    if (rate_per_s > 0)
        sim_fluid_add_background(&e->fluid, resource, rate_per_s);
}

static gint
compare_changes(gconstpointer a, gconstpointer b)
{
    const SimChange *one = a, *two = b;
    if (one->when_ns != two->when_ns)
        return one->when_ns < two->when_ns ? -1 : 1;
    return one->order < two->order ? -1 : one->order > two->order;
}

/* At most one event of the heap is a change: the next. */
static void
schedule_next_change(SimEngine *e)
{
    if (!e->changes || e->next_change == e->changes->len)
        return;
    gint64 when_ns = g_array_index(e->changes, SimChange, e->next_change).when_ns;
    sim_heap_push(&e->heap, when_ns, SIM_EVENT_CAPACITY, 0, 0);
}

static void
apply_changes(SimEngine *e)
{
    for (; e->next_change < e->changes->len; e->next_change++) {
        const SimChange *change = &g_array_index(e->changes, SimChange, e->next_change);
        if (change->when_ns > e->now_ns)
            break;
        sim_fluid_set_capacity(&e->fluid, change->resource, change->capacity);
    }
    schedule_next_change(e);
}

/* A change is due, but nothing runs or could go on because of it. */
static gboolean
is_over(const SimEngine *e)
{
    return e->heap.n == e->fluid.n_stale + e->n_void && !e->fluid.unsettled &&
           e->fluid.n_standing == 0;
}

/* Takes the event; FALSE when it was void. */
static gboolean
handle(SimEngine *e, const SimEvent *event)
{
    SimEventKind kind = sim_event_kind(event);
    if (kind == SIM_EVENT_ACTIVITY && !sim_fluid_is_current(&e->fluid, event)) {
        e->fluid.n_stale--;
        return FALSE;
    }
    if (kind == SIM_EVENT_STREAM && e->streams[event->id].generation != event->generation) {
        e->n_void--;
        return FALSE;
    }
    e->now_ns = event->when_ns;
    guint32 owner = event->id;
    if (kind == SIM_EVENT_CAPACITY) {
        apply_changes(e);
        return TRUE;
    }
    if (kind == SIM_EVENT_ACTIVITY) {
        const SimActivity *a = &e->fluid.activities[event->id];
        owner = a->owner;
        kind = a->single ? SIM_EVENT_STREAM : SIM_EVENT_MEETING;
        if (e->interference)
            sim_interference_remove(e->interference, &e->fluid, event->id);
        sim_fluid_finish(&e->fluid, e->now_ns, event->id);
    }
    if (kind == SIM_EVENT_MEETING) {
        sim_meeting_end(e, owner);
    } else {
        gint64 start_ns = e->streams[owner].start_ns;
        if (e->interference && e->interference->ranks[e->streams[owner].rank].solo == owner)
            e->interference->ranks[e->streams[owner].rank].solo = SIM_NONE;
        sim_stream_complete(e, owner, start_ns, start_ns);
    }
    return TRUE;
}

static void
settle(SimEngine *e)
{
    if (e->interference)
        sim_interference_settle(e->interference, &e->fluid);
    sim_fluid_settle(&e->fluid, &e->heap, e->now_ns);
}

static gboolean
run_events(SimEngine *e, GError **error)
{
    for (;;) {
        sim_stream_drain(e);
        if (e->fluid.unsettled && sim_heap_next_ns(&e->heap) > e->now_ns)
            settle(e);
        SimEvent event;
        if (!sim_heap_pop(&e->heap, &event))
            return TRUE;
        if (sim_event_kind(&event) == SIM_EVENT_CAPACITY && is_over(e))
            return TRUE;
        if (event.when_ns > SIM_TIME_LIMIT_NS) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_LIMIT,
                        "simulated time passes 73 years at op %" G_GUINT64_FORMAT
                        "; check durations, loads and capacities",
                        e->n_ops);
            return FALSE;
        }
        e->n_events += handle(e, &event);
    }
}

gboolean
sim_engine_run(SimEngine *e, SimNamer namer, void *user, GError **error)
{
    g_assert(!e->has_run);
    e->has_run = TRUE;
    e->n_unfinished = e->n_streams;
    if (e->interference)
        sim_interference_set_n_ranks(e->interference, e->n_ranks);
    if (e->changes)
        g_array_sort(e->changes, compare_changes);
    schedule_next_change(e);
    e->watched = e->pace || e->interference;
    for (guint32 i = 0; i < e->n_streams && e->pace; i++)
        sim_path_reserve(&e->streams[i].log,
                         e->ranks[e->streams[i].rank].program->launched[e->streams[i].slot]);
    for (guint32 i = 0; i < e->n_streams; i++)
        sim_stream_enqueue(e, i);
    if (!run_events(e, error))
        return FALSE;
    if (e->fluid.n_standing > 0) {
        sim_deadlock_describe_standstill(e, namer, user, error);
        return FALSE;
    }
    if (e->n_unfinished > 0 || e->n_open_sends > 0) {
        sim_deadlock_describe(e, namer, user, error);
        return FALSE;
    }
    return TRUE;
}

gint64
sim_engine_now(const SimEngine *e)
{
    return e->now_ns;
}

guint64
sim_engine_n_events(const SimEngine *e)
{
    return e->n_events;
}

guint64
sim_engine_n_ops(const SimEngine *e)
{
    return e->n_ops;
}

gint64
sim_engine_rank_end(const SimEngine *e, guint32 rank)
{
    g_assert(rank < e->n_ranks);
    guint32 first = e->ranks[rank].first_stream;
    gint64 end_ns = 0;
    for (guint i = 0; i < e->ranks[rank].program->n_slots; i++)
        end_ns = MAX(end_ns, e->streams[first + i].free_ns);
    return end_ns;
}

gint64
sim_engine_slot_end(const SimEngine *e, guint32 rank, guint slot)
{
    g_assert(rank < e->n_ranks && slot < e->ranks[rank].program->n_slots);
    return e->streams[e->ranks[rank].first_stream + slot].free_ns;
}

void
sim_engine_call_span(const SimEngine *e, guint32 rank, guint call, gint64 *ret_start_ns,
                     gint64 *ret_end_ns)
{
    g_assert(rank < e->n_ranks && call < e->ranks[rank].program->calls->len);
    *ret_start_ns = e->ranks[rank].spans[call].start_ns;
    *ret_end_ns = e->ranks[rank].spans[call].end_ns;
}

double
sim_engine_resource_load(const SimEngine *e, guint32 resource)
{
    g_assert(resource < e->fluid.n_resources);
    return e->fluid.resources[resource].load;
}

gint64
sim_engine_resource_busy_ns(const SimEngine *e, guint32 resource)
{
    g_assert(resource < e->fluid.n_resources);
    return e->fluid.resources[resource].busy_ns;
}

double
sim_engine_resource_capacity(const SimEngine *e, guint32 resource)
{
    g_assert(resource < e->fluid.n_resources);
    return e->fluid.resources[resource].capacity;
}

void
sim_engine_add_load(SimEngine *e, guint32 resource, double load, gint64 busy_ns)
{
    g_assert(resource < e->fluid.n_resources && load >= 0 && busy_ns >= 0);
    e->fluid.resources[resource].load += load;
    e->fluid.resources[resource].busy_ns += busy_ns;
}
