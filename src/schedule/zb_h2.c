/* Zero bubble, handcrafted schedule H2: twice the warm-up of H1, so that no rank waits between its
 * first and its last op when F = I = W.
 *
 * Rank r: w = min(2(P-r)-1, M) forwards; then for b = 0..M-1: I(b), from b = 2r on the oldest W, and
 * one forward; then the W left over. Every rank holds 2P-1 activations until their W. With a
 * barrier before the optimizer step it is no faster than H1 at F = I = W (SPEC.md 3.8, 1.2). */
#include "config.h"

#include "schedule/types.h"

static char *
refuse(const ScheduleParams *p)
{
    guint least = 2 * p->pp - 1;

    if (p->microbatches < least)
        return g_strdup_printf("%u pipeline ranks warm up with %u microbatches and there are only "
                               "%u; use at least %u microbatches, or --schedule zb_h1",
                               p->pp, least, p->microbatches, least);
    return NULL;
}

static void
build(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    guint M = p->microbatches, f = 0, w = 0;

    while (f < MIN(2 * (p->pp - rank) - 1, M))
        schedule_append(ret_tokens, SCHEDULE_F, rank, f++);
    for (guint b = 0; b < M; b++) {
        schedule_append(ret_tokens, SCHEDULE_I, rank, b);
        if (b >= 2 * rank)
            schedule_append(ret_tokens, SCHEDULE_W, rank, w++);
        if (f < M)
            schedule_append(ret_tokens, SCHEDULE_F, rank, f++);
    }
    while (w < M)
        schedule_append(ret_tokens, SCHEDULE_W, rank, w++);
}

static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    double idle = MAX(MAX(F, F + I - 2 * W), I - MIN(F, W));

    return p->microbatches * (F + I + W) + (p->pp - 1.0) * idle;
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    (void)rank;
    return 2 * p->pp - 1;
}

const ScheduleType schedule_zb_h2 = {
    .name = "zb_h2",
    .summary = "zero bubble H2: no idle time inside a rank when F = I = W, twice the memory of H1",
    .min_vpp = 1,
    .max_vpp = 1,
    .refuse = refuse,
    .placement = schedule_place_in_loop,
    .build = build,
    .makespan = makespan,
    .peak = peak,
};
