/* Ports that cannot bind. Where only times matter they need not be simulated: then what goes through them is plain work,
 * which is most of a sample's collectives.
 *
 * A port of NVLink never binds when only tensor-parallel collectives go through it, which follow each other on one
 * stream, and none of them moves its bytes faster than the port does, by eight deviations of its jitter. */
#include "config.h"

#include "step/faults.h"

#define DEVIATIONS 8

static gboolean
is_faulty(const StepNoise *noise)
{
    for (guint i = 0; i < noise->slow->len; i++)
        if (g_array_index(noise->slow, StepSlow, i).where.kind == STEP_WHERE_NVLINK)
            return TRUE;
    for (guint i = 0; i < noise->flaps->len; i++)
        if (g_array_index(noise->flaps, StepFlap, i).where.kind == STEP_WHERE_NVLINK)
            return TRUE;
    return FALSE;
}

/* Does anything but tensor parallelism meet within a node? */
static gboolean
meets_in_node(const StepBuild *b, const StepClass *class)
{
    for (guint port = 0; port < STEP_N_GROUP_PORTS; port++) {
        guint kind = step_port_group(port);
        if (port == STEP_PORT_TP || !step_port_carries_data(port) || b->port_loads[port] == 0)
            continue;
        const NetGroup *shape = kind < PLAN_N_GROUPS ? &class->group[kind] : &class->replica;
        if (shape->ranks > 1 && shape->ranks_per_node > 1)
            return TRUE;
    }
    for (guint i = 0; i < class->boundary_local->len; i++)
        if (g_array_index(class->boundary_local, gboolean, i))
            return TRUE;
    return FALSE;
}

/* Bytes per second of the fastest tensor-parallel collective that is launched anywhere. */
static double
fastest(const StepBuild *b)
{
    double most_Bps = 0;
    for (guint k = 0; k < b->templates->len; k++) {
        const SimTemplate *t = b->templates->pdata[k];
        for (guint i = 0; i < sim_template_n_ops(t); i++) {
            if (sim_template_slot(t, i) != STEP_SLOT_TP)
                continue;
            SimWork work = sim_template_work(t, i);
            if (work.duration_ns > 0)
                most_Bps =
                    MAX(most_Bps, work.load[NET_LOAD_NVLINK] / ((double)work.duration_ns * 1e-9));
        }
    }
    return most_Bps;
}

gboolean
step_ports_never_bind(const StepBuild *b, const StepNoise *noise)
{
    if (b->copies || is_faulty(noise) || b->background.share[STEP_LINK_NVLINK] > 0)
        return FALSE;
    for (guint i = 0; i < b->classes->len; i++)
        if (meets_in_node(b, &g_array_index(b->classes, StepClass, i)))
            return FALSE;
    double room = 1 - DEVIATIONS * noise->jitter_frac;
    return fastest(b) <= room * net_nvlink_capacity_Bps(b->net);
}
