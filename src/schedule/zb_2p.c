/* ZB-2P: the zero-bubble order found for the times at hand, in twice 1F1B's memory (SPEC.md 3.9).
 *
 * At most 2P activations on a rank (or costs.memory_cap), each counted until the end of its W. With F = I
 * = W no rank idles from its first op to its last, from M = 2P - 1 on; with a barrier at the end of
 * the iteration that is no faster than ZB-1P. */
#include "config.h"

#include "schedule/types.h"

static guint
cap_of(const ScheduleParams *p)
{
    return p->costs.memory_cap > 0 ? p->costs.memory_cap : 2 * p->pp;
}

static void
build_all(const ScheduleParams *p, GArray **ret_ranks)
{
    schedule_build_automatic(p, cap_of(p), ret_ranks);
}

static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    return schedule_makespan_automatic(p, 2 * p->pp - 1, F, I, W);
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    (void)rank;
    return MIN(cap_of(p), p->microbatches);
}

const ScheduleType schedule_zb_2p = {
    .name = "zb_2p",
    .summary = "split backward, order searched for the layer times, in twice 1F1B's memory",
    .min_vpp = 1,
    .max_vpp = 1,
    .placement = schedule_place_in_loop,
    .build_all = build_all,
    .makespan = makespan,
    .peak = peak,
};
