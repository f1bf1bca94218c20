/* Links above ports and cards as resources of the engine.
 *
 * A simulated group stands for all groups of its kind and pipeline rank that load the same link: its weight there is
 * its own times (sum over all of these in truth) / (sum over those that are simulated), which is its own when every
 * rank is simulated; with messages likewise.  Links of one rate that the same meetings use with the same weights
 * fill at the same time, and are one resource. */
#include "config.h"

#include "step/links.h"

StepLinkUses *
step_link_uses_new(StepBuild *b, SimEngine *engine)
{
    StepLinkUses *uses = g_new0(StepLinkUses, 1);
    g_array_set_size(b->fabric_links, 0);
    g_array_set_size(b->link_parts, 0);
    uses->b = b;
    uses->engine = engine;
    uses->crowds = g_array_new(FALSE, FALSE, sizeof(StepLinkCrowd));
    uses->uses = g_array_new(FALSE, FALSE, sizeof(StepLinkUse));
    uses->members = g_array_new(FALSE, FALSE, sizeof(StepLinkUse));
    return uses;
}

static gboolean
same_crowd(const StepLinkCrowd *x, const StepLinkCrowd *y)
{
    return x->port == y->port && x->crowd.kind == y->crowd.kind && x->crowd.pp == y->crowd.pp &&
           x->crowd.message == y->crowd.message && x->crowd.to == y->crowd.to &&
           x->crowd.pattern == y->crowd.pattern && x->crowd.between == y->crowd.between;
}

/* Few: ports times pipeline ranks. The last one first, for neighbours come one after the other. */
static guint
intern_crowd(StepLinkUses *uses, const StepLinkCrowd *crowd)
{
    for (guint i = uses->crowds->len; i-- > 0;)
        if (same_crowd(&g_array_index(uses->crowds, StepLinkCrowd, i), crowd))
            return i;
    g_array_append_vals(uses->crowds, crowd, 1);
    return uses->crowds->len - 1;
}

static void
add_uses(StepLinkUses *uses, const StepLinkCrowd *crowd, guint rank, guint32 meeting, guint n,
         guint load)
{
    const GArray *loads = step_fabric_loads(uses->b->fabric, &crowd->crowd, rank);
    if (loads->len == 0)
        return;
    guint index = intern_crowd(uses, crowd);
    StepLinkUse member = {0, index, meeting, n, load, 1};
    g_array_append_val(uses->members, member);
    for (guint i = 0; i < loads->len; i++) {
        const NetLinkLoad *at = &g_array_index(loads, NetLinkLoad, i);
        StepLinkUse use = {at->link, index, meeting, n, load, at->weight};
        g_array_append_val(uses->uses, use);
    }
}

void
step_link_uses_group(StepLinkUses *uses, guint port, guint kind, guint rank, guint32 meeting)
{
    const Plan *plan = uses->b->plan;
    guint leader = step_group_leader(plan, kind, rank);
    StepLinkCrowd crowd = {.port = port,
                           .crowd = {.kind = kind, .pp = (guint)plan_place(plan, leader).pp}};
    for (guint pattern = 0; pattern < NET_N_PATTERNS; pattern++)
        for (guint between = 0; between < 2; between++) {
            guint load = (between ? NET_LOAD_FABRIC : NET_LOAD_NODE) + pattern;
            if (!(uses->b->port_loads[port] >> load & 1))
                continue;
            crowd.crowd.pattern = (NetPattern)pattern;
            crowd.crowd.between = between == 1;
            add_uses(uses, &crowd, leader, meeting, 1, load);
        }
}

void
step_link_uses_message(StepLinkUses *uses, guint wire, guint rank, guint to, guint32 first, guint n)
{
    const Plan *plan = uses->b->plan;
    PlanPlace place = plan_place(plan, rank);
    StepLinkCrowd crowd = {.port = STEP_PORT_WIRES + wire,
                           .crowd = {.message = TRUE, .pp = (guint)place.pp, .to = to}};
    place.pp = to;
    guint from_slot = plan_slot(plan, rank), to_slot = plan_slot(plan, plan_rank(plan, place));
    gboolean local =
        cluster_node_of(plan->system, from_slot) == cluster_node_of(plan->system, to_slot);
    add_uses(uses, &crowd, rank, first, n, local ? NET_LOAD_NVLINK : NET_LOAD_NIC);
}

static int
by_link(gconstpointer a, gconstpointer b)
{
    const StepLinkUse *x = a, *y = b;
    const guint32 xs[] = {x->link, x->crowd, x->meeting, x->load};
    const guint32 ys[] = {y->link, y->crowd, y->meeting, y->load};
    for (guint i = 0; i < G_N_ELEMENTS(xs); i++)
        if (xs[i] != ys[i])
            return xs[i] < ys[i] ? -1 : 1;
    return 0;
}

/* From own weights to those that stand for the crowd. */
static void
multiply(StepLinkUses *uses)
{
    StepLinkUse *all = (StepLinkUse *)(gpointer)uses->uses->data;
    for (guint i = 0, end; i < uses->uses->len; i = end) {
        double sum = 0;
        for (end = i; end < uses->uses->len && all[end].link == all[i].link &&
                      all[end].crowd == all[i].crowd;
             end++)
            sum += all[end].weight;
        const StepLinkCrowd *crowd = &g_array_index(uses->crowds, StepLinkCrowd, all[i].crowd);
        double truth = step_fabric_truth(uses->b->fabric, &crowd->crowd)[all[i].link];
        /* rounding must not make of one a little more */
        double times = truth > sum * (1 + 1e-9) ? truth / sum : 1.0;
        for (guint k = i; k < end; k++)
            all[k].weight *= times;
    }
}

static int
compare_uses(const StepLinkUse *x, const StepLinkUse *y)
{
    const gint64 xs[] = {x->meeting, x->load, (gint64)(x->weight * 1e12 + 0.5)};
    const gint64 ys[] = {y->meeting, y->load, (gint64)(y->weight * 1e12 + 0.5)};
    for (guint i = 0; i < G_N_ELEMENTS(xs); i++)
        if (xs[i] != ys[i])
            return xs[i] < ys[i] ? -1 : 1;
    return 0;
}

/* Used alike first, then by link. */
static int
compare_spans(gconstpointer a, gconstpointer b, gpointer data)
{
    const StepLinkSpan *x = a, *y = b;
    const StepLinkUse *uses = data;
    guint xn = x->end - x->from, yn = y->end - y->from;
    if (x->link.kind != y->link.kind)
        return x->link.kind < y->link.kind ? -1 : 1;
    if (x->link.Bps != y->link.Bps)
        return x->link.Bps < y->link.Bps ? -1 : 1;
    if (xn != yn)
        return xn < yn ? -1 : 1;
    for (guint i = 0; i < xn; i++) {
        int order = compare_uses(&uses[x->from + i], &uses[y->from + i]);
        if (order != 0)
            return order;
    }
    return 0;
}

/* Rates of links come from system.conf as those of cards and ports do. Where collectives have been seen to do more than
 * these say, the links above are that much faster too: what fills them alone goes at its own speed. */
static double
beyond_conf(const StepBuild *b, ClusterTopoKind kind)
{
    const ClusterSystem *s = b->plan->system;
    gboolean inside = kind == CLUSTER_TOPO_MESH || kind == CLUSTER_TOPO_PCIE_SWITCH ||
                      kind == CLUSTER_TOPO_SOCKET;
    double more =
        inside ? net_nvlink_capacity_Bps(b->net) / ((double)s->nvlink_Bps * s->nvlink_efficiency)
               : net_nic_capacity_Bps(b->net) / ((double)s->nic_Bps * s->nic_efficiency);
    return more > 1 + 1e-9 ? more : 1;
}

static GArray *
find_spans(const StepLinkUses *uses)
{
    GArray *spans = g_array_new(FALSE, FALSE, sizeof(StepLinkSpan));
    const StepLinkUse *all = (const StepLinkUse *)(gconstpointer)uses->uses->data;
    for (guint i = 0, end; i < uses->uses->len; i = end) {
        for (end = i; end < uses->uses->len && all[end].link == all[i].link; end++)
            continue;
        StepLinkSpan span = {i, end, cluster_topology_link(uses->b->plan->topology, all[i].link)};
        span.link.Bps *= beyond_conf(uses->b, span.link.kind);
        g_array_append_val(spans, span);
    }
    return spans;
}

/* What one of each crowd sends: counted by all of it that are simulated. */
static void
add_counters(StepLinkUses *uses)
{
    g_autofree guint *n = g_new0(guint, uses->crowds->len);
    for (guint i = 0; i < uses->members->len; i++)
        n[g_array_index(uses->members, StepLinkUse, i).crowd]++;
    for (guint c = 0; c < uses->crowds->len; c++)
        g_array_index(uses->crowds, StepLinkCrowd, c).counter =
            sim_engine_add_resource(uses->engine, G_MAXDOUBLE);
    for (guint i = 0; i < uses->members->len; i++) {
        const StepLinkUse *use = &g_array_index(uses->members, StepLinkUse, i);
        sim_engine_use(uses->engine, use->meeting, use->n,
                       g_array_index(uses->crowds, StepLinkCrowd, use->crowd).counter, use->load,
                       1.0 / n[use->crowd]);
    }
}

static void
add_resource(StepLinkUses *uses, const StepLinkSpan *span, double alike)
{
    const StepLinkUse *all = (const StepLinkUse *)(gconstpointer)uses->uses->data;
    StepFabricLink link = {.resource = sim_engine_add_resource(uses->engine, span->link.Bps),
                           .link = all[span->from].link,
                           .alike = alike};
    double share = uses->b->background.share[STEP_LINK_ABOVE + span->link.kind];
    if (share > 0)
        sim_engine_add_background(uses->engine, link.resource, share * span->link.Bps);
    for (guint i = span->from; i < span->end; i++)
        sim_engine_use(uses->engine, all[i].meeting, all[i].n, link.resource, all[i].load,
                       all[i].weight);
    g_array_append_val(uses->b->fabric_links, link);
}

static guint
link_of(const StepLinkUses *uses, const StepLinkSpan *span)
{
    return g_array_index(uses->uses, StepLinkUse, span->from).link;
}

static void
add_resources(StepLinkUses *uses, GArray *spans)
{
    StepBuild *b = uses->b;
    StepLinkSpan *all = (StepLinkSpan *)(gpointer)spans->data;
    StepLinkCensus *census = step_link_census_new(uses, spans);
    for (guint i = 0, end; i < spans->len; i = end) {
        for (end = i + 1;
             end < spans->len && compare_spans(&all[i], &all[end], uses->uses->data) == 0; end++)
            continue;
        add_resource(uses, &all[i], step_link_census_alike(census, &all[i], end - i));
        StepFabricLink same =
            g_array_index(b->fabric_links, StepFabricLink, b->fabric_links->len - 1);
        same.alike = 0;
        for (guint k = i + 1; k < end; k++) {
            same.link = link_of(uses, &all[k]);
            g_array_append_val(b->fabric_links, same);
        }
    }
    step_link_census_end(census);
}

void
step_link_uses_end(StepLinkUses *uses)
{
    g_array_sort(uses->uses, by_link);
    multiply(uses);
    add_counters(uses);
    g_autoptr(GArray) spans = find_spans(uses);
    if (spans->len > 0) { /* stable: of links that are alike the lowest is first */
        g_qsort_with_data(spans->data, (gint)spans->len, sizeof(StepLinkSpan), compare_spans,
                          uses->uses->data);
        add_resources(uses, spans);
    }
    g_array_unref(uses->crowds);
    g_array_unref(uses->uses);
    g_array_unref(uses->members);
    g_free(uses);
}
