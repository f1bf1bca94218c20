/* Model, machine, degrees, batch, pipeline and kernels: the table of options. */
#include "config.h"

#include "cli/inputs.h"
#include "report/run.h"

#include <stddef.h>
#include <string.h>

static const char *const recomputes[] = {"none", "selective", "full", NULL};
static const char *const attentions[] = {"flash", "unfused", NULL};
static const char *const dtypes[] = {"fp32", "tf32", "fp16", "bf16", "fp8", NULL};
static const char *const gradients[] = {"fp32", "model", NULL};
static const char *const p2ps[] = {"auto",       "ideal", "async", "blocking",
                                   "overlapped", "fused", NULL};
static const char *const dropouts[] = {"auto", "off", "on", NULL};
static const char *const rank_choices[] = {"symmetric", "all", NULL};
static const char *const conventions[] = {"megatron", "sc21",        "korthikanti", "torchtitan",
                                          "palm",     "llm-foundry", "nanotron",    NULL};

static const CliOption machine_options[] = {
    CLI_TEXT("model", model, "NAME|FILE", "Shipped model or a config.json (default: gpt3-175b)"),
    CLI_TEXT("config", config, "FILE",
             "Of DeepSpeed, GPT-NeoX, nanotron or torchtitan: the plan and the model in it"),
    CLI_TEXT("system", system, "NAME|DIR", "Shipped system or a directory (default: dgx-a100-80g)"),
    CLI_TEXT("gpu", gpu, "NAME", "GPU, instead of --system: the shipped system that has it"),
    CLI_COUNT("gpus", spec.gpus, 1, CLI_MANY, "GPUs in all; gives dp"),
    CLI_COUNT("nodes", nodes, 1, CLI_MANY, "Nodes in all, instead of --gpus"),
    CLI_CHOICE("flops", flops, conventions, "HOW", "FLOPs convention of MFU (default: megatron)"),
    CLI_CHOICE("ranks", ranks, rank_choices, "WHICH", "symmetric: one of each kind; or all"),
    CLI_TEXT("background", background, "LINK=N%,...",
             "What others put on the links: nic=30%,leaf=50%"),
};

static const CliOption plan_options[] = {
    CLI_COUNT("tp", spec.tp, 1, CLI_MANY, "Tensor parallel ranks"),
    CLI_COUNT("pp", spec.pp, 1, CLI_MANY, "Pipeline parallel ranks"),
    CLI_COUNT("dp", spec.dp, 1, CLI_MANY, "Data parallel replicas"),
    CLI_COUNT("cp", spec.cp, 1, CLI_MANY, "Context parallel ranks"),
    CLI_COUNT("ep", spec.ep, 1, CLI_MANY, "Expert parallel ranks"),
    CLI_COUNT("vpp", spec.vpp, 1, CLI_MANY, "Model chunks per pipeline rank"),
    CLI_COUNT("micro-batch-size", spec.micro_batch, 1, CLI_MANY, "Sequences of one microbatch"),
    CLI_COUNT("global-batch-size", spec.global_batch, 1, CLI_MANY, "Sequences of one iteration"),
    CLI_COUNT("microbatches", spec.microbatches, 1, CLI_MANY, "Microbatches per replica"),
    CLI_COUNT("seq-length", spec.seq, 1, CLI_MANY, "Tokens of one sequence"),
    CLI_TEXT("schedule", schedule, "NAME|FILE",
             "Pipeline schedule ('dtsim schedules' lists them), or .csv"),
    CLI_TEXT("placement", placement, "WHERE",
             "Of a .csv's stages: loop, v, bidirectional, or ranks 0,1,1,0"),
    CLI_COUNT("group", spec.group, 1, CLI_MANY,
              "Microbatch group of interleaved schedules (default: pp)"),
    CLI_FLAG("sequence-parallel", spec.sequence_parallel,
             "Sequence parallel regions between TP blocks"),
    CLI_CHOICE("recompute", spec.recompute, recomputes, "WHAT", "none, selective or full"),
    CLI_CHOICE("attention", spec.attention, attentions, "KIND", "flash or unfused"),
    CLI_CHOICE("dtype", spec.dtype, dtypes, "TYPE", "fp32, tf32, fp16, bf16 or fp8"),
    CLI_CHOICE("grad-dtype", gradient, gradients, "TYPE", "Gradients in fp32, or as the model"),
    CLI_COUNT("first-stage-layers", spec.first_stage_layers, 1, CLI_MANY,
              "Layers of the first stage"),
    CLI_COUNT("last-stage-layers", spec.last_stage_layers, 1, CLI_MANY, "Layers of the last stage"),
    CLI_TEXT("stage-layers", stage_layers, "N,N,...", "Layers of every stage, in order"),
    CLI_TEXT("pipeline-layout", layout, "LAYOUT", "Megatron's layout, as E,t*3|t*4|t*4|t*3,L"),
    CLI_FLAG("account-for-embedding", spec.account_for_embedding, "Count the embedding as a layer"),
    CLI_FLAG("account-for-loss", spec.account_for_loss, "Count the loss as a layer"),
    CLI_CHOICE("p2p", spec.p2p, p2ps, "MODEL", "auto ideal async blocking overlapped fused"),
    CLI_FLAG("p2p-sync", spec.p2p_sync, "Synchronise the device after each blocking exchange"),
    CLI_FLAG("scatter-gather", spec.scatter_gather,
             "Cut pipeline messages by tp, gather in the node"),
    CLI_FLAG("deepspeed-pipeline", spec.deepspeed_pipeline, "DeepSpeed's pipeline engine"),
    CLI_CHOICE("dropout", dropout, dropouts, "WHEN", "auto (as the model says), on or off"),
    CLI_COUNT("bucket-size", spec.bucket_elements, 1, G_MAXINT64, "Elements of a gradient bucket"),
    CLI_NUMBER("clip", spec.clip, "NORM", "Gradient clipping norm; 0: none (default: 1)"),
    CLI_CHOICE("optimizer-barrier", spec.optimizer_barrier, report_barrier_names, "WHAT",
               "What the optimizer waits for: global, none or post-validation"),
    CLI_FLAG("overlap-grad-reduce", spec.overlap_grad_reduce,
             "Reduce gradients beside the backward"),
    CLI_FLAG("overlap-param-gather", spec.overlap_param_gather,
             "Gather weights beside the forward"),
    CLI_FLAG("align-grad-reduce", spec.align_grad_reduce,
             "Start reductions at the same time on stages"),
    CLI_TEXT("rank-order", rank_order, "tp-cp-ep-dp-pp", "Axes of the ranks, the fastest first"),
    CLI_FLAG("use-tp-pp-dp-mapping", tp_pp_dp, "--rank-order tp-cp-ep-pp-dp"),
    CLI_TEXT("allocation", allocation, "WHICH",
             "Nodes of the job: contiguous, random or fragmented:K"),
    CLI_COUNT("fabric-nodes", spec.fabric_nodes, 1, CLI_MANY, "Nodes of the fabric they are of"),
    CLI_TEXT("hostfile", hostfile, "FILE", "Where ranks live: lines HOST slots=N, or a rankfile"),
};

CliOptionTable
cli_machine_options(void)
{
    return (CliOptionTable){machine_options, G_N_ELEMENTS(machine_options)};
}

CliOptionTable
cli_plan_options(void)
{
    /* choices are written straight into the enumerations of the spec */
    G_STATIC_ASSERT(sizeof(LlmRecompute) == sizeof(guint) && sizeof(LlmAttention) == sizeof(guint));
    G_STATIC_ASSERT(sizeof(ClusterDtype) == sizeof(guint) && sizeof(PlanP2p) == sizeof(guint));
    G_STATIC_ASSERT(sizeof(PlanBarrier) == sizeof(guint));
    return (CliOptionTable){plan_options, G_N_ELEMENTS(plan_options)};
}

const CliOption *
cli_option_find(const char *name)
{
    const CliOptionTable tables[] = {cli_machine_options(), cli_plan_options(),
                                     cli_sharding_options(), cli_noise_options()};
    for (guint t = 0; t < G_N_ELEMENTS(tables); t++)
        for (guint i = 0; i < tables[t].n; i++)
            if (strcmp(tables[t].options[i].name, name) == 0)
                return &tables[t].options[i];
    return NULL;
}
