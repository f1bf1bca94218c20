/* Model parallelism without a pipeline: one microbatch is in the machine at a time.
 *
 * Rank r: for each m: F(r,m), B(r,m). Makespan M P (F + I + W), one live activation (SPEC.md 3.1). */
#include "config.h"

#include "schedule/types.h"

static void
build(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    for (guint m = 0; m < p->microbatches; m++) {
        schedule_append(ret_tokens, SCHEDULE_F, rank, m);
        schedule_append(ret_tokens, SCHEDULE_B, rank, m);
    }
}

static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    return (double)p->microbatches * p->pp * (F + I + W);
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    (void)p;
    (void)rank;
    return 1;
}

const ScheduleType schedule_naive = {
    .name = "naive",
    .summary = "one microbatch at a time through all stages: no overlap between stages",
    .min_vpp = 1,
    .max_vpp = 1,
    .placement = schedule_place_in_loop,
    .build = build,
    .makespan = makespan,
    .peak = peak,
};
