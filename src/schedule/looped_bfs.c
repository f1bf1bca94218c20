/* Looped breadth-first: every chunk runs all its microbatches before the next chunk starts.
 *
 * Rank r: for each chunk c: F(cP+r, 0..M-1); then from the last chunk down B(cP+r, M-1..0), the
 * microbatches in reverse. With sharded weights a chunk is gathered once a pass. Per-chunk times:
 * the forwards take max(M V + P, P V + M) - 1 forwards, the backwards as many backwards; every
 * activation stays alive, M V chunks (SPEC.md 3.6). */
#include "config.h"

#include "schedule/types.h"

static void
build(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    for (guint c = 0; c < p->vpp; c++)
        for (guint m = 0; m < p->microbatches; m++)
            schedule_append(ret_tokens, SCHEDULE_F, c * p->pp + rank, m);
    for (guint c = p->vpp; c > 0; c--)
        for (guint m = p->microbatches; m > 0; m--)
            schedule_append(ret_tokens, SCHEDULE_B, (c - 1) * p->pp + rank, m - 1);
}

static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    double P = p->pp, M = p->microbatches, V = p->vpp;

    return (MAX(M * V + P, P * V + M) - 1) * (F + I + W);
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    (void)rank;
    return p->microbatches * p->vpp;
}

const ScheduleType schedule_looped_bfs = {
    .name = "looped_bfs",
    .summary =
        "breadth-first over V chunks: bubble / V, each chunk's weights gathered once a pass, "
        "all in memory",
    .min_vpp = 1,
    .max_vpp = G_MAXUINT16,
    .placement = schedule_place_in_loop,
    .build = build,
    .makespan = makespan,
    .peak = peak,
};
