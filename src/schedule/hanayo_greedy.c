/* Hanayo's waves, as a greedy list schedule: a reconstruction, since the authors' own list of actions
 * was not at hand (SPEC.md 3.17).
 *
 * W waves are V = 2W chunks a rank in wave placement. A rank that is free runs at once what is ready: a
 * backward before a forward, of backwards the oldest microbatch, of forwards the deepest stage. The
 * times decide what is ready first; they are the costs, by default F = 1 and B = 2. With B = 2F and M
 * = P it idles a little less than the published (2P-2)/(3PW + P-1) of the time. */
#include "config.h"

#include "schedule/types.h"

#define NEVER G_MAXINT64

typedef struct {
    const ScheduleParams *p;
    guint n_stages;
    guint *rank_of;
    guint *next_f, *next_b; /* [stage] microbatch to run next */
    gint64 *f_at, *b_at;    /* [stage][microbatch] end of F and B; NEVER: not begun */
    gint64 *free_at, *wake; /* [rank] end of its last op; when it can begin its next */
} Greedy;

typedef struct {
    ScheduleKind kind;
    guint stage, microbatch;
    gint64 at; /* its inputs are there */
} Candidate;

static gint64
arrival(const Greedy *g, const gint64 *ends, guint from, guint to, guint microbatch)
{
    gint64 end = ends[(gsize)from * g->p->microbatches + microbatch];

    if (end == NEVER || g->rank_of[from] == g->rank_of[to])
        return end;
    return end + g->p->costs.comm;
}

static gint64
inputs_at(const Greedy *g, ScheduleKind kind, guint stage, guint microbatch)
{
    if (microbatch == g->p->microbatches)
        return NEVER;
    if (kind == SCHEDULE_F)
        return stage == 0 ? 0 : arrival(g, g->f_at, stage - 1, stage, microbatch);
    gint64 own = g->f_at[(gsize)stage * g->p->microbatches + microbatch];
    if (own == NEVER || stage + 1 == g->n_stages)
        return own;
    return MAX(own, arrival(g, g->b_at, stage + 1, stage, microbatch));
}

/* Of two ops that can begin at the same time. */
static gboolean
goes_before(const Candidate *a, const Candidate *b)
{
    if (a->kind != b->kind)
        return a->kind == SCHEDULE_B;
    if (a->kind == SCHEDULE_B && a->microbatch != b->microbatch)
        return a->microbatch < b->microbatch;
    return a->stage > b->stage;
}

/* What the rank would run next, and when, as far as is known; `at` is NEVER when nothing is. */
static Candidate
next_of(const Greedy *g, guint rank)
{
    Candidate best = {.at = NEVER};

    for (guint s = rank; s < g->n_stages;) {
        const Candidate two[] = {
            {SCHEDULE_B, s, g->next_b[s], inputs_at(g, SCHEDULE_B, s, g->next_b[s])},
            {SCHEDULE_F, s, g->next_f[s], inputs_at(g, SCHEDULE_F, s, g->next_f[s])},
        };
        for (guint i = 0; i < G_N_ELEMENTS(two); i++) {
            Candidate c = two[i];
            c.at = MAX(c.at, g->free_at[rank]);
            if (c.at != NEVER && (c.at < best.at || (c.at == best.at && goes_before(&c, &best))))
                best = c;
        }
        /* The rank's stages: r, 2P-1-r, 2P+r, ... */
        s = 2 * g->p->pp * (s / g->p->pp + 1) - 1 - s;
    }
    return best;
}

static void
greedy_init(Greedy *g, const ScheduleParams *p)
{
    gsize n = (gsize)p->pp * p->vpp * p->microbatches;

    *g = (Greedy){.p = p, .n_stages = p->pp * p->vpp};
    g->rank_of = g_new(guint, g->n_stages);
    schedule_place_in_waves(p, g->rank_of);
    g->next_f = g_new0(guint, g->n_stages);
    g->next_b = g_new0(guint, g->n_stages);
    g->f_at = g_new(gint64, n);
    g->b_at = g_new(gint64, n);
    for (gsize i = 0; i < n; i++)
        g->f_at[i] = g->b_at[i] = NEVER;
    g->free_at = g_new0(gint64, p->pp);
    g->wake = g_new(gint64, p->pp);
    for (guint r = 0; r < p->pp; r++)
        g->wake[r] = next_of(g, r).at;
}

static void
greedy_clear(Greedy *g)
{
    g_free(g->rank_of);
    g_free(g->next_f);
    g_free(g->next_b);
    g_free(g->f_at);
    g_free(g->b_at);
    g_free(g->free_at);
    g_free(g->wake);
}

/* Runs what the rank has chosen, and looks again at the ranks for which that changes anything. */
static void
run_next(Greedy *g, guint rank, GArray *tokens)
{
    Candidate c = next_of(g, rank);
    gboolean forward = c.kind == SCHEDULE_F;
    gint64 end = c.at + schedule_cost_of(g->p, c.kind, c.stage);

    schedule_append(tokens, c.kind, c.stage, c.microbatch);
    (forward ? g->f_at : g->b_at)[(gsize)c.stage * g->p->microbatches + c.microbatch] = end;
    (forward ? g->next_f : g->next_b)[c.stage]++;
    g->free_at[rank] = end;
    g->wake[rank] = next_of(g, rank).at;
    if (forward ? c.stage + 1 == g->n_stages : c.stage == 0)
        return;
    guint consumer = g->rank_of[forward ? c.stage + 1 : c.stage - 1];
    g->wake[consumer] = next_of(g, consumer).at;
}

static void
build_all(const ScheduleParams *p, GArray **ret_ranks)
{
    Greedy g;

    greedy_init(&g, p);
    for (gsize left = 2 * (gsize)g.n_stages * p->microbatches; left > 0; left--) {
        guint first = 0;
        for (guint r = 1; r < p->pp; r++)
            if (g.wake[r] < g.wake[first])
                first = r;
        run_next(&g, first, ret_ranks[first]);
    }
    greedy_clear(&g);
}

static char *
refuse(const ScheduleParams *p)
{
    if (p->vpp % 2 != 0)
        return g_strdup_printf("a wave goes down and up, two chunks a rank, and --vpp is %u; write "
                               "--vpp %u or %u",
                               p->vpp, p->vpp - 1, p->vpp + 1);
    return NULL;
}

const ScheduleType schedule_hanayo_greedy = {
    .name = "hanayo_greedy",
    .summary =
        "Hanayo's waves (vpp = 2 x waves) in greedy order; a reconstruction, not the authors' list",
    .min_vpp = 2,
    .max_vpp = G_MAXUINT16,
    .refuse = refuse,
    .placement = schedule_place_in_waves,
    .build_all = build_all,
    .reconstruction = TRUE,
};
