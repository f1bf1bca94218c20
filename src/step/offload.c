/* What waits on the host or on NVMe (SPEC.md 7.8; HARDWARE.md 5): states of the optimizer, parameters, activations.
 *
 * A GPU's link to the host carries pcie_Bps each way, the two ways beside each other.  The host's memory rate, and
 * its drives', are shared by the GPUs of a node, which all do the same at the same time.
 *   optimizer    gradients of a unit go down as they are reduced; behind the gradient norm the CPU steps its share
 *                (read and write of what a GPU's step reads and writes, at the host's memory rate), and the
 *                parameters come up.  Overlapped: unit by unit, else one after the other.  On NVMe the states are
 *                read before a unit's step and written behind it
 *   parameters   the shard of a unit comes up before the unit is gathered (from NVMe by way of the host)
 *   activations  go down behind the layer's forward and come up one layer ahead of its backward */
#include "config.h"

#include "step/build.h"

#define TRANSFER_ERROR 0.2 /* of a rate that is achieved by large copies */
#define HOST_ERROR 0.3

/* --- parts -------------------------------------------------------------------------------------- */

/* That the rates of a node are for: of several hosts each has its share of them, and its own GPUs. */
static double
gpus_of_node(const StepBuild *b)
{
    const ClusterSystem *system = b->plan->system;
    gint64 hosts = MAX(system->hosts, 1);
    return (double)(MIN((gint64)b->plan->ranks_per_node, system->gpus_per_node / hosts) * hosts);
}

static guint
add_pcie(StepBuild *b, SimTemplate *t, const char *name, guint slot, double bytes)
{
    double ns = 1e9 * bytes / (double)b->plan->system->pcie_Bps;
    SimWork work = step_work(ns);
    work.load[STEP_LOAD_COPY] = bytes;
    /* read or written once, where copies between GPUs are both */
    work.kind = step_traffic_kind(b, STEP_HOST, COST_TRAFFIC_COPY, 0, bytes / 2, ns);
    guint op = sim_template_add(t, slot, work,
                                step_tag(b, name, STEP_HOST, COST_MODELLED, TRANSFER_ERROR, FALSE));
    sim_template_join(t, op, SIM_JOIN_ALL, slot == STEP_SLOT_H2D ? STEP_PORT_H2D : STEP_PORT_D2H,
                      FALSE);
    b->copies = TRUE;
    return op;
}

static guint
add_nvme(StepBuild *b, SimTemplate *t, const char *name, double bytes, gboolean write)
{
    const ClusterSystem *system = b->plan->system;
    gint64 Bps = write ? system->nvme_write_Bps : system->nvme_read_Bps;
    g_assert(Bps > 0);
    return sim_template_add(t, STEP_SLOT_NVME,
                            step_work(1e9 * bytes / ((double)Bps / gpus_of_node(b))),
                            step_tag(b, name, STEP_HOST, COST_MODELLED, TRANSFER_ERROR, FALSE));
}

static void
join(StepBuild *b, SimTemplate *t, guint slot)
{
    guint op = sim_template_add(t, STEP_SLOT_COMPUTE, (SimWork){0},
                                step_tag(b, "wait", STEP_OTHER, COST_MEASURED, 0, FALSE));
    sim_template_wait_slot(t, op, slot);
}

/* Of these parameters, those whose states this rank owns. */
static double
owned(const StepBuild *b, StepParameters parameters)
{
    return (double)parameters.dense / (double)plan_shard_ranks(b->plan, FALSE) +
           (double)parameters.expert / (double)plan_shard_ranks(b->plan, TRUE);
}

/* --- optimizer ---------------------------------------------------------------------------------- */

double
step_host_share(const StepBuild *b)
{
    const PlanSpec *spec = &b->plan->spec;
    return spec->optimizer_device == PLAN_DEVICE_GPU ? 0 : spec->offload_frac;
}

/* DeepSpeed adds to what is on the host already: it comes up and goes down again. FSDP sends what it casts to the
 * dtype of its shard. */
void
step_offload_gradients(StepBuild *b, SimTemplate *t, StepParameters parameters, gboolean adds)
{
    gint64 width = MAX(plan_gradient_bytes(b->plan), plan_stored_bytes(b->plan));
    double bytes = owned(b, parameters) * step_host_share(b) * (double)width;
    if (bytes <= 0)
        return;
    guint up = 0;
    if (adds)
        up = add_pcie(b, t, "grad_to_device", STEP_SLOT_H2D, bytes);
    guint down = add_pcie(b, t, "grad_to_host", STEP_SLOT_D2H, bytes);
    if (adds)
        sim_template_wait_op(t, down, up);
    sim_template_wait_slot(t, down, STEP_SLOT_COMPUTE);
    sim_template_wait_slot(t, down, STEP_SLOT_DP);
    sim_template_wait_slot(t, down, STEP_SLOT_REPLICATE);
    if (!b->plan->spec.overlap_offload)
        join(b, t, STEP_SLOT_D2H);
}

/* Owned parameters that the host steps, by unit of the rank's stages; GArray of double. */
static GArray *
host_units(const StepBuild *b, const GArray *stages)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint k = 0; k < stages->len; k++) {
        g_autoptr(GArray) units = plan_stage_units(b->plan, g_array_index(stages, gint64, k));
        for (guint i = 0; i < units->len; i++) {
            const PlanUnit *unit = &g_array_index(units, PlanUnit, i);
            double n = owned(b, (StepParameters){unit->dense, unit->expert}) * step_host_share(b);
            g_array_append_val(all, n);
        }
    }
    return all;
}

static guint
add_host_step(StepBuild *b, SimTemplate *t, double n)
{
    double Bps = (double)MAX(b->plan->system->host_memory_Bps, 1) / gpus_of_node(b);
    double bytes = n * plan_optimizer_step_bytes(b->plan);
    return sim_template_add(
        t, STEP_SLOT_HOST, step_work(1e9 * bytes / Bps),
        step_tag(b, "host_optimizer", STEP_HOST, COST_MODELLED, HOST_ERROR, FALSE));
}

/* The step of one part: states from NVMe where they are there, the step behind everything before it, and what
 * comes of it back to where it belongs. `first`: nothing of the host's step was launched. */
static void
add_host_part(StepBuild *b, SimTemplate *t, double n, guint read, gboolean first)
{
    const PlanSpec *spec = &b->plan->spec;
    guint step = add_host_step(b, t, n);
    if (first) {
        sim_template_wait_slot(t, step, STEP_SLOT_D2H);
        sim_template_wait_slot(t, step, STEP_SLOT_COMPUTE);
    }
    if (spec->optimizer_device == PLAN_DEVICE_NVME) {
        sim_template_wait_op(t, step, read);
        guint write = add_nvme(b, t, "states_to_nvme", n * plan_optimizer_bytes(b->plan), TRUE);
        sim_template_wait_op(t, write, step);
    }
    double width = (double)plan_stored_bytes(b->plan);
    if (spec->parameter_device == PLAN_DEVICE_CPU)
        return; /* it is there already */
    guint back = spec->parameter_device == PLAN_DEVICE_NVME
                     ? add_nvme(b, t, "parameters_to_nvme", n * width, TRUE)
                     : add_pcie(b, t, "parameters_to_device", STEP_SLOT_H2D, n * width);
    sim_template_wait_op(t, back, step);
}

static guint
add_read(StepBuild *b, SimTemplate *t, double n, gboolean first)
{
    if (b->plan->spec.optimizer_device != PLAN_DEVICE_NVME)
        return 0;
    guint read = add_nvme(b, t, "states_from_nvme", n * plan_optimizer_bytes(b->plan), FALSE);
    if (first) /* not before the gradients are there: DeepSpeed reads in the step */
        sim_template_wait_slot(t, read, STEP_SLOT_COMPUTE);
    return read;
}

void
step_add_host_optimizer(StepBuild *b, SimTemplate *t, const GArray *stages)
{
    if (step_host_share(b) <= 0)
        return;
    g_autoptr(GArray) units = host_units(b, stages);
    if (!b->plan->spec.overlap_offload) { /* as one */
        double sum = 0;
        for (guint i = 0; i < units->len; i++)
            sum += g_array_index(units, double, i);
        g_array_set_size(units, 1);
        g_array_index(units, double, 0) = sum;
    }
    guint next = add_read(b, t, g_array_index(units, double, 0), TRUE);
    for (guint i = 0; i < units->len; i++) { /* the next unit is read before this one is written */
        guint read = next;
        if (i + 1 < units->len)
            next = add_read(b, t, g_array_index(units, double, i + 1), FALSE);
        add_host_part(b, t, g_array_index(units, double, i), read, i == 0);
    }
    join(b, t, STEP_SLOT_HOST);
    join(b, t, STEP_SLOT_H2D);
    join(b, t, STEP_SLOT_NVME);
}

/* --- parameters --------------------------------------------------------------------------------- */

gboolean
step_fetch_shard(StepBuild *b, SimTemplate *t, StepParameters parameters)
{
    PlanDevice device = b->plan->spec.parameter_device;
    double bytes = owned(b, parameters) * (double)plan_stored_bytes(b->plan);
    if (device == PLAN_DEVICE_GPU || bytes <= 0)
        return FALSE;
    guint read = 0;
    if (device == PLAN_DEVICE_NVME)
        read = add_nvme(b, t, "parameters_from_nvme", bytes, FALSE);
    guint up = add_pcie(b, t, "parameters_to_device", STEP_SLOT_H2D, bytes);
    if (device == PLAN_DEVICE_NVME)
        sim_template_wait_op(t, up, read);
    return TRUE;
}

/* --- activations -------------------------------------------------------------------------------- */

/* The first layers of a stage, whose activations wait longest. Not where pairs of tokens interleave. */
gint64
step_offloaded_bytes(const StepBuild *b, guint stage, gint64 i, LlmRecompute recompute)
{
    if (i < 0 || i >= MIN(b->plan->spec.offload_activations, b->plan->layers[stage]) ||
        b->has_pairs)
        return 0;
    return step_footprint(b, plan_layer_piece(b->plan, stage, i), recompute).kept;
}

void
step_offload_layer(StepBuild *b, SimTemplate *t, guint stage, gint64 i, LlmRecompute recompute)
{
    gint64 bytes = step_offloaded_bytes(b, stage, i, recompute);
    if (bytes <= 0)
        return;
    guint down = add_pcie(b, t, "activations_to_host", STEP_SLOT_D2H, (double)bytes);
    sim_template_wait_slot(t, down, STEP_SLOT_COMPUTE);
    step_mark(b, t, down, STEP_MEMORY_ACTIVATIONS, 0, -bytes);
    if (!b->plan->spec.overlap_offload)
        join(b, t, STEP_SLOT_D2H);
}

void
step_fetch_layer(StepBuild *b, SimTemplate *t, guint stage, gint64 i, LlmRecompute recompute)
{
    gint64 bytes = step_offloaded_bytes(b, stage, i, recompute);
    if (bytes <= 0)
        return;
    guint up = add_pcie(b, t, "activations_to_device", STEP_SLOT_H2D, (double)bytes);
    sim_template_wait_slot(t, up, STEP_SLOT_COMPUTE);
    sim_template_wait_slot(t, up, STEP_SLOT_D2H); /* not before they are gone */
    step_mark(b, t, up, STEP_MEMORY_ACTIVATIONS, bytes, 0);
}

void
step_await_layer(StepBuild *b, SimTemplate *t, guint stage, gint64 i, LlmRecompute recompute)
{
    if (step_offloaded_bytes(b, stage, i, recompute) > 0)
        join(b, t, STEP_SLOT_H2D);
}
