/* From a schedule to a program: tokens become calls, dependencies across ranks become messages, in the order
 * and with the waits of a framework's p2p model (SPEC.md 2: M0 ideal, M1 asynchronous, M2 blocking
 * batches, M3 overlapped, M4 one fused exchange).  Knows no model, plan or hardware: used with real op
 * lists and with the textbook's unit times alike. */
#pragma once

#include "plan/plan.h"
#include "schedule/schedule.h"
#include "sim/program.h"

/* Streams of a rank. */
enum {
    STEP_SLOT_COMPUTE,
    STEP_SLOT_TP,
    STEP_SLOT_DP,
    STEP_SLOT_SEND_F, /* activations to the next stage */
    STEP_SLOT_RECV_F,
    STEP_SLOT_SEND_B, /* gradients to the previous stage */
    STEP_SLOT_RECV_B,
    STEP_SLOT_PP,     /* collectives over pipeline ranks: tied embedding, gradient norm */
    STEP_SLOT_HOST,   /* the CPU thread that launches the kernels */
    STEP_N_SLOTS
};
const char *step_slot_name(guint slot);

/* Ports of a rank; wires follow, four for each chunk. */
enum { STEP_PORT_TP, STEP_PORT_DP, STEP_PORT_EMBEDDING, STEP_PORT_MODEL, STEP_PORT_WORLD, STEP_PORT_WIRES };
enum { STEP_WIRE_RECV_F, STEP_WIRE_SEND_F, STEP_WIRE_RECV_B, STEP_WIRE_SEND_B, STEP_N_WIRES };
guint step_wire_port(guint chunk, guint wire);

typedef struct {
    const Schedule *schedule;
    guint rank; /* pipeline rank */
    PlanP2p p2p; /* not AUTO */
    /* The template of a token's ops; `first`/`last`: of its kind on its stage in this rank's list, where
     * the last of B and W together is the last of both. */
    const SimTemplate *(*token)(void *user, ScheduleToken token, gboolean first, gboolean last);
    /* The message between stage `boundary` and boundary + 1, the same in both directions. */
    SimWork (*wire)(void *user, guint boundary);
    /* Called after the token's call was appended: what is launched beside it; may be NULL. */
    void (*after)(void *user, SimProgram *program, guint index, ScheduleToken token, gboolean last);
    gint64 sync_ns;    /* device synchronise after each blocking batch; 0: none. The host waits with it. */
    guint32 wire_tag, sync_tag;
    void *user;
} StepLowering;

typedef struct {
    SimProgram *program;
    GPtrArray *templates; /* of the messages; owned */
    guint *calls;         /* [tokens] call index of each token of the rank's list */
} StepLowered;

/* Labels of calls: token index + 1; 0 for all others. */
StepLowered *step_lower(const StepLowering *lowering);
void step_lowered_free(StepLowered *lowered);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StepLowered, step_lowered_free)

/* Chunk (0..vpp-1) of a global stage on its rank: how many of the rank's stages come before it. */
guint step_chunk_of(const Schedule *schedule, guint stage);
/* Does the token take its input from, or give its output to, another rank? And over which boundary. */
gboolean step_token_receives(const Schedule *schedule, guint rank, ScheduleToken token);
gboolean step_token_sends(const Schedule *schedule, guint rank, ScheduleToken token);
