/* What the compute stream of a rank does at a time: one rank of each class is written down, as the others of the
 * class do the same. With it the critical path tells time in which communication is waited for from time in
 * which something else is computed meanwhile. */
#include "config.h"

#include "step/build.h"

typedef struct {
    gint64 start_ns, end_ns;
    guint32 tag;
} Span;

struct StepBusyLog {
    const StepBuild *b;
    guint n_classes;
    GArray **spans; /* of Span, in order of time, [n_classes] */
};

StepBusyLog *
step_busy_log_new(const StepBuild *b)
{
    StepBusyLog *log = g_new0(StepBusyLog, 1);
    log->b = b;
    log->n_classes = b->classes->len;
    log->spans = g_new0(GArray *, log->n_classes);
    for (guint i = 0; i < log->n_classes; i++)
        log->spans[i] = g_array_new(FALSE, FALSE, sizeof(Span));
    return log;
}

void
step_busy_log_free(StepBusyLog *log)
{
    if (log == NULL)
        return;
    for (guint i = 0; i < log->n_classes; i++)
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
    if (slot != STEP_SLOT_COMPUTE || end_ns == start_ns || class->rank != simulated->rank)
        return;
    Span span = {start_ns, end_ns, tag};
    g_array_append_val(log->spans[simulated->class], span);
}

void
step_busy_during(const StepBusyLog *log, guint32 rank, gint64 from_ns, gint64 to_ns,
                 void (*visit)(void *user, guint32 tag, gint64 ns), void *user)
{
    const GArray *spans = log->spans[g_array_index(log->b->ranks, StepRank, rank).class];
    guint low = 0, high = spans->len;
    while (low < high) { /* the first that ends later than from_ns */
        guint middle = (low + high) / 2;
        if (g_array_index(spans, Span, middle).end_ns <= from_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (guint i = low; i < spans->len; i++) {
        const Span *span = &g_array_index(spans, Span, i);
        if (span->start_ns >= to_ns)
            break;
        visit(user, span->tag, MIN(span->end_ns, to_ns) - MAX(span->start_ns, from_ns));
    }
}
