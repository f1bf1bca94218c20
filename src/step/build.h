/* Inside of `step`: the tables a step is built from. Not for other layers. */
#pragma once

#include "cost/overlap.h"
#include "step/background.h"
#include "step/fabric.h"
#include "step/lower.h"
#include "step/step.h"

/* What a tag of the engine stands for. */
typedef struct {
    const char *name; /* static */
    StepKind kind;
    CostBasis basis;
    double error_frac;
    gboolean pipeline; /* part of a token: F, B ... (not of start or end of the iteration) */
    guint effect;      /* on memory, in StepBuild.effects; 0: none */
    guint transfer;    /* in StepBuild.transfers; 0: none */
    double spread; /* of a run of kernels: sqrt(sum of squares) / sum of their times; 0: one op */
    guint chain, n_links; /* of a chain: in StepBuild.chain_links; 0 links: none */
    guint shape;          /* in StepBuild.shapes; 0: none */
    double shape_calls;   /* how many of it the op stands for; 0: one */
    guint part, n_parts;  /* of a run of kernels: in StepBuild.run_parts; 0 parts: none */
} StepOp;

/* A kernel, a run of them or a tensor-parallel collective in a chain of these. */
typedef struct {
    guint32 tag;
    gboolean collective;
    guint after;     /* begins when so many of the other kind in the chain are over */
    guint work_kind; /* SimWork.kind */
    gint64 duration_ns;
} StepLinkOfChain;
typedef struct {
    double of[SIM_LOADS];
} StepLoads;

/* A kernel in a run of them. */
typedef struct {
    guint32 tag;
    gint64 ns;
} StepPartOfRun;

/* What an op sends. */
typedef struct {
    NetOp op;
    guint ranks;
    double bytes, sent_bytes; /* as in StepTraffic, of one op */
} StepTransfer;

/* Bytes of each kind that an op allocates (> 0) or frees (< 0) when it starts and when it ends. */
typedef struct {
    gint64 start[STEP_N_MEMORY], end[STEP_N_MEMORY];
} StepEffect;

/* An op list with costs attached, ready to be put into templates. */
typedef struct {
    SimWork work;
    guint32 tag;
    guint slot, port; /* the port only of collectives, which are not on the compute slot */
    LlmSegment segment;
    gboolean absent;    /* a collective of a group of one: not run, its waits are its followers' */
    gboolean same_call; /* no launch of its own */
    int waits[LLM_N_STREAMS - 1]; /* indices in the list; -1: none */
    int read; /* what the host reads, and so waits for, before it launches this; -1: nothing */
} StepPriced;

/* Patterns that tell how links are pressed: ring, and pairs; between nodes and in them. */
#define STEP_N_PRESSES 4

#define STEP_N_RECOMPUTES (LLM_RECOMPUTE_FULL + 1)

/* Ranks that behave alike: same stage, same groups as far as time is concerned. */
typedef struct {
    guint pp_rank;
    guint rank;                    /* a global rank of this class */
    gboolean special;              /* no other is of it, though it may look the same */
    NetGroup group[PLAN_N_GROUPS]; /* shape of each group of the plan that the rank is in */
    NetGroup tp, dp, embedding, model, replica;
    GArray *boundary_local; /* gboolean, [replica * stages + boundary]: both ends on one node */
    GArray *boundary_far;   /* guint8, the same: 0 on one node, else 1 + distance of the nodes */
    GArray *card_stages; /* guint, ascending: pipeline ranks of all ranks behind the rank's NIC */
    double nic_sharers_p2p;            /* ranks of this stage behind one NIC */
    double nic_sharers[PLAN_N_GROUPS]; /* groups of a kind of this stage behind one NIC */
    guint n_ranks;                     /* in truth */
    /* How the links above NICs and ports are pressed (step_fabric_press) by groups like the rank's own, and by
     * the messages over each boundary of its column, forward and backward. */
    float press[STEP_N_GROUPS][STEP_N_PRESSES];
    GArray *boundary_press; /* float, [2 * (replica * stages + boundary) + backward] */
    /* Of StepPriced, with the cut of the recompute (plan_cut_for); made on demand. */
    GArray *priced[LLM_N_PIECES][STEP_N_RECOMPUTES][LLM_N_PASSES];
    /* Of one run of the list on one rank. */
    double flops[LLM_N_PIECES][STEP_N_RECOMPUTES][LLM_N_PASSES];
} StepClass;

typedef struct {
    guint rank;  /* global */
    guint class; /* index */
} StepRank;

/* Bytes of a copy from or to the host; its meetings use nothing else. */
#define STEP_LOAD_COPY NET_LOAD_NVLINK

/* Links above ports and NICs that are used alike, as one resource; or what follows from others: parts of link_parts. */
typedef struct {
    guint32 resource; /* STEP_NO_RESOURCE: of parts */
    guint link;       /* of the topology */
    guint first_part, n_parts;
    double alike; /* how many there are in truth; 0: others stand for it */
} StepFabricLink;
typedef struct {
    guint32 resource;
    double weight;
} StepLinkPart;

typedef struct {
    const Plan *plan;
    const Schedule *schedule;
    const CostBook *cost;
    const NetBook *net;
    PlanP2p p2p;
    GArray *ops;                  /* of StepOp, by tag */
    GArray *effects;              /* of StepEffect; the first is none */
    GArray *transfers;            /* of StepTransfer; the first is none */
    GArray *shapes;               /* of StepShape; the first is none */
    GError *refused;              /* owned: the first collective that cannot run; NULL: none */
    GArray *run_parts;            /* of StepPartOfRun */
    GArray *classes;              /* of StepClass */
    GArray *ranks;                /* of StepRank: those simulated */
    GPtrArray *templates;         /* owned SimTemplates */
    GPtrArray *lowered;           /* owned StepLowered, one a class */
    struct StepMemoryLog *memory; /* owned */
    struct StepBusyLog *busy;     /* owned */
    StepFabric *fabric;           /* owned */
    StepBackground background;
    guint32 port_loads[STEP_N_GROUP_PORTS]; /* bits 1 << NetLoad of the ops that meet there */
    struct StepLinks *links;                /* owned, [ranks] */
    GArray *fabric_links;                   /* of StepFabricLink */
    GArray *link_parts;                     /* of StepLinkPart */
    gboolean copies; /* something goes through PCIe ports (STEP_PORT_H2D, _D2H) */
    struct StepInterference *interference; /* owned; NULL: kernels and traffic disturb nobody */
    guint32 wire_tag, sync_tag, launch_tag, read_tag;
    gboolean has_pairs; /* in the schedule: tokens that run as one */
    gboolean fused;     /* runs of kernels are one op */
    gboolean
        chained; /* kernels and tensor-parallel collectives that follow each other are one op */
    gboolean portless; /* and none of these collectives needs the ports of NVLink to be simulated */
    double chain_Bps;  /* as fast as a collective in a chain may go through a port */
    GArray *chain_links; /* of StepLinkOfChain */
    GArray *chain_loads; /* of StepLoads: of each link, 0 of kernels */
    guint *
        in_flight; /* [stages] microbatches between F and B at most; NULL: recompute_microbatches is 0 */
} StepBuild;

/* step.c: empty tables; what builds them is below. */
void step_build_init(StepBuild *b, const Plan *plan, const Schedule *schedule, const CostBook *cost,
                     const NetBook *net);
void step_build_clear(StepBuild *b);
/* A SimNamer for a build. */
char *step_name_call(void *user, guint32 rank, guint call, guint32 label);

/* classes.c: finds classes and the ranks to simulate. `special`: GArray of guint, global ranks that are like no
 * other; NULL or empty: none. */
void step_build_classes(StepBuild *b, StepRanks ranks, const GArray *special);
void step_class_clear(gpointer data);
/* Stages that a pipeline rank holds, replica by replica; GArray of gint64. */
GArray *step_stages_on(const Schedule *schedule, guint pp_rank);

/* price.c: ops with costs attached. */
guint32 step_tag(StepBuild *b, const char *name, StepKind kind, CostBasis basis, double error_frac,
                 gboolean pipeline);
/* The tag of an op like this one. */
guint32 step_intern_op(StepBuild *b, const StepOp *op);
/* The op's tag, with what it sends. */
guint32 step_transfer_tag(StepBuild *b, StepOp op, StepTransfer transfer);
/* shape.c: the index of a shape like this one; of what an op list has (no collective), of a kernel bound by memory and
 * of a collective for some purpose. 0: nothing runs. */
guint step_intern_shape(StepBuild *b, const StepShape *shape);
guint step_op_shape(StepBuild *b, const LlmOp *op, CostTime time);
guint step_memory_shape(StepBuild *b, const char *name, CostMemoryKernel kernel, double bytes,
                        CostTime time);
guint step_collective_shape(StepBuild *b, const char *name, StepKind purpose, NetOp op,
                            const NetGroup *group, gint64 bytes, CostTime time);
/* What tells shapes of one kind apart; those that a kind has not are 0. */
#define STEP_SHAPE_FIELDS 10
void step_shape_fields(const StepShape *shape, gint64 ret[STEP_SHAPE_FIELDS]);
/* Fills in StepShape.calls. */
void step_count_shapes(const StepBuild *b);
/* Work that takes so long alone, or the longest that the engine takes: the run is then refused. */
SimWork step_work(double ns);
/* Adds a kernel, a memory-bound kernel or a collective to a template; returns the op's index. */
guint step_add_memory(StepBuild *b, SimTemplate *t, const char *name, StepKind kind,
                      CostMemoryKernel kernel, double bytes, gboolean pipeline);
guint step_add_collective(StepBuild *b, SimTemplate *t, const char *name, StepKind kind, guint slot,
                          guint port, NetOp op, NetGroup group, gint64 bytes, gboolean pipeline);
/* The op list of a piece with costs, computed once for each class. */
const GArray *step_priced(StepBuild *b, StepClass *class, LlmPiece piece, LlmRecompute recompute,
                          LlmPass pass);
guint step_stream_slot(LlmStream stream);
/* segment.c: takes a template that is complete, with its runs of kernels as one op each if the build says so. */
void step_keep_template(StepBuild *b, SimTemplate *t);
/* piece.c: an op list that is added to a template segment by segment, in any order that its waits allow. */
typedef struct {
    const GArray *list;  /* of StepPriced; borrowed */
    guint *indices;      /* [list->len] in the template */
    guint unlaunched;    /* ops whose launch the host has still to be charged with */
    gboolean free_wgrad; /* nothing but weight gradients waits for weight gradients */
    guint first, last;   /* in the template; first > last: none yet */
} StepStrand;
#define STEP_ALL_SEGMENTS ((1u << LLM_N_SEGMENTS) - 1)
StepStrand step_strand_begin(StepBuild *b, StepClass *class, LlmPiece piece, LlmRecompute recompute,
                             LlmPass pass);
void step_strand_end(StepStrand *s);
/* Those of the segments (bits 1 << LlmSegment) that are not there yet, in list order. */
void step_strand_add(StepBuild *b, SimTemplate *t, StepStrand *s, guint segments);
/* Appends the op list of a piece; returns the index of its first op. What compute ops count as follows from
 * the pass. */
guint step_add_piece(StepBuild *b, SimTemplate *t, StepClass *class, LlmPiece piece,
                     LlmRecompute recompute, LlmPass pass);
/* FLOPs that one rank executes for a token. */
double step_token_flops(StepBuild *b, StepClass *class, ScheduleToken token);
SimWork step_wire_work(StepBuild *b, const StepClass *class, guint replica, guint boundary);

/* memory_marks.c: what ops allocate when they start and free when they end, by kind; the engine's probe adds it
 * up rank by rank (memory.c). Marks of one op add; all marks of a rank's program must add up to nothing for each
 * kind. Of pieces: ops [first, last] of the template are the piece's list; an empty one (first > last) is not
 * marked. */
guint step_intern_effect(StepBuild *b, const StepEffect *effect);
void step_mark(StepBuild *b, SimTemplate *t, guint op, StepMemory kind, gint64 start_bytes,
               gint64 end_bytes);
/* What a microbatch has on a rank for a piece: from its forward to its backward; from recompute to the end of the
 * backward; from the head's forward to its backward; and from input to weight gradient. */
typedef struct {
    gint64 kept, transient, logits, weight_grad;
} StepFootprint;
StepFootprint step_footprint(const StepBuild *b, LlmPiece piece, LlmRecompute recompute);
gint64 step_workspace(const StepBuild *b, LlmPiece piece, LlmRecompute recompute, LlmPass pass);
/* As `recompute` of a layer in a unit of uniform full recompute that is not the unit's first: it keeps not even
 * its input. */
#define STEP_RECOMPUTE_INNER ((LlmRecompute)(LLM_RECOMPUTE_FULL + 1))
void step_mark_forward(StepBuild *b, SimTemplate *t, LlmPiece piece, LlmRecompute recompute,
                       guint first, guint last);
/* The recompute list of a piece; what it brings back is freed with the backward. */
void step_mark_recompute(StepBuild *b, SimTemplate *t, LlmPiece piece, LlmRecompute recompute,
                         guint first, guint last);
/* BACKWARD, INPUT_GRAD or WEIGHT_GRAD. */
void step_mark_backward(StepBuild *b, SimTemplate *t, LlmPiece piece, LlmRecompute recompute,
                        LlmPass pass, guint first, guint last);

/* token.c: templates of the tokens, whole or in parts: layers [from, to), with the embedding before them and the
 * head behind them. */
typedef struct {
    ScheduleToken token;
    gint64 from, to;
    gboolean embedding, head;
    gboolean begins; /* the token: its message is gathered */
    gboolean keeps;  /* recomputes nothing although the plan does */
} StepPart;
void step_add_part(StepBuild *b, SimTemplate *t, StepClass *class, const StepPart *part);
StepPart step_whole_token(const StepBuild *b, ScheduleToken token);
/* One of the microbatches that keep everything (PlanSpec.recompute_microbatches). */
gboolean step_token_keeps(const StepBuild *b, ScheduleToken token);
guint *step_most_in_flight(const StepBuild *b); /* StepBuild.in_flight */
SimTemplate *step_token_template(StepBuild *b, StepClass *class, ScheduleToken token);
/* The same, piece by piece, for pair.c, which puts the layers of two tokens between each other. Begin: what
 * comes before the layers (gather of the message; F: embedding, B and I: head and prediction modules); end: what
 * comes after them. */
void step_add_token(StepBuild *b, SimTemplate *t, StepClass *class, ScheduleToken token);
void step_begin_token(StepBuild *b, SimTemplate *t, StepClass *class, ScheduleToken token);
void step_end_token(StepBuild *b, SimTemplate *t, StepClass *class, ScheduleToken token);
/* What is run again before the backward of the i-th layer of a stage: nothing, the layer's list, or those of its
 * whole recompute unit; with its marks. */
void step_add_recompute(StepBuild *b, SimTemplate *t, StepClass *class, guint stage, gint64 i);
/* As the marks want it: STEP_RECOMPUTE_INNER where the layer is not the first of its unit. */
LlmRecompute step_layer_recompute(const StepBuild *b, guint stage, gint64 i);
/* The kernel that adds fresh gradients of so many parameters to the main ones, where none is fused. */
void step_add_accumulation(StepBuild *b, SimTemplate *t, gint64 parameters, LlmPass pass);
/* pair.c: a forward and a backward of another microbatch, interleaved where that hides communication between
 * experts. */
SimTemplate *step_pair_template(StepBuild *b, StepClass *class, ScheduleToken x, ScheduleToken y);
gboolean step_pair_interleaves(const StepBuild *b, ScheduleToken x, ScheduleToken y);
/* gradient.c: gradients over data-parallel ranks. How those of a stage are reduced: beside its backward; in it,
 * compute waiting for each; as one behind its last backward, in its turn; when all backwards are done. */
typedef enum {
    STEP_REDUCE_BESIDE,
    STEP_REDUCE_BLOCKING,
    STEP_REDUCE_CHUNK,
    STEP_REDUCE_AT_END
} StepReduction;
StepReduction step_reduction_of(const StepBuild *b, guint stage);
typedef struct {
    gint64 dense, expert; /* on one rank, before sharding */
} StepParameters;
/* The reduction of a unit's gradients, behind the compute stream. Its kernels and collectives. */
void step_add_reduction(StepBuild *b, SimTemplate *t, const StepClass *class,
                        StepParameters parameters);
/* The compute stream waits for all reductions launched so far. */
void step_join_reductions(StepBuild *b, SimTemplate *t);
/* Of these parameters, those with sharded gradients; bytes of one in a full gradient before it is reduced. With
 * copies (step_copies_units) there is the collective's buffer too, in the gradient's width. */
gint64 step_unsharded(const StepBuild *b, const StepClass *class, StepParameters parameters);
gint64 step_unsharded_width(const StepBuild *b);
/* Of gradients that PyTorch makes in 16 bits and adds to full ones, which FSDP keeps until the last microbatch, when
 * the unit is done. */
gint64 step_fresh_bytes(const StepBuild *b, const StepClass *class, StepParameters parameters);
/* Units are copied into and out of the buffers of their collectives (FSDP2, DeepSpeed ZeRO-3). */
gboolean step_copies_units(const StepBuild *b);
/* Of a piece on its stage: a tied head on the embedding's rank owns no matrix. */
gint64 step_piece_parameters(const StepBuild *b, guint stage, LlmPiece piece);
/* shard.c: parameters are gathered before the first forward of an iteration, not at the end of the last. */
gboolean step_gathers_in_forward(const StepBuild *b);
/* gather.c: all-gathers of these parameters on the gather stream; returns how many (dense, expert). */
guint step_add_gather(StepBuild *b, SimTemplate *t, const StepClass *class,
                      StepParameters parameters);
/* Bytes of whole parameters that are gathered while they are used. */
gint64 step_gathered_bytes(const StepBuild *b, const StepClass *class, StepParameters parameters);
/* offload.c: states on the host or on NVMe. */
/* Of the owned parameters, those that the host steps. */
double step_host_share(const StepBuild *b);
/* Behind their reduction; `adds`: to what a microbatch before has left there. */
void step_offload_gradients(StepBuild *b, SimTemplate *t, StepParameters parameters, gboolean adds);
/* The host's part of the optimizer step, which the GPU waits for. */
void step_add_host_optimizer(StepBuild *b, SimTemplate *t, const GArray *stages);
/* Brings a shard of parameters that do not live on the GPU; FALSE: nothing was added. */
gboolean step_fetch_shard(StepBuild *b, SimTemplate *t, StepParameters parameters);
/* Activations that a layer of a stage does not keep on the GPU; behind its forward they go, and they come back
 * before its backward: fetched while the layer above computes, and awaited. */
gint64 step_offloaded_bytes(const StepBuild *b, guint stage, gint64 i, LlmRecompute recompute);
void step_offload_layer(StepBuild *b, SimTemplate *t, guint stage, gint64 i,
                        LlmRecompute recompute);
void step_fetch_layer(StepBuild *b, SimTemplate *t, guint stage, gint64 i, LlmRecompute recompute);
void step_await_layer(StepBuild *b, SimTemplate *t, guint stage, gint64 i, LlmRecompute recompute);
/* finish.c: from the last backward to the next iteration. */
SimTemplate *step_finish_template(StepBuild *b, const StepClass *class);
gint64 step_optimizer_copies(const StepBuild *b,
                             guint pp_rank); /* bytes, while the optimizer steps */
/* program.c: one program a class. */
void step_build_programs(StepBuild *b);
/* engine.c: resources, meetings and ranks. */
/* Resources of a simulated rank by direction. `rest` counts NetTime's: of NICs, and of the ports of the first column
 * and of the first rank of each class. */
#define STEP_NO_RESOURCE G_MAXUINT32
enum { STEP_OUT, STEP_IN, STEP_N_DIRECTIONS };
typedef struct {
    guint32 id, rest; /* STEP_NO_RESOURCE: none */
} StepResource;
typedef struct StepLinks {
    StepResource nvlink[STEP_N_DIRECTIONS], nic[STEP_N_DIRECTIONS];
    guint32 pcie
        [STEP_N_DIRECTIONS]; /* STEP_NO_RESOURCE: nothing is copied, or it is the GPU's only port */
} StepLinks;
SimEngine *step_engine_new(StepBuild *b);
/* interference.c: SimWork.kind of a kernel, of one that memory bounds, and of what is sent for some purpose: bytes
 * that leave a GPU, and as many that come, in a time. Each op counts towards the means that its kind stands for; 0
 * where overlap is off. The engine learns the speeds when all ops are priced. */
typedef struct StepInterference StepInterference;
void step_interference_init(StepBuild *b);
void step_interference_clear(StepBuild *b);
guint step_kernel_kind(StepBuild *b, const LlmOp *op, double ns);
guint step_memory_kind(StepBuild *b, double bytes, double ns);
guint step_traffic_kind(StepBuild *b, StepKind purpose, CostTraffic traffic, guint channels,
                        double sent_bytes, double ns);
/* The same of a collective; of a message without a group. */
guint step_net_kind(StepBuild *b, StepKind purpose, NetOp op, const NetGroup *group,
                    const NetTime *time);
void step_set_interference(const StepBuild *b, SimEngine *engine);
/* press.c: StepClass.press; and boundary_press of the column of a rank. */
void step_class_press(const StepBuild *b, StepClass *class);
GArray *step_boundary_press(const StepBuild *b, guint rank);
/* What the groups of a port are, of the plan's or STEP_GROUP_REPLICA; whether the rank is in one; and the shape. */
guint step_port_group(guint port);
gboolean step_port_carries_data(guint port);
/* link_report.c: StepResult.links, and its parts. */
void step_report_links(const StepBuild *b, const SimEngine *engine, StepResult *r);
double step_resource_bytes(const SimEngine *engine, const StepResource *r);
double step_nics_of(const StepBuild *b, guint i); /* simulated rank; a share of one below 1 */
/* result.c, path.c, memory.c */
/* What one iteration takes (StepResult.time_ns), of all ranks that are simulated. */
gint64 step_iteration_ns(const StepBuild *b, SimEngine *engine);
StepResult *step_collect(StepBuild *b, SimEngine *engine, const StepOptions *options);
void step_breakdown(StepBuild *b, SimEngine *engine, StepResult *r);
/* busy.c: what ranks compute, and what they communicate inside of tokens, by class of rank, as it ran. */
typedef struct StepBusyLog StepBusyLog;
StepBusyLog *step_busy_log_new(const StepBuild *b);
void step_busy_log_free(StepBusyLog *log);
void step_busy_log_op(StepBusyLog *log, guint32 rank, guint slot, guint32 tag, gint64 start_ns,
                      gint64 end_ns);
/* Cuts a time into parts, in order: ops of the compute stream; where it is idle, those of communication if
 * `streams` says so; and STEP_NO_OP for the rest. */
#define STEP_NO_OP G_MAXUINT32
enum { STEP_BUSY_COMPUTE = 1, STEP_BUSY_ALL = 4 };
typedef void (*StepBusyVisitor)(void *user, guint32 tag, gint64 start_ns, gint64 end_ns);
void step_busy_during(const StepBusyLog *log, guint32 rank, gint64 from_ns, gint64 to_ns,
                      guint streams, StepBusyVisitor visit, void *user);
/* certainty.c: how sure parts of the path are, from its ns by tag, [2 * tag + (as bubble)]. */
typedef struct StepCertainty StepCertainty;
StepCertainty *step_certainty_new(const StepBuild *b, const gint64 *path_ns);
void step_certainty_free(StepCertainty *c);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StepCertainty, step_certainty_free)
/* What the path has of a kind, of the kernels that ran: not as one op where they ran as one. */
double step_certainty_ns(const StepCertainty *c, guint tag, StepKind kind);
/* Error and shares of ops of a kind, of one name or of all. Returns the error in ns. */
double step_certainty_of(StepCertainty *c, StepKind kind, const char *name_or_null, Why *why);
/* Of the whole: error, shares, doubts and shapes of the result; error and shares of its time_why. */
void step_certainty_of_all(StepCertainty *c, StepResult *r);
/* traffic.c: templates of a program in order of first call, of StepCalled. */
typedef struct {
    const SimTemplate *template;
    guint64 calls;
} StepCalled;
GArray *step_count_calls(const SimProgram *program);
/* Of StepTraffic, what the program of a simulated rank sends. */
GArray *step_traffic(const StepBuild *b, guint rank);
void step_memory(StepBuild *b, StepResult *r, const StepOptions *options);
/* memory.c: what the ops of the first column of ranks do to memory, noted as they end. */
typedef struct StepMemoryLog StepMemoryLog;
StepMemoryLog *step_memory_log_new(const StepBuild *b);
void step_memory_log_free(StepMemoryLog *log);
void step_memory_log_op(StepMemoryLog *log, guint32 rank, guint slot, guint32 tag, gint64 start_ns,
                        gint64 end_ns);
/* closed_form.c: the peak of a rank on top of what it holds for the whole iteration, by arithmetic. */
void step_closed_form(StepBuild *b, StepStage *stage, gint64 static_bytes);
