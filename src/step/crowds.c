/* Whatever goes through a link above cards that a simulated rank uses has to be there, or on a link like it.
 *
 * A *crowd* is all groups of a kind of one pipeline rank, or all messages from one pipeline rank to the next
 * (fabric.h).  A link where each crowd that is there in truth has a simulated member is complete: links.c multiplies
 * these.  Links of one rate on which the same crowds put the same amounts are alike, and one complete link stands
 * for all of them; where jobs are contiguous that is so from the start.  A scattered job leaves links on
 * which the representatives meet crowds of which no simulated member passes there: the first column that has one is
 * added, for each kind of link once. */
#include "config.h"

#include <string.h>

#include "step/crowds.h"

typedef struct {
    StepCrowd crowd;
    const double *truth; /* [links] */
    guint8 *is_seen;     /* [links] a simulated member is there */
} Member;

struct StepCrowds {
    const StepBuild *b;
    const StepColumns *columns;
    guint n_links;
    GArray *members; /* of Member */
    guint8 *is_used; /* [links] by a simulated column */
    guint64 *look;   /* [links] what is alike has the same */
};

/* Leaf switches that can carry all their cards, and leave nothing to chance, never bind. */
static gboolean
may_bind(const StepBuild *b)
{
    const ClusterSystem *s = b->plan->system;
    gboolean tree = s->fabric == CLUSTER_FABRIC_IDEAL || s->fabric == CLUSTER_FABRIC_RAIL ||
                    s->fabric == CLUSTER_FABRIC_FAT_TREE;
    gboolean wide =
        tree && !s->hashed && s->oversubscription <= 1 && s->spine_oversubscription <= 1;
    return step_fabric_has_links(b->fabric) && !(wide && s->link == CLUSTER_LINK_NVSWITCH);
}

static void
add_crowd(StepCrowds *c, StepCrowd crowd)
{
    const double *truth = step_fabric_truth(c->b->fabric, &crowd);
    if (truth == NULL)
        return;
    guint at = c->members->len;
    g_array_set_size(c->members, at + 1);
    g_array_index(c->members, Member, at) =
        (Member){.crowd = crowd, .truth = truth, .is_seen = g_new0(guint8, c->n_links)};
}

static gboolean
is_of_experts(guint kind)
{
    return kind == PLAN_GROUP_EP || kind == PLAN_GROUP_ETP || kind == PLAN_GROUP_EDP ||
           kind == PLAN_GROUP_EXPERT_SHARD || kind == PLAN_GROUP_EXPERT_REPLICATE;
}

/* Kinds that some port has, with the patterns of what is sent there (press.c). */
static void
add_groups(StepCrowds *c, guint kind)
{
    const Plan *plan = c->b->plan;
    gboolean pairs = kind == PLAN_GROUP_EP || kind == PLAN_GROUP_CP_INNER;
    if (is_of_experts(kind) && plan->shape->experts == 0)
        return;
    for (guint pp = 0; pp < c->columns->pp; pp++)
        for (guint i = 0; i < (pairs ? 4 : 2); i++)
            add_crowd(c, (StepCrowd){.kind = kind,
                                     .pp = pp,
                                     .pattern = i < 2 ? NET_PATTERN_RING : NET_PATTERN_PAIRS,
                                     .between = i % 2 == 1});
}

static void
add_messages(StepCrowds *c)
{
    const Schedule *s = c->b->schedule;
    for (guint i = 0; i + 1 < s->n_replicas * s->n_stages; i++)
        for (guint back = 0; back < 2 && (i + 1) % s->n_stages != 0; back++) {
            StepCrowd crowd = {.message = TRUE,
                               .between = TRUE,
                               .pp = s->rank_of[i + back],
                               .to = s->rank_of[i + 1 - back]};
            gboolean known = crowd.pp == crowd.to;
            for (guint k = c->members->len; k-- > 0 && !known;) {
                const StepCrowd *other = &g_array_index(c->members, Member, k).crowd;
                known = other->message && other->pp == crowd.pp && other->to == crowd.to;
            }
            if (!known)
                add_crowd(c, crowd);
        }
}

/* FNV-1a over the rate and what each crowd puts there. */
static guint64
mix(guint64 hash, double value)
{
    guint64 bits;
    memcpy(&bits, &value, sizeof bits);
    for (guint i = 0; i < 8; i++)
        hash = (hash ^ (bits >> (8 * i) & 0xff)) * G_GUINT64_CONSTANT(1099511628211);
    return hash;
}

static void
look_at_links(StepCrowds *c)
{
    for (guint link = 0; link < c->n_links; link++) {
        guint64 hash = mix(G_GUINT64_CONSTANT(14695981039346656037),
                           cluster_topology_link(c->b->plan->topology, link).Bps);
        for (guint k = 0; k < c->members->len; k++)
            hash = mix(hash, g_array_index(c->members, Member, k).truth[link]);
        c->look[link] = hash;
    }
}

StepCrowds *
step_crowds_new(const StepBuild *b, const StepColumns *columns)
{
    if (!may_bind(b))
        return NULL;
    StepCrowds *c = g_new0(StepCrowds, 1);
    gboolean known[STEP_N_GROUPS] = {FALSE};
    c->b = b;
    c->columns = columns;
    c->n_links = cluster_topology_n_links(b->plan->topology);
    c->members = g_array_new(FALSE, FALSE, sizeof(Member));
    c->is_used = g_new0(guint8, c->n_links);
    c->look = g_new(guint64, c->n_links);
    known[STEP_GROUP_REPLICA] = b->schedule->n_replicas < 2;
    for (guint port = 0; port < STEP_N_GROUP_PORTS; port++) {
        guint kind = step_port_group(port);
        if (!known[kind] && step_port_carries_data(port))
            add_groups(c, kind);
        known[kind] = TRUE;
    }
    add_messages(c);
    look_at_links(c);
    return c;
}

void
step_crowds_free(StepCrowds *c)
{
    if (c == NULL)
        return;
    for (guint k = 0; k < c->members->len; k++)
        g_free(g_array_index(c->members, Member, k).is_seen);
    g_array_unref(c->members);
    g_free(c->is_used);
    g_free(c->look);
    g_free(c);
}

/* What the column's member of a crowd puts on links. */
static const GArray *
loads_of(const StepCrowds *c, const Member *member, guint column)
{
    guint rank = step_column_rank(c->b, c->columns, column, member->crowd.pp);
    return step_fabric_loads(c->b->fabric, &member->crowd, rank);
}

void
step_crowds_add(StepCrowds *c, guint column)
{
    for (guint k = 0; c != NULL && k < c->members->len; k++) {
        const Member *member = &g_array_index(c->members, Member, k);
        const GArray *loads = loads_of(c, member, column);
        for (guint i = 0; i < loads->len; i++) {
            guint32 link = g_array_index(loads, NetLinkLoad, i).link;
            member->is_seen[link] = c->is_used[link] = 1;
        }
    }
}

static gboolean
is_complete(const StepCrowds *c, guint link)
{
    for (guint k = 0; k < c->members->len; k++) {
        const Member *member = &g_array_index(c->members, Member, k);
        if (member->truth[link] > 0 && !member->is_seen[link])
            return FALSE;
    }
    return TRUE;
}

static gboolean
loads_link(const StepCrowds *c, const Member *member, guint column, guint link)
{
    const GArray *loads = loads_of(c, member, column);
    for (guint i = 0; i < loads->len; i++)
        if (g_array_index(loads, NetLinkLoad, i).link == link)
            return TRUE;
    return FALSE;
}

/* The first column of each crowd that is missing on the link. */
static void
complete(const StepCrowds *c, guint link, GArray *columns)
{
    for (guint k = 0; k < c->members->len; k++) {
        const Member *member = &g_array_index(c->members, Member, k);
        gboolean found = member->truth[link] <= 0 || member->is_seen[link];
        for (guint i = 0; i < columns->len && !found; i++)
            found = loads_link(c, member, g_array_index(columns, guint, i), link);
        for (guint column = 0; column < c->columns->n && !found; column++) {
            found = loads_link(c, member, column, link);
            if (found)
                g_array_append_val(columns, column);
        }
    }
}

GArray *
step_crowds_missing(StepCrowds *c)
{
    GArray *columns = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GHashTable) done = g_hash_table_new(g_int64_hash, g_int64_equal); /* of looks */
    for (guint link = 0; c != NULL && link < c->n_links; link++)
        if (c->is_used[link] && is_complete(c, link))
            g_hash_table_add(done, &c->look[link]);
    for (guint link = 0; c != NULL && link < c->n_links; link++)
        if (c->is_used[link] && g_hash_table_add(done, &c->look[link]))
            complete(c, link, columns);
    return columns;
}
