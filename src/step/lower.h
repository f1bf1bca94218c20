/* From a schedule to a program: tokens become calls, dependencies across ranks become messages, in the order
 * and with the waits of a framework's p2p model (SPEC.md 2: M0 ideal, M1 asynchronous, M2 blocking
 * batches, M3 overlapped, M4 one fused exchange).  Knows no model, plan or hardware: used with real op
 * lists and with the textbook's unit times alike. */
#pragma once

#include "plan/plan.h"
#include "schedule/schedule.h"
#include "sim/engine.h"

/* Streams of a rank. */
enum {
    STEP_SLOT_COMPUTE,
    STEP_SLOT_TP,
    STEP_SLOT_DP,
    STEP_SLOT_SEND_F, /* activations to the next stage */
    STEP_SLOT_RECV_F,
    STEP_SLOT_SEND_B, /* gradients to the previous stage */
    STEP_SLOT_RECV_B,
    STEP_SLOT_PP,   /* collectives over pipeline ranks: tied embedding, gradient norm */
    STEP_SLOT_HOST, /* the CPU thread that launches the kernels; also its own optimizer step */
    STEP_SLOT_CP,
    STEP_SLOT_EP,
    STEP_SLOT_GATHER,    /* parameters of sharded data parallelism */
    STEP_SLOT_REPLICATE, /* sums of shards over replicas: HSDP, partial distributed optimizer */
    STEP_SLOT_H2D,
    STEP_SLOT_D2H,
    STEP_SLOT_NVME,
    STEP_N_SLOTS /* = SIM_SLOTS: no more */
};
const char *step_slot_name(guint slot);

/* Ports of a rank; wires follow, four for each chunk. */
enum {
    STEP_PORT_TP,
    STEP_PORT_CP,
    STEP_PORT_CP_INNER,
    STEP_PORT_CP_OUTER,
    STEP_PORT_EP,
    STEP_PORT_ETP,
    STEP_PORT_DP, /* gradients of dense parameters, not sharded, or scalars */
    STEP_PORT_SHARD,
    STEP_PORT_GATHER, /* the shard group again: gathers run beside reductions */
    STEP_PORT_REPLICATE,
    STEP_PORT_EDP,
    STEP_PORT_EXPERT_SHARD,
    STEP_PORT_EXPERT_GATHER,
    STEP_PORT_EXPERT_REPLICATE,
    STEP_PORT_EMBEDDING,
    STEP_PORT_MODEL,
    STEP_PORT_WORLD,
    STEP_PORT_REPLICA, /* the two ranks that hold the same stages of two replicas */
    STEP_N_GROUP_PORTS,
    STEP_PORT_H2D =
        STEP_N_GROUP_PORTS, /* copies from and to the host, through the GPU's PCIe port */
    STEP_PORT_D2H,
    STEP_PORT_WIRES
};
enum { STEP_WIRE_RECV_F, STEP_WIRE_SEND_F, STEP_WIRE_RECV_B, STEP_WIRE_SEND_B, STEP_N_WIRES };
guint step_wire_port(guint chunk, guint wire);

typedef struct {
    const Schedule *schedule;
    guint rank;  /* pipeline rank */
    PlanP2p p2p; /* not AUTO */
    /* Appends the calls of a token, with this label; `first`/`last`: of its kind on its stage in this
     * rank's list. */
    void (*run)(void *user, SimProgram *program, ScheduleToken token, gboolean first, gboolean last,
                guint32 label);
    /* The template of an overlapped pair, run as one unit under IDEAL and ASYNC, and under OVERLAPPED when
     * `as_unit` (may be NULL) says so; the other models run its tokens one after the other. */
    const SimTemplate *(*pair)(void *user, ScheduleToken x, ScheduleToken y);
    gboolean (*as_unit)(void *user, ScheduleToken x, ScheduleToken y);
    /* Called for each token of a pair before the pair's call is appended; may be NULL. */
    void (*before_pair)(void *user, SimProgram *program, ScheduleToken token, guint32 label);
    /* The message between stage `boundary` and boundary + 1 of a replica, the same in both directions. */
    SimWork (*wire)(void *user, guint replica, guint boundary);
    /* Called after the token's call was appended: what is launched beside it; may be NULL. */
    void (*after)(void *user, SimProgram *program, guint index, ScheduleToken token, gboolean last);
    gint64
        sync_ns; /* device synchronise after each blocking batch; 0: none. The host waits with it. */
    guint32 wire_tag, sync_tag;
    void *user;
} StepLowering;

typedef struct {
    SimProgram *program;
    GPtrArray *templates; /* of the messages; owned */
    guint *calls;   /* [tokens] first call of each token of the rank's list; a pair's is one */
    guint *n_calls; /* [tokens] how many calls it is */
} StepLowered;

/* Labels of calls: token index + 1; 0 for all others. */
StepLowered *step_lower(const StepLowering *lowering);
void step_lowered_free(StepLowered *lowered);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StepLowered, step_lowered_free)

/* When a token ran on slot 0: start of its first and end of its last call; returns the time within its
 * calls, without waits between them. */
gint64 step_token_span(const StepLowered *lowered, const SimEngine *engine, guint rank, guint index,
                       gint64 *ret_start_ns, gint64 *ret_end_ns);

/* Chunk (0, 1 ...) of a stage on its rank: how many of the rank's stages come before it, replica by
 * replica. */
guint step_chunk_of(const Schedule *schedule, guint replica, guint stage);
/* Meetings of the messages of one pipeline: a range of `microbatches` for each replica, boundary and direction,
 * 2 * (replica * n_stages + boundary) + backward; and the ports of a rank bound to them. */
guint step_n_wires(const Schedule *schedule);
void step_bind_wires(const Schedule *schedule, guint rank, const guint32 *wires, guint32 *ports);
guint step_n_ports(const Schedule *schedule);
/* The stage a token takes its input from (F: before, B and I: after), and the one that it gives its output to;
 * -1: none. */
int step_token_source(const Schedule *schedule, ScheduleToken token);
int step_token_target(const Schedule *schedule, ScheduleToken token);
/* Does the token take its input from, or give its output to, another rank? And over which boundary. */
gboolean step_token_receives(const Schedule *schedule, guint rank, ScheduleToken token);
gboolean step_token_sends(const Schedule *schedule, guint rank, ScheduleToken token);
