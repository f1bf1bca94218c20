/* The critical path: a sparse log written during the run, and a walk back over it afterwards.
 *
 * An op is logged only if something other than the end of its stream's previous op released it, or if
 * it took another time than in isolation.  An entry is a header word, after what it needs:
 *
 *   [by_stream, by_op]         when released by a meeting or a send
 *   [elapsed low]              when it took another time than in isolation
 *   [elapsed high]             when that needs more than 32 bits
 *   release | has_elapsed << 5 | has_high << 6 | (op number - number of the entry before) << 7
 *
 * so a wait for another slot costs 4 bytes, and the walk, which visits the ops of each stream from
 * last to first, reads each log backwards once.  Which op of the slot was waited for, and all other
 * times, follow from the program. */
#include "config.h"

#include "sim/state.h"

#define RELEASE_MASK 31u
#define HAS_ELAPSED 32u
#define HAS_HIGH 64u
#define STEP_SHIFT 7
#define STEP_MAX (G_MAXUINT32 >> STEP_SHIFT)

static void
reserve(SimLog *log, guint32 n)
{
    if (n <= log->capacity)
        return;
    g_assert(log->capacity < G_MAXUINT32 / 2);
    log->capacity = MAX(MAX(n, 2 * log->capacity), 16);
    log->words = g_renew(guint32, log->words, log->capacity);
}

void
sim_path_reserve(SimLog *log, guint32 n_ops)
{
    if (n_ops < G_MAXUINT32 / 4)
        reserve(log, 2 * n_ops + 16);
}

void
sim_path_log(SimLog *log, guint32 op, guint release, guint32 by_stream, guint32 by_op,
             gint64 elapsed_ns)
{
    for (; op - log->last > STEP_MAX; log->last += STEP_MAX) { /* empty entries bridge the gap */
        reserve(log, log->n + 1);
        log->words[log->n++] = STEP_MAX << STEP_SHIFT;
    }
    reserve(log, log->n + 5);
    if (release > SIM_SLOTS) {
        log->words[log->n++] = by_stream;
        log->words[log->n++] = by_op;
    }
    guint32 flags = 0;
    if (elapsed_ns >= 0) {
        log->words[log->n++] = (guint32)elapsed_ns;
        flags = HAS_ELAPSED;
    }
    if (elapsed_ns > G_MAXUINT32) {
        log->words[log->n++] = (guint32)(elapsed_ns >> 32);
        flags |= HAS_HIGH;
    }
    log->words[log->n++] = release | flags | (op - log->last) << STEP_SHIFT;
    log->last = op;
}

typedef struct {
    guint release;
    guint32 by_stream, by_op;
    gint64 elapsed_ns; /* -1: the isolated time */
} Entry;

/* What is still unread of a stream's log. */
typedef struct {
    guint32 n, last;
} Cursor;

/* The entry of op number `op`, which is not above any asked for before on this stream. */
static Entry
find_entry(const SimLog *log, Cursor *cursor, guint32 op)
{
    Entry entry = {SIM_BY_STREAM, SIM_NONE, 0, -1};
    while (cursor->n > 0 && cursor->last >= op) {
        guint32 at = cursor->n - 1, header = log->words[at];
        entry = (Entry){header & RELEASE_MASK, SIM_NONE, 0, -1};
        guint64 high = header & HAS_HIGH ? log->words[--at] : 0;
        if (header & HAS_ELAPSED)
            entry.elapsed_ns = (gint64)(high << 32 | log->words[--at]);
        if (entry.release > SIM_SLOTS) {
            at -= 2;
            entry.by_stream = log->words[at];
            entry.by_op = log->words[at + 1];
        }
        if (cursor->last == op)
            return entry; /* stays unread: a member's release may be asked for again */
        cursor->n = at;
        cursor->last -= header >> STEP_SHIFT;
    }
    return (Entry){SIM_BY_STREAM, SIM_NONE, 0, -1};
}

typedef struct {
    const SimOp *op;
    guint call;
} Place;

/* Where in the program op number `op` (from 1) of a slot is: the last call with base < op. */
static Place
locate(const SimProgram *p, guint slot, guint32 op)
{
    guint low = 0, high = p->calls->len;
    while (high - low > 1) {
        guint middle = (low + high) / 2;
        if (sim_program_at(p, middle)->base[slot] < op)
            low = middle;
        else
            high = middle;
    }
    const SimCall *call = sim_program_at(p, low);
    return (Place){sim_template_ops(call->template, slot) + (op - 1 - call->base[slot]), low};
}

/* How many ops of slot `on` op number `op` of `slot` had to wait for. */
static guint32
waited_count(const SimProgram *p, guint slot, guint32 op, guint on)
{
    Place place = locate(p, slot, op);
    const SimCall *call = sim_program_at(p, place.call);
    guint32 count = 0;
    for (guint32 i = place.op->wait; i;) {
        const SimOpWait *w = &g_array_index(call->template->waits, SimOpWait, i);
        if (w->slot == on)
            count = MAX(count, call->base[on] + w->count);
        i = w->next;
    }
    const GArray *waits = p->waits[slot];
    guint low = 0, high = waits ? waits->len : 0;
    while (low < high) { /* first wait that applies only to later calls */
        guint middle = (low + high) / 2;
        if (g_array_index(waits, SimProgramWait, middle).call <= place.call)
            low = middle + 1;
        else
            high = middle;
    }
    gint64 before = op > 1 ? (gint64)locate(p, slot, op - 1).call : -1;
    for (guint i = low; i-- > 0;) {
        const SimProgramWait *w = &g_array_index(waits, SimProgramWait, i);
        if (w->call <= before)
            break; /* was passed by the previous op */
        if (w->on == on)
            count = MAX(count, w->count);
    }
    g_assert(count > 0);
    return count;
}

static guint32
find_last_stream(const SimEngine *e)
{
    for (guint32 i = 0; i < e->n_streams; i++)
        if (e->streams[i].done > 0 && e->streams[i].free_ns == e->now_ns)
            return i;
    return SIM_NONE;
}

/* Steps from op number *op of *stream, which began at the time looked at, to the op whose end let it
 * begin; number 0 when it began with its stream. */
static void
step_back(const SimEngine *e, Cursor *cursors, Entry entry, guint32 *stream, guint32 *op)
{
    if (entry.release > SIM_SLOTS) { /* what released the other member or the send */
        g_assert(entry.by_stream < e->n_streams);
        *stream = entry.by_stream;
        *op = entry.by_op;
        entry = find_entry(&e->streams[*stream].log, &cursors[*stream], *op);
        g_assert(entry.release <= SIM_SLOTS);
    }
    if (entry.release == SIM_BY_STREAM) {
        --*op;
        return;
    }
    const SimStream *s = &e->streams[*stream];
    guint on = entry.release - 1;
    *op = waited_count(e->ranks[s->rank].program, s->slot, *op, on);
    *stream = *stream - s->slot + on;
}

void
sim_engine_critical_path(const SimEngine *e, SimPathVisitor visit, void *user)
{
    guint32 stream = find_last_stream(e);
    if (stream == SIM_NONE)
        return;
    g_autofree Cursor *cursors = g_new0(Cursor, e->n_streams);
    for (guint32 i = 0; i < e->n_streams; i++)
        cursors[i] = (Cursor){e->streams[i].log.n, e->streams[i].log.last};
    gint64 end_ns = e->now_ns;
    for (guint32 op = e->streams[stream].done; op > 0;) {
        const SimStream *s = &e->streams[stream];
        Place place = locate(e->ranks[s->rank].program, s->slot, op);
        Entry entry = find_entry(&s->log, &cursors[stream], op);
        gint64 elapsed_ns = entry.elapsed_ns;
        if (elapsed_ns < 0)
            elapsed_ns = sim_path_isolated_ns(place.op);
        SimSegment segment = {.rank = s->rank,
                              .slot = s->slot,
                              .tag = place.op->tag,
                              .call = place.call,
                              .start_ns = end_ns - elapsed_ns,
                              .end_ns = end_ns,
                              .alone_ns = place.op->duration_ns};
        if (elapsed_ns > 0)
            visit(user, &segment);
        end_ns -= elapsed_ns;
        step_back(e, cursors, entry, &stream, &op);
    }
    g_assert(end_ns == 0);
}
