/* DualPipe: two copies of the model run through the same ranks in opposite directions.
 *
 * Rank r holds stage r of the copy that runs down (microbatches < M/2) and stage P-1-r of the one
 * that runs up; forwards of one overlap backwards of the other. dual_steps.c has the order. P + 1
 * live activations, parameters twice, and ranks r and P-1-r add up their gradients. A rank idles
 * (P/2-1)(F&B + B - 3W), F&B the time of a pair, when F = I and W <= I (SPEC.md 3.13). */
#include "config.h"

#include "schedule/types.h"

static char *
refuse(const ScheduleParams *p)
{
    guint P = p->pp, M = p->microbatches;

    if (P % 2 != 0)
        return g_strdup_printf(
            "ranks pair up from both ends of the pipe and %u pipeline ranks are odd; write "
            "--pp %u or %u, or --schedule dualpipev",
            P, P == 1 ? 2 : P - 1, P == 1 ? 4 : P + 1);
    if (M < 2 * P)
        return g_strdup_printf("%u pipeline ranks need at least %u microbatches, %u in each "
                               "direction, and there are %u; use %u, or a lower --pp",
                               P, 2 * P, P, M, 2 * P);
    if (M % 2 != 0)
        return g_strdup_printf(
            "half of the microbatches run in each direction and %u are odd; use %u or %u "
            "microbatches",
            M, M - 1, M + 1);
    return NULL;
}

static guint
replica(const ScheduleParams *p, guint microbatch)
{
    return microbatch >= p->microbatches / 2;
}

static void
build(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    guint mirror = p->pp - 1 - rank, h = MIN(rank, mirror), half = p->microbatches / 2;
    gboolean upper = rank > mirror; /* the end where the microbatches that run up come in */
    ScheduleDual dual = {.half = p->pp / 2,
                         .from_end = h,
                         .microbatches = half,
                         .stage = {h, p->pp - 1 - h},
                         .first = {upper ? half : 0, upper ? 0 : half}};

    schedule_build_dual(&dual, ret_tokens);
}

/* Of pairs that take F + B; from sweeps; for F < I there is no short form. */
static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    if (F < I)
        return -1;
    return p->microbatches * (F + I + W) + (p->pp / 2 - 1.0) * (2 * F + MAX(0, I - W));
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    (void)rank;
    return p->pp + 1;
}

const ScheduleType schedule_dualpipe = {
    .name = "dualpipe",
    .summary = "DualPipe: two model copies in opposite directions, forwards overlap backwards, "
               "twice the parameters",
    .min_vpp = 1,
    .max_vpp = 1,
    .refuse = refuse,
    .placement = schedule_place_both_ways,
    .build = build,
    .replica = replica,
    .makespan = makespan,
    .peak = peak,
};
