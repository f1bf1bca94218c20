/* Templates: op lists in launch order, kept by slot. */
#include "config.h"

#include "sim/layout.h"

SimTemplate *
sim_template_new(void)
{
    SimTemplate *t = g_new0(SimTemplate, 1);
    t->places = g_array_new(FALSE, FALSE, sizeof(guint32));
    t->loads = g_array_new(FALSE, FALSE, SIM_LOADS * sizeof(double));
    t->waits = g_array_new(FALSE, FALSE, sizeof(SimOpWait));
    g_array_append_vals(t->waits, &(SimOpWait){0}, 1);
    return t;
}

void
sim_template_free(SimTemplate *t)
{
    if (!t)
        return;
    for (guint slot = 0; slot < SIM_SLOTS; slot++)
        if (t->ops[slot])
            g_array_unref(t->ops[slot]);
    g_array_unref(t->places);
    g_array_unref(t->loads);
    g_array_unref(t->waits);
    g_free(t);
}

static SimOp *
get_op(const SimTemplate *t, guint op)
{
    g_assert(op < t->places->len);
    guint32 place = g_array_index(t->places, guint32, op);
    return &g_array_index(t->ops[place >> 28], SimOp, place & 0xfffffff);
}

guint
sim_template_add(SimTemplate *t, guint slot, SimWork work, guint32 tag)
{
    g_assert(slot < SIM_SLOTS && tag < 1u << 24);
    g_assert(work.duration_ns >= 0 && work.duration_ns < SIM_TIME_LIMIT_NS);
    G_STATIC_ASSERT(SIM_KINDS <= 8); /* SimOp.kind */
    g_assert(work.kind < SIM_KINDS);
    for (guint kind = 0; kind < SIM_LOADS; kind++)
        g_assert(work.load[kind] >= 0 && work.load[kind] <= G_MAXDOUBLE);
    if (!t->ops[slot])
        t->ops[slot] = g_array_new(FALSE, FALSE, sizeof(SimOp));
    guint position = t->ops[slot]->len, index = t->places->len;
    g_assert(position < 1u << 28);
    SimOp op = {.duration_ns = work.duration_ns,
                .tag = tag,
                .join = SIM_JOIN_NONE,
                .kind = work.kind,
                .index = index};
    g_array_append_val(t->ops[slot], op);
    g_array_append_vals(t->loads, work.load, 1);
    guint32 place = slot << 28 | position;
    g_array_append_val(t->places, place);
    t->n_slots = MAX(t->n_slots, slot + 1);
    return index;
}

void
sim_template_join(SimTemplate *t, guint op, SimJoin join, guint port, gboolean indexed)
{
    SimOp *o = get_op(t, op);
    g_assert(o->join == SIM_JOIN_NONE && join != SIM_JOIN_NONE);
    o->join = join;
    o->port = port;
    o->indexed = !!indexed;
}

/* Of several waits of one op for the same slot only the furthest matters. */
static void
add_wait(SimTemplate *t, guint op, guint slot, guint count)
{
    SimOp *o = get_op(t, op);
    for (guint32 w = o->wait; w; w = g_array_index(t->waits, SimOpWait, w).next) {
        SimOpWait *wait = &g_array_index(t->waits, SimOpWait, w);
        if (wait->slot == slot) {
            wait->count = MAX(wait->count, count);
            return;
        }
    }
    SimOpWait wait = {.slot = slot, .count = count, .next = o->wait};
    o->wait = t->waits->len;
    g_array_append_val(t->waits, wait);
    t->n_slots = MAX(t->n_slots, slot + 1);
}

void
sim_template_wait_op(SimTemplate *t, guint op, guint on)
{
    g_assert(on < op && op < t->places->len);
    guint32 place = g_array_index(t->places, guint32, on);
    if (place >> 28 != sim_template_slot(t, op)) /* its own stream is in order anyway */
        add_wait(t, op, place >> 28, (place & 0xfffffff) + 1);
}

void
sim_template_wait_slot(SimTemplate *t, guint op, guint slot)
{
    g_assert(op < t->places->len && slot < SIM_SLOTS);
    if (slot == sim_template_slot(t, op))
        return;
    const SimOp *ops = sim_template_ops(t, slot);
    guint low = 0, high = sim_template_count(t, slot);
    while (low < high) { /* first op on `slot` launched after `op` */
        guint middle = (low + high) / 2;
        if (ops[middle].index < op)
            low = middle + 1;
        else
            high = middle;
    }
    add_wait(t, op, slot, low);
}

guint
sim_template_n_ops(const SimTemplate *t)
{
    return t->places->len;
}

guint
sim_template_n_ops_on(const SimTemplate *t, guint slot)
{
    g_assert(slot < SIM_SLOTS);
    return sim_template_count(t, slot);
}

guint
sim_template_slot(const SimTemplate *t, guint op)
{
    g_assert(op < t->places->len);
    return g_array_index(t->places, guint32, op) >> 28;
}

guint32
sim_template_tag(const SimTemplate *t, guint op)
{
    return get_op(t, op)->tag;
}

void
sim_template_set_tag(SimTemplate *t, guint op, guint32 tag)
{
    g_assert(tag < 1u << 24);
    get_op(t, op)->tag = tag;
}

SimWork
sim_template_work(const SimTemplate *t, guint op)
{
    SimWork work = {.duration_ns = get_op(t, op)->duration_ns, .kind = get_op(t, op)->kind};
    const double *load = (const double *)(const void *)t->loads->data + (gsize)op * SIM_LOADS;
    for (guint kind = 0; kind < SIM_LOADS; kind++)
        work.load[kind] = load[kind];
    return work;
}
