/* Zero bubble, handcrafted schedule H1: 1F1B with the backward split, in 1F1B's memory.
 *
 * Rank r: w = min(P-1-r, M) warm-up forwards; then for b = 0..M-1 one forward, I(b), and from b = r
 * on the oldest W; then the W left over. So W lags r behind I, rank 0 keeps 1F1B's order, and every
 * rank holds P activations until their W. Idle with a barrier (P-1)(F + max(0, I - min(F, W))), which
 * is the paper's (P-1)(F + I - W) for W <= F, I (SPEC.md 3.7). */
#include "config.h"

#include "schedule/types.h"

static void
build(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    guint M = p->microbatches, warmup = MIN(p->pp - 1 - rank, M), w = 0;

    for (guint m = 0; m < warmup; m++)
        schedule_append(ret_tokens, SCHEDULE_F, rank, m);
    for (guint b = 0; b < M; b++) {
        if (warmup + b < M)
            schedule_append(ret_tokens, SCHEDULE_F, rank, warmup + b);
        schedule_append(ret_tokens, SCHEDULE_I, rank, b);
        if (b >= rank)
            schedule_append(ret_tokens, SCHEDULE_W, rank, w++);
    }
    while (w < M)
        schedule_append(ret_tokens, SCHEDULE_W, rank, w++);
}

static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    if (p->microbatches < p->pp)
        return -1;
    return p->microbatches * (F + I + W) + (p->pp - 1.0) * (F + MAX(0, I - MIN(F, W)));
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    (void)rank;
    return MIN(p->pp, p->microbatches);
}

const ScheduleType schedule_zb_h1 = {
    .name = "zb_h1",
    .summary = "zero bubble H1: 1F1B with W put into the bubble, a third of it left, same memory",
    .min_vpp = 1,
    .max_vpp = 1,
    .placement = schedule_place_in_loop,
    .build = build,
    .makespan = makespan,
    .peak = peak,
};
