/* Durations under noise.
 *
 * A draw is the n-th word of a stream that is named by its purpose, the seed, the sample, and the rank (for its n-th
 * kernel) or the group (for its n-th meeting on a stream).  So a rank draws the same whether it is simulated itself
 * or within a lane.
 *
 * Lanes.  A simulated rank may stand for its tensor-parallel group of t ranks, which go in lock step: what lies
 * between two of its collectives takes the longest of what it takes each of the t.  With runs of kernels as one op
 * (step/segment.c) that is exact as long as each run lies between two collectives of the group, or between such a one
 * and a wait that all t share.  It is an upper bound, by less than the spread of one run, where the group does not
 * meet in between: launches and the kernels behind them where the host is late, and gradients, optimizer and
 * gathers at the iteration's end, whose groups over data-parallel ranks wait for the slowest of t each. */
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
    pace->phase_ns = g_new(gint64, n * p->noise->daemons->len + 1);
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
    g_free(pace->phase_ns);
    g_free(pace);
}

/* --- durations ---------------------------------------------------------------------------------------- */

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

static gint64
kernel_ns(StepPace *pace, guint i, guint32 tag, gint64 start_ns, gint64 d_ns)
{
    const StepPacing *p = pace->shared;
    gsize first = (gsize)i * p->n_members;
    double frac = p->noise->jitter_frac * p->spread[tag], most = 0;
    guint32 number = pace->n_kernels[i]++;
    gint64 most_ns = 0;
    gboolean daemons = p->noise->daemons->len > 0;
    for (gsize k = first; k < first + p->n_members; k++) {
        double times = pace->factor[k];
        if (frac > 0)
            times *= jittered(p, pace->key[k], number, frac);
        most = MAX(most, times);
        if (!daemons)
            continue;
        gint64 ns = units_round_up_ns((double)d_ns * times);
        most_ns = MAX(most_ns, under_daemons(pace, TRUE, k, start_ns, ns));
    }
    return daemons ? most_ns : units_round_up_ns((double)d_ns * most);
}

static gint64
host_ns(const StepPace *pace, guint i, gint64 start_ns, gint64 d_ns)
{
    guint n = pace->shared->n_members;
    gint64 most_ns = 0;
    for (gsize k = (gsize)i * n; k < (gsize)(i + 1) * n; k++) {
        gint64 ns = units_round_up_ns((double)d_ns * pace->host_factor[k]);
        most_ns = MAX(most_ns, under_daemons(pace, FALSE, k, start_ns, ns));
    }
    return most_ns;
}

static gint64
collective_ns(StepPace *pace, guint i, guint slot, guint32 tag, gint64 d_ns)
{
    const StepPacing *p = pace->shared;
    double most = 0;
    if (p->noise->jitter_frac <= 0)
        return d_ns;
    if (slot == STEP_SLOT_PP && p->scalar[tag]) {
        most = jittered(p, pace->group_key[0], pace->n_met[0]++, p->noise->jitter_frac);
        return units_round_up_ns((double)d_ns * most);
    }
    const guint32 *range = &p->first_group[(gsize)i * SIM_SLOTS + slot];
    for (guint k = range[0]; k < range[1]; k++) {
        guint32 group = g_array_index(p->groups, guint32, k);
        guint32 number = pace->n_met[group]++;
        most = MAX(most, jittered(p, pace->group_key[group], number, p->noise->jitter_frac));
    }
    return units_round_up_ns((double)d_ns * most);
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
        return host_ns(pace, rank, start_ns, duration_ns);
    case STEP_WORK_COLLECTIVE:
        return collective_ns(pace, rank, slot, tag, duration_ns);
    case STEP_WORK_OTHER:
        break;
    }
    return duration_ns;
}

void
step_pace_attach(StepPace *pace, SimEngine *engine)
{
    const SimPace hook = {duration_of, pace};
    sim_engine_set_pace(engine, &hook);
}
