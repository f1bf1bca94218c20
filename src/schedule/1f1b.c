/* 1F1B with flush (PipeDream-flush, Megatron without interleaving).
 *
 * Rank r: w = min(P-1-r, M) warm-up forwards; then one forward and one backward in turn; then the w
 * backwards left over. Makespan (M + P - 1)(F + I + W), also for M < P; min(P - r, M) live activations
 * (SPEC.md 3.3). */
#include "config.h"

#include "schedule/types.h"

static void
build(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    guint M = p->microbatches, warmup = MIN(p->pp - 1 - rank, M);

    for (guint m = 0; m < warmup; m++)
        schedule_append(ret_tokens, SCHEDULE_F, rank, m);
    for (guint k = 0; k < M - warmup; k++) {
        schedule_append(ret_tokens, SCHEDULE_F, rank, warmup + k);
        schedule_append(ret_tokens, SCHEDULE_B, rank, k);
    }
    for (guint m = M - warmup; m < M; m++)
        schedule_append(ret_tokens, SCHEDULE_B, rank, m);
}

static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    return ((double)p->microbatches + p->pp - 1) * (F + I + W);
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    return MIN(p->pp - rank, p->microbatches);
}

const ScheduleType schedule_1f1b = {
    .name = "1f1b",
    .summary =
        "one forward, one backward in turn: GPipe's bubble, at most P microbatches in memory",
    .min_vpp = 1,
    .max_vpp = 1,
    .placement = schedule_place_in_loop,
    .build = build,
    .makespan = makespan,
    .peak = peak,
};
