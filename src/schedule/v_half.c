/* V-Half: the two chunks of a rank in a V, about half of 1F1B's activations (SPEC.md 3.12).
 *
 * Peak 2 (floor(P/2) + 1) chunks on the fullest rank, half a stage each. With F = I = W: idle
 * 6 ceil(P/2) - 7 chunk times (1 with P = 2), from M = 2P on. */
#include "config.h"

#include "schedule/types.h"
#include "schedule/v_pattern.h"

static void
pattern(guint P, guint rank, guint ret_slots[V_N_PASSES])
{
    guint gap = P % 2 == 0 ? 3 : 0; /* else two passes would meet in a slot */

    ret_slots[V_F0] = 2 * rank;
    ret_slots[V_F1] = 3 * P - 2 - rank;
    ret_slots[V_I1] = 3 * P + gap - 1 + 2 * rank;
    ret_slots[V_I0] = 6 * P + gap - 2 - rank;
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
    double idle = p->pp == 2 ? 1 : 6 * ((p->pp + 1) / 2) - 7.0;
    return (6.0 * p->microbatches + idle) * F;
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    (void)rank;
    return MIN(2 * (p->pp / 2 + 1), 2 * p->microbatches);
}

const ScheduleType schedule_v_half = {
    .name = "v_half",
    .summary = "two chunks in a V, split backward: half of 1F1B's activations, half its bubble",
    .min_vpp = 2,
    .max_vpp = 2,
    .placement = schedule_place_in_waves,
    .build_all = build_all,
    .makespan = makespan,
    .peak = peak,
};
