/* A model cut over a machine: degrees, process groups, layers per stage, batch, sharding; and what
 * each rank keeps in memory. Everything the user may say is in PlanSpec; everything that follows is
 * in Plan. */
#pragma once

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

typedef struct {
    gint64 tp, pp, dp, cp, ep, vpp; /* dp 0: from gpus; gpus 0: tp*pp*dp*cp */
    gint64 gpus;
    gint64 micro_batch, global_batch, microbatches; /* 0: derived; both given must agree */
    gint64 seq; /* 0: the model's default (at most max_positions) */
    gboolean sequence_parallel;
    gint64 zero; /* 0, or 1 = distributed optimizer */
    LlmRecompute recompute;
    LlmAttention attention;
    ClusterDtype dtype;
    gboolean gradient_fp32; /* accumulate and reduce gradients in fp32 */
    gboolean
        gradient_fusion; /* weight-gradient GEMMs add into the main gradient; if not, a kernel of its
                               * own adds after each (never fused with deepspeed_pipeline) */
    int dropout;         /* -1: as the model says */
    const char *schedule; /* borrowed; checked by the caller against schedule_types */
    gint64 group;         /* microbatch group size; 0: pp */
    gint64 first_stage_layers, last_stage_layers; /* 0: not given */
    const char *stage_layers; /* "23,24,24,25": explicit counts in stage order; NULL: not given */
    gboolean account_for_embedding, account_for_loss;
    gboolean overlap_grad_reduce, overlap_param_gather, align_grad_reduce;
    gboolean scatter_gather; /* SC'21: pipeline messages cut by tp, gathered in the node */
    PlanP2p p2p;
    gboolean p2p_sync;      /* device synchronise after each blocking batch */
    double clip;            /* gradient clipping norm; 0: none */
    gint64 bucket_elements; /* 0: Megatron's max(40e6, 1e6*dp) */
    PlanBarrier optimizer_barrier;
    const char *layout; /* Megatron's layout string "E,t*3|t*4|...|t*3,L"; NULL: not given */
    gboolean deepspeed_pipeline; /* DeepSpeed engine: DP reduction after all, no overlap */
} PlanSpec;

/* The practitioner's defaults for GPT-3 175B on DGX A100 (bf16, SP when tp > 1, distributed
 * optimizer, selective recompute, micro-batch 1, 1f1b).
 *
 * What is left 0 is derived by plan_new: dp from gpus (else 1); the global batch is 1536 sequences,
 * rounded up to whole microbatches on every replica (and whole groups when vpp > 1); the sequence
 * is what the model was made for, at most 8192. */
PlanSpec plan_spec_default(void);

typedef struct {
    PlanSpec spec;               /* resolved: no zeros left that mean "derived" */
    const LlmShape *shape;       /* borrowed */
    const ClusterSystem *system; /* borrowed */
    LlmCut cut;
    gint64 gpus, nodes;
    gint64 n_stages; /* pp*vpp */
    guint *rank_of;  /* [n_stages] pipeline rank of each global stage */
    gint64 *layers;  /* [n_stages] transformer layers of each global stage; sums to shape->layers */
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
/* The resolved plan as "option = value" lines with the names of the command line, remarks as '#'
 * lines. Caller frees. */
char *plan_print(const Plan *plan);

/* --- ranks: order tp-cp-ep-dp-pp, tp fastest (Megatron) ---------------------------------- */
typedef struct {
    gint64 tp, cp, dp, pp;
} PlanPlace;
guint plan_rank(const Plan *plan, PlanPlace place);
PlanPlace plan_place(const Plan *plan, guint rank);
typedef enum {
    PLAN_GROUP_TP,
    PLAN_GROUP_CP,
    PLAN_GROUP_DP /* dp x cp: gradients */,
    PLAN_GROUP_PP,
    PLAN_GROUP_EMBEDDING /* first and last stage */,
    PLAN_GROUP_MODEL /* tp x pp */,
    PLAN_GROUP_WORLD,
    PLAN_N_GROUPS
} PlanGroup;
/* The members of the group of `rank`, ascending; GArray of guint, caller frees. */
GArray *plan_group(const Plan *plan, PlanGroup group, guint rank);

/* --- parameters and memory --------------------------------------------------------------- */
/* Parameters held by one rank of pipeline rank pp (all its chunks): by tp, with padded vocabulary,
 * embedding on the first stage, head (or a copy of the tied embedding when pp > 1) and final norm
 * on the last. */
gint64 plan_stage_parameters(const Plan *plan, gint64 stage);
gint64 plan_rank_parameters(const Plan *plan, gint64 pp_rank);

typedef struct {
    gint64 parameters_bytes, gradients_bytes, optimizer_bytes; /* SPEC.md 9 */
    gint64 fixed_bytes;                                        /* CUDA context, NCCL, workspace */
    gint64 communication_bytes; /* SP gather buffer, pipeline receive buffers */
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
/* Activations that one microbatch keeps on a stage from its F to its B; and the most that its
 * backward needs on top while it runs. Logits are counted apart (last stage). */
gint64 plan_stage_activation_bytes(const Plan *plan, gint64 stage);
gint64 plan_stage_transient_bytes(const Plan *plan, gint64 stage);
gint64 plan_stage_weight_grad_bytes(const Plan *plan, gint64 stage); /* between I and W */
gint64 plan_stage_logits_bytes(const Plan *plan, gint64 stage);
/* Of one pipeline message. */
gint64 plan_p2p_bytes(const Plan *plan);
