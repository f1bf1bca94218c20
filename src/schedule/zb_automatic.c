/* The search behind ZB-1P and ZB-2P: zero-bubble orders for given times and memory (SPEC.md 3.9).
 *
 * A list schedule is made with three choices, each taken both ways; of the eight, that with the
 * smallest span of any rank stays, of equals the first:
 *   - may the last of a rank's warm-up forwards end after the first I could begin?
 *   - may an I come before a forward when the next rank would wait otherwise?
 *   - does a W also fill a gap that is shorter than it, when another rank has as long a gap already?
 * Time, memory and gaps of each rank are followed as the lists grow. W wait in order; one is run when
 * the memory is full, or when the input of the next F or I is still on its way. */
#include "config.h"

#include "schedule/types.h"

typedef struct {
    guint n_f, n_i, n_w; /* how many of each are in the list */
    gint64 F, I, W;      /* time of each */
    gint64 begin, end;   /* of its first F, of its last op */
    gint64 gaps;         /* it has waited since its first F */
} Rank;

typedef struct {
    const ScheduleParams *p;
    guint cap;
    gboolean late_first_i, i_before_f, short_gaps;
    Rank *ranks;
    gint64 *f_end, *i_end; /* [rank][microbatch] */
    gint64 longest_gaps;   /* of any rank */
    GArray **lists;        /* borrowed */
} Search;

static guint
live(const Rank *rank)
{
    return rank->n_f - rank->n_w;
}

static gint64 *
end_of(const Search *s, gint64 *ends, guint rank, guint microbatch)
{
    return &ends[(gsize)rank * s->p->microbatches + microbatch];
}

/* When the input of the rank's next F, or I, is there; 0: it has none. */
static gint64
arrival(const Search *s, guint rank, ScheduleKind kind)
{
    const Rank *r = &s->ranks[rank];

    if (kind == SCHEDULE_F && rank > 0)
        return *end_of(s, s->f_end, rank - 1, r->n_f) + s->p->costs.comm;
    if (kind == SCHEDULE_I && rank + 1 < s->p->pp)
        return *end_of(s, s->i_end, rank + 1, r->n_i) + s->p->costs.comm;
    return 0;
}

static void
put(Search *s, guint rank, ScheduleKind kind)
{
    Rank *r = &s->ranks[rank];
    guint *count = kind == SCHEDULE_F ? &r->n_f : kind == SCHEDULE_I ? &r->n_i : &r->n_w;
    gint64 start = MAX(r->end, arrival(s, rank, kind));

    if (r->n_f > 0)
        r->gaps += start - r->end;
    else
        r->begin = start;
    s->longest_gaps = MAX(s->longest_gaps, r->gaps);
    r->end = start + (kind == SCHEDULE_F ? r->F : kind == SCHEDULE_I ? r->I : r->W);
    if (kind != SCHEDULE_W)
        *end_of(s, kind == SCHEDULE_F ? s->f_end : s->i_end, rank, *count) = r->end;
    schedule_append(s->lists[rank], kind, rank, (*count)++);
}

/* Runs waiting W while the input of the next F or I is not there. */
static void
fill_gap(Search *s, guint rank, ScheduleKind next)
{
    Rank *r = &s->ranks[rank];
    gint64 until = arrival(s, rank, next);

    while (r->n_w < r->n_i && r->end + r->W <= until)
        put(s, rank, SCHEDULE_W);
    if (r->n_w == r->n_i || r->end >= until)
        return;
    if (s->short_gaps || until - r->end > s->longest_gaps - r->gaps)
        put(s, rank, SCHEDULE_W);
}

/* How many more forwards each rank can run, from the last rank to the first, before its first I. */
static void
count_warmup(const Search *s, guint *ret_more)
{
    guint P = s->p->pp, M = s->p->microbatches;
    gint64 first_i = s->ranks[P - 1].end + s->ranks[P - 1].I;

    ret_more[P - 1] = 0;
    for (guint r = P - 1; r-- > 0;) {
        const Rank *rank = &s->ranks[r];
        gint64 end = rank->end, input = first_i + s->p->costs.comm;
        guint more = 0;
        while (rank->n_f + more < M && live(rank) + more < s->cap &&
               (s->late_first_i ? end + rank->F <= input : end < input)) {
            end += rank->F;
            more++;
        }
        ret_more[r] = more;
        first_i = MAX(end, input) + rank->I;
    }
    for (guint r = 1; r < P; r++) /* fewer than the rank before, or as many where that has all */
        while (ret_more[r] > ret_more[r - 1] ||
               (ret_more[r] == ret_more[r - 1] && ret_more[r] > 0 && 1 + ret_more[r] < M))
            ret_more[r]--;
}

static void
warm_up(Search *s)
{
    guint P = s->p->pp;
    g_autofree guint *more = g_new(guint, P);

    for (guint r = 0; r < P; r++)
        put(s, r, SCHEDULE_F);
    count_warmup(s, more);
    for (guint r = 0; r < P; r++)
        for (guint i = 0; i < more[r]; i++)
            put(s, r, SCHEDULE_F);
    for (guint r = P; r-- > 0;)
        put(s, r, SCHEDULE_I);
}

/* Should rank r run one more F before its next I? */
static gboolean
takes_forward(const Search *s, guint r)
{
    const Rank *rank = &s->ranks[r], *next = rank + 1;

    if (rank->n_f == s->p->microbatches)
        return FALSE;
    if (!s->i_before_f || r + 1 == s->p->pp || rank->n_f < next->n_f + 2)
        return TRUE;
    gint64 wanted = next->end + next->F + next->I + s->p->costs.comm; /* the I is here */
    if (rank->end >= wanted)
        return FALSE;
    guint n_w = live(rank) + 1 > s->cap ? live(rank) + 1 - s->cap : 0; /* to make room */
    if (rank->end + rank->F + MIN(n_w, rank->n_i - rank->n_w) * rank->W <= wanted)
        return TRUE;
    return wanted - rank->end > s->longest_gaps - rank->gaps;
}

static void
run_forwards(Search *s, guint *takes)
{
    guint P = s->p->pp;

    for (guint r = P; r-- > 0;)
        takes[r] = takes_forward(s, r) && (r + 1 == P || takes[r + 1]);
    for (guint r = 0; r < P; r++) {
        if (!takes[r])
            continue;
        while (live(&s->ranks[r]) + 1 > s->cap) {
            g_assert(s->ranks[r].n_w < s->ranks[r].n_i);
            put(s, r, SCHEDULE_W);
        }
        fill_gap(s, r, SCHEDULE_F);
        put(s, r, SCHEDULE_F);
    }
}

static void
run_input_gradients(Search *s)
{
    for (guint r = s->p->pp; r-- > 0;) {
        Rank *rank = &s->ranks[r];
        fill_gap(s, r, SCHEDULE_I);
        while (r == 0 && rank->n_f == s->p->microbatches && rank->n_w < rank->n_i)
            put(s, r, SCHEDULE_W);
        put(s, r, SCHEDULE_I);
    }
}

/* The longest span of a rank. */
static gint64
try_choices(Search *s)
{
    guint P = s->p->pp;
    gint64 longest = 0;
    g_autofree guint *takes = g_new(guint, P);

    s->longest_gaps = 0;
    for (guint r = 0; r < P; r++) {
        g_array_set_size(s->lists[r], 0);
        s->ranks[r] = (Rank){.F = schedule_cost_of(s->p, SCHEDULE_F, r),
                             .I = schedule_cost_of(s->p, SCHEDULE_I, r),
                             .W = schedule_cost_of(s->p, SCHEDULE_W, r)};
    }
    warm_up(s);
    for (guint i = 1; i < s->p->microbatches; i++) {
        run_forwards(s, takes);
        run_input_gradients(s);
    }
    for (guint r = 0; r < P; r++) {
        while (s->ranks[r].n_w < s->p->microbatches)
            put(s, r, SCHEDULE_W);
        longest = MAX(longest, s->ranks[r].end - s->ranks[r].begin);
    }
    return longest;
}

static void
set_choices(Search *s, guint choice)
{
    s->late_first_i = (choice & 4) == 0;
    s->i_before_f = (choice & 2) == 0;
    s->short_gaps = (choice & 1) == 0;
}

void
schedule_build_automatic(const ScheduleParams *p, guint cap, GArray **ret_ranks)
{
    gsize n = (gsize)p->pp * p->microbatches;
    Search s = {.p = p,
                .cap = cap,
                .ranks = g_new(Rank, p->pp),
                .f_end = g_new(gint64, n),
                .i_end = g_new(gint64, n),
                .lists = ret_ranks};
    gint64 least = G_MAXINT64;
    guint best = 0;

    for (guint choice = 0; choice < 8; choice++) {
        set_choices(&s, choice);
        gint64 span = try_choices(&s);
        if (span < least) {
            least = span;
            best = choice;
        }
    }
    set_choices(&s, best);
    try_choices(&s);
    g_free(s.ranks);
    g_free(s.f_end);
    g_free(s.i_end);
}

double
schedule_makespan_automatic(const ScheduleParams *p, guint least_microbatches, double F, double I,
                            double W)
{
    const ScheduleCosts *c = &p->costs;
    gboolean equal = F == I && F == W && c->F == c->I && c->F == c->W && c->comm == 0 &&
                     !c->stage_F && !c->stage_I && !c->stage_W;

    if (!equal || c->memory_cap != 0 || p->microbatches < least_microbatches)
        return -1;
    return (3.0 * p->microbatches + p->pp - 1) * F;
}
