/* Chains as they run: kernels in order, collectives in order, each when what it waits for of the others is over; a kernel
 * and a collective that run at the same time slow each other as the engine would have them do. */
#include "config.h"

#include "step/chain.h"

#define NO_LINK G_MAXUINT

enum { KERNEL, COLLECTIVE, N_SIDES };

typedef struct {
    guint link; /* at work, or the next; NO_LINK: all are over */
    gboolean works;
    double left_ns; /* at full speed */
    gint64 start_ns, alone_ns;
    guint n_over;
    gint64 *over_ns; /* [n_links + 1] when so many were over */
} Side;

typedef struct {
    const StepLinkOfChain *links;
    guint n;
    const StepSpeeds *speeds;
    const StepChainRun *run;
    Side sides[N_SIDES];
    gint64 now_ns;
} Running;

const StepLinkOfChain *
step_chain_link(const StepBuild *b, const StepOp *op, guint link)
{
    return &g_array_index(b->chain_links, StepLinkOfChain, op->chain + link);
}

static guint
next_on(const Running *r, guint side, guint from)
{
    for (; from < r->n; from++)
        if (r->links[from].collective == (side == COLLECTIVE))
            return from;
    return NO_LINK;
}

static void
begin(Running *r, guint side)
{
    Side *s = &r->sides[side];
    const Side *other = &r->sides[N_SIDES - 1 - side];
    if (s->works || s->link == NO_LINK)
        return;
    guint after = r->links[s->link].after;
    if (other->n_over < after)
        return;
    s->works = TRUE;
    s->start_ns = r->now_ns;
    s->alone_ns =
        r->run->begin(r->run->user, s->link, r->now_ns, after > 0 ? other->over_ns[after] : 0);
    s->left_ns = (double)s->alone_ns;
}

static void
end(Running *r, guint side)
{
    Side *s = &r->sides[side];
    guint link = s->link;
    s->works = FALSE;
    s->over_ns[++s->n_over] = r->now_ns;
    s->link = next_on(r, side, link + 1);
    r->run->end(r->run->user, link, s->start_ns, r->now_ns, r->now_ns - s->start_ns - s->alone_ns);
}

/* Up to the next ns, as units_round_up_ns. */
static gint64
whole_ns(double ns)
{
    gint64 below = (gint64)ns;
    return below + ((double)below < ns - 1e-6);
}

/* On to the next end of a link; FALSE: there is none. Disturbed ends are rounded up to the next ns. */
static gboolean
advance(Running *r)
{
    Side *kernel = &r->sides[KERNEL], *collective = &r->sides[COLLECTIVE];
    double speeds[N_SIDES] = {1, 1};
    gint64 step_ns = G_MAXINT64;
    if (kernel->works && collective->works) {
        guint x = r->links[kernel->link].work_kind, y = r->links[collective->link].work_kind;
        speeds[KERNEL] = r->speeds->of[x][y];
        speeds[COLLECTIVE] = r->speeds->of[y][x];
    }
    for (guint side = 0; side < N_SIDES; side++)
        if (r->sides[side].works)
            step_ns = MIN(step_ns, whole_ns(r->sides[side].left_ns / speeds[side]));
    if (step_ns == G_MAXINT64)
        return FALSE;
    r->now_ns += step_ns;
    for (guint side = 0; side < N_SIDES; side++) {
        Side *s = &r->sides[side];
        if (!s->works)
            continue;
        s->left_ns -= (double)step_ns * speeds[side];
        if (s->left_ns <= 1e-6)
            end(r, side);
    }
    return TRUE;
}

gint64
step_chain_run(const StepBuild *b, const StepOp *op, const StepSpeeds *speeds, gint64 start_ns,
               const StepChainRun *run)
{
    g_assert(op->n_links > 0);
    g_autofree gint64 *over_ns = g_new(gint64, N_SIDES * ((gsize)op->n_links + 1));
    Running r = {.links = step_chain_link(b, op, 0),
                 .n = op->n_links,
                 .speeds = speeds,
                 .run = run,
                 .now_ns = start_ns};
    for (guint side = 0; side < N_SIDES; side++)
        r.sides[side] =
            (Side){.link = next_on(&r, side, 0), .over_ns = over_ns + side * (op->n_links + 1)};
    do
        for (guint side = 0; side < N_SIDES; side++)
            begin(&r, side);
    while (advance(&r));
    g_assert(r.sides[KERNEL].link == NO_LINK && r.sides[COLLECTIVE].link == NO_LINK);
    return r.now_ns;
}

/* --- what links account for ------------------------------------------------------------------------------ */

typedef struct {
    const StepLinkOfChain *links;
    gint64 *share_ns;
    gint64 kernel_ns;      /* when the last kernel so far ended */
    guint last_collective; /* that ended */
} Shares;

static gint64
begin_as_told(void *user, guint link, gint64 now_ns G_GNUC_UNUSED, gint64 over_ns G_GNUC_UNUSED)
{
    return ((const Shares *)user)->links[link].duration_ns;
}

/* What the kernels waited is the collective's that ended last. */
static void
count_wait(Shares *s, gint64 until_ns)
{
    if (s->last_collective != NO_LINK && until_ns > s->kernel_ns)
        s->share_ns[s->last_collective] += until_ns - s->kernel_ns;
}

static void
count_link(void *user, guint link, gint64 start_ns, gint64 end_ns, gint64 late_ns G_GNUC_UNUSED)
{
    Shares *s = user;
    if (s->links[link].collective) {
        s->last_collective = link;
        return;
    }
    count_wait(s, start_ns);
    s->share_ns[link] += end_ns - start_ns;
    s->kernel_ns = end_ns;
}

void
step_chain_shares(const StepBuild *b, const StepOp *op, const StepSpeeds *speeds, gint64 *ret_ns)
{
    Shares s = {step_chain_link(b, op, 0), ret_ns, 0, NO_LINK};
    const StepChainRun run = {begin_as_told, count_link, &s};
    for (guint i = 0; i < op->n_links; i++)
        ret_ns[i] = 0;
    count_wait(&s, step_chain_run(b, op, speeds, 0, &run));
}

/* --- bytes ----------------------------------------------------------------------------------------------- */

static void
add_load(const double *load, gint64 duration_ns, double sum[SIM_LOADS], gint64 *sum_ns)
{
    *sum_ns += duration_ns;
    for (guint k = 0; k < SIM_LOADS; k++)
        sum[k] += load[k];
}

/* What is not simulated of one run of a class's program: collectives in chains, and without ports all others. */
static void
sum_program(const StepBuild *b, const SimProgram *program, double sum[SIM_LOADS], gint64 *sum_ns)
{
    for (guint call = 0; call < sim_program_n_calls(program); call++) {
        const SimTemplate *t = sim_program_called(program, call);
        for (guint i = 0; i < sim_template_n_ops(t); i++) {
            const StepOp *op = &g_array_index(b->ops, StepOp, sim_template_tag(t, i));
            for (guint k = 0; k < op->n_links; k++) {
                const StepLinkOfChain *link = step_chain_link(b, op, k);
                const StepLoads *loads = &g_array_index(b->chain_loads, StepLoads, op->chain + k);
                if (link->collective)
                    add_load(loads->of, link->duration_ns, sum, sum_ns);
            }
            if (b->portless && sim_template_slot(t, i) == STEP_SLOT_TP) {
                SimWork work = sim_template_work(t, i);
                add_load(work.load, work.duration_ns, sum, sum_ns);
            }
        }
    }
}

void
step_count_chains(const StepBuild *b, SimEngine *engine)
{
    for (guint class = 0; class < b->classes->len && b->chained; class ++) {
        const StepLowered *lowered = g_ptr_array_index(b->lowered, class);
        double load[SIM_LOADS] = {0};
        gint64 busy_ns = 0;
        sum_program(b, lowered->program, load, &busy_ns);
        for (guint i = 0; i < b->ranks->len; i++)
            for (guint direction = STEP_OUT; direction < STEP_N_DIRECTIONS; direction++) {
                const StepResource *port = &b->links[i].nvlink[direction];
                if (g_array_index(b->ranks, StepRank, i).class != class)
                    continue;
                sim_engine_add_load(engine, port->id, load[NET_LOAD_NVLINK], busy_ns);
                if (port->rest != STEP_NO_RESOURCE)
                    sim_engine_add_load(engine, port->rest, load[NET_LOAD_NVLINK_REST], 0);
            }
    }
}
