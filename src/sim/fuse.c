/* Runs of plain ops of one slot become one op each, where nothing can tell the difference: nothing in a run but
 * its first op waits, and nothing waits for a part of it.  What other slots wait for are counts of ops, so a
 * count that ends a run becomes the number of runs up to there. */
#include "config.h"

#include "sim/fuse.h"
#include "sim/layout.h"

#include <string.h>

typedef struct {
    const SimTemplate *t;
    guint slot, n;     /* ops on the slot */
    guint8 *begins;    /* [n] a run begins with this op */
    guint32 *run_of;   /* [n + 1] how many runs begin before it */
    guint32 *index_of; /* [ops] new index in launch order */
} Fusing;

static void
find_runs(Fusing *f, const SimFuse *how)
{
    const SimOp *ops = sim_template_ops(f->t, f->slot);
    for (guint k = 0; k < f->n; k++)
        f->begins[k] = k == 0 || ops[k].wait != 0 || ops[k].join != SIM_JOIN_NONE ||
                       ops[k - 1].join != SIM_JOIN_NONE || ops[k].kind != ops[k - 1].kind ||
                       !how->together(how->user, ops[k - 1].tag, ops[k].tag);
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
    g_autofree guint32 *tags = g_new(guint32, f->n);
    g_autofree gint64 *durations_ns = g_new(gint64, f->n);
    for (guint k = 0; k < f->n;) {
        SimOp op = ops[k];
        guint n = 0;
        op.duration_ns = 0;
        do {
            tags[n] = ops[k + n].tag;
            durations_ns[n] = ops[k + n].duration_ns;
            op.duration_ns += durations_ns[n];
            n++;
        } while (k + n < f->n && !f->begins[k + n]);
        g_assert(op.duration_ns < SIM_TIME_LIMIT_NS);
        op.tag = n == 1 ? tags[0] : how->tag(how->user, tags, durations_ns, n);
        g_array_append_val(fused, op);
        k += n;
    }
    return fused;
}

/* Launch order without the ops that are now part of the one before. */
static void
renumber(Fusing *f, SimTemplate *t)
{
    guint n = 0;
    for (guint i = 0; i < t->places->len; i++) {
        guint32 place = g_array_index(t->places, guint32, i);
        guint slot = place >> 28, position = place & 0xfffffff;
        if (slot == f->slot && !f->begins[position])
            continue;
        if (slot == f->slot)
            place = slot << 28 | f->run_of[position];
        g_array_index(t->places, guint32, n) = place;
        double *loads = (double *)(void *)t->loads->data;
        memmove(loads + (gsize)n * SIM_LOADS, loads + (gsize)i * SIM_LOADS,
                SIM_LOADS * sizeof(double));
        f->index_of[i] = n++;
    }
    g_array_set_size(t->places, n);
    g_array_set_size(t->loads, n);
    for (guint slot = 0; slot < SIM_SLOTS; slot++)
        for (guint k = 0; k < sim_template_count(t, slot); k++) {
            SimOp *op = &sim_template_ops(t, slot)[k];
            op->index = f->index_of[op->index];
        }
}

void
sim_template_fuse(SimTemplate *t, guint slot, const SimFuse *how)
{
    Fusing f = {.t = t, .slot = slot, .n = sim_template_count(t, slot)};
    if (f.n < 2)
        return;
    f.begins = g_new(guint8, f.n);
    f.run_of = g_new0(guint32, f.n + 1);
    f.index_of = g_new(guint32, t->places->len);
    find_runs(&f, how);
    GArray *fused = fuse_ops(&f, how);
    g_array_unref(t->ops[slot]);
    t->ops[slot] = fused;
    renumber(&f, t);
    for (guint i = 1; i < t->waits->len; i++) {
        SimOpWait *wait = &g_array_index(t->waits, SimOpWait, i);
        if (wait->slot == slot)
            wait->count = f.run_of[wait->count];
    }
    g_free(f.begins);
    g_free(f.run_of);
    g_free(f.index_of);
}
