/* What a rank does at a time: the compute stream and the streams of communication inside of tokens (tensor, context
 * and expert parallel) of one rank of each class are written down, as the others of the class do the same. With it
 * the critical path tells time in which communication is waited for from time in which something else is computed
 * meanwhile, and a rank that works from one that is idle. */
#include "config.h"

#include "step/build.h"

/* What is asked first comes first: communication counts only where nothing is computed. */
static const guint slots[STEP_BUSY_ALL] = {STEP_SLOT_COMPUTE, STEP_SLOT_EP, STEP_SLOT_TP,
                                           STEP_SLOT_CP};

typedef struct {
    gint64 start_ns, end_ns;
    guint32 tag;
} Span;

struct StepBusyLog {
    const StepBuild *b;
    guint n;        /* classes * streams */
    GArray **spans; /* of Span, in order of time, [class * STEP_BUSY_ALL + stream] */
};

StepBusyLog *
step_busy_log_new(const StepBuild *b)
{
    StepBusyLog *log = g_new0(StepBusyLog, 1);
    log->b = b;
    log->n = b->classes->len * STEP_BUSY_ALL;
    log->spans = g_new0(GArray *, log->n);
    for (guint i = 0; i < log->n; i++)
        log->spans[i] = g_array_new(FALSE, FALSE, sizeof(Span));
    return log;
}

void
step_busy_log_free(StepBusyLog *log)
{
    if (log == NULL)
        return;
    for (guint i = 0; i < log->n; i++)
        g_array_unref(log->spans[i]);
    g_free(log->spans);
    g_free(log);
}

void
step_busy_log_op(StepBusyLog *log, guint32 rank, guint slot, guint32 tag, gint64 start_ns,
                 gint64 end_ns)
{
    const StepRank *simulated = &g_array_index(log->b->ranks, StepRank, rank);
    const StepClass *class = &g_array_index(log->b->classes, StepClass, simulated->class);
    guint stream = 0;
    if (end_ns == start_ns || class->rank != simulated->rank)
        return;
    while (stream < STEP_BUSY_ALL && slots[stream] != slot)
        stream++;
    if (stream == STEP_BUSY_ALL)
        return;
    if (slot != STEP_SLOT_COMPUTE && !g_array_index(log->b->ops, StepOp, tag).pipeline)
        return;
    Span span = {start_ns, end_ns, tag};
    g_array_append_val(log->spans[simulated->class * STEP_BUSY_ALL + stream], span);
}

/* The first that ends later. */
static guint
first_after(const GArray *spans, gint64 when_ns)
{
    guint low = 0, high = spans->len;
    while (low < high) {
        guint middle = (low + high) / 2;
        if (g_array_index(spans, Span, middle).end_ns <= when_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

typedef struct {
    GArray *const *spans; /* of the class */
    guint n;              /* streams that count */
    StepBusyVisitor visit;
    void *user;
} Look;

/* Spans of a stream; what they leave is the next stream's. */
static void
look(const Look *l, guint stream, gint64 from_ns, gint64 to_ns)
{
    if (from_ns >= to_ns)
        return;
    if (stream == l->n) {
        l->visit(l->user, STEP_NO_OP, from_ns, to_ns);
        return;
    }
    const GArray *spans = l->spans[stream];
    for (guint i = first_after(spans, from_ns); i < spans->len; i++) {
        const Span *span = &g_array_index(spans, Span, i);
        if (span->start_ns >= to_ns)
            break;
        gint64 start_ns = MAX(span->start_ns, from_ns), end_ns = MIN(span->end_ns, to_ns);
        look(l, stream + 1, from_ns, start_ns);
        l->visit(l->user, span->tag, start_ns, end_ns);
        from_ns = end_ns;
    }
    look(l, stream + 1, from_ns, to_ns);
}

void
step_busy_during(const StepBusyLog *log, guint32 rank, gint64 from_ns, gint64 to_ns, guint streams,
                 StepBusyVisitor visit, void *user)
{
    guint class = g_array_index(log->b->ranks, StepRank, rank).class;
    Look l = {log->spans + (gsize) class * STEP_BUSY_ALL, streams, visit, user};
    look(&l, 0, from_ns, to_ns);
}
