/* From what the user said to a plan in which everything is decided. */
#include "config.h"

#include "plan/plan.h"

#include "plan/resolve.h"

G_DEFINE_QUARK(plan_error_quark, plan_error)

gboolean
plan_refuse(GError **error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error_literal(error, PLAN_ERROR, PLAN_ERROR_ILLEGAL, text);
    return FALSE;
}

void
plan_remark(GPtrArray *remarks, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    g_ptr_array_add(remarks, g_strdup_vprintf(format, arguments));
    va_end(arguments);
}

PlanSpec
plan_spec_default(void)
{
    return (PlanSpec){
        .tp = 1,
        .pp = 1,
        .cp = 1,
        .ep = 1,
        .vpp = 1,
        .micro_batch = 1,
        .sequence_parallel = TRUE,
        .zero = 1,
        .recompute = LLM_RECOMPUTE_SELECTIVE,
        .recompute_modules = LLM_MODULE_CORE_ATTENTION,
        .attention = LLM_ATTENTION_FLASH,
        .dtype = CLUSTER_BF16,
        .gradient_fp32 = TRUE,
        .gradient_fusion = TRUE,
        .dropout = -1,
        .schedule = "1f1b",
        /* Megatron's own defaults are off; whoever runs the distributed optimizer turns them on. */
        .overlap_grad_reduce = TRUE,
        .overlap_param_gather = TRUE,
        .align_grad_reduce = TRUE,
        .p2p = PLAN_P2P_AUTO,
        .p2p_sync = TRUE, /* Megatron's batch_p2p_sync */
        .clip = 1.0,
    };
}

/* Megatron's: blocking batches without interleaving, overlapped sends and receives with it; PyTorch's
 * runtime, and with it all other schedules, post every send at once (SPEC.md 2). */
static PlanP2p
p2p_of(const char *schedule, gint64 vpp)
{
    static const char *const blocking[] = {"1f1b",       "gpipe", "gpipe_lifo",
                                           "gpipe-lifo", "naive", NULL};
    static const char *const overlapped[] = {"interleaved", "interleaved_megatron",
                                             "interleaved-megatron", NULL};
    if (g_strv_contains(blocking, schedule))
        return vpp > 1 ? PLAN_P2P_OVERLAPPED : PLAN_P2P_BLOCKING;
    return g_strv_contains(overlapped, schedule) ? PLAN_P2P_OVERLAPPED : PLAN_P2P_ASYNC;
}

static void
resolve_framework(PlanSpec *spec, const LlmShape *shape, const ClusterSystem *system,
                  GPtrArray *remarks)
{
    if (spec->schedule == NULL)
        spec->schedule = spec->vpp > 1 ? "interleaved_megatron" : "1f1b";
    if (spec->p2p == PLAN_P2P_AUTO)
        spec->p2p = p2p_of(spec->schedule, spec->vpp);
    if (spec->dropout < 0)
        spec->dropout = shape->dropout;
    if (cluster_dtype_bytes(spec->dtype) == 4)
        spec->gradient_fp32 = TRUE; /* the weights are */
    if (spec->attention == LLM_ATTENTION_FLASH && system->peak_flops[CLUSTER_BF16] == 0) {
        spec->attention = LLM_ATTENTION_UNFUSED;
        plan_remark(remarks, "attention is unfused: FlashAttention does not run on %s",
                    system->gpu_name);
    }
    if (spec->deepspeed_pipeline) /* its engine reduces after the last microbatch, and fuses nothing */
        spec->overlap_grad_reduce = spec->gradient_fusion = FALSE;
    if (spec->zero == 0 || !spec->overlap_grad_reduce)
        spec->overlap_param_gather = FALSE;
    if (spec->etp == 0)
        spec->etp = shape->experts > 0 && spec->framework == PLAN_MEGATRON ? spec->tp : 1;
    if (spec->bucket_elements == 0)
        spec->bucket_elements = MAX(40000000, 1000000 * spec->dp);
}

/* A layer is some 70 kernels, and a stream of the engine holds 2^32 of them. */
#define MAX_LAYER_RUNS ((gint64)20000000)

static gboolean
check_values(const PlanSpec *spec, const LlmShape *shape, GError **error)
{
    if (spec->vpp > 1 && spec->p2p == PLAN_P2P_BLOCKING)
        return plan_refuse(error,
                           "--p2p blocking: chunks of different ranks would wait for each other in "
                           "a circle; write --p2p overlapped or fused, or --vpp 1");
    if (spec->vpp > 1 && spec->p2p == PLAN_P2P_FUSED && (spec->pp == 2 || spec->group > spec->pp))
        return plan_refuse(
            error,
            "--p2p fused: one exchange after each pair needs two different neighbours "
            "and groups of pp microbatches (pp " PLAN_D ", group " PLAN_D
            "); write --p2p overlapped",
            spec->pp, spec->group);
    gint64 layers = shape->layers / spec->pp + 1;
    if (spec->microbatches > MAX_LAYER_RUNS / layers)
        return plan_refuse(error,
                           "--microbatches: " PLAN_D " microbatches through " PLAN_D
                           " layers a rank are more than " PLAN_D
                           " layer runs; lower --microbatches or --global-batch-size",
                           spec->microbatches, layers, MAX_LAYER_RUNS);

    if (spec->bucket_elements < 0)
        return plan_refuse(error,
                           "--bucket-size: " PLAN_D " is negative; write a number of elements",
                           spec->bucket_elements);
    if (!(spec->clip >= 0))
        return plan_refuse(error, "--clip: %g is negative; write a norm, or 0 for none",
                           spec->clip);
    return TRUE;
}

static LlmCut
cut_of(const Plan *plan)
{
    const PlanSpec *spec = &plan->spec;

    return (LlmCut){
        .tp = spec->tp,
        .cp = spec->cp,
        .sequence_parallel = spec->sequence_parallel,
        .micro_batch = spec->micro_batch,
        .seq = spec->seq,
        .dtype = spec->dtype,
        .attention = spec->attention,
        .recompute = spec->recompute,
        .recompute_modules = spec->recompute_modules,
        .ep = spec->ep,
        .etp = spec->etp,
        .dropout = spec->dropout != 0,
        .gradient_fp32 = spec->gradient_fp32 && spec->gradient_fusion,
        .vocab_padded = plan->vocab_padded,
        .fused_kernels = TRUE,
    };
}

Plan *
plan_new(const PlanSpec *spec, const LlmShape *shape, const ClusterSystem *system, GError **error)
{
    g_autoptr(Plan) plan = g_new0(Plan, 1);

    plan->spec = *spec;
    plan->shape = shape;
    plan->system = system;
    plan->remarks = g_ptr_array_new_with_free_func(g_free);
    if (!plan_resolve_degrees(&plan->spec, shape, system, plan->remarks, error) ||
        !plan_resolve_batch(&plan->spec, shape, plan->remarks, error) ||
        !check_values(&plan->spec, shape, error))
        return NULL;
    plan->layers = plan_resolve_layers(&plan->spec, shape, error);
    if (plan->layers == NULL)
        return NULL;
    resolve_framework(&plan->spec, shape, system, plan->remarks);
    plan->gpus = plan->spec.gpus;
    plan->nodes = (plan->gpus + system->gpus_per_node - 1) / system->gpus_per_node;
    plan->n_stages = plan->spec.pp * plan->spec.vpp;
    plan->rank_of = g_new(guint, plan->n_stages);
    plan->first_layer = g_new0(gint64, plan->n_stages);
    for (gint64 i = 1; i < plan->n_stages; i++)
        plan->first_layer[i] = plan->first_layer[i - 1] + plan->layers[i - 1];
    for (gint64 s = 0; s < plan->n_stages; s++)
        plan->rank_of[s] = (guint)(s % plan->spec.pp);
    plan->vocab_padded = llm_padded_vocab(shape, 128 * plan->spec.tp);
    plan->tokens = plan->spec.global_batch * plan->spec.seq;
    plan->cut = cut_of(plan);
    return g_steal_pointer(&plan);
}

void
plan_set_placement(Plan *plan, const guint *rank_of)
{
    for (gint64 s = 0; s < plan->n_stages; s++) {
        g_assert(rank_of[s] < plan->spec.pp);
        plan->rank_of[s] = rank_of[s];
    }
}

void
plan_free(Plan *plan)
{
    if (plan == NULL)
        return;
    g_free(plan->rank_of);
    g_free(plan->layers);
    g_free(plan->first_layer);
    g_clear_pointer(&plan->remarks, g_ptr_array_unref);
    g_free(plan);
}
