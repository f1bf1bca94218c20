/* Programs: calls of templates in launch order, with the base counts that turn a template's waits
 * into absolute ones. */
#include "config.h"

#include "sim/layout.h"

SimProgram *
sim_program_new(void)
{
    SimProgram *p = g_new0(SimProgram, 1);
    p->calls = g_array_new(FALSE, FALSE, sizeof(SimCall));
    return p;
}

void
sim_program_free(SimProgram *p)
{
    if (!p)
        return;
    g_array_unref(p->calls);
    for (guint slot = 0; slot < SIM_SLOTS; slot++)
        if (p->waits[slot])
            g_array_unref(p->waits[slot]);
    g_free(p);
}

guint
sim_program_call(SimProgram *p, const SimTemplate *t, guint32 arg, guint32 label)
{
    SimCall call = {.template = t, .arg = arg, .label = label, .n_ops = t->places->len};
    for (guint slot = 0; slot < SIM_SLOTS; slot++) {
        guint n = sim_template_count(t, slot);
        g_assert(n < G_MAXUINT32 - p->launched[slot]);
        call.base[slot] = p->launched[slot];
        p->launched[slot] += n;
    }
    p->n_ops += call.n_ops;
    p->n_slots = MAX(p->n_slots, t->n_slots);
    g_array_append_val(p->calls, call);
    return p->calls->len - 1;
}

void
sim_program_wait(SimProgram *p, guint slot, guint on, guint count)
{
    g_assert(slot < SIM_SLOTS && on < SIM_SLOTS);
    if (count == 0 || (slot == on && count <= p->launched[slot]))
        return;
    if (!p->waits[slot])
        p->waits[slot] = g_array_new(FALSE, FALSE, sizeof(SimProgramWait));
    SimProgramWait wait = {.call = p->calls->len, .on = on, .count = count};
    g_array_append_val(p->waits[slot], wait);
    p->n_slots = MAX(p->n_slots, MAX(slot, on) + 1);
}

guint
sim_program_launched(const SimProgram *p, guint slot)
{
    g_assert(slot < SIM_SLOTS);
    return p->launched[slot];
}

guint
sim_program_n_calls(const SimProgram *p)
{
    return p->calls->len;
}

guint64
sim_program_n_ops(const SimProgram *p)
{
    return p->n_ops;
}

guint32
sim_program_label(const SimProgram *p, guint call)
{
    g_assert(call < p->calls->len);
    return sim_program_at(p, call)->label;
}

const SimTemplate *
sim_program_called(const SimProgram *p, guint call)
{
    g_assert(call < p->calls->len);
    return sim_program_at(p, call)->template;
}
