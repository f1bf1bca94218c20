/* Samples on all cores: one build that all share, one engine each. */
#include "config.h"

#include "step/samples.h"

#include "step/blame.h"
#include "step/disturb.h"

#include <math.h>

const char *const step_cause_names[] = {"gpu", "jitter", "host", "link", "shared", NULL};

typedef struct {
    StepBuild *b;
    const StepNoise *noise;
    StepPacing *pacing;
    StepSamples *result;
    GMutex lock;           /* of all below, and of what engines are made from */
    StepSuspect *gpus;     /* [n_ranks * n_members] */
    StepSuspect *hosts;    /* [nodes] */
    GArray *links;         /* of StepSuspect */
    GError **errors;       /* [n] */
    GAsyncQueue *finished; /* one for each sample that is done */
} Sampling;

/* The build with what an engine writes down for itself. */
static StepBuild
build_for_engine(const StepBuild *b)
{
    StepBuild own = *b;
    own.links = NULL;
    own.fabric_links = g_array_new(FALSE, FALSE, sizeof(StepFabricLink));
    own.link_parts = g_array_new(FALSE, FALSE, sizeof(StepLinkPart));
    return own;
}

static void
build_clear(StepBuild *own)
{
    g_free(own->links);
    g_array_unref(own->fabric_links);
    g_array_unref(own->link_parts);
}

/* --- who cost what ------------------------------------------------------------------------------------ */

static gboolean
same_place(const StepWhere *x, const StepWhere *y)
{
    return x->kind == y->kind && x->index == y->index && x->nic == y->nic &&
           g_strcmp0(x->link, y->link) == 0;
}

static StepSuspect *
suspect_link(Sampling *s, const StepWhere *where)
{
    for (guint i = 0; i < s->links->len; i++)
        if (same_place(&g_array_index(s->links, StepSuspect, i).where, where))
            return &g_array_index(s->links, StepSuspect, i);
    StepSuspect suspect = {.where = *where};
    g_array_append_val(s->links, suspect);
    return &g_array_index(s->links, StepSuspect, s->links->len - 1);
}

static void
accuse(StepSuspect *suspect, gint64 cost_ns, StepSample *sample)
{
    suspect->cost_ns += cost_ns;
    if (cost_ns <= sample->worst_ns)
        return;
    sample->worst = suspect->where;
    sample->worst_ns = cost_ns;
}

/* Sums are of whole numbers, so the order of samples does not matter. */
static void
sum_up(Sampling *s, const StepBlame *blame, const GArray *faults, StepSample *sample)
{
    for (guint i = 0; i < blame->n_gpus; i++)
        if (blame->gpu_ns[i] != 0)
            accuse(&s->gpus[i], blame->gpu_ns[i], sample);
    for (guint i = 0; i < blame->n_nodes; i++)
        if (blame->host_ns[i] != 0)
            accuse(&s->hosts[i], blame->host_ns[i], sample);
    for (guint i = 0; i < blame->n_links; i++) {
        gint64 cost_ns = blame->link_ns[i];
        const StepFault *fault = &g_array_index(faults, StepFault, i);
        if (cost_ns != 0)
            accuse(suspect_link(s, &fault->where), cost_ns, sample);
    }
}

/* --- one sample --------------------------------------------------------------------------------------- */

static gboolean
simulate(Sampling *s, guint number, StepSample *sample, GError **error)
{
    StepBuild own = build_for_engine(s->b);
    g_autoptr(StepPace) pace = step_pace_new(s->pacing, number);
    g_autoptr(GArray) faults = step_faults_draw(s->pacing, number);
    g_mutex_lock(&s->lock);
    g_autoptr(SimEngine) engine = step_engine_new(&own);
    g_mutex_unlock(&s->lock);
    step_set_interference(&own, engine);
    step_pace_attach(pace, engine);
    gboolean ok = step_faults_attach(faults, s->pacing, &own, engine, error) &&
                  sim_engine_run(engine, step_name_call, s->b, error);
    if (ok) {
        StepBlame blame;
        sample->time_ns = step_iteration_ns(&own, engine);
        step_blame_init(&blame, s->pacing, faults->len);
        step_blame_path(&blame, pace, faults, engine);
        g_mutex_lock(&s->lock);
        s->result->ops += sim_engine_n_ops(engine);
        sum_up(s, &blame, faults, sample);
        g_mutex_unlock(&s->lock);
        for (guint k = 0; k < STEP_N_CAUSES; k++)
            sample->cause_ns[k] = blame.cause_ns[k];
        step_blame_clear(&blame);
    }
    build_clear(&own);
    return ok;
}

static void
run_sample(gpointer data, gpointer user)
{
    Sampling *s = user;
    guint number = GPOINTER_TO_UINT(data);
    StepSample *sample = &s->result->samples[number - 1];
    sample->worst.kind = STEP_N_WHERES;
    if (!simulate(s, number, sample, &s->errors[number - 1]))
        g_prefix_error(&s->errors[number - 1], "sample %u: ", number);
    g_async_queue_push(s->finished, data);
}

static void
run_all(Sampling *s, guint threads, void (*done)(void *user, guint n_done), void *user)
{
    guint n = s->result->n;
    threads = MIN(threads > 0 ? threads : g_get_num_processors(), n);
    GThreadPool *pool = g_thread_pool_new(run_sample, s, (gint)threads, TRUE, NULL);
    for (guint number = 1; number <= n; number++)
        g_thread_pool_push(pool, GUINT_TO_POINTER(number), NULL);
    for (guint i = 1; i <= n; i++) {
        g_async_queue_pop(s->finished);
        if (done)
            done(user, i);
    }
    g_thread_pool_free(pool, FALSE, TRUE);
}

/* --- all of them -------------------------------------------------------------------------------------- */

static gint
compare_times(gconstpointer a, gconstpointer b)
{
    gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return x < y ? -1 : x > y;
}

/* Most cost first, then by place. */
static gint
compare_suspects(gconstpointer a, gconstpointer b)
{
    const StepSuspect *x = a, *y = b;
    if (x->cost_ns != y->cost_ns)
        return x->cost_ns > y->cost_ns ? -1 : 1;
    if (x->where.kind != y->where.kind)
        return x->where.kind < y->where.kind ? -1 : 1;
    if (x->where.index != y->where.index)
        return x->where.index < y->where.index ? -1 : 1;
    return x->where.nic < y->where.nic ? -1 : x->where.nic > y->where.nic;
}

static void
keep_suspect(StepSamples *r, StepSuspect suspect)
{
    for (guint i = 0; i < r->n; i++)
        suspect.n_worst += same_place(&r->samples[i].worst, &suspect.where);
    g_array_append_val(r->suspects, suspect);
}

static void
finish(Sampling *s)
{
    StepSamples *r = s->result;
    for (guint i = 0; i < s->pacing->n_ranks * s->pacing->n_members; i++)
        if (s->gpus[i].cost_ns > 0)
            keep_suspect(r, s->gpus[i]);
    for (guint i = 0; i < s->b->plan->n_nodes; i++)
        if (s->hosts[i].cost_ns > 0)
            keep_suspect(r, s->hosts[i]);
    for (guint i = 0; i < s->links->len; i++)
        if (g_array_index(s->links, StepSuspect, i).cost_ns > 0)
            keep_suspect(r, g_array_index(s->links, StepSuspect, i));
    g_array_sort(r->suspects, compare_suspects);
    for (guint i = 0; i < r->n; i++)
        r->sorted_ns[i] = r->samples[i].time_ns;
    qsort(r->sorted_ns, r->n, sizeof *r->sorted_ns, compare_times);
}

static void
name_suspects(Sampling *s)
{
    const StepPacing *p = s->pacing;
    s->gpus = g_new0(StepSuspect, p->n_ranks * p->n_members);
    s->hosts = g_new0(StepSuspect, s->b->plan->n_nodes);
    for (guint i = 0; i < p->n_ranks * p->n_members; i++)
        s->gpus[i] = (StepSuspect){
            .where = {.kind = STEP_WHERE_GPU, .index = plan_slot(s->b->plan, p->members[i])},
            .rank = p->members[i]};
    for (guint i = 0; i < s->b->plan->n_nodes; i++)
        s->hosts[i].where = (StepWhere){.kind = STEP_WHERE_NODE, .index = i};
}

/* The first error by number, so that threads do not decide which. */
static gboolean
report_error(Sampling *s, GError **error)
{
    gboolean ok = TRUE;
    for (guint i = 0; i < s->result->n; i++) {
        if (s->errors[i] == NULL)
            continue;
        if (ok)
            g_propagate_error(error, g_steal_pointer(&s->errors[i]));
        g_clear_error(&s->errors[i]);
        ok = FALSE;
    }
    return ok;
}

static void
sampling_clear(Sampling *s)
{
    g_mutex_clear(&s->lock);
    step_pacing_free(s->pacing);
    g_free(s->gpus);
    g_free(s->hosts);
    g_array_unref(s->links);
    g_free(s->errors);
    g_async_queue_unref(s->finished);
}

static StepSamples *
samples_new(const StepBuild *b, const StepOptions *options, guint n)
{
    StepSamples *r = g_new0(StepSamples, 1);
    r->n = n;
    r->samples = g_new0(StepSample, n);
    r->sorted_ns = g_new0(gint64, n);
    r->suspects = g_array_new(FALSE, FALSE, sizeof(StepSuspect));
    r->ranks = (guint)b->plan->gpus;
    r->ranks_simulated = b->ranks->len;
    r->lanes = step_ranks_of(options) == STEP_RANKS_TP_LANES;
    r->fused = options->fused;
    return r;
}

StepSamples *
step_samples_run(const Plan *plan, const Schedule *schedule, const CostBook *cost,
                 const NetBook *net, const StepOptions *options, guint n, guint threads,
                 void (*done)(void *user, guint n_done), void *user, GError **error)
{
    g_assert(n > 0 && options->noise != NULL);
    StepOptions plain = {.convention = options->convention, .background = options->background};
    g_autoptr(StepResult) undisturbed = step_run(plan, schedule, cost, net, &plain, error);
    if (undisturbed == NULL || !step_noise_check(options->noise, plan, error))
        return NULL;
    StepBuild b;
    step_build_init(&b, plan, schedule, cost, net);
    step_build_as(&b, options);
    Sampling s = {.b = &b,
                  .noise = options->noise,
                  .links = g_array_new(FALSE, TRUE, sizeof(StepSuspect)),
                  .errors = g_new0(GError *, n),
                  .finished = g_async_queue_new()};
    g_mutex_init(&s.lock);
    s.result = samples_new(&b, options, n);
    s.result->undisturbed = g_steal_pointer(&undisturbed);
    s.pacing = step_pacing_new(&b, options->noise, s.result->lanes);
    name_suspects(&s);
    run_all(&s, threads, done, user);
    if (report_error(&s, error))
        finish(&s);
    else
        g_clear_pointer(&s.result, step_samples_free);
    sampling_clear(&s);
    step_build_clear(&b);
    return s.result;
}

void
step_samples_free(StepSamples *s)
{
    if (s == NULL)
        return;
    step_result_free(s->undisturbed);
    g_free(s->samples);
    g_free(s->sorted_ns);
    g_array_unref(s->suspects);
    g_free(s);
}

gint64
step_samples_quantile_ns(const StepSamples *s, double frac)
{
    guint rank = (guint)ceil(frac * s->n - 1e-9);
    return s->sorted_ns[CLAMP(rank, 1, s->n) - 1];
}

double
step_samples_mean_ns(const StepSamples *s)
{
    double sum = 0;
    for (guint i = 0; i < s->n; i++)
        sum += (double)s->sorted_ns[i];
    return sum / s->n;
}

double
step_samples_deviation_ns(const StepSamples *s)
{
    double mean = step_samples_mean_ns(s), sum = 0;
    for (guint i = 0; i < s->n; i++)
        sum += ((double)s->sorted_ns[i] - mean) * ((double)s->sorted_ns[i] - mean);
    return s->n > 1 ? sqrt(sum / (s->n - 1)) : 0;
}
