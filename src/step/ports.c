/* Ports of NVLink that cannot bind, because only tensor-parallel collectives go through them, which follow each other on
 * one stream: those that move their bytes no faster than the port does, by eight deviations of their jitter, take
 * exactly their time. */
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
        gboolean experts = port == STEP_PORT_EP || port == STEP_PORT_ETP || port == STEP_PORT_EDP ||
                           port == STEP_PORT_EXPERT_SHARD || port == STEP_PORT_EXPERT_GATHER ||
                           port == STEP_PORT_EXPERT_REPLICATE;
        if (port == STEP_PORT_TP || !step_port_carries_data(port) ||
            (experts && b->plan->shape->experts == 0))
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

static gboolean
copies(const PlanSpec *spec)
{
    return spec->offload_activations > 0 || spec->optimizer_device != PLAN_DEVICE_GPU ||
           spec->parameter_device != PLAN_DEVICE_GPU;
}

double
step_ports_free_Bps(const StepBuild *b, const StepNoise *noise)
{
    const Plan *plan = b->plan;
    if (plan->system->link != CLUSTER_LINK_NVSWITCH || copies(&plan->spec) || is_faulty(noise) ||
        b->background.share[STEP_LINK_NVLINK] > 0)
        return 0;
    for (guint i = 0; i < b->classes->len; i++) {
        const StepClass *class = &g_array_index(b->classes, StepClass, i);
        if (class->tp.nodes > 1 || meets_in_node(b, class))
            return 0;
    }
    return MAX(1 - DEVIATIONS * noise->jitter_frac, 0) * net_nvlink_capacity_Bps(b->net);
}

gboolean
step_ports_are_free(const StepBuild *b)
{
    for (guint k = 0; k < b->templates->len; k++) {
        const SimTemplate *t = b->templates->pdata[k];
        for (guint i = 0; i < sim_template_n_ops(t); i++) {
            if (sim_template_slot(t, i) != STEP_SLOT_TP)
                continue;
            SimWork work = sim_template_work(t, i);
            double seconds = (double)work.duration_ns * 1e-9;
            if (work.load[NET_LOAD_NVLINK] > b->chain_Bps * seconds)
                return FALSE;
        }
    }
    return TRUE;
}
