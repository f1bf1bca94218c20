/* Interleaved 1F1B as PyTorch runs it (ScheduleInterleaved1F1B), which takes more microbatch
 * counts.
 *
 * rounds = max(1, M div P), M mod rounds = 0, G = M / rounds microbatches a round. Rank r warms up
 * with w = min((V-1)G + 2(P-1-r), M V) forwards. Forward step k works on chunk (k div G) mod V,
 * backward step k >= w on chunk V-1 - ((k-w) div G) mod V; a stage takes its microbatches in order
 * (SPEC.md 3.5). */
#include "config.h"

#include "schedule/types.h"

guint
schedule_torch_rounds(const ScheduleParams *p)
{
    return MAX(1, p->microbatches / p->pp);
}

char *
schedule_refuse_torch(const ScheduleParams *p)
{
    guint M = p->microbatches, rounds = schedule_torch_rounds(p);

    if (M % rounds != 0)
        return g_strdup_printf(
            "%u microbatches over %u pipeline ranks make %u rounds, which do not divide "
            "them; use %u or %u microbatches",
            M, p->pp, rounds, rounds * p->pp, (rounds + 1) * p->pp);
    return NULL;
}

static guint
warmup_of(const ScheduleParams *p, guint rank)
{
    guint G = p->microbatches / schedule_torch_rounds(p);

    return MIN((p->vpp - 1) * G + 2 * (p->pp - 1 - rank), p->microbatches * p->vpp);
}

static void
build(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    guint V = p->vpp, total = p->microbatches * V, warmup = warmup_of(p, rank);
    guint G = p->microbatches / schedule_torch_rounds(p);
    g_autofree guint *forwards = g_new0(guint, V), *backwards = g_new0(guint, V);

    for (guint k = 0; k < total + warmup; k++) {
        if (k < total) {
            guint c = k / G % V;
            schedule_append(ret_tokens, SCHEDULE_F, c * p->pp + rank, forwards[c]++);
        }
        if (k >= warmup) {
            guint c = V - 1 - (k - warmup) / G % V;
            schedule_append(ret_tokens, SCHEDULE_B, c * p->pp + rank, backwards[c]++);
        }
    }
}

static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    if (p->microbatches < p->pp)
        return -1; /* chunks then wait for each other; there is no closed form */
    return ((double)p->microbatches * p->vpp + p->pp - 1) * (F + I + W);
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    return MIN(warmup_of(p, rank) + 1, p->microbatches * p->vpp);
}

const ScheduleType schedule_interleaved_torch = {
    .name = "interleaved_torch",
    .summary =
        "PyTorch's interleaved 1F1B: rounds of at least P microbatches, any number that divides",
    .min_vpp = 2,
    .max_vpp = G_MAXUINT16,
    .refuse = schedule_refuse_torch,
    .placement = schedule_place_in_loop,
    .build = build,
    .makespan = makespan,
    .peak = peak,
};
