/* V-Min: the two chunks of a rank in a V, the fewest activations: about a third of 1F1B's (SPEC.md
 * 3.12).
 *
 * Peak 2 (ceil((P-1)/3) + 1) chunks on the fullest rank, half a stage each. With F = I = W: idle
 * 4P - 7 chunk times when 3 divides P, else 4P - 5, from M = 2P on. Where F, I and W differ the idle
 * time grows with M. */
#include "config.h"

#include "schedule/types.h"
#include "schedule/v_pattern.h"

static void
pattern(guint P, guint rank, guint ret_slots[V_N_PASSES])
{
    guint gap = P % 3 == 0 ? 2 : 0; /* else two passes would meet in a slot */

    ret_slots[V_F0] = rank;
    ret_slots[V_F1] = 2 * P - 1 - rank;
    ret_slots[V_I1] = 2 * P + gap + rank;
    ret_slots[V_I0] = 4 * P + gap - 1 - rank;
}

static void
build_all(const ScheduleParams *p, GArray **ret_ranks)
{
    schedule_build_v(p, pattern, ret_ranks);
}

static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    if (F != I || F != W || p->microbatches < 2 * p->pp || p->pp == 1)
        return -1;
    return (6.0 * p->microbatches + 4.0 * p->pp - (p->pp % 3 == 0 ? 7 : 5)) * F;
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    (void)rank;
    return MIN(2 * ((p->pp + 1) / 3 + 1), 2 * p->microbatches); /* ceil((P-1)/3) */
}

const ScheduleType schedule_v_min = {
    .name = "v_min",
    .summary =
        "two chunks in a V, split backward: a third of 1F1B's activations; equal F, I, W only",
    .min_vpp = 2,
    .max_vpp = 2,
    .placement = schedule_place_in_waves,
    .build_all = build_all,
    .makespan = makespan,
    .peak = peak,
};
