/* What would help a plan that takes too much memory: the changes that people try, each simulated alone, and two
 * together where none alone is enough. What the plan refuses, and what saves nothing, is left out. */
#include "config.h"

#include "cli/advice.h"

#include "cli/progress.h"
#include "report/advice.h"

#include <string.h>

#define G "%" G_GINT64_FORMAT
#define SAVES_LEAST 1000 /* a change counts that saves one part in so many of the peak */

/* A change: makes `spec` the changed one and says what was done and what to write; FALSE where the plan has it
 * already, or cannot have it. */
typedef struct {
    const Plan *plan;
    PlanSpec *spec;
    GString *what, *options;
} Change;

static gboolean
say(Change *c, const char *what, const char *options)
{
    g_string_assign(c->what, what);
    g_string_assign(c->options, options);
    return TRUE;
}

static gboolean
recompute_all(Change *c)
{
    const PlanSpec *now = &c->plan->spec;
    gboolean all = now->recompute == LLM_RECOMPUTE_FULL &&
                   now->recompute_method == PLAN_RECOMPUTE_UNIFORM &&
                   now->recompute_microbatches == 0;
    c->spec->recompute = LLM_RECOMPUTE_FULL;
    c->spec->recompute_method = PLAN_RECOMPUTE_UNIFORM;
    c->spec->recompute_layers = 1;
    c->spec->recompute_microbatches = 0;
    c->spec->recompute_stages = NULL;
    return !all && say(c, "full recompute",
                       now->recompute == LLM_RECOMPUTE_FULL
                           ? "--recompute full --recompute-method uniform --recompute-layers 1"
                           : "--recompute full");
}

static gboolean
recompute_module(Change *c, guint modules, const char *what)
{
    const PlanSpec *now = &c->plan->spec;
    guint had = now->recompute == LLM_RECOMPUTE_SELECTIVE ? now->recompute_modules : 0;
    if ((had & LLM_MODULE_SECOND_GEMM) != 0) /* goes with no other */
        had = 0;
    if (now->recompute == LLM_RECOMPUTE_FULL || (had | modules) == had)
        return FALSE;
    c->spec->recompute = LLM_RECOMPUTE_SELECTIVE;
    c->spec->recompute_modules = had | modules;
    g_autofree char *names = plan_modules_print(had | modules);
    g_string_printf(c->what, "selective recompute of %s", what);
    g_string_printf(c->options, "--recompute selective --recompute-modules %s", names);
    return TRUE;
}

static gboolean
recompute_attention(Change *c)
{
    return recompute_module(c, LLM_MODULE_CORE_ATTENTION, "attention");
}

static gboolean
recompute_cheap(Change *c)
{
    guint cheap = LLM_MODULE_NORM | LLM_MODULE_ACTIVATION;
    return recompute_module(c, cheap, "norms and activation functions");
}

static gboolean
recompute_mlp(Change *c)
{
    return recompute_module(c, LLM_MODULE_MLP, "the MLP");
}

static gboolean
recompute_experts(Change *c)
{
    return c->plan->shape->experts > 0 && recompute_module(c, LLM_MODULE_MOE, "the experts");
}

static gboolean
recompute_expert_activation(Change *c)
{
    return c->plan->shape->experts > 0 &&
           recompute_module(c, LLM_MODULE_MOE_ACTIVATION | LLM_MODULE_NORM,
                            "norms and the experts' activation");
}

static gboolean
recompute_latent(Change *c)
{
    return c->plan->shape->kv_lora > 0 &&
           recompute_module(c, LLM_MODULE_MLA_UP, "the latent projections");
}

static gboolean
flash(Change *c)
{
    c->spec->attention = LLM_ATTENTION_FLASH;
    return c->plan->spec.attention != LLM_ATTENTION_FLASH &&
           say(c, "flash attention", "--attention flash");
}

static gboolean
sequence_parallel(Change *c)
{
    c->spec->sequence_parallel = TRUE;
    return c->plan->spec.tp > 1 && !c->plan->spec.sequence_parallel &&
           say(c, "sequence parallelism", "--sequence-parallel");
}

static gboolean
more_zero(Change *c, gint64 zero)
{
    static const char *const shards[] = {"", "optimizer states", "gradients", "parameters"};
    if (zero > 3 || zero <= c->plan->spec.zero)
        return FALSE;
    c->spec->zero = zero;
    g_string_printf(c->what, "ZeRO stage " G " (sharded %s)", zero, shards[zero]);
    g_string_printf(c->options, "--zero " G, zero);
    return TRUE;
}

static gboolean
next_zero(Change *c)
{
    return more_zero(c, c->plan->spec.zero + 1);
}

/* People go to it from any stage. */
static gboolean
last_zero(Change *c)
{
    return c->plan->spec.zero < 2 && more_zero(c, 3);
}

static gboolean
reshard(Change *c)
{
    c->spec->reshard_after_forward = TRUE;
    return c->plan->spec.zero == 3 && !c->plan->spec.reshard_after_forward &&
           say(c, "dropping gathered parameters after the forward", "--reshard-after-forward");
}

static gboolean
smaller_microbatch(Change *c)
{
    gint64 now = c->plan->spec.micro_batch, smaller = now / 2;
    while (smaller > 0 && now % smaller != 0)
        smaller--;
    if (smaller < 1)
        return FALSE;
    c->spec->micro_batch = smaller;
    g_string_printf(c->what, "a microbatch of " G, smaller);
    g_string_printf(c->options, "--micro-batch-size " G, smaller);
    return TRUE;
}

static gboolean
offload_optimizer(Change *c)
{
    if (c->plan->spec.optimizer_device != PLAN_DEVICE_GPU)
        return FALSE;
    c->spec->optimizer_device = PLAN_DEVICE_CPU;
    if (plan_runs_pytorch(c->spec)) {
        c->spec->parameter_device = PLAN_DEVICE_CPU;
        return say(c, "parameters and optimizer on the host", "--offload-params cpu");
    }
    return say(c, "the optimizer on the host", "--offload-optimizer cpu");
}

static gboolean
offload_activations(Change *c)
{
    gint64 most = 0;
    for (gint64 s = 0; s < c->plan->n_stages; s++)
        most = MAX(most, c->plan->layers[s]);
    if (c->plan->spec.offload_activations >= most)
        return FALSE;
    c->spec->offload_activations = most;
    g_string_assign(c->what, "activations on the host");
    g_string_printf(c->options, "--offload-activations " G, most);
    return TRUE;
}

static gboolean
fused_loss(Change *c)
{
    c->spec->fused_loss = TRUE;
    return !c->plan->spec.fused_loss && say(c, "a fused loss", "--fused-loss");
}

/* A degree doubled; dp follows from the GPUs. */
static gboolean
larger(Change *c, const char *name, const char *option, gint64 now, gint64 *degree)
{
    *degree = 2 * now;
    g_string_printf(c->what, "%s " G " instead of " G, name, 2 * now, now);
    g_string_printf(c->options, "--%s " G, option, 2 * now);
    return TRUE;
}

static gboolean
larger_tp(Change *c)
{
    return larger(c, "tp", "tp", c->plan->spec.tp, &c->spec->tp);
}

/* As wide as a node, where that is more than twice. */
static gboolean
widest_tp(Change *c)
{
    gint64 now = c->plan->spec.tp, node = MIN(c->plan->system->gpus_per_node, c->plan->gpus);
    if (2 * now >= node)
        return FALSE;
    c->spec->tp = node;
    g_string_printf(c->what, "tp " G " instead of " G, node, now);
    g_string_printf(c->options, "--tp " G, node);
    return TRUE;
}

static gboolean
larger_pp(Change *c)
{
    return larger(c, "pp", "pp", c->plan->spec.pp, &c->spec->pp);
}

static gboolean
larger_cp(Change *c)
{
    return larger(c, "cp", "cp", c->plan->spec.cp, &c->spec->cp);
}

static gboolean
larger_ep(Change *c)
{
    return c->plan->shape->experts > 0 && larger(c, "ep", "ep", c->plan->spec.ep, &c->spec->ep);
}

/* Changes of one aspect exclude each other. */
typedef enum { RECOMPUTE, ATTENTION, SHARDING, BATCH, HOST, LOSS, TENSOR, PIPELINE, REST } Aspect;

static const struct {
    gboolean (*apply)(Change *c);
    Aspect aspect;
} changes[] = {
    {recompute_all, RECOMPUTE},
    {recompute_attention, RECOMPUTE},
    {recompute_cheap, RECOMPUTE},
    {recompute_mlp, RECOMPUTE},
    {recompute_experts, RECOMPUTE},
    {recompute_expert_activation, RECOMPUTE},
    {recompute_latent, RECOMPUTE},
    {flash, ATTENTION},
    {sequence_parallel, TENSOR},
    {next_zero, SHARDING},
    {last_zero, SHARDING},
    {reshard, SHARDING},
    {smaller_microbatch, BATCH},
    {offload_optimizer, HOST},
    {offload_activations, HOST},
    {fused_loss, LOSS},
    {larger_tp, TENSOR},
    {widest_tp, TENSOR},
    {larger_pp, PIPELINE},
    {larger_cp, REST},
    {larger_ep, REST},
};

/* Two together are tried of so many that save most alone. */
enum { MOST_TOGETHER = 6, MOST_PAIRS_SHOWN = 3 };

/* What was asked for, with GPUs and global batch as they turned out, so that these stay. */
static gboolean
base_spec(const CliScenario *s, PlanSpec *ret_spec)
{
    const PlanSpec *now = &s->cased->plan->spec;
    if (!cli_inputs_spec(s->in, s->machine->system, ret_spec, NULL))
        return FALSE;
    ret_spec->gpus = s->cased->plan->gpus;
    ret_spec->dp = 0;
    ret_spec->global_batch = now->global_batch;
    ret_spec->microbatches = 0;
    return TRUE;
}

/* NULL: the plan cannot be. */
static StepResult *
simulate(const CliScenario *s, const PlanSpec *spec, const StepOptions *options)
{
    g_autoptr(CliCase) c = cli_case_new(s->machine, s->shape, spec, s->in->placement, NULL);
    return c != NULL ? cli_case_run(c, options, NULL) : NULL;
}

/* One change, or two together; FALSE where they cannot be, or save nothing. The caller owns the texts. */
static gboolean
try(const CliScenario *s, const StepOptions *options, const guint *which, guint n,
    ReportAdvice *ret)
{
    PlanSpec spec;
    if (!base_spec(s, &spec))
        return FALSE;
    g_autoptr(GString) what = g_string_new(NULL);
    g_autoptr(GString) words = g_string_new(NULL);
    for (guint i = 0; i < n; i++) {
        g_autoptr(GString) one = g_string_new(NULL);
        g_autoptr(GString) option = g_string_new(NULL);
        Change change = {s->cased->plan, &spec, one, option};
        if (!changes[which[i]].apply(&change))
            return FALSE;
        g_string_append_printf(what, "%s%s", i > 0 ? ", with " : "", one->str);
        g_string_append_printf(words, "%s%s", i > 0 ? " " : "", option->str);
    }
    g_autoptr(StepResult) r = simulate(s, &spec, options);
    if (r == NULL)
        return FALSE;
    gint64 saves = s->result->memory_peak_bytes - r->memory_peak_bytes;
    if (saves <= s->result->memory_peak_bytes / SAVES_LEAST)
        return FALSE;
    *ret = (ReportAdvice){.what = g_strdup(what->str),
                          .options = g_strdup(words->str),
                          .saves_bytes = saves,
                          .peak_bytes = r->memory_peak_bytes,
                          .cost_frac = (double)r->time_ns / (double)s->result->time_ns - 1,
                          .verdict = r->verdict,
                          .host_bytes = r->host_bytes,
                          .n_changes = n};
    return TRUE;
}

/* What a change that helps is, and what it saves. */
typedef struct {
    guint change;
    gint64 saves_bytes;
} Helps;

static gint
by_saving(gconstpointer x, gconstpointer y)
{
    const Helps *a = x, *b = y;
    if (a->saves_bytes != b->saves_bytes)
        return a->saves_bytes > b->saves_bytes ? -1 : 1;
    return a->change < b->change ? -1 : a->change > b->change;
}

static gboolean
has_room(const CliScenario *s, const ReportAdvice *a)
{
    return a->verdict == STEP_FITS &&
           (s->result->host_limit_bytes <= 0 || a->host_bytes <= s->result->host_limit_bytes);
}

/* Two together, where none alone is enough: the cheapest that fit. */
static void
add_pairs(const CliScenario *s, const StepOptions *options, GArray *helping, GArray *advice)
{
    g_array_sort(helping, by_saving);
    guint n = MIN(helping->len, MOST_TOGETHER), alone = advice->len, done = 0;
    CliProgress progress = cli_progress_start("pair of changes", MAX(n * (n - 1) / 2, 1));
    for (guint i = 0; i < n; i++)
        for (guint k = i + 1; k < n; k++) {
            guint which[2] = {g_array_index(helping, Helps, i).change,
                              g_array_index(helping, Helps, k).change};
            ReportAdvice a;
            cli_progress_at(&progress, done++);
            if (changes[which[0]].aspect == changes[which[1]].aspect ||
                !try(s, options, which, 2, &a))
                continue;
            if (has_room(s, &a))
                g_array_append_val(advice, a);
            else
                report_advice_clear(&a);
        }
    cli_progress_end(&progress);
    report_advice_sort(advice);
    if (advice->len > alone + MOST_PAIRS_SHOWN)
        g_array_set_size(advice, alone + MOST_PAIRS_SHOWN);
}

GArray *
cli_advice_new(const CliScenario *s, const StepOptions *options)
{
    GArray *advice = g_array_new(FALSE, FALSE, sizeof(ReportAdvice));
    g_array_set_clear_func(advice, report_advice_clear);
    g_autoptr(GArray) helping = g_array_new(FALSE, FALSE, sizeof(Helps));
    gboolean enough = s->result->verdict == STEP_FITS;
    StepOptions plain = {.all_ranks = options->all_ranks, .convention = options->convention};
    CliProgress progress = cli_progress_start("change", G_N_ELEMENTS(changes));
    for (guint i = 0; i < G_N_ELEMENTS(changes); i++) {
        cli_progress_at(&progress, i);
        ReportAdvice a;
        if (!try(s, &plain, &i, 1, &a))
            continue;
        Helps helps = {i, a.saves_bytes};
        enough = enough || has_room(s, &a);
        g_array_append_val(advice, a);
        g_array_append_val(helping, helps);
    }
    cli_progress_end(&progress);
    if (enough)
        report_advice_sort(advice);
    else
        add_pairs(s, &plain, helping, advice);
    return advice;
}
