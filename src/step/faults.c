/* Slow links and failures: which resources of the engine they are, and when these change.
 *
 * In a lane, which stands for several ranks in lock step, the port and card that are simulated are as slow as the
 * slowest of its members'.  What fails now and then does so as a Poisson process that has always been running: a
 * failure may be under way when the iteration begins. */
#include "config.h"

#include "step/faults.h"

#include "conf/complaint.h"
#include "sim/random.h"

#include <math.h>
#include <string.h>

/* Failures are drawn for so long: longer than iterations are. */
#define HORIZON_NS G_GINT64_CONSTANT(1800000000000)
#define HOUR_NS 3.6e12

/* Cards that a GPU goes out by: one, or several of its own. */
static gboolean
goes_by(const ClusterSystem *s, guint slot, guint nic)
{
    guint first = cluster_nic_of(s, slot);
    guint own = MAX((guint)(s->nics_per_node / s->gpus_per_node), 1);
    return nic >= first && nic < first + own;
}

static gboolean
is_at(const StepWhere *where, const Plan *plan, guint rank)
{
    guint slot = plan_slot(plan, rank), node = cluster_node_of(plan->system, slot);
    switch (where->kind) {
    case STEP_WHERE_GPU:
    case STEP_WHERE_NVLINK:
        return where->index == slot;
    case STEP_WHERE_NODE:
        return where->index == node;
    case STEP_WHERE_NIC:
        return where->index == node && goes_by(plan->system, slot, where->nic);
    case STEP_WHERE_LINK:
    case STEP_N_WHERES:
        break;
    }
    return FALSE;
}

gboolean
step_fault_is_at(const StepFault *fault, const Plan *plan, guint rank)
{
    return is_at(&fault->where, plan, rank);
}

GArray *
step_noise_special(const StepNoise *noise, const Plan *plan)
{
    GArray *special = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint rank = 0; rank < (guint)plan->gpus; rank++) {
        gboolean any = FALSE;
        for (guint i = 0; i < noise->slow->len && !any; i++)
            any = is_at(&g_array_index(noise->slow, StepSlow, i).where, plan, rank);
        for (guint i = 0; i < noise->flaps->len && !any; i++) {
            const StepFlap *flap = &g_array_index(noise->flaps, StepFlap, i);
            any = flap->per_hour <= 0 && is_at(&flap->where, plan, rank);
        }
        if (any)
            g_array_append_val(special, rank);
    }
    return special;
}

/* --- drawing ------------------------------------------------------------------------------------------ */

/* Times between failures are exponential: -ln(1 - u) over the rate. */
static void
draw_failures(const StepPacing *p, guint sample, guint index, const StepWhere *where, guint whom,
              GArray *faults)
{
    const StepFlap *flap = &g_array_index(p->noise->flaps, StepFlap, index);
    g_autofree char *purpose = g_strdup_printf("failures %u", index);
    SimRandom random = sim_random_init(p->noise->seed, purpose, (guint64)sample << 32 | whom);
    double when_ns = -(double)flap->for_ns;
    for (;;) {
        when_ns += -log1p(-sim_random_uniform(&random)) * HOUR_NS / flap->per_hour;
        if (when_ns >= (double)HORIZON_NS)
            return;
        gint64 from_ns = units_round_up_ns(MAX(when_ns, 0));
        gint64 to_ns = units_round_up_ns(when_ns + (double)flap->for_ns);
        StepFault fault = {.where = *where, .from_ns = from_ns, .to_ns = to_ns};
        if (to_ns > from_ns)
            g_array_append_val(faults, fault);
    }
}

static void
draw_everywhere(const StepPacing *p, guint sample, guint index, GArray *faults)
{
    const StepFlap *flap = &g_array_index(p->noise->flaps, StepFlap, index);
    const ClusterSystem *s = p->b->plan->system;
    guint each = (guint)(flap->where.kind == STEP_WHERE_NIC ? s->nics_per_node : s->gpus_per_node);
    for (guint node = 0; node < p->b->plan->n_nodes; node++)
        for (guint k = 0; k < each; k++) {
            StepWhere where = flap->where;
            where.index = where.kind == STEP_WHERE_NIC ? node : node * each + k;
            where.nic = where.kind == STEP_WHERE_NIC ? k : 0;
            draw_failures(p, sample, index, &where, node * each + k, faults);
        }
}

static gboolean
is_link(const StepWhere *where)
{
    return where->kind != STEP_WHERE_GPU && where->kind != STEP_WHERE_NODE;
}

GArray *
step_faults_draw(const StepPacing *p, guint sample)
{
    GArray *faults = g_array_new(FALSE, FALSE, sizeof(StepFault));
    for (guint i = 0; i < p->noise->slow->len; i++) {
        const StepSlow *slow = &g_array_index(p->noise->slow, StepSlow, i);
        StepFault fault = {slow->where, slow->times, 0, G_MAXINT64};
        if (is_link(&slow->where))
            g_array_append_val(faults, fault);
    }
    for (guint i = 0; i < p->noise->flaps->len; i++) {
        const StepFlap *flap = &g_array_index(p->noise->flaps, StepFlap, i);
        StepFault fault = {
            .where = flap->where, .from_ns = flap->at_ns, .to_ns = flap->at_ns + flap->for_ns};
        if (flap->per_hour > 0)
            draw_everywhere(p, sample, i, faults);
        else
            g_array_append_val(faults, fault);
    }
    return faults;
}

/* --- capacities --------------------------------------------------------------------------------------- */

typedef struct {
    guint32 resource;
    guint fault;
} Hit;

static gint
compare_hits(gconstpointer a, gconstpointer b)
{
    const Hit *x = a, *y = b;
    if (x->resource != y->resource)
        return x->resource < y->resource ? -1 : 1;
    return x->fault < y->fault ? -1 : x->fault > y->fault;
}

static void
add_hit(GArray *hits, guint32 resource, guint fault)
{
    Hit hit = {resource, fault};
    if (resource != STEP_NO_RESOURCE)
        g_array_append_val(hits, hit);
}

static void
hit_ports(const StepFault *fault, guint index, const StepPacing *p, const StepBuild *b,
          GArray *hits)
{
    for (guint k = 0; k < p->n_ranks * p->n_members; k++) {
        if (!is_at(&fault->where, b->plan, p->members[k]))
            continue;
        const StepLinks *links = &b->links[k / p->n_members];
        for (guint direction = 0; direction < STEP_N_DIRECTIONS; direction++)
            add_hit(hits,
                    fault->where.kind == STEP_WHERE_NIC ? links->nic[direction].id
                                                        : links->nvlink[direction].id,
                    index);
    }
}

static gboolean
hit_named(const StepFault *fault, guint index, const StepBuild *b, GArray *hits, GError **error)
{
    gboolean found = FALSE;
    for (guint i = 0; i < b->fabric_links->len; i++) {
        const StepFabricLink *link = &g_array_index(b->fabric_links, StepFabricLink, i);
        g_autofree char *name = cluster_topology_link_name(b->plan->topology, link->link);
        if (link->resource == STEP_NO_RESOURCE || strcmp(name, fault->where.link) != 0)
            continue; /* what is only counted together from others slows nobody */
        add_hit(hits, link->resource, index);
        found = TRUE;
    }
    if (!found)
        g_set_error(error, CONF_ERROR, CONF_ERROR_VALUE,
                    "'%s' is no link that the iteration uses; write one that --ranks all reports, "
                    "or nic:NODE.CARD, nvlink:GPU",
                    fault->where.link);
    return found;
}

/* At a time, one failure more or less. */
typedef struct {
    gint64 when_ns;
    gint more;
} Edge;

static gint
compare_edges(gconstpointer a, gconstpointer b)
{
    gint64 x = ((const Edge *)a)->when_ns, y = ((const Edge *)b)->when_ns;
    return x < y ? -1 : x > y;
}

/* When failures begin and end; `ret_slow`: what is left of the resource without them, the worst of what slows it. */
static GArray *
edges_of(const GArray *faults, const Hit *hits, guint n, double *ret_slow)
{
    GArray *edges = g_array_new(FALSE, FALSE, sizeof(Edge));
    Edge start = {0, 0};
    g_array_append_val(edges, start);
    *ret_slow = 1;
    for (guint i = 0; i < n; i++) {
        const StepFault *fault = &g_array_index(faults, StepFault, hits[i].fault);
        if (fault->times > 0) {
            *ret_slow = MIN(*ret_slow, 1 / fault->times);
            continue;
        }
        Edge from = {fault->from_ns, 1}, to = {fault->to_ns, -1};
        g_array_append_val(edges, from);
        g_array_append_val(edges, to);
    }
    g_array_sort(edges, compare_edges);
    return edges;
}

/* The changes of one resource, which n hits are about. */
static void
schedule(const GArray *faults, const Hit *hits, guint n, SimEngine *engine)
{
    double slow, before = 1;
    g_autoptr(GArray) edges = edges_of(faults, hits, n, &slow);
    double capacity = sim_engine_resource_capacity(engine, hits->resource);
    const Edge *all = (const Edge *)(gconstpointer)edges->data;
    gint failures = 0;
    for (guint i = 0, end; i < edges->len && all[i].when_ns <= SIM_TIME_LIMIT_NS; i = end) {
        for (end = i; end < edges->len && all[end].when_ns == all[i].when_ns; end++)
            failures += all[end].more;
        double share = failures > 0 ? 0 : slow;
        if (share != before)
            sim_engine_schedule_capacity(engine, all[i].when_ns, hits->resource, share * capacity);
        before = share;
    }
}

gboolean
step_faults_attach(const GArray *faults, const StepPacing *p, const StepBuild *b, SimEngine *engine,
                   GError **error)
{
    g_autoptr(GArray) hits = g_array_new(FALSE, FALSE, sizeof(Hit));
    for (guint i = 0; i < faults->len; i++) {
        const StepFault *fault = &g_array_index(faults, StepFault, i);
        if (fault->where.kind != STEP_WHERE_LINK)
            hit_ports(fault, i, p, b, hits);
        else if (!hit_named(fault, i, b, hits, error))
            return FALSE;
    }
    g_array_sort(hits, compare_hits);
    const Hit *all = (const Hit *)(gconstpointer)hits->data;
    for (guint i = 0, end; i < hits->len; i = end) {
        for (end = i + 1; end < hits->len && all[end].resource == all[i].resource; end++)
            continue;
        schedule(faults, all + i, end - i, engine);
    }
    return TRUE;
}
