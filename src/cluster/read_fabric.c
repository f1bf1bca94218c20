/* [fabric]: kind, sizes of its parts, oversubscription. */
#include "config.h"

#include "cluster/read.h"

#include "cluster/error.h"

#define USUAL_PORTS_DOWN 32 /* of a leaf switch of 64 ports at full bisection */
#define USUAL_POD_LEAVES 32 /* keys.c's */
#define MAX_COUNT 65536

static gboolean
complain(const char *where, const char *key, const char *text, const char *what, GError **error)
{
    g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE, "%s: [fabric] %s: '%s' %s", where, key,
                text, what);
    return FALSE;
}

/* "2", "1.5" or "2:1". */
static gboolean
read_ratio(const ClusterSystem *s, const char *where, const char *key, double *ret, GError **error)
{
    const char *text = conf_keyfile_text(s->conf, "fabric", key);
    char *end = NULL;
    double value = g_ascii_strtod(text, &end);
    if (end == text || !(g_str_equal(end, "") || g_str_equal(end, ":1")) || !(value >= 1) ||
        value > 1000)
        return complain(where, key, text,
                        "is not a ratio from 1 to 1000; write 1 for full bisection, 2 for half",
                        error);
    *ret = value;
    return TRUE;
}

static gboolean
read_count(const ClusterSystem *s, const char *where, const char *key, gint64 least, gint64 most,
           gint64 *ret, GError **error)
{
    gint64 value = conf_keyfile_quantity(s->conf, "fabric", key);
    if (value < least || value > most) {
        g_autofree char *what = g_strdup_printf("is not from %" G_GINT64_FORMAT
                                                " to %" G_GINT64_FORMAT "; write a number of these",
                                                least, most);
        return complain(where, key, conf_keyfile_text(s->conf, "fabric", key), what, error);
    }
    *ret = value;
    return TRUE;
}

/* "4x4x8" */
static gboolean
read_dimensions(ClusterSystem *s, const char *where, GError **error)
{
    const char *text = conf_keyfile_text(s->conf, "fabric", "dimensions");
    if (s->fabric != CLUSTER_FABRIC_TORUS)
        return *text == '\0' ||
               complain(where, "dimensions", text,
                        "belongs to a torus; write kind = torus, or nothing here", error);
    guint64 nodes = 1;
    const char *at = text;
    for (s->n_dimensions = 0; s->n_dimensions < CLUSTER_MAX_DIMENSIONS;) {
        char *end = (char *)at;
        guint64 size = g_ascii_isdigit(*at) ? g_ascii_strtoull(at, &end, 10) : 0;
        if (size < 1 || size > MAX_COUNT || (nodes *= size) > MAX_COUNT)
            break;
        s->dimensions[s->n_dimensions++] = (guint)size;
        if (*end == '\0')
            return TRUE;
        if (*end != 'x')
            break;
        at = end + 1;
    }
    return complain(where, "dimensions", text,
                    "is no size of a torus of 1 to 6 dimensions and up to 65536 nodes; write for "
                    "example 4x4x8",
                    error);
}

/* Cables of a card's rate that together have the rate of a leaf's uplinks. */
static gint64
usual_uplinks(const ClusterSystem *s)
{
    gint64 cards = s->leaf_nodes * (s->fabric == CLUSTER_FABRIC_RAIL ? 1 : s->nics_per_node);
    return CLAMP((gint64)((double)cards / s->oversubscription + 0.5), 1, MAX_COUNT);
}

/* Counts of parts that this kind has not: they would change nothing. */
static gboolean
check_parts(const ClusterSystem *s, const char *where, GError **error)
{
    gboolean dragonfly = s->fabric == CLUSTER_FABRIC_DRAGONFLY;
    gboolean clos = s->fabric == CLUSTER_FABRIC_RAIL || s->fabric == CLUSTER_FABRIC_FAT_TREE;
    const struct {
        const char *key;
        gboolean idle;
        const char *what;
    } parts[] = {
        {"levels", s->levels != 2 && !clos, "belongs to kind = rail and fat-tree; write 2"},
        {"pod-leaves", s->pod_leaves != USUAL_POD_LEAVES && !dragonfly && !(clos && s->levels == 3),
         "needs a third level of switches, or a dragonfly; write levels = 3 or kind = dragonfly"},
        {"uplinks", s->uplinks != 0 && !(clos && s->hashed),
         "counts for a rail or fat-tree with spreading = hashed; write that, or 0"},
        {"groups", s->groups != 0 && !dragonfly,
         "belongs to a dragonfly; write kind = dragonfly, or 0"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
        if (parts[i].idle)
            return complain(where, parts[i].key, conf_keyfile_text(s->conf, "fabric", parts[i].key),
                            parts[i].what, error);
    return TRUE;
}

static gboolean
check_kind(const ClusterSystem *s, const char *where, GError **error)
{
    if (s->fabric == CLUSTER_FABRIC_IDEAL && s->oversubscription != 1)
        return complain(
            where, "oversubscription", conf_keyfile_text(s->conf, "fabric", "oversubscription"),
            "contradicts kind = ideal, which has no uplinks; write kind = fat-tree", error);
    gboolean clos = s->fabric == CLUSTER_FABRIC_RAIL || s->fabric == CLUSTER_FABRIC_FAT_TREE;
    if (s->spine_oversubscription != 1 && s->fabric != CLUSTER_FABRIC_DRAGONFLY &&
        !(clos && s->levels == 3))
        return complain(where, "spine-oversubscription",
                        conf_keyfile_text(s->conf, "fabric", "spine-oversubscription"),
                        "needs a third level of switches; write levels = 3", error);
    if (s->hashed && !clos && s->fabric != CLUSTER_FABRIC_DRAGONFLY)
        return complain(where, "spreading", "hashed",
                        "needs parallel links, which this kind has not; write ideal", error);
    return TRUE;
}

gboolean
cluster_read_fabric(ClusterSystem *s, const char *where, GError **error)
{
    gint64 levels;
    s->fabric = (ClusterFabric)conf_keyfile_choice(s->conf, "fabric", "kind");
    s->rail_optimised = s->fabric == CLUSTER_FABRIC_RAIL;
    s->hashed = conf_keyfile_choice(s->conf, "fabric", "spreading") == 1;
    if (!read_ratio(s, where, "oversubscription", &s->oversubscription, error) ||
        !read_ratio(s, where, "spine-oversubscription", &s->spine_oversubscription, error) ||
        !read_count(s, where, "levels", 2, 3, &levels, error) ||
        !read_count(s, where, "leaf-nodes", 0, MAX_COUNT, &s->leaf_nodes, error) ||
        !read_count(s, where, "pod-leaves", 1, MAX_COUNT, &s->pod_leaves, error) ||
        !read_count(s, where, "uplinks", 0, 4096, &s->uplinks, error) ||
        !read_count(s, where, "groups", 0, 4096, &s->groups, error) ||
        !read_dimensions(s, where, error))
        return FALSE;
    s->levels = (guint)levels;
    if (!check_parts(s, where, error))
        return FALSE;
    if (s->leaf_nodes == 0) {
        gint64 cards = s->fabric == CLUSTER_FABRIC_RAIL ? 1 : s->nics_per_node;
        s->leaf_nodes = MAX(USUAL_PORTS_DOWN / cards, 1);
    }
    if (s->uplinks == 0)
        s->uplinks = usual_uplinks(s);
    return check_kind(s, where, error);
}
