/* One training iteration, simulated: rank programs with costs attached, run by the engine, and the result. */
#pragma once

#include "llm/flops.h"
#include "plan/plan.h"
#include "schedule/schedule.h"
#include "sim/engine.h"
#include "step/doubt.h"
#include "step/shape.h"
#include "units/why.h"

typedef enum {
    STEP_COMPUTE,
    STEP_RECOMPUTE,
    STEP_TP,
    STEP_CP,
    STEP_EP,
    STEP_PP,
    STEP_DP,
    STEP_OPTIMIZER,
    STEP_BUBBLE,
    STEP_HOST,
    STEP_OTHER,
    STEP_N_KINDS
} StepKind;
const char *step_kind_name(StepKind kind); /* as in breakdown_s: "compute", "tp_exposed", ... */

/* What memory is for. */
typedef enum {
    STEP_MEMORY_PARAMETERS,
    STEP_MEMORY_GRADIENTS,
    STEP_MEMORY_OPTIMIZER,
    STEP_MEMORY_ACTIVATIONS, /* kept from a forward to its backward, or recomputed for it */
    STEP_MEMORY_LOGITS,
    STEP_MEMORY_GATHERED, /* parameters gathered from shards; gradients not yet reduced to theirs */
    STEP_MEMORY_WORKSPACE, /* what a kernel list needs while it runs */
    STEP_MEMORY_COMMUNICATION,
    STEP_MEMORY_FIXED,
    STEP_N_MEMORY
} StepMemory;
extern const char *const step_memory_names[]; /* "parameters", ... as in JSON's by_kind */

/* Reserved memory is the peak and what the allocator loses on top of it (PlanSpec.fragmentation): a plan fits when
 * that is below the limit on every GPU, and the host has room for what is offloaded; it does not when the peak
 * alone is above it. In between it depends on the allocator. */
typedef enum { STEP_FITS, STEP_MAY_FIT, STEP_DOES_NOT_FIT } StepVerdict;
extern const char *const step_verdict_names[]; /* "fits", "may_fit", "does_not_fit" */

/* What one GPU sends in an iteration by one kind of collective. */
typedef struct {
    const char *name; /* of the op: "dispatch", "param_all_gather" ... */
    StepKind kind;
    NetOp op;
    guint ranks; /* of the group */
    guint64 count;
    double bytes;      /* sum of sizes, as NetOp counts them */
    double sent_bytes; /* by a ring (net_ring_bytes), as published volumes count */
} StepTraffic;

/* One pipeline rank (its representative GPU). Times in ns. */
typedef struct {
    gint64 pp_rank;
    gint64 layers;           /* transformer layers it holds */
    gint64 start_ns, end_ns; /* first and last pipeline op: span = end - start */
    gint64 busy_ns;          /* in F, B (I, W), tensor-parallel waits included */
    gint64 idle_ns;          /* makespan - busy */
    gint64 forward_ns,
        backward_ns;         /* mean of one token (per chunk), waits for the pipeline excluded */
    gint64 sent_bytes;       /* pipeline messages that leave one GPU in an iteration */
    guint peak_microbatches; /* most live chunk activations */
    gint64 parameters;       /* on one GPU */
    PlanStaticMemory fixed;
    gint64 activations_bytes, logits_bytes; /* at the peak */
    gint64 peak_bytes;
    gint64 peak
        [STEP_N_MEMORY]; /* by kind when the sum is largest, as the simulation ran; sums to peak_bytes */
    gint64 peak_ns;
    gint64 reserved_bytes;    /* at the peak, with the allocator's loss */
    gint64 closed_form_bytes; /* the same peak by arithmetic over the list of tokens */
    /* How far below that the simulated peak may lie: 0 unless gathers, reductions or transfers to the host decide
     * how much is there at once. Never above. */
    gint64 closed_form_margin_bytes;
    GArray *traffic; /* of StepTraffic, in order of first use */
    /* What went out through the links as the engine ran it: its NVLink port; its NIC, shared evenly among the
     * GPUs behind it, or all of its NICs where it has several. By the algorithm that runs (a tree sends other
     * amounts than a ring); what is relayed for others counts as well. */
    double nvlink_bytes, nic_bytes;
} StepStage;

typedef struct {
    /* The iteration, end to end. Where no barrier ends it, iterations follow each other rank by rank and it is
     * the longest span of a rank, its optimizer step included; asynchronous schedules have no fill at all, and
     * it is the longest busy time (SPEC.md 1.2, 3.18). */
    gint64 time_ns;
    gint64 makespan_ns; /* the pipeline: from the first to the last F, B, I or W of any rank */
    gint64 max_span_ns;
    double bubble_fraction; /* (makespan - busy_max)/makespan, SPEC.md 1.1 */
    double bubble_over_ideal;
    gint64 breakdown_ns[STEP_N_KINDS]; /* of the critical path; sums to time_ns exactly */
    /* Of the critical path: what kernels, and what was sent, took longer than each alone, for the other on the same
     * GPU; links that are shared count for the second, noise for both. */
    gint64 slowed_ns, delayed_ns;
    guint home;      /* the pipeline rank whose idle time counts as bubble there */
    GArray *stages;  /* of StepStage, [pp] */
    GArray *links;   /* of StepLink, most utilised first */
    double share[3]; /* of compute + communication time on the critical path by CostBasis */
    gint64 error_ns; /* one sigma */
    gint64 breakdown_error_ns[STEP_N_KINDS]; /* of each part, one sigma; certainty.c has the rule */
    GArray *doubts;                          /* of StepDoubt, by source: what error_ns is made of */
    GArray *shapes; /* of StepShape, the largest share of the critical path first */
    double model_flops, hardware_flops; /* of the whole iteration, all GPUs */
    gint64 memory_limit_bytes, memory_peak_bytes;
    guint memory_peak_stage;
    gint64 memory_reserved_bytes; /* of the stage with the peak */
    StepVerdict verdict;
    gint64 host_bytes,
        host_limit_bytes; /* offloaded, of the fullest node; what it has, 0: not known */
    gint64 nvme_bytes;    /* of the fullest node */
    guint64 events, ops;
    guint ranks, ranks_simulated;
    Why *
        time_why; /* seconds: time_ns by kind and by name, each with its error and what it rests on */
} StepResult;

/* What goes through one link (one direction) in an iteration. Links that are alike in all this are one entry. */
typedef struct {
    char *name;       /* owned: "NIC 3 of node 0, out", "leaf 0 of rail 0, up" */
    const char *kind; /* static: "nvlink", "nic", "pcie", "leaf uplink" ... */
    guint64 alike;    /* how many there are like it in truth */
    double bytes;     /* of one */
    double capacity_Bps;
    gint64 busy_ns;     /* used at all */
    double utilisation; /* bytes over capacity x iteration, 0..1 */
} StepLink;

/* Which ranks are simulated: one of each class; of every tensor-parallel group the first, which stands for its lock
 * step (for noise); all. */
typedef enum { STEP_RANKS_CLASSES, STEP_RANKS_TP_LANES, STEP_RANKS_ALL } StepRanks;

/* What is not as it should be (noise.h has the drawing of it). */
struct StepNoise;

typedef struct {
    gboolean all_ranks; /* STEP_RANKS_ALL */
    StepRanks ranks;
    const struct StepNoise *noise; /* borrowed; NULL: none */
    gboolean
        fused; /* --detail segment: maximal runs of ops that nothing can interfere with are one */
    const char *background; /* "nic=30%,spine=50%": used by others; NULL: nothing */
    LlmFlopsConvention convention;
    /* Optional: called for each op that ran, with words; in order of end times. */
    void (*trace)(void *user, guint rank, const char *stream, const char *name, const char *kind,
                  gint64 stage, gint64 microbatch, gint64 start_ns, gint64 end_ns);
    void *trace_user;
    /* Optional: called for each F, B, I, W token of each simulated rank after the run, for Gantt charts. */
    void (*token)(void *user, guint pp_rank, ScheduleToken token, gint64 start_ns, gint64 end_ns);
    void *token_user;
    /* Optional: called after the run for each change of memory of the ranks that the result reports, one a
     * pipeline rank, in order of time. */
    void (*memory)(void *user, guint rank, guint pp_rank, gint64 when_ns,
                   const gint64 bytes[STEP_N_MEMORY]);
    void *memory_user;
} StepOptions;

/* Durations of one forward, input gradient and weight gradient of each stage, [pp * vpp] each, alone with
 * what its tensor-parallel traffic exposes; and of one message. For schedules that are searched for. */
void step_token_times(const Plan *plan, const CostBook *cost, const NetBook *net, gint64 *ret_F,
                      gint64 *ret_I, gint64 *ret_W, gint64 *ret_comm);

/* Borrowed books; `schedule` must fit the plan (pp, vpp, microbatches, placement). */
StepResult *step_run(const Plan *plan, const Schedule *schedule, const CostBook *cost,
                     const NetBook *net, const StepOptions *options, GError **error);
void step_result_free(StepResult *r);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StepResult, step_result_free)

/* --- textbook mode: one stage-time each, no model and no hardware ------------------------------- */
typedef struct {
    gint64 F, I, W, comm; /* any unit; the result is in the same unit */
    gint64 pair;          /* an overlapped F and backward as one unit; 0: F + I + W */
    PlanP2p p2p;          /* ASYNC (comm as latency) or BLOCKING ... */
} StepUnits;
typedef struct {
    gint64 makespan, busy_max, max_span;
    double bubble_fraction, bubble_over_ideal;
    gint64 *idle, *span; /* [pp] */
    guint n;
} StepUnitResult;
StepUnitResult *step_run_units(const Schedule *schedule, const StepUnits *units,
                               void (*token)(void *user, guint pp_rank, ScheduleToken token,
                                             gint64 start, gint64 end),
                               void *user, GError **error);
void step_unit_result_free(StepUnitResult *r);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StepUnitResult, step_unit_result_free)
