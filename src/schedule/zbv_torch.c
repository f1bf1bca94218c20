/* ZB-V as PyTorch runs it (ScheduleZBVZeroBubble): zero bubble in 1F1B's memory, two chunks a rank
 * laid out as a V.
 *
 * Rank r holds stage a = r and stage z = 2P-1-r. The fixed pattern is made for at least 2P-1
 * microbatches; what lies beyond the last microbatch is left out. Every rank holds 2P chunks at its
 * peak (SPEC.md 3.11). */
#include "config.h"

#include "schedule/types.h"

typedef struct {
    guint microbatches;
    guint stage[2];   /* a, z */
    guint next[2][4]; /* [a or z][kind] */
    GArray *tokens;
} Pattern;

enum { A, Z };

static void
put(Pattern *p, guint chunk, ScheduleKind kind)
{
    guint m = p->next[chunk][kind]++;

    if (m < p->microbatches)
        schedule_append(p->tokens, kind, p->stage[chunk], m);
}

static void
put_backward(Pattern *p, guint chunk)
{
    put(p, chunk, SCHEDULE_I);
    put(p, chunk, SCHEDULE_W);
}

static void
put_cool_down(Pattern *p, guint pp, guint rank)
{
    for (guint i = 0; i < rank; i++) {
        put(p, A, SCHEDULE_I);
        put(p, Z, SCHEDULE_I);
    }
    for (guint i = rank; i < pp; i++)
        put_backward(p, A);
    while (p->next[Z][SCHEDULE_W] < p->next[Z][SCHEDULE_I])
        put(p, Z, SCHEDULE_W);
    while (p->next[A][SCHEDULE_W] < p->next[A][SCHEDULE_I])
        put(p, A, SCHEDULE_W);
}

static void
build(const ScheduleParams *params, guint rank, GArray *ret_tokens)
{
    guint P = params->pp, n = MAX(2 * P - 1, params->microbatches);
    Pattern p = {.microbatches = params->microbatches,
                 .stage = {rank, 2 * P - 1 - rank},
                 .tokens = ret_tokens};
    const guint *n_a = &p.next[A][SCHEDULE_F], *n_z = &p.next[Z][SCHEDULE_F];

    for (guint i = 0; i < 2 * (P - rank) - 1; i++)
        put(&p, A, SCHEDULE_F);
    for (guint i = 0; i < rank; i++) {
        put(&p, Z, SCHEDULE_F);
        put(&p, A, SCHEDULE_F);
    }
    for (guint i = rank; i < P; i++) {
        put(&p, Z, SCHEDULE_F);
        put_backward(&p, Z);
    }
    while (*n_z < *n_a || *n_a < n) {
        if (*n_a < n)
            put(&p, A, SCHEDULE_F);
        put_backward(&p, A);
        put(&p, Z, SCHEDULE_F);
        put_backward(&p, Z);
    }
    put_cool_down(&p, P, rank);
}

static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    double work = 2.0 * p->microbatches * (F + I + W);

    if (p->microbatches < 2 * p->pp - 1 || F > I || W > I)
        return -1;
    return work + (p->pp - 1.0) * MAX(I, 2 * (I - W));
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    guint M = p->microbatches; /* the forwards before the first backward */

    return MIN(2 * p->pp - 1 - rank, M) + MIN(rank + 1, M);
}

const ScheduleType schedule_zbv_torch = {
    .name = "zbv_torch",
    .summary = "ZB-V: zero bubble at F = I = W in 1F1B's memory, two chunks a rank in a V",
    .min_vpp = 2,
    .max_vpp = 2,
    .placement = schedule_place_in_waves,
    .build = build,
    .makespan = makespan,
    .peak = peak,
};
