/* Random worlds - ranks with ops on streams, groups, messages, links, kinds of work, paces, capacities that
 * change, background - and a slow, obvious simulator of them: from instant to instant, everything is looked
 * at and solved anew.  It shares only the max-min solver with the engine (which has its own twin). */
#pragma once

#include "sim/engine.h"
#include "sim/maxmin.h"

#include <math.h>

enum {
    WORLD_RANKS = 4,
    WORLD_SLOTS = 4,
    WORLD_LINKS = 4,
    WORLD_GROUPS = 4,                        /* meetings 0..3: members in common */
    WORLD_LONE = 4,                          /* meetings 4..7: of one member */
    WORLD_EAGER = WORLD_GROUPS + WORLD_LONE, /* the first of the messages' meetings */
    WORLD_MEETINGS = WORLD_EAGER + 60,
    WORLD_OPS = 160, /* most ops of a rank */
    WORLD_CHANGES = 12,
    WORLD_ACTIVE = 200,
};

typedef struct {
    guint slot, meeting, kind;
    SimJoin join;
    gint64 duration_ns, paced_ns;
    double load;
    guint waits; /* bits: slots of which all launched before must be complete */
} WorldOp;

typedef struct {
    WorldOp ops[WORLD_RANKS][WORLD_OPS];
    guint n_ops[WORLD_RANKS], n_messages;
    guint members[WORLD_GROUPS]; /* bits of ranks */
    guint group_slot[WORLD_GROUPS];
    double weight[WORLD_MEETINGS][WORLD_LINKS], capacity[WORLD_LINKS], background[WORLD_LINKS];
    double speed[SIM_KINDS][SIM_KINDS];
    struct {
        gint64 when_ns;
        guint link;
        double capacity;
    } changes[WORLD_CHANGES];
    guint n_changes;
} World;

/* When each op ran. */
typedef struct {
    gint64 start_ns[WORLD_RANKS][WORLD_OPS], end_ns[WORLD_RANKS][WORLD_OPS];
    double load[WORLD_LINKS];
    gint64 busy_ns[WORLD_LINKS];
    guint n_paced; /* how often a pace was asked for */
} WorldTimes;

typedef struct {
    const WorldOp *op;
    guint rank, index; /* of the op that started it */
    gint64 end_ns;
    double left_ns, speed;
} WorldActivity;

typedef struct {
    const World *w;
    WorldTimes *t;
    gint64 now_ns;
    double capacity[WORLD_LINKS];
    WorldActivity active[WORLD_ACTIVE];
    guint n_active;
    guint next[WORLD_RANKS][WORLD_SLOTS]; /* index of the stream's current op */
    gboolean begun[WORLD_RANKS][WORLD_SLOTS];
    guint joined[WORLD_MEETINGS];
    gboolean arrived[WORLD_MEETINGS];
} Reference;

static inline guint
reference_find(const World *w, guint rank, guint slot, guint from)
{
    while (from < w->n_ops[rank] && w->ops[rank][from].slot != slot)
        from++;
    return from;
}

static inline void
reference_end(Reference *r, guint rank, guint slot)
{
    guint *next = &r->next[rank][slot];
    r->t->end_ns[rank][*next] = r->now_ns;
    *next = reference_find(r->w, rank, slot, *next + 1);
    r->begun[rank][slot] = FALSE;
}

static inline gboolean
reference_may_begin(const Reference *r, guint rank, guint slot)
{
    guint index = r->next[rank][slot];
    if (r->begun[rank][slot] || index == r->w->n_ops[rank])
        return FALSE;
    for (guint other = 0; other < WORLD_SLOTS; other++)
        if (r->w->ops[rank][index].waits & 1u << other && other != slot &&
            r->next[rank][other] < index)
            return FALSE;
    return TRUE;
}

static inline void
reference_activate(Reference *r, guint rank, guint index)
{
    const WorldOp *op = &r->w->ops[rank][index];
    g_assert_cmpuint(r->n_active, <, WORLD_ACTIVE);
    gint64 duration_ns = op->duration_ns ? op->paced_ns : 0;
    r->t->n_paced += op->duration_ns > 0;
    r->active[r->n_active++] = (WorldActivity){
        op, rank, index, r->now_ns + duration_ns, (double)duration_ns, duration_ns ? 0 : 1};
    for (guint i = 0; op->join != SIM_JOIN_NONE && duration_ns && i < WORLD_LINKS; i++)
        r->t->load[i] += r->w->weight[op->meeting][i] * op->load;
}

static inline void
reference_begin(Reference *r, guint rank, guint slot)
{
    guint index = r->next[rank][slot];
    const WorldOp *op = &r->w->ops[rank][index];
    r->begun[rank][slot] = TRUE;
    r->t->start_ns[rank][index] = r->now_ns;
    gboolean group = op->join == SIM_JOIN_ALL && op->meeting < WORLD_GROUPS;
    if (op->join == SIM_JOIN_RECV) {
        if (r->arrived[op->meeting])
            reference_end(r, rank, slot);
    } else if (!group ||
               ++r->joined[op->meeting] == (guint)__builtin_popcount(r->w->members[op->meeting])) {
        reference_activate(r, rank, index);
    }
    if (op->join == SIM_JOIN_SEND)
        reference_end(r, rank, slot);
}

static inline gboolean
reference_has(const Reference *r, const WorldActivity *a, guint rank)
{
    gboolean group = a->op->join == SIM_JOIN_ALL && a->op->meeting < WORLD_GROUPS;
    return group ? r->w->members[a->op->meeting] >> rank & 1 : a->rank == rank;
}

static inline void
reference_finish(Reference *r, WorldActivity a)
{
    const WorldOp *op = a.op;
    if (op->join == SIM_JOIN_SEND) {
        r->arrived[op->meeting] = TRUE;
        for (guint rank = 0; rank < WORLD_RANKS; rank++)
            for (guint slot = 0; slot < WORLD_SLOTS; slot++) {
                const WorldOp *at = &r->w->ops[rank][r->next[rank][slot]];
                if (r->begun[rank][slot] && at->join == SIM_JOIN_RECV && at->meeting == op->meeting)
                    reference_end(r, rank, slot);
            }
        return;
    }
    gboolean group = op->join == SIM_JOIN_ALL && op->meeting < WORLD_GROUPS;
    if (group)
        r->joined[op->meeting] = 0;
    for (guint rank = 0; rank < WORLD_RANKS; rank++)
        if (reference_has(r, &a, rank)) {
            if (group) /* it began with its last member */
                r->t->start_ns[rank][r->next[rank][op->slot]] = r->t->start_ns[a.rank][a.index];
            reference_end(r, rank, op->slot);
        }
}

/* All that happens at this instant. */
static inline void
reference_instant(Reference *r)
{
    for (gboolean again = TRUE; again;) {
        again = FALSE;
        for (guint j = 0; j < r->n_active; j++)
            if (r->active[j].end_ns <= r->now_ns && r->active[j].speed > 0) {
                WorldActivity a = r->active[j];
                r->active[j] = r->active[--r->n_active];
                reference_finish(r, a);
                again = TRUE;
                break;
            }
        for (guint rank = 0; rank < WORLD_RANKS; rank++)
            for (guint slot = 0; slot < WORLD_SLOTS; slot++)
                if (reference_may_begin(r, rank, slot)) {
                    reference_begin(r, rank, slot);
                    again = TRUE;
                }
    }
    for (guint c = 0; c < r->w->n_changes; c++)
        if (r->w->changes[c].when_ns == r->now_ns)
            r->capacity[r->w->changes[c].link] = r->w->changes[c].capacity;
}

static inline double
reference_cap(const Reference *r, const WorldActivity *a)
{
    double least = 1;
    for (guint rank = 0; rank < WORLD_RANKS; rank++) {
        double cap = 1;
        for (guint j = 0; j < r->n_active && reference_has(r, a, rank); j++)
            if (&r->active[j] != a && reference_has(r, &r->active[j], rank))
                cap *= r->w->speed[a->op->kind][r->active[j].op->kind];
        least = MIN(least, cap);
    }
    return least;
}

/* Speeds of all, and the time of the next change. */
static inline gint64
reference_solve(Reference *r)
{
    guint32 first[WORLD_ACTIVE + WORLD_LINKS + 1] = {0}, n_uses = 0;
    SimUse uses[(WORLD_ACTIVE + 1) * WORLD_LINKS];
    double cap[WORLD_ACTIVE + WORLD_LINKS], speed[WORLD_ACTIVE + WORLD_LINKS];
    gint64 next_ns = G_MAXINT64;
    for (guint j = 0; j < r->n_active; j++) {
        const WorldActivity *a = &r->active[j];
        for (guint i = 0; i < WORLD_LINKS; i++) {
            double w = a->op->join == SIM_JOIN_NONE ? 0 : r->w->weight[a->op->meeting][i];
            if (w * a->op->load > 0)
                uses[n_uses++] = (SimUse){i, w * a->op->load / ((double)a->op->paced_ns * 1e-9)};
        }
        first[j + 1] = n_uses;
        cap[j] = reference_cap(r, a);
    }
    for (guint i = 0; i < WORLD_LINKS; i++) {
        if (r->w->background[i] > 0)
            uses[n_uses++] = (SimUse){i, r->w->background[i]};
        first[r->n_active + i + 1] = n_uses;
        cap[r->n_active + i] = 1;
    }
    sim_maxmin_solve(r->n_active + WORLD_LINKS, first, uses, WORLD_LINKS, r->capacity, cap, speed);
    for (guint j = 0; j < r->n_active; j++) {
        WorldActivity *a = &r->active[j];
        a->speed = speed[j];
        if (a->speed > 0) {
            double left_ns = a->left_ns / a->speed;
            a->end_ns = r->now_ns + (gint64)MAX(0, ceil(left_ns - 1e-6));
            next_ns = MIN(next_ns, a->end_ns);
        }
    }
    return next_ns;
}

static inline void
reference_run(const World *w, WorldTimes *times)
{
    *times = (WorldTimes){0};
    g_autofree Reference *r = g_new0(Reference, 1);
    r->w = w;
    r->t = times;
    for (guint i = 0; i < WORLD_LINKS; i++)
        r->capacity[i] = w->capacity[i];
    for (guint rank = 0; rank < WORLD_RANKS; rank++)
        for (guint slot = 0; slot < WORLD_SLOTS; slot++)
            r->next[rank][slot] = reference_find(w, rank, slot, 0);
    for (;;) {
        reference_instant(r);
        if (r->n_active == 0)
            return;
        gint64 next_ns = reference_solve(r);
        for (guint c = 0; c < w->n_changes; c++)
            if (w->changes[c].when_ns > r->now_ns)
                next_ns = MIN(next_ns, w->changes[c].when_ns);
        g_assert_cmpint(next_ns, <, G_MAXINT64);
        gboolean used[WORLD_LINKS] = {FALSE};
        for (guint j = 0; j < r->n_active; j++) {
            WorldActivity *a = &r->active[j];
            a->left_ns -= a->speed * (double)(next_ns - r->now_ns);
            for (guint i = 0; i < WORLD_LINKS; i++)
                used[i] |= a->op->join != SIM_JOIN_NONE && w->weight[a->op->meeting][i] > 0 &&
                           a->op->load > 0;
        }
        for (guint i = 0; i < WORLD_LINKS; i++)
            times->busy_ns[i] += used[i] ? next_ns - r->now_ns : 0;
        r->now_ns = next_ns;
    }
}
