/* ZB-1P: the zero-bubble order found for the times at hand, in 1F1B's memory (SPEC.md 3.9).
 *
 * At most P activations on a rank (or costs.memory_cap), each counted until the end of its W. With F = I
 * = W its totals are ZB-H1's: idle (P-1)F. */
#include "config.h"

#include "schedule/types.h"

static guint
cap_of(const ScheduleParams *p)
{
    return p->costs.memory_cap > 0 ? p->costs.memory_cap : p->pp;
}

static void
build_all(const ScheduleParams *p, GArray **ret_ranks)
{
    schedule_build_automatic(p, cap_of(p), ret_ranks);
}

static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    return schedule_makespan_automatic(p, p->pp, F, I, W);
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    (void)rank;
    return MIN(cap_of(p), p->microbatches);
}

const ScheduleType schedule_zb_1p = {
    .name = "zb_1p",
    .summary = "split backward, order searched for the layer times, in 1F1B's memory",
    .min_vpp = 1,
    .max_vpp = 1,
    .placement = schedule_place_in_loop,
    .build_all = build_all,
    .makespan = makespan,
    .peak = peak,
};
