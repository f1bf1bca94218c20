/* --detail segment: runs of kernels of a template between which nothing waits are one op each.
 *
 * Without interference no time changes.  Such an op remembers how far its time spreads when each of its kernels
 * does by itself: sqrt(sum d_i^2) / sum d_i.  Its memory is all that its kernels allocate when it starts, and what
 * they free when it ends: a peak is never below that of single kernels, and may be above it.  Its name is that of
 * its longest kernel.
 *
 * In a lane (step/pace.c), in whose tensor-parallel collectives nobody else takes part, those between and beside runs
 * become one op with them, a chain (step/chain.c), where nothing else goes through the ports of its GPUs and these are
 * not what the collectives are limited by.  The op's links are drawn one by one, and counted one by one where the result
 * tells times and bytes. */
#include "config.h"

#include <math.h>

#include "sim/fuse.h"
#include "step/chain.h"

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
    op.shape = 0;
    op.part = b->run_parts->len;
    op.n_parts = n;
    for (guint basis = 0; basis < G_N_ELEMENTS(basis_ns); basis++)
        if (basis_ns[basis] > basis_ns[op.basis])
            op.basis = (CostBasis)basis;
    op.error_frac = sum_ns > 0 ? error_ns / sum_ns : 0;
    op.spread = sum_ns > 0 ? sqrt(squares) / sum_ns : 1;
    op.effect = marked ? step_intern_effect(b, &effect) : 0;
    for (guint i = 0; i < n; i++) {
        StepPartOfRun part = {tags[i], durations_ns[i]};
        g_array_append_val(b->run_parts, part);
    }
    guint32 tag = step_intern_op(b, &op);
    if (op_of(b, tag)->part != op.part) /* there was one like it */
        g_array_set_size(b->run_parts, op.part);
    return tag;
}

/* --- chains ------------------------------------------------------------------------------------------- */

static gboolean
is_plain(void *user, guint32 tag)
{
    return op_of(user, tag)->kind != STEP_HOST;
}

static gboolean
is_serial(void *user, const SimLink *link)
{
    const StepBuild *b = user;
    double seconds = 1e-9 * (double)link->duration_ns;
    return link->load[NET_LOAD_NVLINK] <= b->chain_Bps * seconds;
}

static guint32
tag_of_chain(void *user, const SimLink *links, guint n)
{
    StepBuild *b = user;
    StepEffect effect = {0};
    double sum_ns = 0, squares = 0;
    guint longest = 0;
    gboolean marked = FALSE;
    StepOp op = {.chain = b->chain_links->len};
    for (guint i = 0; i < n; i++) {
        const StepOp *part = op_of(b, links[i].tag);
        double ns = (double)links[i].duration_ns, spread = part->spread > 0 ? part->spread : 1;
        StepLinkOfChain link = {.tag = links[i].tag,
                                .collective = links[i].other,
                                .after = links[i].after,
                                .work_kind = links[i].kind,
                                .duration_ns = links[i].duration_ns};
        StepLoads loads = {{0}};
        for (guint k = 0; k < SIM_LOADS && links[i].other; k++)
            loads.of[k] = links[i].load[k];
        g_array_append_val(b->chain_links, link);
        g_array_append_val(b->chain_loads, loads);
        sum_ns += ns;
        squares += ns * ns * spread * spread;
        if (!links[i].other && (links[longest].other || ns > (double)links[longest].duration_ns))
            longest = i;
        marked = marked || part->effect != 0;
        add_effect(b, part->effect, &effect);
    }
    guint chain = op.chain;
    op = *op_of(b, links[longest].tag);
    op.chain = chain;
    op.n_links = n;
    op.shape = 0;
    op.n_parts = 0;
    op.spread = sum_ns > 0 ? sqrt(squares) / sum_ns : 1;
    op.effect = marked ? step_intern_effect(b, &effect) : 0;
    return step_intern_op(b, &op);
}

void
step_keep_template(StepBuild *b, SimTemplate *t)
{
    const SimFuse how = {together, tag_of_run, b};
    const SimChain chain = {STEP_SLOT_TP, is_serial, is_plain, tag_of_chain, b};
    if (b->fused)
        sim_template_fuse(t, STEP_SLOT_COMPUTE, &how);
    if (b->chained)
        sim_template_chain(t, STEP_SLOT_COMPUTE, &chain);
    g_ptr_array_add(b->templates, t);
}
