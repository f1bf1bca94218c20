/* GPipe: all forwards, then all backwards.
 *
 * Rank r: F(r,0..M-1), then B in the same order (first in first out, PyTorch's ScheduleGPipe) or in
 * the reverse one (last in first out, the GPipe paper). Both have makespan (M + P - 1)(F + I + W) and
 * keep M activations on every rank (SPEC.md 3.2). */
#include "config.h"

#include "schedule/types.h"

static void
build_forwards(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    for (guint m = 0; m < p->microbatches; m++)
        schedule_append(ret_tokens, SCHEDULE_F, rank, m);
}

static void
build_fifo(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    build_forwards(p, rank, ret_tokens);
    for (guint m = 0; m < p->microbatches; m++)
        schedule_append(ret_tokens, SCHEDULE_B, rank, m);
}

static void
build_lifo(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    build_forwards(p, rank, ret_tokens);
    for (guint m = p->microbatches; m > 0; m--)
        schedule_append(ret_tokens, SCHEDULE_B, rank, m - 1);
}

static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    return ((double)p->microbatches + p->pp - 1) * (F + I + W);
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    (void)rank;
    return p->microbatches;
}

const ScheduleType schedule_gpipe = {
    .name = "gpipe",
    .summary =
        "all forwards, then all backwards in the same order: every microbatch stays in memory",
    .min_vpp = 1,
    .max_vpp = 1,
    .placement = schedule_place_in_loop,
    .build = build_fifo,
    .makespan = makespan,
    .peak = peak,
};

const ScheduleType schedule_gpipe_lifo = {
    .name = "gpipe_lifo",
    .summary = "GPipe with the last microbatch's backward first, as in the paper",
    .min_vpp = 1,
    .max_vpp = 1,
    .placement = schedule_place_in_loop,
    .build = build_lifo,
    .makespan = makespan,
    .peak = peak,
};
