/* Which work runs beside which on every rank, and the caps that follow from it. */
#include "config.h"

#include "sim/interference.h"

#define NOTHING G_MAXUINT32

void
sim_interference_init(SimInterference *in)
{
    *in = (SimInterference){.free_part = NOTHING};
    for (guint kind = 0; kind < SIM_KINDS; kind++)
        for (guint beside = 0; beside < SIM_KINDS; beside++)
            in->speed[kind][beside] = 1;
    in->dirty = g_array_new(FALSE, FALSE, sizeof(guint32));
    in->touched = g_array_new(FALSE, FALSE, sizeof(guint32));
}

void
sim_interference_clear(SimInterference *in)
{
    for (guint32 j = 0; j < in->n_shapes; j++)
        g_free(in->shapes[j].levels);
    g_free(in->shapes);
    g_free(in->parts);
    g_free(in->ranks);
    g_array_unref(in->dirty);
    g_array_unref(in->touched);
}

void
sim_interference_set(SimInterference *in, guint kind, guint beside, double speed)
{
    in->speed[kind][beside] = speed;
    in->kinds = 0;
    for (guint k = 0; k < SIM_KINDS; k++)
        for (guint b = 0; b < SIM_KINDS; b++)
            if (in->speed[k][b] < 1)
                in->kinds |= 1u << k | 1u << b;
}

void
sim_interference_set_n_ranks(SimInterference *in, guint32 n_ranks)
{
    in->ranks = g_new0(SimNeighbours, n_ranks);
    for (guint32 i = 0; i < n_ranks; i++)
        in->ranks[i].first = in->ranks[i].solo = NOTHING;
}

static SimShape *
shape_of(SimInterference *in, guint32 activity)
{
    if (activity >= in->n_shapes) {
        guint32 n = MAX(MAX(16, activity + 1), 2 * in->n_shapes);
        in->shapes = g_renew(SimShape, in->shapes, n);
        for (guint32 j = in->n_shapes; j < n; j++)
            in->shapes[j] = (SimShape){.first = NOTHING};
        in->n_shapes = n;
    }
    return &in->shapes[activity];
}

static guint32
take_part(SimInterference *in)
{
    guint32 id = in->free_part;
    if (id != NOTHING) {
        in->free_part = in->parts[id].sibling;
        return id;
    }
    if (in->n_parts == in->n_parts_reserved) {
        in->n_parts_reserved = MAX(64, 2 * in->n_parts_reserved);
        in->parts = g_renew(SimPart, in->parts, in->n_parts_reserved);
    }
    return in->n_parts++;
}

static void
mark_dirty(SimInterference *in, SimFluid *f, guint32 rank)
{
    f->unsettled = TRUE;
    if (in->ranks[rank].dirty)
        return;
    in->ranks[rank].dirty = TRUE;
    g_array_append_val(in->dirty, rank);
}

static void
add_to_level(SimShape *shape, double cap)
{
    guint32 i = 0;
    while (i < shape->n_levels && shape->levels[i].cap != cap)
        i++;
    if (i == shape->n_levels) {
        if (i == shape->n_reserved) {
            shape->n_reserved = MAX(2, 2 * shape->n_reserved);
            shape->levels = g_renew(SimLevel, shape->levels, shape->n_reserved);
        }
        shape->levels[shape->n_levels++] = (SimLevel){cap, 0};
    }
    shape->levels[i].n++;
}

static void
take_from_level(SimShape *shape, double cap)
{
    guint32 i = 0;
    while (shape->levels[i].cap != cap)
        i++;
    if (--shape->levels[i].n == 0)
        shape->levels[i] = shape->levels[--shape->n_levels];
}

static double
least_cap(const SimShape *shape)
{
    double least = 1;
    for (guint32 i = 0; i < shape->n_levels; i++)
        least = MIN(least, shape->levels[i].cap);
    return least;
}

void
sim_interference_add(SimInterference *in, SimFluid *f, guint32 activity, guint32 rank, guint kind)
{
    SimShape *shape = shape_of(in, activity);
    SimNeighbours *neighbours = &in->ranks[rank];
    guint32 id = take_part(in);
    in->parts[id] = (SimPart){.cap = 1,
                              .rank = rank,
                              .activity = activity,
                              .kind = kind,
                              .next = neighbours->first,
                              .previous = NOTHING,
                              .sibling = shape->first};
    if (neighbours->first != NOTHING)
        in->parts[neighbours->first].previous = id;
    neighbours->first = id;
    neighbours->n[kind]++;
    shape->first = id;
    add_to_level(shape, 1);
    mark_dirty(in, f, rank);
}

void
sim_interference_remove(SimInterference *in, SimFluid *f, guint32 activity)
{
    SimShape *shape = shape_of(in, activity);
    for (guint32 id = shape->first; id != NOTHING;) {
        SimPart *part = &in->parts[id];
        SimNeighbours *neighbours = &in->ranks[part->rank];
        if (part->previous != NOTHING)
            in->parts[part->previous].next = part->next;
        else
            neighbours->first = part->next;
        if (part->next != NOTHING)
            in->parts[part->next].previous = part->previous;
        neighbours->n[part->kind]--;
        mark_dirty(in, f, part->rank);
        guint32 sibling = part->sibling;
        part->sibling = in->free_part;
        in->free_part = id;
        id = sibling;
    }
    shape->first = NOTHING;
    shape->n_levels = 0;
}

static double
cap_on(const SimInterference *in, const SimNeighbours *neighbours, guint kind)
{
    double cap = 1;
    for (guint beside = 1; beside < SIM_KINDS; beside++) {
        if (in->speed[kind][beside] == 1)
            continue;
        for (guint32 n = neighbours->n[beside] - (beside == kind); n > 0 && cap > 0; n--)
            cap *= in->speed[kind][beside];
    }
    return MAX(cap, G_MINDOUBLE);
}

static void
settle_rank(SimInterference *in, guint32 rank)
{
    SimNeighbours *neighbours = &in->ranks[rank];
    neighbours->dirty = FALSE;
    for (guint32 id = neighbours->first; id != NOTHING; id = in->parts[id].next) {
        SimPart *part = &in->parts[id];
        double cap = cap_on(in, neighbours, part->kind);
        if (cap == part->cap)
            continue;
        SimShape *shape = &in->shapes[part->activity];
        take_from_level(shape, part->cap);
        add_to_level(shape, cap);
        part->cap = cap;
        if (!shape->touched)
            g_array_append_val(in->touched, part->activity);
        shape->touched = TRUE;
    }
}

void
sim_interference_settle(SimInterference *in, SimFluid *f)
{
    for (guint i = 0; i < in->dirty->len; i++)
        settle_rank(in, g_array_index(in->dirty, guint32, i));
    for (guint i = 0; i < in->touched->len; i++) {
        guint32 activity = g_array_index(in->touched, guint32, i);
        in->shapes[activity].touched = FALSE;
        sim_fluid_set_cap(f, activity, least_cap(&in->shapes[activity]));
    }
    g_array_set_size(in->dirty, 0);
    g_array_set_size(in->touched, 0);
}
