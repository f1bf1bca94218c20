/* The generator of V-Half and V-Min (Controllable Memory, arXiv 2405.15362; SPEC.md 3.12).
 *
 * Every pass takes one slot. The four passes of a microbatch stand at fixed slots of a rank, and the
 * next microbatch follows 6 slots later: 4 passes and 2 idle slots for the two weight gradients.
 *   1 a weight gradient W goes to each idle slot, oldest first
 *   2 squeeze the start (before the first I0 of rank 0) and the tail (after the last F0 of rank 0):
 *     each pass to the earliest free slot that its inputs and the memory allow
 *   3 keep the order and start everything as early as it can; take out W; squeeze the tail; put W
 *     into the idle slots again; start everything as early as it can
 *   4 take out W and put it into the idle slots with those of chunk 1 first
 * The peak of live chunks on any rank before a squeeze bounds it on every rank during it. Times of the
 * model play no part: the order is the same for all costs. */
#include "config.h"

#include "schedule/v_pattern.h"

#include "schedule/types.h"

enum { PERIOD = 6 };

#define IDLE G_MAXUINT32

/* Passes by slot. `live` and `pending`: chunks in memory, and W not yet done, after each slot. */
typedef struct {
    guint n_ranks, n_microbatches, n_slots;
    guint32 *cells;                    /* [rank][slot], IDLE or microbatch * 8 + VPass */
    guint32 *live, *pending;           /* [rank][slot] */
    guint32 *at[V_N_PASSES];           /* [rank][microbatch] slot of each pass but W */
    guint32 *input_gradients;          /* [rank][2 M] slots of those gone by, ascending */
    guint *n_input_gradients, *next_w; /* [rank]; slot after the rank's last W */
    gboolean explicit_w; /* W stands in the cells; else it is done in each idle slot */
    guint cap;           /* most live chunks on a rank */
} Grid;

static guint32 *
cell(const Grid *g, guint rank, guint slot)
{
    return &g->cells[(gsize)rank * g->n_slots + slot];
}

static guint32 *
at(const Grid *g, VPass pass, guint rank, guint microbatch)
{
    return &g->at[pass][(gsize)rank * g->n_microbatches + microbatch];
}

static guint32
pack_cell(VPass pass, guint microbatch)
{
    return microbatch << 3 | pass;
}

static VPass
pass_of(guint32 packed)
{
    return (VPass)(packed & 7);
}

static void
grid_init(Grid *g, const ScheduleParams *p, VPattern pattern)
{
    guint P = p->pp, M = p->microbatches, last = 0, slots[V_N_PASSES];

    for (guint r = 0; r < P; r++) {
        pattern(P, r, slots);
        for (guint k = 0; k < V_N_PASSES; k++)
            last = MAX(last, slots[k]);
    }
    *g = (Grid){.n_ranks = P, .n_microbatches = M};
    g->n_slots = last + PERIOD * M + 2 * M; /* all W might be left to the end */
    gsize n = (gsize)P * g->n_slots;
    g->cells = g_new(guint32, n);
    memset(g->cells, 0xff, n * sizeof *g->cells);
    g->live = g_new(guint32, n);
    g->pending = g_new(guint32, n);
    for (guint k = 0; k < V_N_PASSES; k++)
        g->at[k] = g_new(guint32, (gsize)P * M);
    g->input_gradients = g_new(guint32, (gsize)P * M * 2);
    g->n_input_gradients = g_new(guint, P);
    g->next_w = g_new(guint, P);
    for (guint r = 0; r < P; r++) {
        pattern(P, r, slots);
        for (guint k = 0; k < V_N_PASSES; k++)
            for (guint m = 0; m < M; m++) {
                guint slot = slots[k] + PERIOD * m;
                g_assert(*cell(g, r, slot) == IDLE);
                *cell(g, r, slot) = pack_cell((VPass)k, m);
                *at(g, (VPass)k, r, m) = slot;
            }
    }
}

static void
grid_clear(Grid *g)
{
    g_free(g->cells);
    g_free(g->live);
    g_free(g->pending);
    for (guint k = 0; k < V_N_PASSES; k++)
        g_free(g->at[k]);
    g_free(g->input_gradients);
    g_free(g->n_input_gradients);
    g_free(g->next_w);
}

/* Fills the idle slots of every rank, and those after its end, with the W that wait: oldest first, or
 * those of chunk 1 before those of chunk 0. */
static void
put_weight_gradients(Grid *g, gboolean by_chunk)
{
    for (guint r = 0; r < g->n_ranks; r++) {
        guint waiting[2] = {0, 0}, done[2] = {0, 0}, left = V_N_PASSES * g->n_microbatches;
        for (guint slot = 0; left > 0 || waiting[0] > 0 || waiting[1] > 0; slot++) {
            guint32 *c = cell(g, r, slot);
            if (*c == IDLE) {
                guint queue = waiting[0] > 0 ? 0 : 1;
                if (waiting[queue] == 0)
                    continue;
                *c = pack_cell(queue == 0 ? V_W1 : V_W0, done[queue]++);
                waiting[queue]--;
                continue;
            }
            left--;
            if (pass_of(*c) >= V_I1)
                waiting[by_chunk && pass_of(*c) == V_I0]++;
        }
    }
}

static void
take_out_weight_gradients(Grid *g)
{
    for (gsize i = 0; i < (gsize)g->n_ranks * g->n_slots; i++)
        if (g->cells[i] != IDLE && pass_of(g->cells[i]) >= V_W1)
            g->cells[i] = IDLE;
}

/* What a cell does to the chunks in memory and the W that wait. */
static void
apply(const Grid *g, guint32 c, guint *live, guint *pending)
{
    if (c == IDLE) {
        if (!g->explicit_w && *pending > 0) {
            (*live)--;
            (*pending)--;
        }
    } else if (pass_of(c) <= V_F1)
        (*live)++;
    else if (pass_of(c) <= V_I0)
        *pending += !g->explicit_w;
    else
        (*live)--;
}

static void
state_before(const Grid *g, guint rank, guint slot, guint *ret_live, guint *ret_pending)
{
    gsize i = (gsize)rank * g->n_slots + slot;

    *ret_live = slot == 0 ? 0 : g->live[i - 1];
    *ret_pending = slot == 0 ? 0 : g->pending[i - 1];
}

/* Counts anew from slot `from`; from slot `to` on only as long as anything changes. */
static void
recount(Grid *g, guint rank, guint from, guint to)
{
    guint live, pending;

    state_before(g, rank, from, &live, &pending);
    for (guint slot = from; slot < g->n_slots; slot++) {
        gsize i = (gsize)rank * g->n_slots + slot;
        apply(g, g->cells[i], &live, &pending);
        if (slot >= to && g->live[i] == live && g->pending[i] == pending)
            return;
        g->live[i] = live;
        g->pending[i] = pending;
    }
}

/* With pass `c` moved from slot `to` down to `from`: the first slot between them where the rank would
 * hold too much, or `to`. From `to` on it holds no more than before. */
static guint
first_overflow(const Grid *g, guint rank, guint from, guint to, guint32 c)
{
    guint live, pending;

    state_before(g, rank, from, &live, &pending);
    for (guint slot = from; slot < to; slot++) {
        apply(g, slot == from ? c : *cell(g, rank, slot), &live, &pending);
        if (live > g->cap)
            return slot;
    }
    return to;
}

/* The first slot in which the inputs of a pass are there; slots up to its own are final. */
static guint
earliest(const Grid *g, VPass pass, guint rank, guint microbatch)
{
    guint slot = 0;

    if (pass >= V_W1)
        return MAX(g->next_w[rank],
                   g->input_gradients[(gsize)rank * g->n_microbatches * 2 + microbatch] + 1);
    gboolean down = pass == V_F0 || pass == V_I1;
    if (down && rank > 0)
        slot = *at(g, pass, rank - 1, microbatch) + 1;
    if (!down && rank + 1 < g->n_ranks)
        slot = *at(g, pass, rank + 1, microbatch) + 1;
    if (pass > V_F0)
        slot = MAX(slot, *at(g, pass - 1, rank, microbatch) + 1);
    if (microbatch > 0)
        slot = MAX(slot, *at(g, pass, rank, microbatch - 1) + 1);
    return slot;
}

/* Moves the pass in `slot` to the earliest slot that will do, and says which. Where the memory ran
 * over in some slot, any start up to there would run over too: W can then only be done later. */
static guint
move_up(Grid *g, guint rank, guint slot)
{
    guint32 c = *cell(g, rank, slot);
    guint to = earliest(g, pass_of(c), rank, c >> 3);

    while (to < slot) {
        if (*cell(g, rank, to) != IDLE) {
            to++;
            continue;
        }
        guint overflow = first_overflow(g, rank, to, slot, c);
        if (overflow == slot)
            break;
        to = overflow + 1;
    }
    if (to >= slot)
        return slot;
    *cell(g, rank, slot) = IDLE;
    *cell(g, rank, to) = c;
    recount(g, rank, to, slot);
    return to;
}

/* Notes where a pass has come to stand. */
static void
settle(Grid *g, guint rank, guint32 c, guint slot)
{
    VPass pass = pass_of(c);

    if (pass >= V_W1) {
        g->next_w[rank] = slot + 1;
        return;
    }
    *at(g, pass, rank, c >> 3) = slot;
    if (pass < V_I1)
        return;
    guint32 *slots = g->input_gradients + (gsize)rank * g->n_microbatches * 2;
    guint i = g->n_input_gradients[rank]++;
    for (; i > 0 && slots[i - 1] > slot; i--)
        slots[i] = slots[i - 1];
    slots[i] = slot;
}

static void
begin_squeeze(Grid *g, gboolean explicit_w)
{
    g->explicit_w = explicit_w;
    g->cap = 0;
    for (guint r = 0; r < g->n_ranks; r++) {
        recount(g, r, 0, g->n_slots);
        for (guint slot = 0; slot < g->n_slots; slot++)
            g->cap = MAX(g->cap, g->live[(gsize)r * g->n_slots + slot]);
        g->n_input_gradients[r] = 0;
        g->next_w[r] = 0;
    }
}

static void
squeeze(Grid *g, gboolean explicit_w)
{
    enum { START, STEADY, TAIL } phase = START;

    begin_squeeze(g, explicit_w);
    for (guint slot = 0; slot < g->n_slots; slot++)
        for (guint r = 0; r < g->n_ranks; r++) {
            guint32 c = *cell(g, r, slot);
            if (c == IDLE)
                continue;
            if (phase == START && r == 0 && pass_of(c) == V_I0)
                phase = STEADY;
            gboolean stays = phase == STEADY || (phase == START && !explicit_w);
            if (phase == STEADY && c == pack_cell(V_F0, g->n_microbatches - 1))
                phase = TAIL;
            settle(g, r, c, stays ? slot : move_up(g, r, slot));
        }
}

/* Every pass as early as its inputs and the order on its rank allow. */
static void
start_early(Grid *g)
{
    g_autofree guint *free_slot = g_new0(guint, g->n_ranks);

    for (guint slot = 0; slot < g->n_slots; slot++)
        for (guint r = 0; r < g->n_ranks; r++) {
            guint32 c = *cell(g, r, slot);
            if (c == IDLE)
                continue;
            guint to = free_slot[r];
            if (pass_of(c) < V_W1)
                to = MAX(to, earliest(g, pass_of(c), r, c >> 3));
            *cell(g, r, slot) = IDLE;
            *cell(g, r, to) = c;
            if (pass_of(c) < V_W1)
                *at(g, pass_of(c), r, c >> 3) = to;
            free_slot[r] = to + 1;
        }
}

void
schedule_build_v(const ScheduleParams *p, VPattern pattern, GArray **ret_ranks)
{
    static const ScheduleKind kinds[] = {SCHEDULE_F, SCHEDULE_F, SCHEDULE_I,
                                         SCHEDULE_I, SCHEDULE_W, SCHEDULE_W};
    Grid g;

    grid_init(&g, p, pattern);
    put_weight_gradients(&g, FALSE);
    squeeze(&g, TRUE);
    start_early(&g);
    take_out_weight_gradients(&g);
    squeeze(&g, FALSE);
    put_weight_gradients(&g, FALSE);
    start_early(&g);
    take_out_weight_gradients(&g);
    put_weight_gradients(&g, TRUE);
    for (guint r = 0; r < p->pp; r++)
        for (guint slot = 0; slot < g.n_slots; slot++) {
            guint32 c = *cell(&g, r, slot);
            if (c == IDLE)
                continue;
            VPass pass = pass_of(c);
            gboolean chunk_1 = pass == V_F1 || pass == V_I1 || pass == V_W1;
            schedule_append(ret_ranks[r], kinds[pass], chunk_1 ? 2 * p->pp - 1 - r : r, c >> 3);
        }
    grid_clear(&g);
}
