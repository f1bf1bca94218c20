/* Blocks that torch's allocator may not use again yet: their tensors are gone, but a communication stream still
 * reads them, and the host has already launched what comes behind (Tensor.record_stream). */
#include "config.h"

#include "plan/resolve.h"

/* CUDA queues some 1024 launches before the host waits, and nanotron's layers launch about 20 kernels for each
 * tensor that is reduce-scattered. 1B, 8B and 80B models hold 45 to 65 such tensors alike (published runs of
 * nanotron's benchmark, tp 4 to 32). */
#define TENSORS_AHEAD 50

/* nanotron reduce-scatters a whole hidden state twice a layer, forward and backward. Without a pipeline nothing
 * stops the host; in one it waits for the shapes of each message that it receives, and only the warm-up runs
 * ahead, all but the first two forwards of it. */
gint64
plan_run_ahead_bytes(const Plan *plan, gint64 pp_rank, gint64 layers)
{
    const PlanSpec *s = &plan->spec;
    gint64 whole =
        s->seq / s->cp * s->micro_batch * plan->shape->hidden * plan_parameter_bytes(plan);
    gint64 in_flight = MIN(s->microbatches, s->pp - pp_rank);

    if (s->framework != PLAN_NANOTRON || s->tp == 1 || !s->sequence_parallel ||
        plan->system->launch_blocking)
        return 0;
    gint64 tensors = s->pp > 1              ? 2 * layers * MAX(in_flight - 2, 0)
                     : s->microbatches == 1 ? 2 * layers
                                            : 4 * layers;
    return MIN(tensors, TENSORS_AHEAD) * whole;
}
