/* A model cut over a machine: degrees, process groups, layers per stage, batch, sharding; and what
 * each rank keeps in memory. Everything the user may say is in PlanSpec; everything that follows is
 * in Plan. */
#pragma once

#include "cluster/topology.h"
#include "llm/ops.h"
#include "llm/parameters.h"

#define PLAN_ERROR (plan_error_quark())
GQuark plan_error_quark(void);
typedef enum { PLAN_ERROR_ILLEGAL, PLAN_ERROR_VALUE } PlanError;

typedef enum {
    PLAN_P2P_AUTO,
    PLAN_P2P_IDEAL,
    PLAN_P2P_ASYNC,
    PLAN_P2P_BLOCKING,
    PLAN_P2P_OVERLAPPED,
    PLAN_P2P_FUSED
} PlanP2p; /* M0 .. M4 of SPEC.md 2; auto: Megatron's default */

/* What the optimizer step of a rank waits for (SPEC.md 1.2): the gradient norm of all ranks; nothing; or
 * nothing, with the norm checked afterwards and the step taken back where it was too large. */
typedef enum { PLAN_BARRIER_GLOBAL, PLAN_BARRIER_NONE, PLAN_BARRIER_POST_VALIDATION } PlanBarrier;

/* Whose rules hold where the spec does not say otherwise (plan_spec_for). */
typedef enum {
    PLAN_MEGATRON,    /* Megatron-LM core */
    PLAN_DEEPSPEED,   /* Megatron-DeepSpeed, DeepSpeed ZeRO under Hugging Face */
    PLAN_FSDP,        /* PyTorch FSDP2 as it comes */
    PLAN_TORCHTITAN,  /* FSDP2 with torchtitan's choices */
    PLAN_LLM_FOUNDRY, /* FSDP1 with MosaicML's choices */
    PLAN_NANOTRON,
    PLAN_N_FRAMEWORKS
} PlanFramework;
extern const char *const plan_framework_names[]; /* "megatron", ... NULL-terminated */

/* When gradients are reduced over data-parallel ranks: once, after the last microbatch of an iteration (they
 * accumulate unsharded until then), or after each. */
typedef enum {
    PLAN_REDUCE_LAST,
    PLAN_REDUCE_EACH,
    PLAN_REDUCE_AUTO /* as the framework does at this ZeRO stage; not in a resolved spec */
} PlanReduce;
/* What is gathered and reduced as one collective. */
typedef enum {
    PLAN_BUCKET_FIRST_STAGE, /* Megatron: buckets on pipeline rank 0's first chunk, elsewhere one of all */
    PLAN_BUCKET_ALL,         /* DDP, DeepSpeed: buckets everywhere */
    PLAN_BUCKET_UNITS, /* FSDP: so many layers each; embedding and head on their own */
    PLAN_BUCKET_AUTO   /* as the framework does at this ZeRO stage; not in a resolved spec */
} PlanBucket;
typedef enum {
    PLAN_ADAM,
    PLAN_SGD,
    PLAN_ADAFACTOR,
    PLAN_MUON,
    PLAN_ADAM_8BIT,
    PLAN_N_OPTIMIZERS
} PlanOptimizer;
extern const char
    *const plan_optimizer_names[]; /* "adam", "sgd", "adafactor", "muon", "adam-8bit" */
/* Where optimizer state or parameters live between uses. */
typedef enum { PLAN_DEVICE_GPU, PLAN_DEVICE_CPU, PLAN_DEVICE_NVME } PlanDevice;
/* Full recompute in units of recompute_layers, all of them; or of the first recompute_layers layers of each
 * stage, the others kept (SPEC.md 7.9); or of every recompute_layers-th layer (torchtitan's "selective"). */
typedef enum {
    PLAN_RECOMPUTE_UNIFORM,
    PLAN_RECOMPUTE_BLOCK,
    PLAN_RECOMPUTE_EVERY
} PlanRecomputeMethod;

/* Of a flag that follows from framework, pipeline and ZeRO stage; not in a resolved spec. */
#define PLAN_AUTO (-1)

typedef struct {
    gint64 tp, pp, dp, cp, ep, vpp; /* dp 0: from gpus; gpus 0: tp*pp*dp*cp */
    gint64 etp; /* tensor-parallel ranks of an expert; 0: as the framework has it */
    gint64 gpus;
    gint64 micro_batch, global_batch, microbatches; /* 0: derived; both given must agree */
    gint64 seq; /* 0: the model's default (at most max_positions) */
    gboolean sequence_parallel;
    PlanFramework framework;
    gint64 zero; /* what is sharded over data-parallel ranks: 0 nothing, 1 optimizer states, 2 and
                        * gradients, 3 and parameters (FSDP) */
    gint64
        shard_size; /* ranks that hold one copy of what is sharded: HSDP, partial distributed optimizer; 0:
                        * all dp x cp. Consecutive ranks of the data-parallel group */
    gboolean
        reshard_after_forward; /* may be PLAN_AUTO. Zero 3: gathered parameters are dropped and gathered again
                                * backward; else they are kept for it, in a pipeline until the last one */
    PlanReduce reduce;
    PlanBucket bucket;
    gint64 unit_layers;    /* of PLAN_BUCKET_UNITS */
    gint64 prefetch_units; /* gathers that run ahead of the compute, in units; 0: none */
    gint64
        prefetch_elements; /* DeepSpeed: parameters that may be prefetched; 0: prefetch_units rules */
    gint64 live_elements;     /* DeepSpeed: gathered parameters at once at most; 0: no cap */
    gint64 resident_elements; /* DeepSpeed: tensors up to this size stay gathered */
    gboolean gradient_scale;  /* a kernel scales gradients by 1/dp before the reduction */
    LlmRecompute recompute;
    guint recompute_modules; /* LlmModule bits, of selective */
    PlanRecomputeMethod recompute_method;
    gint64 recompute_layers; /* of the method; 0: 1 */
    const char
        *recompute_stages; /* "4,4,3,2": of block, layers of each stage; NULL: the same in all */
    gint64
        recompute_microbatches; /* full recompute of so many in-flight microbatches a stage, the others keep
                                     * everything (Megatron's partial checkpoints); 0: all */
    LlmAttention attention;
    ClusterDtype dtype;
    gboolean fused_loss, tp_overlap;
    LlmCpKind cp_kind;
    gint64 cp_inner; /* of a2a+p2p: ranks of the all-to-all */
    LlmDispatch dispatch;
    double capacity_factor; /* 0: dropless */
    gboolean pad_to_capacity;
    double
        expert_imbalance; /* standard deviation of an expert's tokens over their mean, drawn with `seed`; 0:
                              * balanced */
    gint64 seed;
    const char
        *expert_histogram; /* "12,8,9,...": tokens of each expert, any unit; NULL: not given */
    gboolean overlap_shared, fp8_dispatch;
    gboolean overlap_moe; /* F and B of a pair interleave so that all-to-all hides behind compute */
    gboolean delay_wgrad; /* in such a pair weight gradients are put off behind the communication */
    PlanOptimizer optimizer;
    gint64 moment_bytes; /* of each of Adam's two moments: 4, 2 or 1; 0: 4 */
    gboolean
        master_remainder; /* 16-bit master remainders instead of an fp32 copy (precision-aware) */
    gboolean fp8_gather;  /* parameters are gathered in 8 bits */
    PlanDevice optimizer_device, parameter_device;
    double
        offload_frac; /* of the optimizer's states that are not on the GPU; 0: all of them (when the
                                 * device is not the GPU) */
    gint64 offload_activations; /* layers of each stage whose kept activations wait on the host */
    gboolean overlap_offload;   /* transfers to and from the host beside compute */
    double fragmentation;   /* allocator's loss, a share of what is allocated on top of it; < 0: the
                                 * framework's */
    gboolean gradient_fp32; /* accumulate and reduce gradients in fp32 */
    gboolean
        gradient_fusion; /* weight-gradient GEMMs add into the main gradient; if not, a kernel of its
                               * own adds after each (never fused with deepspeed_pipeline) */
    const char *
        order; /* of ranks, first fastest: a permutation of "tp-cp-ep-dp-pp" (Megatron); NULL: this */
    const char *
        allocation; /* which nodes: "contiguous", "random", "fragmented:K" (runs of at most K free nodes, by
                             * `seed`), or NULL: contiguous */
    gint64
        fabric_nodes; /* nodes there are, of which the job gets some; 0: as many as it needs, twice as many
                          * where they are not contiguous */
    const char *hostfile;      /* text of a hostfile: rank -> slot; NULL: none */
    const char *hostfile_name; /* for messages */
    int dropout;               /* -1: as the model says */
    const char *schedule;      /* borrowed; checked by the caller against schedule_types */
    gint64 group;              /* microbatch group size; 0: pp */
    gint64 first_stage_layers, last_stage_layers; /* 0: not given */
    const char *stage_layers; /* "23,24,24,25": explicit counts in stage order; NULL: not given */
    gboolean account_for_embedding, account_for_loss;
    gboolean overlap_grad_reduce, overlap_param_gather; /* may be PLAN_AUTO */
    gboolean align_grad_reduce;
    gboolean scatter_gather; /* SC'21: pipeline messages cut by tp, gathered in the node */
    PlanP2p p2p;
    gboolean p2p_sync;      /* device synchronise after each blocking batch */
    double clip;            /* gradient clipping norm; 0: none */
    gint64 bucket_elements; /* 0: Megatron's max(40e6, 1e6*dp) */
    PlanBarrier optimizer_barrier;
    const char *layout; /* Megatron's layout string "E,t*3|t*4|...|t*3,L"; NULL: not given */
    gboolean
        deepspeed_pipeline; /* DeepSpeed engine: DP reduction after all, no overlap; PLAN_AUTO */
} PlanSpec;

/* The practitioner's defaults for GPT-3 175B on DGX A100 (bf16, SP when tp > 1, distributed
 * optimizer, selective recompute, micro-batch 1, 1f1b).
 *
 * What is left 0 is derived by plan_new: dp from gpus (else 1); the global batch is 1536 sequences,
 * rounded up to whole microbatches on every replica (and whole groups when vpp > 1); the sequence
 * is what the model was made for, at most 8192. */
PlanSpec plan_spec_default(void);
/* The same with a framework's rules in all that it decides. plan_spec_for(PLAN_MEGATRON) is the default. */
PlanSpec plan_spec_for(PlanFramework framework);

/* FSDP and what is built on it: its shards are fp32; pipelines run PyTorch's schedules. */
gboolean plan_runs_pytorch(const PlanSpec *spec);

typedef struct {
    PlanSpec spec;               /* resolved: no zeros left that mean "derived" */
    const LlmShape *shape;       /* borrowed */
    const ClusterSystem *system; /* borrowed */
    /* Where ranks live: slot_of[rank]; NULL: rank r in slot r. Nodes up to the last one that is used. */
    guint *slot_of;
    guint
        *rank_in; /* the rank in each slot of the n_nodes nodes, G_MAXUINT: none; NULL as slot_of */
    guint n_nodes;
    guint ranks_per_node;      /* most ranks on one node */
    ClusterTopology *topology; /* of these nodes */
    LlmCut cut;
    gint64 gpus, nodes;
    gint64 n_stages; /* pp*vpp */
    guint *rank_of;  /* [n_stages] pipeline rank of each global stage */
    gint64 *layers;  /* [n_stages] transformer layers of each global stage; sums to shape->layers */
    gint64 *first_layer; /* [n_stages] the model's index of the stage's first layer */
    gint64 vocab_padded;
    gint64 tokens; /* per iteration, all replicas */
    /* of char*: what the user may not expect (values chosen, groups over nodes ...) */
    GPtrArray *remarks;
} Plan;

#define PLAN_MAX_GPUS (1 << 22)

/* Refuses what cannot run, with the numbers and what to write instead. A resolved spec gives the
 * same plan. */
Plan *plan_new(const PlanSpec *spec, const LlmShape *shape, const ClusterSystem *system,
               GError **error);
void plan_free(Plan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Plan, plan_free)
/* Stages go round the ranks (stage s on rank s mod pp) until a schedule places them otherwise; copies
 * `rank_of`, [n_stages]. */
void plan_set_placement(Plan *plan, const guint *rank_of);
/* The piece of the i-th layer of a stage, and how it is recomputed. */
LlmPiece plan_layer_piece(const Plan *plan, gint64 stage, gint64 i);
LlmRecompute plan_layer_recompute(const Plan *plan, gint64 stage, gint64 i);
/* Layers that are recomputed together before their backward begins: 1 unless uniform with more. */
gint64 plan_recompute_unit(const Plan *plan);
/* The cut with a layer's own recompute. */
LlmCut plan_cut_for(const Plan *plan, LlmRecompute recompute);

/* What is gathered and reduced as one collective, in forward order: whole layers of a stage, its embedding,
 * its head (with final norm and prediction modules). Every parameter of the stage is in one. */
typedef struct {
    gint64 from, to; /* layers [from, to) of the stage */
    gboolean embedding, head;
    gint64 dense, expert; /* parameters on one rank before sharding */
} PlanUnit;
GArray *plan_stage_units(const Plan *plan, gint64 stage); /* of PlanUnit; caller frees */
gboolean plan_stage_has_embedding(const Plan *plan, gint64 stage);
gboolean plan_stage_has_head(const Plan *plan, gint64 stage); /* loss, final norm */
gint64 plan_stage_mtp(const Plan *plan, gint64 stage);        /* prediction modules on it */

/* "core_attn,mlp" and LlmModule bits. */
gboolean plan_modules_parse(const char *text, guint *ret_modules,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
char *plan_modules_print(guint modules); /* caller frees */

/* The resolved plan as "option = value" lines with the names of the command line, remarks as '#'
 * lines. Caller frees. */
char *plan_print(const Plan *plan);

/* --- ranks: order tp-cp-ep-dp-pp, tp fastest (Megatron) ---------------------------------- */
typedef struct {
    gint64 tp, cp, dp, pp;
} PlanPlace;
/* The slot of a rank (cluster/system.h): where it is for nodes, NICs and links. */
guint plan_slot(const Plan *plan, guint rank);
guint plan_node(const Plan *plan, guint rank);
/* FALSE: the slot is empty. */
gboolean plan_find_rank(const Plan *plan, guint slot, guint *ret_rank);
guint plan_rank(const Plan *plan, PlanPlace place);
PlanPlace plan_place(const Plan *plan, guint rank);
typedef enum {
    PLAN_GROUP_TP,
    PLAN_GROUP_CP,
    PLAN_GROUP_CP_INNER /* all-to-all of a2a+p2p */,
    PLAN_GROUP_CP_OUTER /* ring of a2a+p2p */,
    PLAN_GROUP_EP /* experts: the ranks of a stage in order etp-ep-edp (Megatron) */,
    PLAN_GROUP_ETP,
    PLAN_GROUP_DP /* dp x cp: gradients */,
    PLAN_GROUP_SHARD /* of it, ranks that hold one copy of sharded states */,
    PLAN_GROUP_REPLICATE /* ranks with the same shard */,
    PLAN_GROUP_EDP /* ranks with the same experts: their gradients */,
    PLAN_GROUP_EXPERT_SHARD,
    PLAN_GROUP_EXPERT_REPLICATE,
    PLAN_GROUP_PP,
    PLAN_GROUP_EMBEDDING /* first and last stage */,
    PLAN_GROUP_MODEL /* tp x pp */,
    PLAN_GROUP_WORLD,
    PLAN_N_GROUPS
} PlanGroup;
/* The members of the group of `rank`, ascending; GArray of guint, caller frees. */
GArray *plan_group(const Plan *plan, PlanGroup group, guint rank);
/* The lowest of them, which names the group, and how many they are; without making the list. */
guint plan_group_leader(const Plan *plan, PlanGroup group, guint rank, guint *ret_n);

/* --- parameters and memory --------------------------------------------------------------- */
/* Parameters held by one rank of pipeline rank pp (all its chunks): by tp, with padded vocabulary,
 * embedding on the first stage, head (or a copy of the tied embedding when pp > 1) and final norm
 * on the last. */
gint64 plan_stage_parameters(const Plan *plan, gint64 stage);
gint64 plan_rank_parameters(const Plan *plan, gint64 pp_rank);

/* Of these, the ones that are routed experts. */
gint64 plan_stage_expert_parameters(const Plan *plan, gint64 stage);
/* Ranks over which states of dense and of expert parameters are cut (1: not sharded). */
gint64 plan_shard_ranks(const Plan *plan, gboolean expert);

/* What stays for the whole iteration. Sharded gradients or parameters are counted as their shard; what is
 * gathered or not yet reduced is counted as the run goes. */
typedef struct {
    gint64 parameters_bytes, gradients_bytes, optimizer_bytes; /* SPEC.md 9 */
    gint64 fixed_bytes;                                        /* CUDA context, NCCL, workspace */
    gint64 communication_bytes;    /* SP gather buffer, pipeline receive buffers */
    gint64 host_bytes, nvme_bytes; /* offloaded, of one rank */
} PlanStaticMemory;
PlanStaticMemory plan_static_memory(const Plan *plan, gint64 pp_rank);
/* The same where a schedule places the stages: those that the rank holds, and in how many versions
 * asynchronous schedules keep its weights. */
PlanStaticMemory plan_static_memory_of(const Plan *plan, gint64 pp_rank, const gint64 *stages,
                                       guint n_stages, guint weight_versions);
/* Of a stored weight: 2, or 4 without mixed precision; and of a gradient as accumulated and
 * reduced. */
gint64 plan_parameter_bytes(const Plan *plan);
gint64 plan_gradient_bytes(const Plan *plan);
/* Of a parameter as its owner keeps it between iterations: FSDP's shards are fp32 and gathered in 16 bits,
 * elsewhere it is plan_parameter_bytes. */
gint64 plan_stored_bytes(const Plan *plan);
/* Activations that one microbatch keeps on a stage from its F to its B; and the most that its
 * backward needs on top while it runs. Logits are counted apart (last stage). */
gint64 plan_stage_activation_bytes(const Plan *plan, gint64 stage);
/* The same of a microbatch outside of recompute_microbatches: nothing is recomputed. */
gint64 plan_stage_kept_bytes(const Plan *plan, gint64 stage);
gint64 plan_stage_transient_bytes(const Plan *plan, gint64 stage);
gint64 plan_stage_weight_grad_bytes(const Plan *plan, gint64 stage); /* between I and W */
gint64 plan_stage_logits_bytes(const Plan *plan, gint64 stage);
/* Of one pipeline message. */
gint64 plan_p2p_bytes(const Plan *plan);

/* --- optimizer (SPEC.md 7.8) ------------------------------------------------------------------- */
/* Bytes of state per owned parameter (master copy and gradient copies included), and bytes that one step
 * reads and writes per owned parameter. */
double plan_optimizer_bytes(const Plan *plan);
double plan_optimizer_step_bytes(const Plan *plan);
/* Copies of gradients that a step makes for a while beside what is there anyway, of so many owned parameters. */
double plan_optimizer_copies_bytes(const Plan *plan, double owned);
/* Matrix multiplications of one step on the owned parameters of a stage: Muon's Newton-Schulz iterations as
 * FLOPs of square-ish GEMMs; 0 for the others. */
double plan_optimizer_step_flops(const Plan *plan, gint64 stage);
/* Of a parameter as it is gathered: 2, 4, or 1 with fp8_gather. */
gint64 plan_gather_bytes(const Plan *plan);
