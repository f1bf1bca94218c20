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

/* Megatron's: blocking batches without interleaving, overlapped sends and receives with it; PyTorch's
 * runtime, and with it all other schedules, post every send at once (SPEC.md 2). */
static PlanP2p
p2p_of(const char *schedule, gint64 vpp)
{
    static const char *const blocking[] = {"1f1b",       "gpipe", "gpipe_lifo",
                                           "gpipe-lifo", "naive", NULL};
    static const char *const overlapped[] = {"interleaved",
                                             "interleaved_megatron",
                                             "interleaved-megatron",
                                             "interleaved_ep_overlap",
                                             "interleaved-ep-overlap",
                                             "ep_overlap",
                                             NULL};
    if (g_strv_contains(blocking, schedule))
        return vpp > 1 ? PLAN_P2P_OVERLAPPED : PLAN_P2P_BLOCKING;
    return g_strv_contains(overlapped, schedule) ? PLAN_P2P_OVERLAPPED : PLAN_P2P_ASYNC;
}

/* What the model and the machine decide. */
static void
resolve_kernels(PlanSpec *spec, const LlmShape *shape, const ClusterSystem *system,
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
    if (spec->tp == 1)
        spec->tp_overlap = FALSE;
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
    if (spec->tp_overlap && spec->tp > 1 && !spec->sequence_parallel)
        return plan_refuse(error, "--tp-comm-overlap: it cuts the exchanges of sequence "
                                  "parallelism into rings; leave out --no-sequence-parallel");
    if (!(spec->fragmentation <= 1))
        return plan_refuse(error, "--fragmentation: %g is no share; write 0 to 1",
                           spec->fragmentation);
    gint64 layers = shape->layers / spec->pp + 1;
    if (spec->microbatches > MAX_LAYER_RUNS / layers)
        return plan_refuse(error,
                           "--microbatches: " PLAN_D " microbatches through " PLAN_D
                           " layers a rank are more than " PLAN_D
                           " layer runs; lower --microbatches or --global-batch-size",
                           spec->microbatches, layers, MAX_LAYER_RUNS);
    if (!(spec->clip >= 0))
        return plan_refuse(error, "--clip: %g is negative; write a norm, or 0 for none",
                           spec->clip);
    return TRUE;
}

/* Nodes that an expert-parallel group touches. */
static gint64
expert_nodes(const Plan *plan)
{
    return plan->spec.ep > 1 ? plan_group_spread(plan, PLAN_GROUP_EP).nodes : 1;
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
        .dropout = spec->dropout != 0,
        .gradient_fp32 = spec->gradient_fp32 && spec->gradient_fusion,
        .vocab_padded = plan->vocab_padded,
        .fused_kernels = spec->framework != PLAN_NANOTRON && spec->framework != PLAN_FSDP &&
                         spec->framework != PLAN_TORCHTITAN,
        .fused_loss = spec->fused_loss,
        .log_softmax = spec->framework == PLAN_FSDP || spec->framework == PLAN_TORCHTITAN,
        .tp_overlap = spec->tp_overlap,
        .cp_kind = spec->cp_kind,
        .cp_inner = spec->cp_inner,
        .ep = spec->ep,
        .etp = spec->etp,
        .ep_nodes = expert_nodes(plan),
        .dispatch = spec->dispatch,
        .capacity_factor = spec->capacity_factor,
        .pad_to_capacity = spec->pad_to_capacity,
        .expert_load = plan_expert_load(spec, plan->shape),
        .overlap_shared = spec->overlap_shared,
        .fp8_dispatch = spec->fp8_dispatch,
        .fp8_weights_kept = spec->zero < 3, /* what is cut is cast as it is gathered */
    };
}

/* In this order: what is 0 or "as the framework has it" is filled in before it is used. */
static gboolean
resolve(Plan *plan, GError **error)
{
    PlanSpec *spec = &plan->spec;
    const LlmShape *shape = plan->shape;
    const ClusterSystem *system = plan->system;

    if (!plan_resolve_degrees(spec, shape, system, plan->remarks, error) ||
        !plan_resolve_batch(spec, shape, plan->remarks, error) || !check_values(spec, shape, error))
        return FALSE;
    plan->layers = plan_resolve_layers(spec, shape, error);
    if (plan->layers == NULL)
        return FALSE;
    resolve_kernels(spec, shape, system, plan->remarks);
    plan_resolve_framework(spec);
    return plan_resolve_sharding(spec, plan->remarks, error) &&
           plan_resolve_optimizer(spec, error) && plan_resolve_offload(spec, system, error) &&
           plan_resolve_context(spec, shape, error) &&
           plan_resolve_experts(spec, shape, plan->remarks, error) &&
           plan_resolve_order(spec, shape, plan->remarks, error) &&
           plan_resolve_recompute(spec, plan->layers, error);
}

Plan *
plan_new(const PlanSpec *spec, const LlmShape *shape, const ClusterSystem *system, GError **error)
{
    g_autoptr(Plan) plan = g_new0(Plan, 1);

    plan->spec = *spec;
    plan->shape = shape;
    plan->system = system;
    plan->remarks = g_ptr_array_new_with_free_func(g_free);
    if (!resolve(plan, error))
        return NULL;
    plan_remark_unused(spec, &plan->spec, shape->experts > 0, plan->remarks);
    plan->gpus = plan->spec.gpus;
    if (!plan_place_ranks(plan, error))
        return NULL;
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
    cluster_topology_free(plan->topology);
    g_free(plan->slot_of);
    g_free(plan->rank_in);
    g_clear_pointer(&plan->remarks, g_ptr_array_unref);
    g_free(plan);
}
