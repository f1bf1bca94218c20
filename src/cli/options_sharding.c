/* How states, experts and context are cut, recomputed and put aside: the table of options. Names are those of
 * Megatron-LM, DeepSpeed and PyTorch where these have one. */
#include "config.h"

#include "cli/inputs.h"

#include <stddef.h>

static const char *const reduces[] = {"last", "each", NULL};
static const char *const bucketings[] = {"first-stage", "all", "units", NULL};
static const char *const cp_kinds[] = {"p2p", "all_gather", "a2a", "a2a+p2p", NULL};
static const char *const dispatchers[] = {"alltoall", "allgather", "flex", NULL};
static const char *const methods[] = {"uniform", "block", "every", NULL};
static const char *const devices[] = {"none", "cpu", "nvme", NULL};

static const CliOption options[] = {
    CLI_CHOICE("framework", spec.framework, plan_framework_names, "NAME",
               "Whose rules hold (default: megatron)"),
    CLI_COUNT("zero", spec.zero, 0, 3, "Cut over data parallel: 1 states, 2 gradients, 3 weights"),
    CLI_FLAG("fsdp", fsdp, "--zero 3 --framework fsdp"),
    CLI_COUNT("shard-size", spec.shard_size, 1, CLI_MANY,
              "Ranks of one copy of what is cut (HSDP)"),
    CLI_FLAG("reshard-after-forward", spec.reshard_after_forward,
             "Drop gathered weights after the forward"),
    CLI_CHOICE("grad-reduce", spec.reduce, reduces, "WHEN",
               "Reduce after the last or each microbatch"),
    CLI_CHOICE("bucketing", spec.bucket, bucketings, "HOW",
               "Buckets of gradients: first-stage, all or units"),
    CLI_COUNT("unit-layers", spec.unit_layers, 1, CLI_MANY, "Layers gathered as one"),
    CLI_COUNT("prefetch-units", spec.prefetch_units, 0, CLI_MANY,
              "Gathers that run ahead, in units"),
    CLI_COUNT("prefetch-elements", spec.prefetch_elements, 0, G_MAXINT64,
              "DeepSpeed: elements gathered ahead; 0: units rule"),
    CLI_COUNT("live-elements", spec.live_elements, 0, G_MAXINT64,
              "DeepSpeed: elements gathered at once; 0: any"),
    CLI_COUNT("resident-elements", spec.resident_elements, 0, G_MAXINT64,
              "DeepSpeed: tensors this small stay gathered"),
    CLI_FLAG("gradient-scale", spec.gradient_scale, "A kernel divides gradients before reduction"),
    CLI_FLAG("gradient-accumulation-fusion", spec.gradient_fusion,
             "Weight gradients are added by their matrix product"),
    CLI_CHOICE("cp-comm-type", spec.cp_kind, cp_kinds, "KIND", "p2p, all_gather, a2a or a2a+p2p"),
    CLI_COUNT("cp-inner", spec.cp_inner, 1, CLI_MANY, "Ranks of the all-to-all of a2a+p2p"),
    CLI_COUNT("etp", spec.etp, 1, CLI_MANY, "Tensor parallel ranks of an expert"),
    CLI_CHOICE("moe-dispatcher", spec.dispatch, dispatchers, "KIND", "alltoall, allgather or flex"),
    CLI_NUMBER("moe-capacity-factor", spec.capacity_factor, "FACTOR",
               "Tokens an expert takes over the mean; 0: all"),
    CLI_FLAG("moe-pad-to-capacity", spec.pad_to_capacity, "Experts are filled to their capacity"),
    CLI_NUMBER("expert-imbalance", spec.expert_imbalance, "SHARE",
               "Deviation of the tokens of experts over the mean"),
    CLI_COUNT("seed", spec.seed, 0, G_MAXINT64, "Of what is drawn at random (default: 1)"),
    CLI_TEXT("expert-histogram", expert_histogram, "N,N,...", "Tokens of each expert"),
    CLI_FLAG("moe-shared-expert-overlap", spec.overlap_shared,
             "Shared experts run beside the exchange"),
    CLI_FLAG("overlap-moe", spec.overlap_moe, "The exchange hides behind another microbatch"),
    CLI_FLAG("delay-wgrad", spec.delay_wgrad, "... with weight gradients put off"),
    CLI_FLAG("fp8-dispatch", spec.fp8_dispatch, "Tokens travel to experts in 8 bits"),
    CLI_FLAG("fp8-param-gather", spec.fp8_gather, "Weights are kept and gathered in 8 bits"),
    CLI_CHOICE("optimizer", spec.optimizer, plan_optimizer_names, "NAME",
               "adam, sgd, adafactor, muon or adam-8bit"),
    CLI_COUNT("moment-bytes", spec.moment_bytes, 1, 4, "Bytes of each of Adam's moments: 4, 2, 1"),
    CLI_FLAG("master-remainder", spec.master_remainder, "16-bit remainders, no fp32 master copy"),
    CLI_TEXT("recompute-modules", recompute_modules, "NAME,...",
             "What selective recompute runs again"),
    CLI_CHOICE("recompute-method", spec.recompute_method, methods, "HOW",
               "Of full: uniform, block or every"),
    CLI_COUNT("recompute-layers", spec.recompute_layers, 1, CLI_MANY, "Layers of the method"),
    CLI_TEXT("recompute-stages", recompute_stages, "N,N,...", "Of block: layers of each stage"),
    CLI_COUNT("recompute-microbatches", spec.recompute_microbatches, 1, CLI_MANY,
              "Microbatches in flight that are recomputed"),
    CLI_CHOICE("offload-optimizer", spec.optimizer_device, devices, "WHERE",
               "Optimizer states: none, cpu or nvme"),
    CLI_CHOICE("offload-params", spec.parameter_device, devices, "WHERE",
               "Cut weights between uses: none, cpu or nvme"),
    CLI_NUMBER("offload-fraction", spec.offload_frac, "SHARE",
               "Share of the states that is put aside"),
    CLI_COUNT("offload-activations", spec.offload_activations, 0, CLI_MANY,
              "Layers of a stage whose activations wait on the host"),
    CLI_FLAG("overlap-offload", spec.overlap_offload, "Transfers to the host beside compute"),
    CLI_FLAG("fused-loss", spec.fused_loss, "Cross-entropy without an fp32 copy of the logits"),
    CLI_FLAG("tp-comm-overlap", spec.tp_overlap, "Tensor parallel exchanges beside their products"),
    CLI_NUMBER("fragmentation", spec.fragmentation, "SHARE", "The allocator's loss"),
};

CliOptionTable
cli_sharding_options(void)
{
    /* choices are written straight into the enumerations of the spec */
    G_STATIC_ASSERT(sizeof(PlanFramework) == sizeof(guint) && sizeof(PlanDevice) == sizeof(guint));
    G_STATIC_ASSERT(sizeof(LlmCpKind) == sizeof(guint) && sizeof(LlmDispatch) == sizeof(guint));
    return (CliOptionTable){options, G_N_ELEMENTS(options)};
}
