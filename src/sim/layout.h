/* How templates and programs lie in memory: what the engine walks.  Private to sim.
 *
 * A template keeps its ops by slot, each slot in launch order, so that a stream visits only its own.
 * A wait is (slot, count of that slot's ops in this template before the waiting op); the absolute
 * count is that plus the call's base count of the slot, stored in the program and so shared by all
 * ranks that run it.
 */
#pragma once

#include "sim/program.h"

typedef struct {
    gint64 duration_ns;
    guint32 tag : 24;
    guint32 join : 4;
    guint32 indexed : 1;
    guint32 kind : 3;
    guint32 index; /* in launch order in the template */
    guint32 wait;  /* its first wait in `waits`; 0: none */
    guint32 port;
} SimOp;

typedef struct {
    guint32 slot, count;
    guint32 next; /* the op's next wait; 0: none */
} SimOpWait;

struct SimTemplate {
    GArray *ops[SIM_SLOTS]; /* of SimOp; NULL while the slot is empty */
    GArray *places;         /* of guint32: slot << 28 | position, by op index */
    GArray *loads;          /* of double[SIM_LOADS], by op index */
    GArray *waits;          /* of SimOpWait; entry 0 is unused */
    guint n_slots;          /* 1 + highest slot used or waited for */
};

typedef struct {
    const SimTemplate *template;
    guint32 arg, label;
    guint32 n_ops;           /* of the template when it was called */
    guint32 base[SIM_SLOTS]; /* ops launched on each slot before the call */
} SimCall;

typedef struct {
    guint32 call; /* applies to ops of this call and later ones */
    guint32 on, count;
} SimProgramWait;

struct SimProgram {
    GArray *calls;            /* of SimCall */
    GArray *waits[SIM_SLOTS]; /* of SimProgramWait by `call`; NULL while there is none */
    guint32 launched[SIM_SLOTS];
    guint64 n_ops;
    guint n_slots;
};

static inline guint
sim_template_count(const SimTemplate *t, guint slot)
{
    return t->ops[slot] ? t->ops[slot]->len : 0;
}

static inline SimOp *
sim_template_ops(const SimTemplate *t, guint slot)
{
    return t->ops[slot] ? &g_array_index(t->ops[slot], SimOp, 0) : NULL;
}

static inline const SimCall *
sim_program_at(const SimProgram *p, guint call)
{
    return &g_array_index(p->calls, SimCall, call);
}

/* fuse.c: launch order without the ops that are dropped ([ops] by index), whose slots have been rewritten already. */
void sim_template_compact(SimTemplate *t, const guint8 *dropped);
/* Does the op wait for anything that no op before it on its slot has waited for? `waited`: 1 + the count of each slot,
 * for a count of 0 is what earlier calls launched; what it waits for is added. */
gboolean sim_op_waits_anew(const SimTemplate *t, const SimOp *op, guint32 waited[SIM_SLOTS]);
