/* Where the time of the critical path goes.
 *
 * The path runs through the pipeline: while it fills and drains it lies on other ranks than the one that
 * is busy longest, and where two directions meet (DualPipe and its kin) it goes to and fro between ranks that are
 * all busy.  The *home* rank is the one on which the path spends most of its pipeline time.  Pipeline work of the
 * path on any other rank counts as what the home rank does meanwhile: what it computes, or the communication that
 * it computes nothing beside; and as bubble while it runs no token.  So bubble is the time in which the home rank
 * waits for the work of others.  Everything else counts by its own kind, wherever it is: messages,
 * start and end of the iteration.
 *
 * Communication on the path that runs beside compute of its rank is hidden as long as that lasts: the time is
 * the compute's, and only the rest is exposed. So is what is moved beside tokens (gradients, parameters, states
 * on the host) while a token computes or waits for its own communication. (Pipeline messages are not looked at so: what their receiver
 * computes meanwhile is another microbatch.) */
#include "config.h"

#include <math.h>

#include "step/chain.h"

typedef struct {
    const StepBuild *b;
    gint64 *pipeline_ns; /* [pp] pipeline time of the path on each pipeline rank */
    gint64 *by_tag;      /* [tags * 2] ns of the path: at home or by kind; as bubble */
    gint64 slowed_ns, delayed_ns;
    guint home;
    guint32 rank, tag; /* of the segment at hand */
} Path;

static guint
pp_rank_of(const StepBuild *b, guint32 rank)
{
    guint class = g_array_index(b->ranks, StepRank, rank).class;
    return g_array_index(b->classes, StepClass, class).pp_rank;
}

static void
find_home(void *user, const SimSegment *segment)
{
    Path *path = user;
    if (g_array_index(path->b->ops, StepOp, segment->tag).pipeline)
        path->pipeline_ns[pp_rank_of(path->b, segment->rank)] +=
            segment->end_ns - segment->start_ns;
}

static void
count(Path *path, guint32 tag, gboolean bubble, gint64 start_ns, gint64 end_ns)
{
    path->by_tag[2 * tag + bubble] += end_ns - start_ns;
}

static void
count_at_home(void *user, guint32 tag, gint64 start_ns, gint64 end_ns)
{
    Path *path = user;
    gboolean idle = tag == STEP_NO_OP || !g_array_index(path->b->ops, StepOp, tag).pipeline;
    count(path, idle ? path->tag : tag, idle, start_ns, end_ns);
}

/* `tag` runs on the segment's rank. The home rank is that of the same column. */
static void
count_op(Path *path, guint32 tag, gint64 start_ns, gint64 end_ns)
{
    const StepOp *op = &g_array_index(path->b->ops, StepOp, tag);
    guint32 pp = (guint32)path->b->plan->spec.pp;
    if (!op->pipeline || op->kind == STEP_PP || pp_rank_of(path->b, path->rank) == path->home) {
        count(path, tag, FALSE, start_ns, end_ns);
        return;
    }
    step_busy_during(path->b->busy, path->rank - path->rank % pp + path->home, start_ns, end_ns,
                     STEP_BUSY_ALL, count_at_home, path);
}

static void
count_hidden(void *user, guint32 tag, gint64 start_ns, gint64 end_ns)
{
    Path *path = user;
    count_op(path, tag == STEP_NO_OP ? path->tag : tag, start_ns, end_ns);
}

static void
attribute(void *user, const SimSegment *segment)
{
    Path *path = user;
    const StepOp *op = &g_array_index(path->b->ops, StepOp, segment->tag);
    gboolean beside = segment->slot != STEP_SLOT_COMPUTE && segment->slot != STEP_SLOT_HOST;
    gboolean own = segment->slot == STEP_SLOT_TP || segment->slot == STEP_SLOT_CP ||
                   segment->slot == STEP_SLOT_EP;
    gint64 longer_ns = MAX(segment->end_ns - segment->start_ns - segment->alone_ns, 0);
    if (beside)
        path->delayed_ns += longer_ns;
    else
        path->slowed_ns += longer_ns;
    path->rank = segment->rank;
    path->tag = segment->tag;
    if (beside && op->kind != STEP_PP)
        step_busy_during(path->b->busy, segment->rank, segment->start_ns, segment->end_ns,
                         own ? STEP_BUSY_COMPUTE : STEP_BUSY_ALL, count_hidden, path);
    else
        count_op(path, segment->tag, segment->start_ns, segment->end_ns);
}

static gint
by_value(gconstpointer x, gconstpointer y)
{
    const Why *a = *(Why *const *)x, *b = *(Why *const *)y;
    return a->value > b->value ? -1 : a->value < b->value ? 1 : g_strcmp0(a->name, b->name);
}

/* Leaves of one kind: ops of the same name together. */
static Why *
explain_kind(const Path *path, StepCertainty *certainty, StepKind kind)
{
    Why *why = why_new(step_kind_name(kind), 0);
    for (guint tag = 0; tag < path->b->ops->len; tag++) {
        const StepOp *op = &g_array_index(path->b->ops, StepOp, tag);
        double seconds = 1e-9 * step_certainty_ns(certainty, tag, kind);
        if (seconds <= 0)
            continue;
        Why *leaf = NULL;
        for (guint i = 0; why->parts && i < why->parts->len && !leaf; i++) {
            Why *part = g_ptr_array_index(why->parts, i);
            if (g_strcmp0(part->name, op->name) == 0)
                leaf = part;
        }
        if (leaf) {
            leaf->value += seconds;
            why->value += seconds;
        } else {
            why_add(why, why_new(op->name, seconds));
        }
    }
    for (guint i = 0; why->parts && i < why->parts->len; i++) {
        Why *part = g_ptr_array_index(why->parts, i);
        step_certainty_of(certainty, kind, part->name, part);
    }
    if (why->parts)
        g_ptr_array_sort(why->parts, by_value);
    return why;
}

static void
explain(const Path *path, StepResult *r)
{
    g_autoptr(StepCertainty) certainty = step_certainty_new(path->b, path->by_tag);
    r->time_why = why_new("iteration", 0);
    for (guint kind = 0; kind < STEP_N_KINDS; kind++) {
        Why *why = explain_kind(path, certainty, kind);
        r->breakdown_error_ns[kind] = (gint64)ceil(step_certainty_of(certainty, kind, NULL, why));
        if (why->value > 0)
            why_add(r->time_why, why);
        else
            why_free(why);
    }
    step_certainty_of_all(certainty, r);
}

/* Without a barrier the next iteration fills what the path calls bubble: `ns` less, from the bubble first
 * and then from the largest parts. Sums stay exact. */
static void
take_away(Path *path, gint64 ns)
{
    guint n = path->b->ops->len;
    for (guint round = 0; round < 2 && ns > 0; round++) {
        guint first = round == 0 ? 1 : 0;
        while (ns > 0) {
            guint largest = first;
            for (guint i = first; i < 2 * n; i += 2)
                if (path->by_tag[i] > path->by_tag[largest])
                    largest = i;
            gint64 part = MIN(ns, path->by_tag[largest]);
            if (part <= 0)
                break;
            path->by_tag[largest] -= part;
            ns -= part;
        }
    }
}

/* What chains took is what their links account for, in proportion. */
static void
unchain(Path *path)
{
    const StepBuild *b = path->b;
    StepSpeeds speeds = step_speeds(b);
    for (guint i = 0; i < 2 * b->ops->len; i++) {
        const StepOp *op = &g_array_index(b->ops, StepOp, i / 2);
        if (op->n_links == 0 || path->by_tag[i] == 0)
            continue;
        g_autofree gint64 *shares_ns = g_new(gint64, op->n_links);
        step_chain_shares(b, op, &speeds, shares_ns);
        gint64 left_ns = path->by_tag[i];
        double all_ns = 0;
        path->by_tag[i] = 0;
        for (guint k = 0; k < op->n_links; k++)
            all_ns += (double)shares_ns[k];
        for (guint k = 0; k < op->n_links; k++) {
            double frac = all_ns > 0 ? (double)shares_ns[k] / all_ns : 1;
            gint64 ns = k + 1 < op->n_links ? (gint64)((double)left_ns * MIN(frac, 1)) : left_ns;
            path->by_tag[2 * step_chain_link(b, op, k)->tag + i % 2] += ns;
            left_ns -= ns;
            all_ns -= (double)shares_ns[k];
        }
    }
}

void
step_breakdown(StepBuild *b, SimEngine *engine, StepResult *r)
{
    guint pp = (guint)b->plan->spec.pp;
    Path path = {
        .b = b,
        .pipeline_ns = g_new0(gint64, pp),
        .by_tag = g_new0(gint64, (gsize)b->ops->len * 2),
    };
    sim_engine_critical_path(engine, find_home, &path);
    for (guint i = 1; i < pp; i++)
        if (path.pipeline_ns[i] > path.pipeline_ns[path.home])
            path.home = i;
    r->home = path.home;
    sim_engine_critical_path(engine, attribute, &path);
    r->slowed_ns = path.slowed_ns;
    r->delayed_ns = path.delayed_ns;
    unchain(&path);
    take_away(&path, sim_engine_now(engine) - r->time_ns);
    for (guint tag = 0; tag < b->ops->len; tag++) {
        r->breakdown_ns[g_array_index(b->ops, StepOp, tag).kind] += path.by_tag[2 * tag];
        r->breakdown_ns[STEP_BUBBLE] += path.by_tag[2 * tag + 1];
    }
    explain(&path, r);
    g_free(path.pipeline_ns);
    g_free(path.by_tag);
}
