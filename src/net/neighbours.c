/* The model of a group, corrected by the measured sweeps near it (book.c has the formula). */
#include "config.h"

#include "net/book.h"

#include <math.h>

#define OCTAVES 45
/* A mean absolute error of a normal distribution times this is its sigma. */
#define SIGMA_OF_MEAN 1.2533
/* Nothing that was not measured is surer. */
#define LEAST_ERROR 0.02

double
net_grid_bytes(guint i)
{
    return NET_GRID_FIRST_BYTES * exp2(i / 2.0);
}

double
net_octaves_outside(const NetCurve *curve, double bytes)
{
    double first = net_curve_first_bytes(curve), last = net_curve_last_bytes(curve);
    return bytes < first ? log2(first / bytes) : bytes > last ? log2(bytes / last) : 0.0;
}

/* How many times longer a busy link needs; 0: it was not looked at, and the groups are taken at their size. */
static gboolean
same_times(double a, double b)
{
    return a == 0.0 || b == 0.0 || fabs(a - b) < 1e-6;
}

/* With links as busy, too: what was measured where a leaf switch has all its uplinks says nothing of one with fewer. */
static gboolean
same_group(const NetGroup *a, const NetGroup *b)
{
    for (int p = 0; p < NET_N_PATTERNS; p++)
        if (!same_times(a->fabric[p], b->fabric[p]) || !same_times(a->node[p], b->node[p]))
            return FALSE;
    return net_group_least(a) == net_group_least(b) && a->ranks == b->ranks &&
           a->nodes == b->nodes && a->ranks_per_node == b->ranks_per_node &&
           (a->nodes == 1 || a->nics == b->nics);
}

static const NetAnchor *
find_anchor(const NetBook *book, NetOp op, const NetGroup *group)
{
    for (guint i = 0; i < book->sweeps->len; i++)
        if (book->anchors[i].sweep.op == op && same_group(&book->anchors[i].sweep.group, group))
            return &book->anchors[i];
    return NULL;
}

/* How little the ratio of one op says about another: a gather and a scatter are mirror images, an
 * all_reduce is one after the other, direct messages run another algorithm. */
static double
op_distance(NetOp a, NetOp b)
{
    static const double distances[NET_N_OPS][NET_N_OPS] = {
        /*                   ar    ag    rs    a2a   bc    sr */
        [NET_ALL_REDUCE] = {0.0, 0.9, 0.9, 4.0, 1.2, 4.0},
        [NET_ALL_GATHER] = {0.9, 0.0, 0.2, 4.0, 0.9, 4.0},
        [NET_REDUCE_SCATTER] = {0.9, 0.2, 0.0, 4.0, 0.9, 4.0},
        [NET_ALL_TO_ALL] = {4.0, 4.0, 4.0, 0.0, 4.0, 4.0},
        [NET_BROADCAST] = {1.2, 0.9, 0.9, 4.0, 0.0, 4.0},
        [NET_SEND_RECV] = {4.0, 4.0, 4.0, 4.0, 4.0, 0.0},
    };
    return distances[a][b];
}

/* INFINITY: says nothing. */
static double
group_distance2(const NetGroup *a, const NetGroup *b)
{
    if ((a->nodes > 1) != (b->nodes > 1))
        return INFINITY;
    double k = log((double)a->ranks_per_node / b->ranks_per_node);
    if (a->nodes == 1)
        return k * k;
    double nodes = log((double)a->nodes / b->nodes) / 2.0;
    double nics = log((double)a->nics / b->nics) - k;
    return k * k + nodes * nodes + nics * nics;
}

static double
anchor_log_ratio(const NetAnchor *anchor, double bytes)
{
    double position = CLAMP(2.0 * log2(bytes / NET_GRID_FIRST_BYTES), 0.0, NET_GRID - 1.0);
    guint i = MIN((guint)position, NET_GRID - 2);
    double frac = position - i;
    return (1.0 - frac) * anchor->log_ratio[i] + frac * anchor->log_ratio[i + 1];
}

/* The bytes at which a sweep of `from` ranks is where one of `to` ranks is at `bytes`. Steps of a ring and messages to
 * all are as many as the ranks: a slice of the same size is where the same happens. */
static double
same_slice_bytes(NetOp op, guint from, guint to, double bytes)
{
    gboolean slices = op == NET_ALL_GATHER || op == NET_REDUCE_SCATTER || op == NET_ALL_TO_ALL;
    return slices ? bytes * from / to : bytes;
}

/* What sweeps and model say. */
typedef struct {
    double log_ratio, nearest; /* ln of the ratio; distance of the nearest sweep */
    double off;                /* mean |ln| that it may be off */
} Suggestion;

/* The only sweep of its kind (in a node, across nodes) is what the model was fitted to: left out, it says little. As
 * the model without any fit (fit.c). */
#define OFF_ALONE 0.28
/* As near as a sweep may be: less of what it is off without itself counts the nearer it is. */
#define LEAST_OFF 0.25
#define MOST_OFF 2.0

/* `fixed2` holds each anchor's squared distance but for bytes. Each is believed to be off as it was when it was left
 * out itself, the model as its fit is. */
static Suggestion
suggest(const NetBook *book, const double *fixed2, NetOp op, const NetGroup *group,
        double asked_bytes)
{
    double fit = group->nodes > 1 ? book->fit.net_error_frac : book->fit.node_error_frac;
    double weights = 1.0 / (NET_MODEL_DISTANCE * NET_MODEL_DISTANCE), sum = 0.0;
    double off = weights * fit / SIGMA_OF_MEAN;
    Suggestion s = {.nearest = NET_MODEL_DISTANCE};
    for (guint i = 0; i < book->sweeps->len; i++) {
        if (!isfinite(fixed2[i])) /* says nothing about this group */
            continue;
        const NetAnchor *anchor = &book->anchors[i];
        double bytes = same_slice_bytes(op, anchor->sweep.group.ranks, group->ranks, asked_bytes);
        double octaves = net_octaves_outside(anchor->sweep.curve, bytes) / 4.0;
        double d2 = MAX(fixed2[i] + octaves * octaves, 1e-6);
        double weight = 1.0 / d2;
        weights += weight;
        sum += weight * anchor_log_ratio(anchor, bytes);
        if (anchor->off_distance > 0.0)
            off +=
                weight * anchor->off * CLAMP(sqrt(d2) / anchor->off_distance, LEAST_OFF, MOST_OFF);
        s.nearest = MIN(s.nearest, sqrt(d2));
    }
    s.log_ratio = sum / weights;
    s.off = off / weights;
    return s;
}

/* Squared distances of all anchors but for bytes; caller frees. */
static double *
fixed_distances2(const NetBook *book, NetOp op, const NetGroup *group)
{
    double *fixed2 = g_new(double, book->sweeps->len + 1);
    for (guint i = 0; i < book->sweeps->len; i++) {
        const NetAnchor *anchor = &book->anchors[i];
        double ops = op_distance(op, anchor->sweep.op);
        fixed2[i] = ops * ops + group_distance2(group, &anchor->sweep.group);
        if (!anchor->speaks_for_others && fixed2[i] > 0.0)
            fixed2[i] = INFINITY;
    }
    return fixed2;
}

void
net_anchors_leave_out(const NetBook *book)
{
    for (guint i = 0; i < book->sweeps->len; i++) {
        const NetSweep *sweep = &book->anchors[i].sweep;
        g_autofree double *fixed2 = fixed_distances2(book, sweep->op, &sweep->group);
        double sum = 0.0, nearest = 0.0;
        guint n = 0;
        fixed2[i] = INFINITY;
        gboolean alone = TRUE;
        for (guint k = 0; k < book->sweeps->len; k++)
            alone = alone && !isfinite(fixed2[k]);
        for (guint k = 0; k < NET_GRID; k++) {
            double bytes = net_grid_bytes(k);
            if (net_octaves_outside(sweep->curve, bytes) > 0.5)
                continue;
            Suggestion s = suggest(book, fixed2, sweep->op, &sweep->group, bytes);
            sum += fabs(s.log_ratio - book->anchors[i].log_ratio[k]);
            nearest += s.nearest;
            n++;
        }
        if (n > 0) {
            book->anchors[i].off = alone ? MAX(sum / n, OFF_ALONE) : sum / n;
            book->anchors[i].off_distance = nearest / n;
        }
    }
}

/* The model of an op and group at whole octaves, as its neighbours among the sweeps correct it. */
struct NetPrepared {
    NetPlan plan; /* of the system asked for; first: op and group are the key */
    const NetAnchor *own;
    double ns[OCTAVES];  /* running maximum */
    double off[OCTAVES]; /* mean |ln| that it may be off */
};

static guint
hash_prepared(gconstpointer key)
{
    const NetPlan *plan = key;
    const NetGroup *g = &plan->group;
    return (guint)plan->op +
           31u * (g->ranks + 31u * (g->nodes + 31u * (g->ranks_per_node + 31u * g->nics)));
}

static gboolean
equal_prepared(gconstpointer a, gconstpointer b)
{
    const NetPlan *x = a, *y = b;
    const NetGroup *g = &x->group, *h = &y->group;
    if (x->op != y->op || g->ranks != h->ranks || g->nodes != h->nodes ||
        g->ranks_per_node != h->ranks_per_node || g->nics != h->nics ||
        g->least_per_node != h->least_per_node)
        return FALSE;
    for (int p = 0; p < NET_N_PATTERNS; p++)
        if (g->fabric[p] != h->fabric[p] || g->node[p] != h->node[p])
            return FALSE;
    return TRUE;
}

static NetPrepared *
prepare(const NetBook *book, NetOp op, const NetGroup *group)
{
    NetPrepared *prepared = g_new0(NetPrepared, 1);
    net_plan_make(&prepared->plan, &book->asked, op, group);
    prepared->own = find_anchor(book, op, group);
    g_autofree double *fixed2 = fixed_distances2(book, op, group);
    double most = 0.0;
    for (guint i = 0; i < OCTAVES; i++) {
        double bytes = net_grid_bytes(2 * i);
        Suggestion s = suggest(book, fixed2, op, group, bytes);
        prepared->off[i] = s.off;
        const NetOption *option = net_plan_choose(&prepared->plan, &book->asked, bytes);
        double ns = net_option_ns(&prepared->plan, option, &book->asked, bytes) * exp(s.log_ratio);
        most = MAX(most, ns);
        prepared->ns[i] = most;
    }
    return prepared;
}

const NetPrepared *
net_prepared_of(const NetBook *book, NetOp op, const NetGroup *group)
{
    NetPlan key = {.op = op, .group = *group};
    NetCache *cache = book->cache;
    g_mutex_lock(&cache->lock);
    NetPrepared *prepared = g_hash_table_lookup(cache->prepared, &key);
    if (prepared == NULL) {
        prepared = prepare(book, op, group);
        g_hash_table_add(cache->prepared, prepared);
    }
    g_mutex_unlock(&cache->lock);
    return prepared;
}

/* A line in bytes between two octaves. */
double
net_prepared_ns(const NetBook *book, const NetPrepared *prepared, double bytes,
                double *ret_error_frac)
{
    double position = log2(bytes / NET_GRID_FIRST_BYTES);
    guint high = (guint)CLAMP(ceil(position), 0.0, OCTAVES - 1.0);
    *ret_error_frac = MAX(SIGMA_OF_MEAN * prepared->off[high], LEAST_ERROR);
    double high_ns = prepared->ns[high], high_bytes = net_grid_bytes(2 * high);
    if (position >= OCTAVES - 1.0)
        return high_ns * bytes / high_bytes;
    if (high > 0) {
        double low_ns = prepared->ns[high - 1], low_bytes = high_bytes / 2.0;
        return low_ns + (high_ns - low_ns) * (bytes - low_bytes) / (high_bytes - low_bytes);
    }
    /* at most the smallest size of the grid: all latency but for the wire */
    const NetPlan *plan = &prepared->plan;
    const NetOption *option = net_plan_choose(plan, &book->asked, high_bytes);
    return high_ns * net_option_ns(plan, option, &book->asked, bytes) /
           net_option_ns(plan, option, &book->asked, high_bytes);
}

NetCache *
net_cache_new(void)
{
    NetCache *cache = g_new0(NetCache, 1);
    g_mutex_init(&cache->lock);
    cache->prepared = g_hash_table_new_full(hash_prepared, equal_prepared, g_free, NULL);
    return cache;
}

void
net_cache_free(NetCache *cache)
{
    if (cache == NULL)
        return;
    g_hash_table_unref(cache->prepared);
    g_mutex_clear(&cache->lock);
    g_free(cache);
}

const NetPlan *
net_prepared_plan(const NetPrepared *prepared)
{
    return &prepared->plan;
}

const NetAnchor *
net_prepared_own(const NetPrepared *prepared)
{
    return prepared->own;
}
