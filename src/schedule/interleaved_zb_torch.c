/* Interleaved zero bubble as PyTorch runs it (ScheduleInterleavedZeroBubble).
 *
 * PyTorch's interleaved 1F1B with half the extra warm-up and the backward split: rounds =
 * max(1, M div P), G = M / rounds, w = min((V-1)G + P-1-r, M V). Backward step j is I of chunk
 * V-1 - (j div G) mod V; the W of step j - r follows it, so that W lags r behind I; the rest of the
 * W come last. With V = 1 it is H1 (SPEC.md 3.10). */
#include "config.h"

#include "schedule/types.h"

static guint
warmup_of(const ScheduleParams *p, guint rank)
{
    guint G = p->microbatches / schedule_torch_rounds(p);

    return MIN((p->vpp - 1) * G + p->pp - 1 - rank, p->microbatches * p->vpp);
}

/* The op of one step: rounds of G microbatches, each on all chunks in turn; backwards from the last
 * chunk. */
static void
append_step(const ScheduleParams *p, guint rank, ScheduleKind kind, guint step, GArray *ret_tokens)
{
    guint G = MAX(p->microbatches / schedule_torch_rounds(p), 1), V = p->vpp;
    guint turn = step / G % V, chunk = kind == SCHEDULE_F ? turn : V - 1 - turn;

    schedule_append(ret_tokens, kind, chunk * p->pp + rank, step / G / V * G + step % G);
}

static void
build(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    guint total = p->microbatches * p->vpp, warmup = warmup_of(p, rank), w = 0;

    for (guint k = 0; k < total + warmup; k++) {
        if (k < total)
            append_step(p, rank, SCHEDULE_F, k, ret_tokens);
        if (k < warmup)
            continue;
        append_step(p, rank, SCHEDULE_I, k - warmup, ret_tokens);
        if (k - warmup >= rank)
            append_step(p, rank, SCHEDULE_W, w++, ret_tokens);
    }
    while (w < total)
        append_step(p, rank, SCHEDULE_W, w++, ret_tokens);
}

static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    double work = (double)p->microbatches * p->vpp * (F + I + W);

    if (p->microbatches < p->pp)
        return -1;
    return work + (p->pp - 1.0) * (F + MAX(0, I - MIN(F, W)));
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    (void)rank;
    return MIN((p->vpp - 1) * (p->microbatches / schedule_torch_rounds(p)) + p->pp,
               p->microbatches * p->vpp);
}

const ScheduleType schedule_interleaved_zb_torch = {
    .name = "interleaved_zb_torch",
    .summary = "PyTorch's interleaved zero bubble (ZB1P over V chunks): the least bubble in 1F1B's "
               "memory",
    .min_vpp = 1,
    .max_vpp = G_MAXUINT16,
    .refuse = schedule_refuse_torch,
    .placement = schedule_place_in_loop,
    .build = build,
    .makespan = makespan,
    .peak = peak,
};
