/* Durations under noise.
 *
 * A draw is the n-th word of a stream that is named by its purpose, the seed, the sample, and the rank (for its n-th
 * kernel) or the group (for its n-th meeting on a stream).  So a rank draws the same whether it is simulated itself
 * or within a lane.
 *
 * Lanes.  A simulated rank may stand for its tensor-parallel group of t ranks, which go in lock step: each member has
 * a clock of its own for its kernels, which begin when its own kernel before is done, and the lane is done when the
 * last member is.  What the lane waits for (a collective of the group, a message, launches) all members wait for.
 * So between two collectives a lane takes the longest of the members' sums, as the group does; likewise with the t
 * groups over data-parallel ranks that the members are in.  What differs from all ranks: a message between stages
 * leaves when the last member is there, not each when its own is (too late); where sharing slows something, all
 * members' clocks are as much later; and a member that is early does not wait for launches that the last one no
 * longer waits for (too early). */
#include "config.h"

#include "step/pace.h"

#include "sim/random.h"

/* No jitter makes work shorter than this share of it. */
#define LEAST 0.1

static const int slot_groups[SIM_SLOTS] = {
    [STEP_SLOT_COMPUTE] = -1,
    [STEP_SLOT_TP] = PLAN_GROUP_TP,
    [STEP_SLOT_DP] = PLAN_GROUP_DP,
    [STEP_SLOT_SEND_F] = -1,
    [STEP_SLOT_RECV_F] = -1,
    [STEP_SLOT_SEND_B] = -1,
    [STEP_SLOT_RECV_B] = -1,
    [STEP_SLOT_PP] = PLAN_GROUP_PP,
    [STEP_SLOT_HOST] = -1,
    [STEP_SLOT_CP] = PLAN_GROUP_CP,
    [STEP_SLOT_EP] = PLAN_GROUP_EP,
    [STEP_SLOT_GATHER] = PLAN_GROUP_SHARD,
    [STEP_SLOT_REPLICATE] = PLAN_GROUP_REPLICATE,
    [STEP_SLOT_H2D] = -1,
    [STEP_SLOT_D2H] = -1,
    [STEP_SLOT_NVME] = -1,
};

int
step_slot_group(guint slot)
{
    return slot_groups[slot];
}

static void
find_members(StepPacing *p, gboolean lanes)
{
    const Plan *plan = p->b->plan;
    p->n_members = lanes ? (guint)plan->spec.tp : 1;
    p->members = g_new(guint, (gsize)p->n_ranks * p->n_members);
    for (guint i = 0; i < p->n_ranks; i++) {
        guint rank = g_array_index(p->b->ranks, StepRank, i).rank;
        guint *members = p->members + (gsize)i * p->n_members;
        members[0] = rank;
        if (p->n_members == 1)
            continue;
        g_autoptr(GArray) group = plan_group(plan, PLAN_GROUP_TP, rank);
        g_assert(group->len == p->n_members);
        for (guint m = 0; m < p->n_members; m++)
            members[m] = g_array_index(group, guint, m);
    }
}

static guint32
intern_group(StepPacing *p, GHashTable *known, guint32 name)
{
    guint found = GPOINTER_TO_UINT(g_hash_table_lookup(known, GUINT_TO_POINTER(name + 1)));
    if (found == 0) {
        g_array_append_val(p->group_names, name);
        found = p->group_names->len;
        g_hash_table_insert(known, GUINT_TO_POINTER(name + 1), GUINT_TO_POINTER(found));
    }
    return found - 1;
}

/* The groups of a simulated rank's members on a slot, each once. */
static void
find_groups_of(StepPacing *p, GHashTable *known, guint i, guint slot)
{
    guint first = p->groups->len;
    for (guint m = 0; m < p->n_members && slot_groups[slot] >= 0; m++) {
        guint n, rank = p->members[(gsize)i * p->n_members + m];
        guint leader = plan_group_leader(p->b->plan, (PlanGroup)slot_groups[slot], rank, &n);
        guint32 group = intern_group(p, known, leader * SIM_SLOTS + slot);
        gboolean met = FALSE;
        for (guint k = first; k < p->groups->len && !met; k++)
            met = g_array_index(p->groups, guint32, k) == group;
        if (!met)
            g_array_append_val(p->groups, group);
    }
}

static void
find_groups(StepPacing *p)
{
    g_autoptr(GHashTable) known = g_hash_table_new(NULL, NULL);
    p->first_group = g_new(guint32, (gsize)p->n_ranks * SIM_SLOTS + 1);
    intern_group(p, known, G_MAXUINT32 - 1); /* group 0: all ranks */
    for (guint i = 0; i < p->n_ranks; i++)
        for (guint slot = 0; slot < SIM_SLOTS; slot++) {
            p->first_group[(gsize)i * SIM_SLOTS + slot] = p->groups->len;
            find_groups_of(p, known, i, slot);
        }
    p->first_group[(gsize)p->n_ranks * SIM_SLOTS] = p->groups->len;
}

StepPacing *
step_pacing_new(const StepBuild *b, const StepNoise *noise, gboolean lanes)
{
    StepPacing *p = g_new0(StepPacing, 1);
    p->b = b;
    p->noise = noise;
    p->n_ranks = b->ranks->len;
    p->spread = g_new(double, b->ops->len);
    p->host = g_new(guint8, b->ops->len);
    p->scalar = g_new(guint8, b->ops->len);
    for (guint tag = 0; tag < b->ops->len; tag++) {
        const StepOp *op = &g_array_index(b->ops, StepOp, tag);
        p->spread[tag] = op->spread > 0 ? op->spread : 1;
        p->host[tag] = op->kind == STEP_HOST;
        p->scalar[tag] = op->kind == STEP_OPTIMIZER;
    }
    p->group_names = g_array_new(FALSE, FALSE, sizeof(guint32));
    p->groups = g_array_new(FALSE, FALSE, sizeof(guint32));
    sim_normal_init(&p->normal);
    p->speeds = step_speeds(b);
    find_members(p, lanes);
    find_groups(p);
    return p;
}

void
step_pacing_free(StepPacing *p)
{
    if (p == NULL)
        return;
    g_free(p->members);
    g_free(p->spread);
    g_free(p->host);
    g_free(p->scalar);
    g_clear_pointer(&p->group_names, g_array_unref);
    g_clear_pointer(&p->groups, g_array_unref);
    g_free(p->first_group);
    g_free(p);
}

/* --- one sample's draws ---------------------------------------------------------------------------- */

/* Who it is for is below 2^32, and so is the sample. */
static SimRandom
stream_of(const StepPace *pace, const char *purpose, guint whom)
{
    return sim_random_init(pace->shared->noise->seed, purpose, (guint64)pace->sample << 32 | whom);
}

static double
slowness(const StepPace *pace, guint slot, gboolean of_gpu)
{
    const StepPacing *p = pace->shared;
    guint node = cluster_node_of(p->b->plan->system, slot);
    double times = 1;
    for (guint k = 0; k < p->noise->slow->len; k++) {
        const StepSlow *slow = &g_array_index(p->noise->slow, StepSlow, k);
        if ((slow->where.kind == STEP_WHERE_GPU && of_gpu && slow->where.index == slot) ||
            (slow->where.kind == STEP_WHERE_NODE && slow->where.index == node))
            times *= slow->times;
    }
    if (!of_gpu || p->noise->gpu_spread_frac <= 0)
        return times;
    SimRandom random = stream_of(pace, "gpu speed", slot);
    double z = sim_normal_draw(&p->normal, sim_random_bits(&random));
    return times / MAX(1 + p->noise->gpu_spread_frac * z, LEAST);
}

/* Where in its period a daemon strikes. */
static gint64
phase_of(const StepPace *pace, guint index, guint rank)
{
    const Plan *plan = pace->shared->b->plan;
    const StepDaemon *daemon = &g_array_index(pace->shared->noise->daemons, StepDaemon, index);
    guint slot = plan_slot(plan, rank);
    guint whom = daemon->victim == STEP_DAEMON_NODE   ? cluster_node_of(plan->system, slot)
                 : daemon->victim == STEP_DAEMON_RANK ? rank
                                                      : slot;
    g_autofree char *purpose = g_strdup_printf("daemon %u", index);
    SimRandom random = stream_of(pace, purpose, whom);
    return (gint64)(sim_random_uniform(&random) * (double)daemon->every_ns);
}

StepPace *
step_pace_new(const StepPacing *p, guint sample)
{
    StepPace *pace = g_new0(StepPace, 1);
    gsize n = (gsize)p->n_ranks * p->n_members;
    pace->shared = p;
    pace->sample = sample;
    pace->factor = g_new(double, n);
    pace->host_factor = g_new(double, n);
    pace->key = g_new(guint64, n);
    pace->group_key = g_new(guint64, p->group_names->len);
    pace->n_kernels = g_new0(guint32, p->n_ranks);
    pace->n_met = g_new0(guint32, p->group_names->len);
    pace->met_ns = g_new0(gint64, p->group_names->len);
    pace->slowest_met_ns = g_new0(gint64, p->group_names->len);
    pace->phase_ns = g_new(gint64, n * p->noise->daemons->len + 1);
    for (guint clock = 0; clock < 2; clock++) {
        pace->done_ns[clock] = g_new0(gint64, n);
        pace->slowest_ns[clock] = g_new0(gint64, p->n_ranks);
    }
    for (gsize k = 0; k < n; k++) {
        guint slot = plan_slot(p->b->plan, p->members[k]);
        SimRandom random = stream_of(pace, "kernel jitter", p->members[k]);
        pace->factor[k] = slowness(pace, slot, TRUE);
        pace->host_factor[k] = slowness(pace, slot, FALSE);
        pace->key[k] = sim_random_bits(&random);
        for (guint d = 0; d < p->noise->daemons->len; d++)
            pace->phase_ns[d * n + k] = phase_of(pace, d, p->members[k]);
    }
    for (guint k = 0; k < p->group_names->len; k++) {
        SimRandom random =
            stream_of(pace, "collective jitter", g_array_index(p->group_names, guint32, k));
        pace->group_key[k] = sim_random_bits(&random);
    }
    return pace;
}

void
step_pace_free(StepPace *pace)
{
    if (pace == NULL)
        return;
    g_free(pace->factor);
    g_free(pace->host_factor);
    g_free(pace->key);
    g_free(pace->group_key);
    g_free(pace->n_kernels);
    g_free(pace->n_met);
    g_free(pace->met_ns);
    g_free(pace->slowest_met_ns);
    g_free(pace->phase_ns);
    for (guint clock = 0; clock < 2; clock++) {
        g_free(pace->done_ns[clock]);
        g_free(pace->slowest_ns[clock]);
    }
    g_free(pace);
}

/* --- durations ---------------------------------------------------------------------------------------- */

/* units_round_up_ns of what is short enough for it to be done in line. */
static inline gint64
whole_ns(double ns)
{
    gint64 below = ns < 0x1p60 ? (gint64)ns : G_MAXINT64;
    return ns < 0x1p60 ? below + ((double)below < ns - 1e-6) : units_round_up_ns(ns);
}

/* Work of d ns that begins at a time, when a daemon takes T of every period P from a phase on: it waits for the end
 * of what it falls into, and then loses T for each whole P - T of work done before it ends. */
static gint64
under_daemon(const StepDaemon *daemon, gint64 phase_ns, gint64 start_ns, gint64 d_ns)
{
    gint64 into = (start_ns - phase_ns) % daemon->every_ns;
    if (into < 0)
        into += daemon->every_ns;
    gint64 wait = MAX(daemon->takes_ns - into, 0), done = MAX(into - daemon->takes_ns, 0);
    gint64 strikes = (done + d_ns - 1) / (daemon->every_ns - daemon->takes_ns);
    return wait + d_ns + strikes * daemon->takes_ns;
}

static gint64
under_daemons(const StepPace *pace, gboolean of_gpu, gsize member, gint64 start_ns, gint64 d_ns)
{
    const GArray *daemons = pace->shared->noise->daemons;
    gsize n = (gsize)pace->shared->n_ranks * pace->shared->n_members;
    for (guint k = 0; k < daemons->len && d_ns > 0; k++) {
        const StepDaemon *daemon = &g_array_index(daemons, StepDaemon, k);
        if ((daemon->victim == STEP_DAEMON_GPU) == of_gpu)
            d_ns = under_daemon(daemon, pace->phase_ns[k * n + member], start_ns, d_ns);
    }
    return d_ns;
}

static double
jittered(const StepPacing *p, guint64 key, guint64 number, double frac)
{
    double z = sim_normal_draw(&p->normal, sim_normal_bits(key, number));
    return MAX(1 + frac * z, LEAST);
}

/* How much later than the clocks say a lane begins something that follows at once on what was before on the slot, for
 * that took longer by sharing; -1: it waited for something. */
static gint64
shift_of(const StepPace *pace, guint i, guint slot, gint64 start_ns, gint64 slowest_ns)
{
    gboolean at_once = sim_engine_slot_end(pace->engine, i, slot) == start_ns;
    return at_once ? MAX(start_ns - slowest_ns, 0) : -1;
}

/* The members' clocks of kernels or of hosts, when the lane begins something at a time. */
static void
begin_together(StepPace *pace, guint clock, guint i, guint slot, gint64 start_ns)
{
    guint n = pace->shared->n_members;
    gint64 *done_ns = pace->done_ns[clock] + (gsize)i * n, shift_ns = -1;
    if (n > 1)
        shift_ns = shift_of(pace, i, slot, start_ns, pace->slowest_ns[clock][i]);
    for (guint k = 0; k < n && shift_ns != 0; k++)
        done_ns[k] = shift_ns > 0 ? done_ns[k] + shift_ns : start_ns;
}

/* All members do something that takes d_ns alone, each when it is done with what was before: kernels with jitter of
 * that share, or launches. */
static void
pass(StepPace *pace, guint clock, guint i, const double *factors, double frac, gint64 d_ns,
     gint64 *slowest_ns)
{
    const StepPacing *p = pace->shared;
    gsize first = (gsize)i * p->n_members;
    const double *factor = factors + first;
    const guint64 *key = pace->key + first;
    gint64 *done_ns = pace->done_ns[clock] + first, most_ns = *slowest_ns;
    guint64 number = frac > 0 ? pace->n_kernels[i]++ : 0;
    gboolean daemons = p->noise->daemons->len > 0;
    for (guint k = 0; k < p->n_members; k++) {
        double times = factor[k];
        if (frac > 0)
            times *= jittered(p, key[k], number, frac);
        gint64 ns = whole_ns((double)d_ns * times);
        if (daemons)
            ns = under_daemons(pace, clock == 0, first + k, done_ns[k], ns);
        done_ns[k] += ns;
        most_ns = MAX(most_ns, done_ns[k]);
    }
    *slowest_ns = most_ns;
}

static void
pass_kernel(StepPace *pace, guint i, guint32 tag, gint64 d_ns, gint64 *slowest_ns)
{
    const StepPacing *p = pace->shared;
    pass(pace, 0, i, pace->factor, p->noise->jitter_frac * p->spread[tag], d_ns, slowest_ns);
}

static gint64
host_ns(StepPace *pace, guint i, guint slot, gint64 start_ns, gint64 d_ns)
{
    gint64 slowest_ns = start_ns;
    begin_together(pace, 1, i, slot, start_ns);
    pass(pace, 1, i, pace->host_factor, 0, d_ns, &slowest_ns);
    pace->slowest_ns[1][i] = slowest_ns;
    return slowest_ns - start_ns;
}

/* Groups of a lane's members have clocks as the members have. */
static gint64
collective_ns(StepPace *pace, guint i, guint slot, guint32 tag, gint64 start_ns, gint64 d_ns)
{
    const StepPacing *p = pace->shared;
    const guint32 *range = &p->first_group[(gsize)i * SIM_SLOTS + slot];
    const guint32 *groups = (const guint32 *)(gconstpointer)p->groups->data + range[0];
    gboolean scalar = slot == STEP_SLOT_PP && p->scalar[tag];
    guint n = scalar ? 1 : range[1] - range[0];
    if (p->noise->jitter_frac <= 0)
        return d_ns;
    gint64 slowest_ns = start_ns, shift_ns = -1;
    if (n > 1)
        shift_ns = shift_of(pace, i, slot, start_ns, pace->slowest_met_ns[groups[0]]);
    for (guint k = 0; k < n; k++) {
        guint32 group = scalar ? 0 : groups[k], number = pace->n_met[group]++; /* 0: everybody */
        double times = jittered(p, pace->group_key[group], number, p->noise->jitter_frac);
        gint64 begin_ns = shift_ns >= 0 ? pace->met_ns[group] + shift_ns : start_ns;
        pace->met_ns[group] = begin_ns + whole_ns((double)d_ns * times);
        slowest_ns = MAX(slowest_ns, pace->met_ns[group]);
    }
    pace->slowest_met_ns[groups[0]] = slowest_ns;
    return slowest_ns - start_ns;
}

typedef struct {
    StepPace *pace;
    const StepOp *op;
    guint rank;
    gint64 slowest_ns; /* when the last member was done with the kernels so far */
} LaneChain;

static void
wait_until(LaneChain *l, gint64 when_ns)
{
    guint n = l->pace->shared->n_members;
    gint64 *done_ns = l->pace->done_ns[0] + (gsize)l->rank * n;
    for (guint k = 0; k < n; k++)
        done_ns[k] = MAX(done_ns[k], when_ns);
    l->slowest_ns = MAX(l->slowest_ns, when_ns);
}

/* A collective begins when the last member is there, a kernel on each member when its own is done. */
static gint64
begin_link(void *user, guint link, gint64 now_ns, gint64 over_ns)
{
    LaneChain *l = user;
    const StepLinkOfChain *at = step_chain_link(l->pace->shared->b, l->op, link);
    if (at->collective)
        return at->duration_ns == 0 ? 0
                                    : collective_ns(l->pace, l->rank, STEP_SLOT_TP, at->tag, now_ns,
                                                    at->duration_ns);
    wait_until(l, over_ns);
    if (at->duration_ns > 0)
        pass_kernel(l->pace, l->rank, at->tag, at->duration_ns, &l->slowest_ns);
    return l->slowest_ns - now_ns;
}

/* What slowed the lane's kernel slowed all members'. */
static void
end_link(void *user, guint link, gint64 start_ns G_GNUC_UNUSED, gint64 end_ns G_GNUC_UNUSED,
         gint64 late_ns)
{
    LaneChain *l = user;
    guint n = l->pace->shared->n_members;
    gint64 *done_ns = l->pace->done_ns[0] + (gsize)l->rank * n;
    if (late_ns == 0 || step_chain_link(l->pace->shared->b, l->op, link)->collective)
        return;
    for (guint k = 0; k < n; k++)
        done_ns[k] += late_ns;
    l->slowest_ns += late_ns;
}

static void
pass_chain(StepPace *pace, guint i, const StepOp *op, gint64 *slowest_ns)
{
    LaneChain lane = {pace, op, i, *slowest_ns};
    const StepChainRun run = {begin_link, end_link, &lane};
    gint64 end_ns = step_chain_run(pace->shared->b, op, &pace->shared->speeds, *slowest_ns, &run);
    if (end_ns > lane.slowest_ns) /* a collective that what is behind the chain waits for */
        wait_until(&lane, end_ns);
    *slowest_ns = end_ns;
}

static gint64
kernel_ns(StepPace *pace, guint i, guint32 tag, gint64 start_ns, gint64 d_ns)
{
    const StepOp *op = &g_array_index(pace->shared->b->ops, StepOp, tag);
    gint64 slowest_ns = start_ns;
    begin_together(pace, 0, i, STEP_SLOT_COMPUTE, start_ns);
    if (op->n_links > 0)
        pass_chain(pace, i, op, &slowest_ns);
    else
        pass_kernel(pace, i, tag, d_ns, &slowest_ns);
    pace->slowest_ns[0][i] = slowest_ns;
    return slowest_ns - start_ns;
}

StepWorkKind
step_work_kind(const StepPacing *p, guint slot, guint32 tag)
{
    if (slot == STEP_SLOT_HOST || (slot == STEP_SLOT_COMPUTE && p->host[tag]))
        return STEP_WORK_HOST;
    if (slot == STEP_SLOT_COMPUTE)
        return STEP_WORK_KERNEL;
    return slot_groups[slot] >= 0 ? STEP_WORK_COLLECTIVE : STEP_WORK_OTHER;
}

static gint64
duration_of(void *user, guint32 rank, guint slot, guint32 tag, guint call, gint64 start_ns,
            gint64 duration_ns)
{
    StepPace *pace = user;
    (void)call;
    switch (step_work_kind(pace->shared, slot, tag)) {
    case STEP_WORK_KERNEL:
        return kernel_ns(pace, rank, tag, start_ns, duration_ns);
    case STEP_WORK_HOST:
        return host_ns(pace, rank, slot, start_ns, duration_ns);
    case STEP_WORK_COLLECTIVE:
        return collective_ns(pace, rank, slot, tag, start_ns, duration_ns);
    case STEP_WORK_OTHER:
        break;
    }
    return duration_ns;
}

void
step_pace_attach(StepPace *pace, SimEngine *engine)
{
    const SimPace hook = {duration_of, pace};
    pace->engine = engine;
    sim_engine_set_pace(engine, &hook);
}
