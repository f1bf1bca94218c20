/* Runs of plain ops of one slot become one op each, where nothing can tell the difference: only the first op of a run
 * waits for what no op before it on the slot has waited for, and nothing waits for a part of a run.  What other slots
 * wait for are counts of ops, so a count that ends a run becomes the number of runs up to there. */
#include "config.h"

#include "sim/fuse.h"
#include "sim/layout.h"

#include <string.h>

#define SMALL 8

typedef struct {
    const SimTemplate *t;
    guint slot, n;   /* ops on the slot */
    guint8 *begins;  /* [n] a run begins with this op */
    guint32 *run_of; /* [n + 1] how many runs begin before it */
} Fusing;

gboolean
sim_op_waits_anew(const SimTemplate *t, const SimOp *op, guint32 waited[SIM_SLOTS])
{
    gboolean anew = FALSE;
    for (guint32 i = op->wait; i;) {
        const SimOpWait *wait = &g_array_index(t->waits, SimOpWait, i);
        anew = anew || wait->count >= waited[wait->slot];
        waited[wait->slot] = MAX(waited[wait->slot], wait->count + 1);
        i = wait->next;
    }
    return anew;
}

/* What there is of a run so far. */
typedef struct {
    gint64 ns, longest_ns;
    guint kind; /* of the longest */
} Run;

/* Work that others disturb in another way is of the run only where the one or the other hardly counts. */
static gboolean
is_of_kind(const Run *run, const SimOp *op)
{
    return run->kind == op->kind || op->duration_ns <= run->ns / SMALL ||
           run->ns <= op->duration_ns / SMALL;
}

static void
find_runs(Fusing *f, const SimFuse *how)
{
    const SimOp *ops = sim_template_ops(f->t, f->slot);
    guint32 waited[SIM_SLOTS] = {0};
    Run run = {0, 0, 0};
    for (guint k = 0; k < f->n; k++) {
        gboolean anew = sim_op_waits_anew(f->t, &ops[k], waited);
        f->begins[k] =
            k == 0 || anew || ops[k].join != SIM_JOIN_NONE || ops[k - 1].join != SIM_JOIN_NONE ||
            !how->together(how->user, ops[k - 1].tag, ops[k].tag) || !is_of_kind(&run, &ops[k]);
        if (f->begins[k])
            run = (Run){0, 0, 0};
        run.ns += ops[k].duration_ns;
        if (ops[k].duration_ns >= run.longest_ns)
            run.kind = ops[k].kind;
        run.longest_ns = MAX(run.longest_ns, ops[k].duration_ns);
    }
    for (guint i = 1; i < f->t->waits->len; i++) {
        const SimOpWait *wait = &g_array_index(f->t->waits, SimOpWait, i);
        if (wait->slot == f->slot && wait->count < f->n)
            f->begins[wait->count] = TRUE;
    }
    for (guint k = 0; k < f->n; k++)
        f->run_of[k + 1] = f->run_of[k] + f->begins[k];
}

/* The ops of the slot, a run as one. */
static GArray *
fuse_ops(const Fusing *f, const SimFuse *how)
{
    GArray *fused = g_array_new(FALSE, FALSE, sizeof(SimOp));
    const SimOp *ops = sim_template_ops(f->t, f->slot);
    g_autofree guint32 *tags = g_new0(guint32, f->n);
    g_autofree gint64 *durations_ns = g_new0(gint64, f->n);
    for (guint k = 0; k < f->n;) {
        SimOp op = ops[k];
        guint n = 0, longest = 0;
        op.duration_ns = 0;
        do {
            tags[n] = ops[k + n].tag;
            durations_ns[n] = ops[k + n].duration_ns;
            longest = durations_ns[n] >= durations_ns[longest] ? n : longest;
            op.duration_ns += durations_ns[n];
            n++;
        } while (k + n < f->n && !f->begins[k + n]);
        g_assert(op.duration_ns < SIM_TIME_LIMIT_NS);
        op.kind = ops[k + longest].kind;
        op.tag = n == 1 ? tags[0] : how->tag(how->user, tags, durations_ns, n);
        g_array_append_val(fused, op);
        k += n;
    }
    return fused;
}

void
sim_template_compact(SimTemplate *t, const guint8 *dropped)
{
    guint n = 0, next[SIM_SLOTS] = {0};
    double *loads = (double *)(void *)t->loads->data;
    for (guint i = 0; i < t->places->len; i++) {
        guint slot = g_array_index(t->places, guint32, i) >> 28;
        if (dropped[i])
            continue;
        sim_template_ops(t, slot)[next[slot]].index = n;
        g_array_index(t->places, guint32, n) = slot << 28 | next[slot]++;
        memmove(loads + (gsize)n * SIM_LOADS, loads + (gsize)i * SIM_LOADS,
                SIM_LOADS * sizeof(double));
        n++;
    }
    g_array_set_size(t->places, n);
    g_array_set_size(t->loads, n);
}

void
sim_template_fuse(SimTemplate *t, guint slot, const SimFuse *how)
{
    Fusing f = {.t = t, .slot = slot, .n = sim_template_count(t, slot)};
    if (f.n < 2)
        return;
    f.begins = g_new0(guint8, f.n);
    f.run_of = g_new0(guint32, f.n + 1);
    find_runs(&f, how);
    g_autofree guint8 *dropped = g_new0(guint8, t->places->len);
    for (guint k = 0; k < f.n; k++)
        dropped[sim_template_ops(t, slot)[k].index] = !f.begins[k];
    GArray *fused = fuse_ops(&f, how);
    g_array_unref(t->ops[slot]);
    t->ops[slot] = fused;
    sim_template_compact(t, dropped);
    for (guint i = 1; i < t->waits->len; i++) {
        SimOpWait *wait = &g_array_index(t->waits, SimOpWait, i);
        if (wait->slot == slot)
            wait->count = f.run_of[wait->count];
    }
    g_free(f.begins);
    g_free(f.run_of);
}
