/* Thousands of plans of small models: each runs and adds up, or is refused with a reason. */
#include "config.h"

#include "step-fixture.h"

#include <math.h>
#include <string.h>

#define PLANS 5000
#define SEED 20261129

typedef struct {
    guint32 state;
} Draw;

/* Numerical Recipes' generator; the upper bits. The same plans wherever the test runs. */
static guint
draw(Draw *d, guint n)
{
    d->state = d->state * 1664525u + 1013904223u;
    return (guint)(((guint64)d->state * n) >> 32);
}

static gboolean
one_in(Draw *d, guint n)
{
    return draw(d, n) == 0;
}

#define PICK(d, ...)                                                                               \
    (((const gint64[]){__VA_ARGS__})[draw(d, G_N_ELEMENTS(((const gint64[]){__VA_ARGS__})))])

/* --- drawing a plan: mostly what goes together, now and then what does not ----------------------- */

#define RARELY 25

static void
draw_degrees(Draw *d, PlanSpec *s, const LlmShape *shape)
{
    s->tp = PICK(d, 1, 1, 2, 4);
    s->pp = PICK(d, 1, 1, 2, 2, 4);
    s->dp = PICK(d, 1, 2, 2, 4, 8);
    s->cp = PICK(d, 1, 1, 1, 2, 4);
    s->vpp = s->pp > 1 ? PICK(d, 1, 1, 2) : 1;
    s->microbatches = PICK(d, 1, 2, 4, 8);
    s->micro_batch = PICK(d, 1, 1, 2);
    s->seq = PICK(d, 128, 256, 512);
    s->gpus = s->global_batch = 0;
    s->sequence_parallel = s->tp > 1 && (shape->experts > 0 || !one_in(d, 3));
    if (shape->experts > 0 || one_in(d, RARELY)) {
        s->ep = PICK(d, 1, 2, 4, 8);
        s->etp = PICK(d, 0, 0, 0, 1, 2);
        gint64 etp = MAX(s->etp, 1);
        while (s->ep > 1 && s->tp * s->cp * s->dp % (s->ep * etp) && !one_in(d, RARELY))
            s->ep /= 2;
    }
}

static void
draw_zero(Draw *d, PlanSpec *s)
{
    if (s->framework == PLAN_MEGATRON || s->framework == PLAN_NANOTRON)
        s->zero = PICK(d, 0, 1);
    else if (s->framework == PLAN_DEEPSPEED)
        s->zero = s->pp > 1 ? PICK(d, 0, 1) : PICK(d, 0, 1, 2, 3);
    if (one_in(d, RARELY))
        s->zero = PICK(d, 0, 1, 2, 3);
}

static void
draw_sharding(Draw *d, PlanSpec *s)
{
    draw_zero(d, s);
    if (s->zero > 0 && one_in(d, 4))
        s->shard_size = MIN(PICK(d, 1, 2, 4), s->dp);
    if (s->zero == 3 && one_in(d, 2))
        s->reshard_after_forward = one_in(d, 2);
    if ((s->zero >= 2 && one_in(d, 2)) || one_in(d, RARELY))
        s->reduce = (PlanReduce)draw(d, 2);
    if (one_in(d, RARELY))
        s->bucket = (PlanBucket)draw(d, 3);
    if (one_in(d, 4))
        s->unit_layers = PICK(d, 1, 2, 3);
    if (one_in(d, 4))
        s->prefetch_units = PICK(d, 0, 1, 2);
    if (s->framework == PLAN_DEEPSPEED && s->zero == 3) {
        s->prefetch_elements = PICK(d, 0, 1000, 500000);
        s->live_elements = PICK(d, 0, 1000, 2000000);
        s->resident_elements = PICK(d, 0, 1000, 100000);
    }
    if (one_in(d, 4))
        s->overlap_grad_reduce = one_in(d, 2);
    if (one_in(d, 4))
        s->overlap_param_gather = one_in(d, 2);
    if (one_in(d, 8))
        s->gradient_fp32 = one_in(d, 2);
    if (one_in(d, 8))
        s->bucket_elements = PICK(d, 10000, 1000000);
    if (one_in(d, 60))
        s->deepspeed_pipeline = TRUE;
}

static void
draw_compute(Draw *d, PlanSpec *s)
{
    if (one_in(d, 2))
        s->recompute = (LlmRecompute)draw(d, 3);
    if (s->recompute == LLM_RECOMPUTE_SELECTIVE && one_in(d, 2))
        s->recompute_modules = 1 + draw(d, LLM_MODULE_ALL);
    if (s->recompute == LLM_RECOMPUTE_FULL && one_in(d, 2)) {
        s->recompute_method = (PlanRecomputeMethod)draw(d, 3);
        s->recompute_layers = PICK(d, 0, 1, 2, 3);
        if (s->framework == PLAN_MEGATRON && one_in(d, 6))
            s->recompute_microbatches = PICK(d, 1, 2);
    }
    if (s->cp == 1 && one_in(d, 5))
        s->attention = LLM_ATTENTION_UNFUSED;
    if (one_in(d, 3))
        s->dtype = (ClusterDtype)draw(d, CLUSTER_N_DTYPES);
    s->fp8_gather = s->dtype == CLUSTER_FP8 && one_in(d, 3);
    s->fused_loss = one_in(d, 2);
    s->tp_overlap = s->sequence_parallel && s->framework == PLAN_MEGATRON && one_in(d, 4);
    if (one_in(d, 8))
        s->gradient_fusion = !s->gradient_fusion;
    if (one_in(d, 8))
        s->dropout = (int)draw(d, 3) - 1;
}

static void
draw_context(Draw *d, PlanSpec *s, const LlmShape *shape)
{
    if (s->cp > 1)
        s->cp_kind = shape->sliding_window > 0 ? LLM_CP_ALL_GATHER : (LlmCpKind)draw(d, 4);
    if (s->cp_kind == LLM_CP_A2A_P2P && s->cp == 4)
        s->cp_inner = 2;
    else if (s->cp_kind == LLM_CP_A2A_P2P)
        s->cp_kind = LLM_CP_P2P;
    if (one_in(d, 2 * RARELY))
        s->cp_inner = PICK(d, 1, 2, 4);
}

static void
draw_experts(Draw *d, PlanSpec *s, const LlmShape *shape)
{
    if (shape->experts == 0 && !one_in(d, 2 * RARELY))
        return;
    s->dispatch = s->ep > 1 ? (LlmDispatch)draw(d, 3) : LLM_DISPATCH_ALL_TO_ALL;
    if (s->dispatch == LLM_DISPATCH_ALL_TO_ALL && one_in(d, 3)) {
        s->capacity_factor = (double)PICK(d, 1, 2, 4) / 2;
        s->pad_to_capacity = one_in(d, 2);
    }
    if (one_in(d, 4)) {
        s->expert_imbalance = 0.1 * draw(d, 10);
        s->seed = (gint64)draw(d, 1000);
    } else if (shape->experts == 8 && one_in(d, 8)) {
        s->expert_histogram = "1,2,3,4,5,6,7,8";
    }
    s->overlap_shared =
        shape->shared_ffn > 0 && s->dispatch == LLM_DISPATCH_ALL_TO_ALL && one_in(d, 2);
    s->fp8_dispatch = s->dispatch != LLM_DISPATCH_ALL_GATHER && one_in(d, 3);
    s->overlap_moe = s->ep > 1 && s->vpp > 1 && one_in(d, 2);
    s->delay_wgrad = s->overlap_moe && one_in(d, 2);
}

static void
draw_optimizer(Draw *d, PlanSpec *s)
{
    if (one_in(d, 3))
        s->optimizer = (PlanOptimizer)draw(d, PLAN_N_OPTIMIZERS);
    if (s->optimizer == PLAN_ADAM && one_in(d, 4))
        s->moment_bytes = PICK(d, 1, 2, 4);
    if (s->optimizer == PLAN_ADAM && s->dtype == CLUSTER_BF16 && one_in(d, 8))
        s->master_remainder = TRUE;
    gboolean deepspeed = s->framework == PLAN_DEEPSPEED;
    if (s->zero >= 1 && s->framework != PLAN_NANOTRON && one_in(d, 4)) {
        s->optimizer_device = deepspeed && s->zero == 3 ? (PlanDevice)draw(d, 3) : PLAN_DEVICE_CPU;
        if (s->optimizer_device != PLAN_DEVICE_GPU && one_in(d, 2))
            s->offload_frac = 0.25 * (1 + draw(d, 4));
        if (s->zero == 3)
            s->parameter_device = deepspeed ? (PlanDevice)draw(d, 3) : PLAN_DEVICE_CPU;
    }
    if (one_in(d, 6))
        s->offload_activations = PICK(d, 1, 2, 8);
    s->overlap_offload = one_in(d, 2);
    if (one_in(d, 6))
        s->optimizer_barrier = (PlanBarrier)draw(d, 3);
    if (one_in(d, 8))
        s->clip = one_in(d, 2) ? 1.0 : 0.0;
    if (one_in(d, 8))
        s->fragmentation = 0.1;
}

static PlanSpec
draw_spec(Draw *d, const LlmShape *shape)
{
    PlanSpec s = plan_spec_for((PlanFramework)draw(d, PLAN_N_FRAMEWORKS));
    draw_degrees(d, &s, shape);
    draw_sharding(d, &s);
    draw_compute(d, &s);
    draw_context(d, &s, shape);
    draw_experts(d, &s, shape);
    draw_optimizer(d, &s);
    guint n = 0;
    while (schedule_types[n] != NULL)
        n++;
    const ScheduleType *type = one_in(d, 2) ? schedule_types[draw(d, n)] : NULL;
    if (type != NULL && (guint)s.vpp < type->min_vpp && s.pp > 1)
        s.vpp = (gint64)type->min_vpp;
    if (type != NULL && (guint)s.vpp > type->max_vpp)
        s.vpp = 1;
    s.schedule = type != NULL ? type->name : NULL;
    if (one_in(d, 12))
        s.p2p = (PlanP2p)draw(d, 6);
    return s;
}

/* --- what must hold ----------------------------------------------------------------------------- */

static double
list_flops(const LlmShape *shape, const LlmCut *cut, LlmPiece piece, LlmPass pass)
{
    g_autoptr(GArray) ops = llm_ops(shape, cut, piece, pass);
    double sum = 0;
    for (guint i = 0; i < ops->len; i++)
        sum += g_array_index(ops, LlmOp, i).flops;
    return sum;
}

/* One microbatch on one rank of each stage: forward, backward, and what is run again. */
static double
piece_flops(const Plan *plan, LlmPiece piece, LlmRecompute recompute)
{
    LlmCut cut = plan_cut_for(plan, recompute);
    return list_flops(plan->shape, &cut, piece, LLM_PASS_FORWARD) +
           list_flops(plan->shape, &cut, piece, LLM_PASS_BACKWARD) +
           list_flops(plan->shape, &cut, piece, LLM_PASS_RECOMPUTE);
}

/* All that all ranks run in the iteration's tokens. */
static double
closed_flops(const Plan *plan)
{
    const PlanSpec *s = &plan->spec;
    double sum = 0;
    for (gint64 stage = 0; stage < plan->n_stages; stage++) {
        for (gint64 i = 0; i < plan->layers[stage]; i++)
            sum += piece_flops(plan, plan_layer_piece(plan, stage, i),
                               plan_layer_recompute(plan, stage, i));
        if (plan_stage_has_embedding(plan, stage))
            sum += piece_flops(plan, LLM_PIECE_EMBEDDING, LLM_RECOMPUTE_NONE);
        if (plan_stage_has_head(plan, stage))
            sum += piece_flops(plan, LLM_PIECE_HEAD, LLM_RECOMPUTE_NONE);
        for (gint64 i = 0; i < plan_stage_mtp(plan, stage); i++)
            sum += piece_flops(plan, LLM_PIECE_MTP, s->recompute);
    }
    return sum * (double)(s->tp * s->cp * s->dp * s->microbatches);
}

static void
check_times(const StepResult *r)
{
    gint64 sum = 0;
    for (guint kind = 0; kind < STEP_N_KINDS; kind++) {
        g_assert_cmpint(r->breakdown_ns[kind], >=, 0);
        sum += r->breakdown_ns[kind];
    }
    g_assert_cmpint(r->time_ns, >, 0);
    g_assert_cmpint(sum, ==, r->time_ns);
    g_assert_cmpfloat_with_epsilon(r->time_why->value, 1e-9 * (double)r->time_ns, 1e-9);
    g_assert_cmpfloat_with_epsilon(r->share[0] + r->share[1] + r->share[2], 1.0, 1e-9);
    g_assert_cmpint(r->makespan_ns, <=, r->time_ns + r->makespan_ns / 1000000 + r->makespan_ns);
    g_assert_cmpfloat(r->bubble_fraction, >=, 0);
    g_assert_cmpfloat(r->bubble_fraction, <, 1);
}

static void
check_memory(const Plan *plan, const StepResult *r)
{
    gint64 peak = 0;
    for (guint i = 0; i < r->stages->len; i++) {
        const StepStage *s = &g_array_index(r->stages, StepStage, i);
        gint64 sum = 0;
        for (guint kind = 0; kind < STEP_N_MEMORY; kind++) {
            g_assert_cmpint(s->peak[kind], >=, 0);
            sum += s->peak[kind];
        }
        g_assert_cmpint(s->peak_bytes, >, 0);
        g_assert_cmpint(sum, ==, s->peak_bytes);
        g_assert_cmpint(s->peak_bytes, <=, s->closed_form_bytes);
        g_assert_cmpint(s->peak_bytes, >=, s->closed_form_bytes - s->closed_form_margin_bytes);
        g_assert_cmpint(s->parameters, >, 0);
        g_assert_cmpint(s->fixed.parameters_bytes, >=, 0);
        g_assert_cmpint(s->fixed.optimizer_bytes, >=, 0);
        g_assert_cmpint(s->fixed.host_bytes, >=, 0);
        g_assert_cmpint(s->fixed.nvme_bytes, >=, 0);
        g_assert_cmpint(s->peak[STEP_MEMORY_FIXED], ==, plan->system->fixed_memory_bytes);
        peak = MAX(peak, s->peak_bytes);
    }
    g_assert_cmpint(r->memory_peak_bytes, ==, peak);
}

/* No level falls below zero, all that a microbatch allocated is freed, and the peak is the largest seen. */
typedef struct {
    gint64 most, last_activations;
} Levels;

static void
watch_memory(void *user, guint rank, guint pp_rank, gint64 when_ns,
             const gint64 bytes[STEP_N_MEMORY])
{
    Levels *l = user;
    gint64 sum = 0;
    (void)rank, (void)pp_rank, (void)when_ns;
    for (guint kind = 0; kind < STEP_N_MEMORY; kind++) {
        g_assert_cmpint(bytes[kind], >=, 0);
        sum += bytes[kind];
    }
    l->most = MAX(l->most, sum);
}

static void
check_result(const Plan *plan, const Schedule *schedule, const StepResult *r, const Levels *levels)
{
    check_times(r);
    check_memory(plan, r);
    g_assert_cmpint(levels->most, >=, r->memory_peak_bytes);
    gint64 layers = 0;
    g_assert_cmpuint(r->stages->len, ==, (guint)plan->spec.pp);
    for (guint i = 0; i < r->stages->len; i++) {
        const StepStage *s = &g_array_index(r->stages, StepStage, i);
        layers += s->layers;
        g_assert_cmpint(s->busy_ns + s->idle_ns, ==, r->makespan_ns);
        g_assert_cmpint(s->busy_ns, >=, 0);
        g_assert_cmpint(s->sent_bytes, >=, 0);
        for (guint t = 0; s->traffic != NULL && t < s->traffic->len; t++) {
            const StepTraffic *traffic = &g_array_index(s->traffic, StepTraffic, t);
            g_assert_cmpuint(traffic->count, >, 0);
            g_assert_cmpuint(traffic->ranks, >, 1);
            g_assert_cmpfloat(traffic->bytes, >, 0);
            g_assert_cmpfloat(traffic->sent_bytes, <=, 2 * traffic->bytes);
        }
    }
    g_assert_cmpint(layers, ==, plan->shape->layers * schedule->n_replicas);
    if (plan->spec.recompute_microbatches == 0 && plan->spec.expert_imbalance <= 0)
        g_assert_cmpfloat_with_epsilon(r->hardware_flops / closed_flops(plan), 1.0, 1e-9);
    g_assert_cmpfloat(r->model_flops, >, 0);
}

/* --- the grid ----------------------------------------------------------------------------------- */

static LlmShape
shape_at(guint i)
{
    LlmShape (*const makers[])(void) = {shape_dense, shape_gpt, shape_moe, shape_latent,
                                        shape_window};
    return makers[i % G_N_ELEMENTS(makers)]();
}

static void
print_spec(guint i, const PlanSpec *s)
{
    g_printerr(
        "plan %u: %s tp %d pp %d dp %d cp %d ep %d etp %d vpp %d m %d b %d sp %d zero %d shard %d "
        "reshard %d reduce %d bucket %d recompute %d/%d/%d/%x dtype %s schedule %s cp_kind %d/%d "
        "dispatch %d optimizer %d devices %d %d %g act %d overlap_moe %d delay %d p2p %d\n",
        i, plan_framework_names[s->framework], (int)s->tp, (int)s->pp, (int)s->dp, (int)s->cp,
        (int)s->ep, (int)s->etp, (int)s->vpp, (int)s->microbatches, (int)s->micro_batch,
        s->sequence_parallel, (int)s->zero, (int)s->shard_size, s->reshard_after_forward, s->reduce,
        s->bucket, s->recompute, s->recompute_method, (int)s->recompute_layers,
        s->recompute_modules, cluster_dtype_name(s->dtype), s->schedule ? s->schedule : "-",
        s->cp_kind, (int)s->cp_inner, s->dispatch, s->optimizer, s->optimizer_device,
        s->parameter_device, s->offload_frac, (int)s->offload_activations, s->overlap_moe,
        s->delay_wgrad, s->p2p);
}

static void
test_grid(void)
{
    Machine m = machine_new("dgx-h100", NULL);
    Draw d = {SEED};
    guint ran = 0, of_framework[PLAN_N_FRAMEWORKS] = {0}, of_shape[5] = {0};
    /* to look at one plan and those behind it */
    const char *from = g_getenv("DTSIM_TEST_GRID");
    guint first = from ? (guint)g_ascii_strtoull(from, NULL, 10) : 0;
    for (guint i = 0; i < PLANS; i++) {
        LlmShape shape = shape_at(i);
        PlanSpec spec = draw_spec(&d, &shape);
        Levels levels = {0};
        StepOptions options = {.memory = watch_memory, .memory_user = &levels};
        g_autoptr(GError) error = NULL;
        g_autoptr(Plan) plan = NULL;
        g_autoptr(Schedule) schedule = NULL;
        if (i < first)
            continue;
        if (from)
            print_spec(i, &spec);
        g_autoptr(StepResult) r =
            machine_run(&m, &shape, &spec, &options, &plan, &schedule, &error);
        if (r == NULL) {
            g_assert_nonnull(error);
            g_assert_null(strchr(error->message, '\n'));
            if (strstr(error->message, "--") == NULL &&
                !g_str_has_prefix(error->message, "schedule "))
                g_error("plan %u: '%s' names no option", i, error->message);
            if (from)
                g_printerr("refused: %s\n", error->message);
            continue;
        }
        check_result(plan, schedule, r, &levels);
        ran++;
        of_framework[spec.framework]++;
        of_shape[i % 5]++;
    }
    g_test_message("%u of %u plans ran", ran, PLANS);
    if (from)
        return machine_clear(&m);
    g_assert_cmpuint(ran, >, PLANS / 10);
    for (guint f = 0; f < PLAN_N_FRAMEWORKS; f++)
        g_assert_cmpuint(of_framework[f], >, PLANS / 200);
    for (guint s = 0; s < 5; s++)
        g_assert_cmpuint(of_shape[s], >, PLANS / 200);
    machine_clear(&m);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step/grid/each-plan-adds-up-or-is-refused", test_grid);
    return g_test_run();
}
