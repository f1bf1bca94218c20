/* DualPipeV: DualPipe cut in half, one copy of the model folded into a V.
 *
 * Rank r holds stages r and 2P-1-r and takes DualPipe's steps with both directions made of the same
 * microbatches, on their way down and up the V. 2P + 1 live chunks. A rank idles
 * (P-1)(F&B + B - 3W) in per-chunk times when F = I and W <= I (SPEC.md 3.14). */
#include "config.h"

#include "schedule/types.h"

static char *
refuse(const ScheduleParams *p)
{
    if (p->microbatches < 2 * p->pp)
        return g_strdup_printf("%u pipeline ranks need at least %u microbatches and there are %u; "
                               "use %u, or a lower --pp, or --schedule zbv_torch",
                               p->pp, 2 * p->pp, p->microbatches, 2 * p->pp);
    return NULL;
}

static void
build(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    ScheduleDual dual = {.half = p->pp,
                         .from_end = rank,
                         .microbatches = p->microbatches,
                         .stage = {rank, 2 * p->pp - 1 - rank}};

    schedule_build_dual(&dual, ret_tokens);
}

/* Of pairs that take F + B; from sweeps; for F < I there is no short form. */
static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    if (F < I)
        return -1;
    return 2.0 * p->microbatches * (F + I + W) + (p->pp - 1.0) * (2 * F + MAX(0, I - W));
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    (void)rank;
    return 2 * p->pp + 1;
}

const ScheduleType schedule_dualpipev = {
    .name = "dualpipev",
    .summary =
        "DualPipeV: DualPipe's overlapped pairs with one model copy, two chunks a rank in a V",
    .min_vpp = 2,
    .max_vpp = 2,
    .refuse = refuse,
    .placement = schedule_place_in_waves,
    .build = build,
    .makespan = makespan,
    .peak = peak,
};
