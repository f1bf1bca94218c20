/* --detail segment: runs of kernels of a template between which nothing waits are one op each.
 *
 * Without interference no time changes.  Such an op remembers how far its time spreads when each of its kernels
 * does by itself: sqrt(sum d_i^2) / sum d_i.  Its memory is all that its kernels allocate when it starts, and what
 * they free when it ends: a peak is never below that of single kernels, and may be above it.  Its name is that of
 * its longest kernel. */
#include "config.h"

#include <math.h>

#include "sim/fuse.h"
#include "step/build.h"

static const StepOp *
op_of(const StepBuild *b, guint32 tag)
{
    return &g_array_index(b->ops, StepOp, tag);
}

/* Kernels that count as the same thing. */
static gboolean
together(void *user, guint32 before, guint32 tag)
{
    const StepOp *x = op_of(user, before), *y = op_of(user, tag);
    return x->kind == y->kind && x->pipeline == y->pipeline && x->transfer == 0 && y->transfer == 0;
}

static void
add_effect(const StepBuild *b, guint index, StepEffect *sum)
{
    const StepEffect *e = &g_array_index(b->effects, StepEffect, index);
    for (guint k = 0; k < STEP_N_MEMORY; k++) {
        sum->start[k] += MAX(e->start[k], 0) + MAX(e->end[k], 0);
        sum->end[k] += MIN(e->start[k], 0) + MIN(e->end[k], 0);
    }
}

static guint32
tag_of_run(void *user, const guint32 *tags, const gint64 *durations_ns, guint n)
{
    StepBuild *b = user;
    StepEffect effect = {0};
    double sum_ns = 0, squares = 0, error_ns = 0, basis_ns[3] = {0};
    guint longest = 0;
    gboolean marked = FALSE;
    for (guint i = 0; i < n; i++) {
        const StepOp *op = op_of(b, tags[i]);
        double ns = (double)durations_ns[i];
        sum_ns += ns;
        squares += ns * ns;
        error_ns += ns * op->error_frac;
        basis_ns[op->basis] += ns;
        longest = durations_ns[i] > durations_ns[longest] ? i : longest;
        marked = marked || op->effect != 0;
        add_effect(b, op->effect, &effect);
    }
    StepOp op = *op_of(b, tags[longest]);
    for (guint basis = 0; basis < G_N_ELEMENTS(basis_ns); basis++)
        if (basis_ns[basis] > basis_ns[op.basis])
            op.basis = (CostBasis)basis;
    op.error_frac = sum_ns > 0 ? error_ns / sum_ns : 0;
    op.spread = sum_ns > 0 ? sqrt(squares) / sum_ns : 1;
    op.effect = marked ? step_intern_effect(b, &effect) : 0;
    return step_intern_op(b, &op);
}

void
step_keep_template(StepBuild *b, SimTemplate *t)
{
    const SimFuse how = {together, tag_of_run, b};
    if (b->fused)
        sim_template_fuse(t, STEP_SLOT_COMPUTE, &how);
    g_ptr_array_add(b->templates, t);
}
