/* The critical path against what its ops take alone.
 *
 * A kernel of e ns on a GPU that is f times as slow costs e - e/f because of the GPU; in a lane, of the slowest of its
 * members.  What a kernel or a collective takes longer or shorter than that within six standard deviations is jitter's,
 * and daemons' on GPUs; beyond, it is put down to what it shared the GPU or the links with.  A collective or message
 * that went over a link that was slow or down meanwhile costs what it took longer because of the link. */
#include "config.h"

#include "step/blame.h"

#include <math.h>

#define DEVIATIONS 6

typedef struct {
    StepBlame *blame;
    const StepPace *pace;
    const GArray *faults;
} Trial;

void
step_blame_init(StepBlame *blame, const StepPacing *p, guint n_links)
{
    *blame = (StepBlame){
        .n_gpus = p->n_ranks * p->n_members, .n_nodes = p->b->plan->n_nodes, .n_links = n_links};
    blame->gpu_ns = g_new0(gint64, blame->n_gpus);
    blame->host_ns = g_new0(gint64, blame->n_nodes);
    blame->link_ns = g_new0(gint64, n_links);
}

void
step_blame_clear(StepBlame *blame)
{
    g_free(blame->gpu_ns);
    g_free(blame->host_ns);
    g_free(blame->link_ns);
}

static void
add_rest(const Trial *t, gint64 rest_ns, double deviation_ns, gboolean daemons)
{
    gboolean chance = daemons || (double)ABS(rest_ns) <= DEVIATIONS * deviation_ns + 1;
    t->blame->cause_ns[chance ? STEP_CAUSE_JITTER : STEP_CAUSE_SHARED] += rest_ns;
}

static gboolean
has_gpu_daemons(const StepNoise *noise)
{
    for (guint i = 0; i < noise->daemons->len; i++)
        if (g_array_index(noise->daemons, StepDaemon, i).victim == STEP_DAEMON_GPU)
            return TRUE;
    return FALSE;
}

/* Of a chain, the time in which none of its kernels ran. */
static gint64
waits_ns(const StepPacing *p, const SimSegment *s)
{
    const StepOp *op = &g_array_index(p->b->ops, StepOp, s->tag);
    gint64 left_ns = s->alone_ns;
    for (guint k = 0; k < op->n_links; k++) {
        const StepLinkOfChain *link = step_chain_link(p->b, op, k);
        left_ns -= link->collective ? 0 : link->duration_ns;
    }
    return op->n_links > 0 ? left_ns : 0;
}

static void
try_kernel(const Trial *t, const SimSegment *s)
{
    const StepPacing *p = t->pace->shared;
    gsize first = (gsize)s->rank * p->n_members, slowest = first;
    gint64 elapsed_ns = s->end_ns - s->start_ns;
    for (gsize k = first; k < first + p->n_members; k++)
        if (t->pace->factor[k] > t->pace->factor[slowest])
            slowest = k;
    double factor = t->pace->factor[slowest];
    gint64 sent_ns = waits_ns(p, s);
    gint64 cost_ns = (gint64)((double)(elapsed_ns - sent_ns) * (1 - 1 / factor));
    t->blame->gpu_ns[slowest] += cost_ns;
    t->blame->cause_ns[STEP_CAUSE_GPU] += cost_ns;
    double deviation_ns = p->noise->jitter_frac * p->spread[s->tag] * (double)s->alone_ns * factor;
    add_rest(t, elapsed_ns - cost_ns - s->alone_ns, deviation_ns, has_gpu_daemons(p->noise));
}

static void
try_host(const Trial *t, const SimSegment *s)
{
    const StepPacing *p = t->pace->shared;
    gint64 cost_ns = s->end_ns - s->start_ns - s->alone_ns;
    guint slot = plan_slot(p->b->plan, p->members[(gsize)s->rank * p->n_members]);
    t->blame->host_ns[cluster_node_of(p->b->plan->system, slot)] += cost_ns;
    t->blame->cause_ns[STEP_CAUSE_HOST] += cost_ns;
}

/* Do simulated ranks i and j meet in a collective of this slot? */
static gboolean
meet(const StepPacing *p, guint slot, guint i, guint j)
{
    const guint32 *x = &p->first_group[(gsize)i * SIM_SLOTS + slot];
    const guint32 *y = &p->first_group[(gsize)j * SIM_SLOTS + slot];
    for (guint k = x[0]; k < x[1]; k++)
        for (guint l = y[0]; l < y[1]; l++)
            if (g_array_index(p->groups, guint32, k) == g_array_index(p->groups, guint32, l))
                return TRUE;
    return FALSE;
}

/* Does the group of a simulated rank's slot go over links of this kind at all? */
static gboolean
goes_over(const StepPacing *p, guint slot, guint i, StepWhereKind kind)
{
    guint class = g_array_index(p->b->ranks, StepRank, i).class;
    int group = step_slot_group(slot);
    const NetGroup *shape = &g_array_index(p->b->classes, StepClass, class).group[group];
    return kind == STEP_WHERE_NIC ? shape->nodes > 1 : shape->ranks_per_node > 1;
}

/* A message ends or begins at a pipeline neighbour: of the same column. */
static gboolean
concerns(const StepPacing *p, const SimSegment *s, guint j, StepWhereKind kind)
{
    guint pp = (guint)p->b->plan->spec.pp;
    if (step_slot_group(s->slot) < 0)
        return s->rank / pp == j / pp && (s->rank <= j + 1 && j <= s->rank + 1);
    return goes_over(p, s->slot, j, kind) && meet(p, s->slot, s->rank, j);
}

/* The fault that a collective or message on the path suffered from; -1: none. */
static int
fault_of(const Trial *t, const SimSegment *s)
{
    const StepPacing *p = t->pace->shared;
    for (guint f = 0; f < t->faults->len; f++) {
        const StepFault *fault = &g_array_index(t->faults, StepFault, f);
        if (fault->from_ns >= s->end_ns || fault->to_ns <= s->start_ns)
            continue;
        if (fault->where.kind == STEP_WHERE_LINK)
            return (int)f; /* who goes over it is the fabric's affair: the nearest that is known */
        for (guint k = 0; k < p->n_ranks * p->n_members; k++)
            if (step_fault_is_at(fault, p->b->plan, p->members[k]) &&
                concerns(p, s, k / p->n_members, fault->where.kind))
                return (int)f;
    }
    return -1;
}

static void
try_transfer(const Trial *t, const SimSegment *s)
{
    const StepPacing *p = t->pace->shared;
    gint64 cost_ns = s->end_ns - s->start_ns - s->alone_ns;
    double deviation_ns = p->noise->jitter_frac * (double)s->alone_ns;
    int fault = (double)cost_ns > DEVIATIONS * deviation_ns + 1 ? fault_of(t, s) : -1;
    if (fault < 0) {
        add_rest(t, cost_ns, deviation_ns, FALSE);
        return;
    }
    t->blame->link_ns[fault] += cost_ns;
    t->blame->cause_ns[STEP_CAUSE_LINK] += cost_ns;
}

static void
try_segment(void *user, const SimSegment *s)
{
    const Trial *t = user;
    switch (step_work_kind(t->pace->shared, s->slot, s->tag)) {
    case STEP_WORK_KERNEL:
        try_kernel(t, s);
        return;
    case STEP_WORK_HOST:
        try_host(t, s);
        return;
    case STEP_WORK_COLLECTIVE:
    case STEP_WORK_OTHER:
        try_transfer(t, s);
        return;
    }
}

void
step_blame_path(StepBlame *blame, const StepPace *pace, const GArray *faults,
                const SimEngine *engine)
{
    Trial trial = {blame, pace, faults};
    sim_engine_critical_path(engine, try_segment, &trial);
}
