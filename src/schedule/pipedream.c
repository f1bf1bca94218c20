/* PipeDream and PipeDream-2BW: 1F1B that never drains (SPEC.md 3.18).
 *
 * Both run 1F1B's order, and the next iteration's forwards take the place of the drain: in the steady
 * state a rank runs one forward and one backward in turn, an iteration of M microbatches takes M
 * (F + I + W) of the slowest stage, and there is no bubble. The lists here are one iteration with its
 * fill and drain; the steady period is that of the same lists one after the other, without a flush.
 *
 * The price is versions of the weights. PipeDream updates after each microbatch and lets a backward see
 * the weights of its forward: P - r versions on rank r, no more than microbatches are in flight. 2BW
 * updates once for P or more microbatches and keeps two versions everywhere. */
#include "config.h"

#include "schedule/types.h"

static void
build(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    schedule_1f1b.build(p, rank, ret_tokens);
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    return schedule_1f1b.peak(p, rank);
}

/* Of an iteration in the steady state. */
static double
period(const ScheduleParams *p, double F, double I, double W)
{
    return p->microbatches * (F + I + W);
}

static guint
versions_in_flight(const ScheduleParams *p, guint rank)
{
    return MIN(p->pp - rank, p->microbatches);
}

static guint
two_versions(const ScheduleParams *p, guint rank)
{
    (void)p;
    (void)rank;
    return 2;
}

static char *
refuse_2bw(const ScheduleParams *p)
{
    if (p->microbatches < p->pp)
        return g_strdup_printf(
            "two weight versions last for updates of %u (--pp) or more microbatches "
            "and there are %u; use at least %u, or --schedule pipedream",
            p->pp, p->microbatches, p->pp);
    return NULL;
}

const ScheduleType schedule_pipedream = {
    .name = "pipedream",
    .summary = "1F1B without flush: no bubble, up to P versions of the weights; asynchronous",
    .min_vpp = 1,
    .max_vpp = 1,
    .placement = schedule_place_in_loop,
    .build = build,
    .makespan = period,
    .peak = peak,
    .weight_versions = versions_in_flight,
};

const ScheduleType schedule_pipedream_2bw = {
    .name = "pipedream_2bw",
    .summary = "1F1B without flush: no bubble, two versions of the weights; asynchronous",
    .min_vpp = 1,
    .max_vpp = 1,
    .refuse = refuse_2bw,
    .placement = schedule_place_in_loop,
    .build = build,
    .makespan = period,
    .peak = peak,
    .weight_versions = two_versions,
};
