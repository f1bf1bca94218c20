/* Options that were given and decide nothing in this plan: each is remarked on, none is passed over in silence. Given
 * is what is not as the framework has it; what resolving fills in is not. What would mislead is refused elsewhere. */
#include "config.h"

#include "plan/resolve.h"

typedef struct {
    const char *option;
    gboolean unused;
    const char *why;
} Unused;

static void
remark(const Unused *all, guint n, GPtrArray *remarks)
{
    for (guint i = 0; i < n; i++)
        if (all[i].unused)
            plan_remark(remarks, "--%s has no effect: %s", all[i].option, all[i].why);
}

/* `g`: given; `d`: as the framework has it; `s`: resolved. */
static void
remark_on_sharding(const PlanSpec *g, const PlanSpec *d, const PlanSpec *s, GPtrArray *remarks)
{
    gboolean whole = s->zero < 3, units = s->bucket == PLAN_BUCKET_UNITS;
    gboolean elements = s->prefetch_elements > 0;
    const char *const cut = "parameters are gathered again and again only with --zero 3";
    const Unused all[] = {
        {"unit-layers", g->unit_layers > 1 && !units, "--bucketing is not units"},
        {"bucket-size",
         units && g->bucket_elements != 0 && g->bucket_elements != d->bucket_elements &&
             g->bucket_elements != MAX(40000000, 1000000 * s->dp),
         "--bucketing is units, and --unit-layers is their size"},
        {"prefetch-units", whole && g->prefetch_units != d->prefetch_units, cut},
        {"prefetch-units", !whole && elements && g->prefetch_units != d->prefetch_units,
         "--prefetch-elements says how much is gathered ahead"},
        {"prefetch-elements", whole && g->prefetch_elements != d->prefetch_elements, cut},
        {"live-elements", whole && g->live_elements != d->live_elements, cut},
        {"live-elements", !whole && !elements && g->live_elements != d->live_elements,
         "it caps --prefetch-elements, which is 0"},
        {"resident-elements", whole && g->resident_elements != d->resident_elements, cut},
        {"reshard-after-forward", whole && g->reshard_after_forward == TRUE, cut},
        {"overlap-param-gather",
         g->overlap_param_gather == TRUE && d->overlap_param_gather != TRUE &&
             !s->overlap_param_gather,
         s->zero == 0 ? "with --zero 0 no parameters are gathered"
                      : "gathers are beside compute only where --overlap-grad-reduce is"},
        {"overlap-grad-reduce",
         s->deepspeed_pipeline && g->overlap_grad_reduce == TRUE && d->overlap_grad_reduce != TRUE,
         "DeepSpeed's pipeline reduces after the last microbatch"},
        {"gradient-accumulation-fusion",
         s->deepspeed_pipeline && g->gradient_fusion && !d->gradient_fusion,
         "DeepSpeed's pipeline fuses nothing into its gradients"},
        {"align-grad-reduce",
         g->align_grad_reduce && !d->align_grad_reduce && (s->vpp == 1 || !s->overlap_grad_reduce),
         "there are no reductions of chunks beside the backward (--vpp above 1, "
         "--overlap-grad-reduce)"},
    };
    remark(all, G_N_ELEMENTS(all), remarks);
}

static void
remark_on_compute(const PlanSpec *g, const PlanSpec *d, const PlanSpec *s, GPtrArray *remarks)
{
    gboolean full = s->recompute == LLM_RECOMPUTE_FULL;
    gboolean inner = s->cp > 1 && (s->cp_kind == LLM_CP_A2A_P2P || s->cp_inner == g->cp_inner);
    gboolean cut_messages = s->pp > 1 && s->tp > 1 && !s->sequence_parallel;
    gboolean blocking = s->p2p == PLAN_P2P_BLOCKING || s->p2p == PLAN_P2P_FUSED;
    const char *const method = "--recompute is not full";
    const Unused all[] = {
        {"recompute-layers",
         !full && g->recompute_layers > 1 && g->recompute_layers != d->recompute_layers, method},
        {"recompute-method", !full && g->recompute_method != d->recompute_method, method},
        {"recompute-modules",
         s->recompute != LLM_RECOMPUTE_SELECTIVE && g->recompute_modules != d->recompute_modules,
         "--recompute is not selective"},
        {"tp-comm-overlap", g->tp_overlap && s->tp == 1, "--tp is 1"},
        {"cp-comm-type", s->cp == 1 && g->cp_kind != d->cp_kind, "--cp is 1"},
        {"cp-inner", g->cp_inner > 1 && !inner,
         s->cp == 1 ? "--cp is 1" : "--cp-comm-type is not a2a+p2p"},
        {"scatter-gather", g->scatter_gather && !cut_messages,
         "it cuts messages of a pipeline that tensor-parallel ranks send whole (--pp and --tp "
         "above 1, --no-sequence-parallel)"},
        {"p2p-sync", g->p2p_sync && !d->p2p_sync && !(s->pp > 1 && blocking),
         "it follows the batches of --p2p blocking or fused"},
        {"optimizer-barrier",
         g->optimizer_barrier != d->optimizer_barrier && s->clip <= 0 && s->dtype != CLUSTER_FP16,
         "with --clip 0 the step waits for no norm"},
        {"overlap-offload", g->overlap_offload && !s->overlap_offload, "nothing is offloaded"},
    };
    remark(all, G_N_ELEMENTS(all), remarks);
}

static void
remark_on_experts(const PlanSpec *g, const PlanSpec *s, GPtrArray *remarks)
{
    gboolean alone = s->ep * s->etp == 1;
    const char *const here = "each rank has all experts (--ep is 1) and no tokens travel";
    const Unused all[] = {
        {"fp8-dispatch", g->fp8_dispatch && s->ep == 1, here},
        {"moe-shared-expert-overlap", g->overlap_shared && s->ep == 1, here},
        {"moe-dispatcher", g->dispatch == LLM_DISPATCH_ALL_GATHER && alone, here},
        {"expert-imbalance", g->expert_imbalance > 0 && s->ep == 1, here},
        {"expert-histogram", g->expert_histogram != NULL && s->ep == 1, here},
    };
    remark(all, G_N_ELEMENTS(all), remarks);
}

void
plan_remark_unused(const PlanSpec *given, const PlanSpec *resolved, gboolean experts,
                   GPtrArray *remarks)
{
    PlanSpec framework = plan_spec_for(given->framework);
    remark_on_sharding(given, &framework, resolved, remarks);
    remark_on_compute(given, &framework, resolved, remarks);
    if (experts)
        remark_on_experts(given, resolved, remarks);
}
