/* Memory of each pipeline rank as the simulation runs: what is there for the whole iteration, and what its ops
 * allocate when they start and free when they end, summed in the order of time.
 *
 * Memory is a function of time that changes at instants: all changes of one instant are one, so what is freed
 * and allocated at the same time is never counted twice, and the order of events at one instant does not matter.
 * The peak is the largest sum of all kinds, and each kind's bytes when the sum first was that large. */
#include "config.h"

#include <math.h>

#include "step/build.h"

const char *const step_memory_names[] = {"parameters", "gradients", "optimizer", "activations",
                                         "logits",     "gathered",  "workspace", "communication",
                                         "fixed",      NULL};
const char *const step_verdict_names[] = {"fits", "may_fit", "does_not_fit", NULL};

typedef struct {
    gint64 when_ns;
    guint32 effect;
    guint32 ends; /* of the op: its frees; else what it allocates */
} Change;

/* Changes of the first column of ranks, which the result reports: a list in the order of time for each stream,
 * because the ops of a stream follow each other. */
struct StepMemoryLog {
    const StepBuild *b;
    guint n_ranks;
    GArray **changes; /* of Change, [n_ranks * STEP_N_SLOTS]; NULL while there are none */
};

StepMemoryLog *
step_memory_log_new(const StepBuild *b)
{
    StepMemoryLog *log = g_new0(StepMemoryLog, 1);
    log->b = b;
    log->n_ranks = (guint)b->plan->spec.pp;
    log->changes = g_new0(GArray *, (gsize)log->n_ranks * STEP_N_SLOTS);
    return log;
}

void
step_memory_log_free(StepMemoryLog *log)
{
    if (log == NULL)
        return;
    for (guint i = 0; i < log->n_ranks * STEP_N_SLOTS; i++)
        g_clear_pointer(&log->changes[i], g_array_unref);
    g_free(log->changes);
    g_free(log);
}

static gboolean
is_nothing(const gint64 bytes[STEP_N_MEMORY])
{
    for (guint k = 0; k < STEP_N_MEMORY; k++)
        if (bytes[k] != 0)
            return FALSE;
    return TRUE;
}

void
step_memory_log_op(StepMemoryLog *log, guint32 rank, guint slot, guint32 tag, gint64 start_ns,
                   gint64 end_ns)
{
    guint effect = g_array_index(log->b->ops, StepOp, tag).effect;
    if (effect == 0 || rank >= log->n_ranks)
        return;
    GArray **list = &log->changes[rank * STEP_N_SLOTS + slot];
    if (*list == NULL)
        *list = g_array_new(FALSE, FALSE, sizeof(Change));
    const StepEffect *e = &g_array_index(log->b->effects, StepEffect, effect);
    Change starts = {start_ns, effect, FALSE}, ends = {end_ns, effect, TRUE};
    if (!is_nothing(e->start))
        g_array_append_val(*list, starts);
    if (!is_nothing(e->end))
        g_array_append_val(*list, ends);
}

/* Where one rank's memory is. */
typedef struct {
    guint rank;
    guint at[STEP_N_SLOTS]; /* next change of each stream */
    gint64 live[STEP_N_MEMORY];
} Cursor;

static const Change *
next_change(const StepMemoryLog *log, const Cursor *c, guint slot)
{
    const GArray *list = log->changes[c->rank * STEP_N_SLOTS + slot];
    return list != NULL && c->at[slot] < list->len ? &g_array_index(list, Change, c->at[slot])
                                                   : NULL;
}

/* Time of the next changes; G_MAXINT64: there are none. */
static gint64
next_ns(const StepMemoryLog *log, const Cursor *c)
{
    gint64 when_ns = G_MAXINT64;
    for (guint slot = 0; slot < STEP_N_SLOTS; slot++) {
        const Change *change = next_change(log, c, slot);
        if (change != NULL)
            when_ns = MIN(when_ns, change->when_ns);
    }
    return when_ns;
}

/* Makes all changes of an instant; returns the sum of all kinds after it. */
static gint64
pass_instant(const StepMemoryLog *log, Cursor *c, gint64 when_ns)
{
    const Change *change;
    gint64 sum = 0;
    for (guint slot = 0; slot < STEP_N_SLOTS; slot++)
        while ((change = next_change(log, c, slot)) != NULL && change->when_ns == when_ns) {
            const StepEffect *e = &g_array_index(log->b->effects, StepEffect, change->effect);
            for (guint k = 0; k < STEP_N_MEMORY; k++)
                c->live[k] += change->ends ? e->end[k] : e->start[k];
            c->at[slot]++;
        }
    for (guint k = 0; k < STEP_N_MEMORY; k++) {
        g_assert(c->live[k] >= 0);
        sum += c->live[k];
    }
    return sum;
}

static Cursor
cursor_at_start(const StepStage *stage, guint rank)
{
    return (Cursor){.rank = rank,
                    .live = {
                        [STEP_MEMORY_PARAMETERS] = stage->fixed.parameters_bytes,
                        [STEP_MEMORY_GRADIENTS] = stage->fixed.gradients_bytes,
                        [STEP_MEMORY_OPTIMIZER] = stage->fixed.optimizer_bytes,
                        [STEP_MEMORY_COMMUNICATION] = stage->fixed.communication_bytes,
                        [STEP_MEMORY_FIXED] = stage->fixed.fixed_bytes,
                    }};
}

static void
keep_peak(StepStage *stage, const Cursor *c, gint64 sum, gint64 when_ns)
{
    stage->peak_bytes = sum;
    stage->peak_ns = when_ns;
    for (guint k = 0; k < STEP_N_MEMORY; k++)
        stage->peak[k] = c->live[k];
}

static void
find_peak(const StepMemoryLog *log, StepStage *stage)
{
    Cursor c = cursor_at_start(stage, (guint)stage->pp_rank);
    const Cursor start = c;
    gint64 sum = 0, when_ns;
    for (guint k = 0; k < STEP_N_MEMORY; k++)
        sum += c.live[k];
    keep_peak(stage, &c, sum, 0);
    while ((when_ns = next_ns(log, &c)) != G_MAXINT64) {
        sum = pass_instant(log, &c, when_ns);
        if (sum > stage->peak_bytes)
            keep_peak(stage, &c, sum, when_ns);
    }
    for (guint k = 0; k < STEP_N_MEMORY; k++) /* the next iteration starts as this one did */
        g_assert(c.live[k] == start.live[k]);
    stage->activations_bytes = stage->peak[STEP_MEMORY_ACTIVATIONS];
    stage->logits_bytes = stage->peak[STEP_MEMORY_LOGITS];
}

/* All ranks in the order of time; at one instant in that of ranks. */
static void
tell(const StepMemoryLog *log, const StepResult *r, const StepOptions *options)
{
    g_autofree Cursor *cursors = g_new(Cursor, log->n_ranks);
    for (guint i = 0; i < log->n_ranks; i++) {
        cursors[i] = cursor_at_start(&g_array_index(r->stages, StepStage, i), i);
        pass_instant(log, &cursors[i], 0);
        options->memory(options->memory_user, g_array_index(log->b->ranks, StepRank, i).rank, i, 0,
                        cursors[i].live);
    }
    for (;;) {
        gint64 when_ns = G_MAXINT64;
        for (guint i = 0; i < log->n_ranks; i++)
            when_ns = MIN(when_ns, next_ns(log, &cursors[i]));
        if (when_ns == G_MAXINT64)
            return;
        for (guint i = 0; i < log->n_ranks; i++) {
            if (next_ns(log, &cursors[i]) != when_ns)
                continue;
            pass_instant(log, &cursors[i], when_ns);
            options->memory(options->memory_user, g_array_index(log->b->ranks, StepRank, i).rank, i,
                            when_ns, cursors[i].live);
        }
    }
}

/* Most microbatches of a rank's chunks that have begun and not ended. */
static guint
most_in_flight(const GArray *tokens)
{
    guint now = 0, most = 0;
    for (guint i = 0; i < tokens->len; i++) {
        guint8 kind = g_array_index(tokens, ScheduleToken, i).kind;
        now += kind == SCHEDULE_F;
        now -= kind == SCHEDULE_B || kind == SCHEDULE_W;
        most = MAX(most, now);
    }
    return most;
}

/* Of the weights, that an asynchronous schedule keeps. */
static guint
weight_versions(const StepBuild *b, guint pp_rank)
{
    const ScheduleType *type =
        b->schedule->asynchronous ? schedule_find(b->schedule->name, NULL) : NULL;
    return type ? type->weight_versions(&b->schedule->params, pp_rank) : 1;
}

static gint64
static_bytes(const PlanStaticMemory *fixed)
{
    return fixed->parameters_bytes + fixed->gradients_bytes + fixed->optimizer_bytes +
           fixed->communication_bytes + fixed->fixed_bytes;
}

static void
fill_stage(StepBuild *b, StepStage *stage)
{
    stage->peak_microbatches = most_in_flight(b->schedule->ranks[stage->pp_rank]);
    g_autoptr(GArray) stages = step_stages_on(b->schedule, (guint)stage->pp_rank);
    const gint64 *held = (const gint64 *)(gpointer)stages->data;
    stage->fixed = plan_static_memory_of(b->plan, stage->pp_rank, held, stages->len,
                                         weight_versions(b, (guint)stage->pp_rank));
    for (guint i = 0; i < stages->len; i++)
        stage->parameters += plan_stage_parameters(b->plan, held[i]);
    find_peak(b->memory, stage);
    step_closed_form(b, stage, static_bytes(&stage->fixed));
}

/* The allocator loses of what comes and goes; tensors that stay are allocated once and leave no gaps, and the
 * context and its libraries do not come from it. */
static gint64
reserved_bytes(const Plan *plan, const StepStage *stage)
{
    static const StepMemory kinds[] = {STEP_MEMORY_ACTIVATIONS, STEP_MEMORY_LOGITS,
                                       STEP_MEMORY_GATHERED, STEP_MEMORY_WORKSPACE};
    gint64 moving = 0;
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
        moving += stage->peak[kinds[i]];
    return stage->peak_bytes + (gint64)ceil(MAX(plan->spec.fragmentation, 0.0) * (double)moving);
}

/* What the ranks of one host keep in its memory and on its drives, where that is most. */
static void
fill_hosts(const Plan *plan, StepResult *r)
{
    gint64 hosts = MAX(plan->system->hosts, 1), gpus = plan->system->gpus_per_node / hosts;
    r->host_limit_bytes = plan->system->host_memory_bytes / hosts;
    gsize n = (gsize)(plan->n_nodes * hosts);
    g_autofree gint64 *host = g_new0(gint64, n), *nvme = g_new0(gint64, n);
    for (guint rank = 0; rank < (guint)plan->gpus; rank++) {
        gint64 at = plan_slot(plan, rank) / gpus;
        gint64 pp_rank = plan_place(plan, rank).pp;
        const PlanStaticMemory *fixed = &g_array_index(r->stages, StepStage, pp_rank).fixed;
        host[at] += fixed->host_bytes;
        nvme[at] += fixed->nvme_bytes;
        r->host_bytes = MAX(r->host_bytes, host[at]);
        r->nvme_bytes = MAX(r->nvme_bytes, nvme[at]);
    }
}

static StepVerdict
verdict_of(const StepResult *r)
{
    StepVerdict verdict = STEP_FITS;
    for (guint i = 0; i < r->stages->len; i++) {
        const StepStage *stage = &g_array_index(r->stages, StepStage, i);
        if (stage->peak_bytes > r->memory_limit_bytes)
            return STEP_DOES_NOT_FIT;
        if (stage->reserved_bytes > r->memory_limit_bytes)
            verdict = STEP_MAY_FIT;
    }
    gboolean too_much = r->host_limit_bytes > 0 && r->host_bytes > r->host_limit_bytes;
    return too_much ? STEP_DOES_NOT_FIT : verdict;
}

void
step_memory(StepBuild *b, StepResult *r, const StepOptions *options)
{
    r->memory_limit_bytes = b->plan->system->memory_usable_bytes;
    for (guint i = 0; i < r->stages->len; i++) {
        StepStage *stage = &g_array_index(r->stages, StepStage, i);
        fill_stage(b, stage);
        stage->reserved_bytes = reserved_bytes(b->plan, stage);
        if (stage->peak_bytes > r->memory_peak_bytes) {
            r->memory_peak_bytes = stage->peak_bytes;
            r->memory_reserved_bytes = stage->reserved_bytes;
            r->memory_peak_stage = i;
        }
    }
    fill_hosts(b->plan, r);
    r->verdict = verdict_of(r);
    if (options->memory)
        tell(b->memory, r, options);
}
