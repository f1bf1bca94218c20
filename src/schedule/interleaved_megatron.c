/* Interleaved 1F1B as Megatron-LM runs it, with its microbatch group size N.
 *
 * Virtual microbatches k = 0..M*V-1 are (m, c) in groups of N microbatches: all of a group on chunk
 * 0, then on chunk 1, ...  Rank r warms up with w = min(2(P-1-r) + (V-1)N, M V) forwards, then
 * alternates. The k-th backward has the microbatch of the k-th forward and the mirrored chunk
 * V-1-c. Per-chunk times: makespan (M V + P - 1)(F + I + W); live chunks min(w + 1, M V) (SPEC.md 3.4).
 * */
#include "config.h"

#include "schedule/types.h"

typedef struct {
    guint microbatch, chunk;
} Virtual;

static guint
group_size(const ScheduleParams *p)
{
    return p->group != 0 ? p->group : p->pp;
}

char *
schedule_refuse_megatron(const ScheduleParams *p)
{
    guint P = p->pp, M = p->microbatches, N = group_size(p);

    if (P < 2)
        return g_strdup(
            "interleaving needs at least 2 pipeline ranks and there is 1; raise --pp, or use "
            "--schedule 1f1b with --vpp 1");
    if (N < P)
        return g_strdup_printf(
            "the microbatch group of %u is smaller than the %u pipeline ranks; give a "
            "group of at least %u",
            N, P, P);
    if (N > M)
        return g_strdup_printf(
            "interleaving over %u pipeline ranks runs microbatches in groups of %u and "
            "there are only %u; raise --microbatches to at least %u or lower --pp",
            P, N, M, N);
    if (M % N != 0 && M % N < P)
        return g_strdup_printf(
            "%u microbatches leave a last group of %u (groups of %u), which is less than "
            "the %u pipeline ranks; use %u or %u microbatches",
            M, M % N, N, P, M - M % N, N == P ? M - M % N + N : M - M % N + P);
    return NULL;
}

guint
schedule_warmup_megatron(const ScheduleParams *p, guint rank, guint extra)
{
    return MIN(2 * (p->pp - 1 - rank) + (p->vpp - 1) * group_size(p) + extra,
               p->microbatches * p->vpp);
}

/* The order of virtual microbatches, the same on every rank. */
static Virtual *
new_order(const ScheduleParams *p)
{
    guint M = p->microbatches, N = group_size(p), n = 0;
    Virtual *order = g_new(Virtual, (gsize)M * p->vpp);

    for (guint first = 0; first < M; first += N)
        for (guint c = 0; c < p->vpp; c++)
            for (guint m = first; m < MIN(first + N, M); m++)
                order[n++] = (Virtual){.microbatch = m, .chunk = c};
    g_assert(n == M * p->vpp);
    return order;
}

void
schedule_build_megatron(const ScheduleParams *p, guint rank, guint warmup, gboolean paired,
                        GArray *ret_tokens)
{
    g_autofree Virtual *order = new_order(p);
    guint total = p->microbatches * p->vpp;

    for (guint k = 0; k < total + warmup; k++) {
        const Virtual *f = k < total ? &order[k] : NULL,
                      *b = k >= warmup ? &order[k - warmup] : NULL;
        guint f_stage = f == NULL ? 0 : f->chunk * p->pp + rank;
        guint b_stage = b == NULL ? 0 : (p->vpp - 1 - b->chunk) * p->pp + rank;
        if (paired && f != NULL && b != NULL) {
            schedule_append_pair(ret_tokens, f_stage, f->microbatch, b_stage, b->microbatch);
            continue;
        }
        if (f != NULL)
            schedule_append(ret_tokens, SCHEDULE_F, f_stage, f->microbatch);
        if (b != NULL)
            schedule_append(ret_tokens, SCHEDULE_B, b_stage, b->microbatch);
    }
}

static void
build(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    schedule_build_megatron(p, rank, schedule_warmup_megatron(p, rank, 0), FALSE, ret_tokens);
}

static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    return ((double)p->microbatches * p->vpp + p->pp - 1) * (F + I + W);
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    return MIN(schedule_warmup_megatron(p, rank, 0) + 1, p->microbatches * p->vpp);
}

const ScheduleType schedule_interleaved_megatron = {
    .name = "interleaved_megatron",
    .summary =
        "1F1B over V chunks a rank (also 'interleaved'): bubble / V, more messages and memory",
    .min_vpp = 2,
    .max_vpp = G_MAXUINT16,
    .refuse = schedule_refuse_megatron,
    .placement = schedule_place_in_loop,
    .build = build,
    .makespan = makespan,
    .peak = peak,
    .grouped = TRUE,
};
