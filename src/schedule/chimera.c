/* Chimera: two copies of the model in opposite directions, 1F1B's work in half its warm-up.
 *
 * P = D ranks, D even; units of D microbatches, half of them down, half up, one unit after another.
 * Unit u, j-th microbatch of a direction, stage s: F in slot 2Du + 2j + s, B in slot
 * 2Du + 2j + 2D-1-s; a rank's order is the order of its slots, of which no two are equal. Rank r
 * holds stage r of the copy that runs down and D-1-r of the one that runs up. Idle (D-2) max(F, B),
 * and (D-2)|F - B| more for each unit after the first (SPEC.md 3.16; the latter from sweeps). */
#include "config.h"

#include "schedule/types.h"

static char *
refuse(const ScheduleParams *p)
{
    guint P = p->pp, M = p->microbatches;

    if (P % 2 != 0)
        return g_strdup_printf(
            "two model copies cross in the middle and %u pipeline ranks are odd; write --pp %u or "
            "%u",
            P, P == 1 ? 2 : P - 1, P == 1 ? 4 : P + 1);
    if (M % P != 0 && M < P)
        return g_strdup_printf("microbatches come in units of the %u pipeline ranks and there are "
                               "only %u; use %u microbatches, or a lower --pp",
                               P, M, P);
    if (M % P != 0)
        return g_strdup_printf("microbatches come in units of the %u pipeline ranks and %u leave "
                               "%u over; use %u or %u microbatches",
                               P, M, M % P, M - M % P, M - M % P + P);
    return NULL;
}

static guint
replica(const ScheduleParams *p, guint microbatch)
{
    return microbatch % p->pp >= p->pp / 2;
}

static void
build(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    guint D = p->pp, n_slots = 2 * p->microbatches + D;
    g_autofree ScheduleToken *slots = g_new0(ScheduleToken, n_slots);
    g_autofree gboolean *used = g_new0(gboolean, n_slots);

    for (guint m = 0; m < p->microbatches; m++) {
        gboolean up = replica(p, m) == 1;
        guint s = up ? D - 1 - rank : rank, j = m % D - (up ? D / 2 : 0), unit = 2 * (m - m % D);
        guint at[] = {unit + 2 * j + s, unit + 2 * j + 2 * D - 1 - s};
        for (guint kind = SCHEDULE_F; kind <= SCHEDULE_B; kind++) {
            g_assert(!used[at[kind]]);
            used[at[kind]] = TRUE;
            slots[at[kind]] =
                (ScheduleToken){.kind = (guint8)kind, .stage = (guint16)s, .microbatch = m};
        }
    }
    for (guint i = 0; i < n_slots; i++)
        if (used[i])
            g_array_append_val(ret_tokens, slots[i]);
}

static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    double B = I + W, longer = MAX(F, B), further_units = p->microbatches / p->pp - 1.0;

    return p->microbatches * (F + B) +
           (p->pp - 2.0) * (longer + further_units * (longer - MIN(F, B)));
}

/* D/2 + 1 at the ends, D in the middle. */
static guint
peak(const ScheduleParams *p, guint rank)
{
    return p->pp / 2 + 1 + MIN(rank, p->pp - 1 - rank);
}

const ScheduleType schedule_chimera = {
    .name = "chimera",
    .summary = "Chimera: two model copies in opposite directions halve 1F1B's bubble, twice the "
               "parameters",
    .min_vpp = 1,
    .max_vpp = 1,
    .refuse = refuse,
    .placement = schedule_place_both_ways,
    .build = build,
    .replica = replica,
    .makespan = makespan,
    .peak = peak,
};
