/* The resolved plan as text, in the words of the command line. */
#include "config.h"

#include "plan/plan.h"

static const char *const recomputes[] = {"none", "selective", "full"};
static const char *const attentions[] = {"flash", "unfused"};
static const char *const barriers[] = {"global", "none", "post-validation"};
static const char *const p2ps[] = {"auto", "ideal", "async", "blocking", "overlapped", "fused"};

static const char *const reduces[] = {"last", "each"};
static const char *const bucketings[] = {"first-stage", "all", "units"};
static const char *const cp_kinds[] = {"p2p", "all_gather", "a2a", "a2a+p2p"};
static const char *const dispatchers[] = {"alltoall", "allgather", "flex"};
static const char *const methods[] = {"uniform", "block", "every"};
static const char *const devices[] = {"none", "cpu", "nvme"};

static void
print_count(GString *text, const char *name, gint64 value)
{
    g_string_append_printf(text, "%s = %" G_GINT64_FORMAT "\n", name, value);
}

static void
print_word(GString *text, const char *name, const char *value)
{
    g_string_append_printf(text, "%s = %s\n", name, value);
}

static void
print_flag(GString *text, const char *name, gboolean value)
{
    print_word(text, name, value ? "true" : "false");
}

static void
print_number(GString *text, const char *name, double value)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];

    print_word(text, name, g_ascii_formatd(number, sizeof number, "%.10g", value));
}

static void
print_layers(GString *text, const Plan *plan)
{
    g_string_append(text, "stage-layers = ");
    for (gint64 s = 0; s < plan->n_stages; s++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, s > 0 ? "," : "", plan->layers[s]);
    g_string_append_c(text, '\n');
}

static void
print_degrees(GString *text, const Plan *plan)
{
    const PlanSpec *s = &plan->spec;

    print_word(text, "model", plan->shape->name);
    print_word(text, "system", plan->system->name);
    print_count(text, "gpus", plan->gpus);
    print_count(text, "tp", s->tp);
    print_count(text, "pp", s->pp);
    print_count(text, "dp", s->dp);
    print_count(text, "cp", s->cp);
    print_count(text, "ep", s->ep);
    print_count(text, "etp", s->etp);
    print_count(text, "vpp", s->vpp);
    print_layers(text, plan);
    print_count(text, "seq-length", s->seq);
    print_count(text, "micro-batch-size", s->micro_batch);
    print_count(text, "global-batch-size", s->global_batch);
    print_count(text, "microbatches", s->microbatches);
    print_word(text, "rank-order", s->order);
    if (s->hostfile != NULL)
        print_word(text, "hostfile", s->hostfile_name != NULL ? s->hostfile_name : "given");
    else
        print_word(text, "allocation", s->allocation);
    if (s->fabric_nodes > 0)
        print_count(text, "fabric-nodes", s->fabric_nodes);
    print_word(text, "schedule", s->schedule);
    print_count(text, "group", s->group);
}

static void
print_sharding(GString *text, const PlanSpec *s)
{
    print_word(text, "framework", plan_framework_names[s->framework]);
    print_count(text, "zero", s->zero);
    print_count(text, "shard-size", s->shard_size);
    print_flag(text, "reshard-after-forward", s->reshard_after_forward);
    print_word(text, "grad-reduce", reduces[s->reduce]);
    print_word(text, "bucketing", bucketings[s->bucket]);
    print_count(text, "bucket-size", s->bucket_elements);
    print_count(text, "unit-layers", s->unit_layers);
    print_count(text, "prefetch-units", s->prefetch_units);
    print_count(text, "prefetch-elements", s->prefetch_elements);
    print_count(text, "live-elements", s->live_elements);
    print_count(text, "resident-elements", s->resident_elements);
    print_flag(text, "overlap-grad-reduce", s->overlap_grad_reduce);
    print_flag(text, "overlap-param-gather", s->overlap_param_gather);
    print_flag(text, "align-grad-reduce", s->align_grad_reduce);
    print_flag(text, "gradient-scale", s->gradient_scale);
    print_flag(text, "deepspeed-pipeline", s->deepspeed_pipeline);
}

static void
print_kernels(GString *text, const PlanSpec *s)
{
    print_flag(text, "sequence-parallel", s->sequence_parallel);
    print_flag(text, "tp-comm-overlap", s->tp_overlap);
    print_word(text, "cp-comm-type", cp_kinds[s->cp_kind]);
    print_count(text, "cp-inner", s->cp_inner);
    print_word(text, "attention", attentions[s->attention]);
    print_word(text, "dtype", cluster_dtype_name(s->dtype));
    print_word(text, "grad-dtype", s->gradient_fp32 ? "fp32" : "model");
    print_flag(text, "gradient-accumulation-fusion", s->gradient_fusion);
    print_word(text, "dropout", s->dropout != 0 ? "on" : "off");
    print_flag(text, "fused-loss", s->fused_loss);
    print_word(text, "p2p", p2ps[s->p2p]);
    print_flag(text, "p2p-sync", s->p2p_sync);
    print_flag(text, "scatter-gather", s->scatter_gather);
}

static void
print_experts(GString *text, const PlanSpec *s)
{
    print_word(text, "moe-dispatcher", dispatchers[s->dispatch]);
    print_number(text, "moe-capacity-factor", s->capacity_factor);
    print_flag(text, "moe-pad-to-capacity", s->pad_to_capacity);
    print_number(text, "expert-imbalance", s->expert_imbalance);
    print_count(text, "seed", s->seed);
    if (s->expert_histogram != NULL)
        print_word(text, "expert-histogram", s->expert_histogram);
    print_flag(text, "moe-shared-expert-overlap", s->overlap_shared);
    print_flag(text, "overlap-moe", s->overlap_moe);
    print_flag(text, "delay-wgrad", s->delay_wgrad);
    print_flag(text, "fp8-dispatch", s->fp8_dispatch);
}

static void
print_optimizer(GString *text, const PlanSpec *s)
{
    print_word(text, "optimizer", plan_optimizer_names[s->optimizer]);
    print_count(text, "moment-bytes", s->moment_bytes);
    print_flag(text, "master-remainder", s->master_remainder);
    print_flag(text, "fp8-param-gather", s->fp8_gather);
    print_word(text, "optimizer-barrier", barriers[s->optimizer_barrier]);
    print_number(text, "clip", s->clip);
    print_word(text, "offload-optimizer", devices[s->optimizer_device]);
    print_word(text, "offload-params", devices[s->parameter_device]);
    print_number(text, "offload-fraction", s->offload_frac);
    print_count(text, "offload-activations", s->offload_activations);
    print_flag(text, "overlap-offload", s->overlap_offload);
    print_number(text, "fragmentation", s->fragmentation);
}

static void
print_recompute(GString *text, const PlanSpec *s)
{
    print_word(text, "recompute", recomputes[s->recompute]);
    if (s->recompute == LLM_RECOMPUTE_SELECTIVE) {
        g_autofree char *modules = plan_modules_print(s->recompute_modules);
        print_word(text, "recompute-modules", modules);
    }
    if (s->recompute != LLM_RECOMPUTE_FULL)
        return;
    print_word(text, "recompute-method", methods[s->recompute_method]);
    print_count(text, "recompute-layers", s->recompute_layers);
    if (s->recompute_stages != NULL)
        print_word(text, "recompute-stages", s->recompute_stages);
    print_count(text, "recompute-microbatches", s->recompute_microbatches);
}

char *
plan_print(const Plan *plan)
{
    GString *text = g_string_new(NULL);

    print_degrees(text, plan);
    print_sharding(text, &plan->spec);
    print_kernels(text, &plan->spec);
    if (plan->shape->experts > 0)
        print_experts(text, &plan->spec);
    print_recompute(text, &plan->spec);
    print_optimizer(text, &plan->spec);
    for (guint i = 0; i < plan->remarks->len; i++)
        g_string_append_printf(text, "# %s\n", (const char *)plan->remarks->pdata[i]);
    return g_string_free(text, FALSE);
}
