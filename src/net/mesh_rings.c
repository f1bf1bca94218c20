/* Searches rings over a mesh: all closed ways over its members, then as many of them as links allow. */
#include "config.h"

#include "net/mesh_rings.h"

#include <string.h>

#define MAX_WAYS 2520    /* (8 - 1)! / 2 of 8 members */
#define MAX_STEPS 200000 /* of the search; a cube mesh takes a few hundred, full meshes the most */

typedef struct {
    const guint8 *width;
    guint n, n_ways, steps, bound;
    guint8 ways[MAX_WAYS][8];
    guint8 left[64]; /* links not yet taken */
    guint chosen[NET_MESH_MAX_RINGS], n_chosen;
    NetMeshRings best;
} Search;

/* Each ring once: begins at member 0 and its second member is below its last. */
static void
find_ways(Search *s, guint8 *way, guint at, guint taken)
{
    guint last = way[at - 1];
    if (at == s->n) {
        if (way[1] < last && s->width[last * s->n] > 0 && s->n_ways < MAX_WAYS)
            memcpy(s->ways[s->n_ways++], way, s->n);
        return;
    }
    for (guint next = 1; next < s->n; next++) {
        if (taken & 1u << next || s->width[last * s->n + next] == 0)
            continue;
        way[at] = (guint8)next;
        find_ways(s, way, at + 1, taken | 1u << next);
    }
}

/* Takes (sign -1) or gives back the links of a way; FALSE: one was not left. */
static gboolean
take(Search *s, const guint8 *way, int sign)
{
    gboolean left = TRUE;
    for (guint i = 0; i < s->n; i++) {
        guint a = way[i], b = way[(i + 1) % s->n];
        left = left && (sign > 0 || s->left[a * s->n + b] > 0);
        s->left[a * s->n + b] = (guint8)(s->left[a * s->n + b] + sign);
        s->left[b * s->n + a] = s->left[a * s->n + b];
    }
    return left;
}

static void
choose(Search *s, guint from)
{
    if (s->n_chosen > s->best.n_rings) {
        s->best.n_rings = s->n_chosen;
        for (guint i = 0; i < s->n_chosen; i++)
            memcpy(s->best.order[i], s->ways[s->chosen[i]], s->n);
    }
    for (guint w = from; w < s->n_ways && s->best.n_rings < s->bound; w++) {
        if (s->steps++ > MAX_STEPS)
            return;
        if (take(s, s->ways[w], -1)) {
            s->chosen[s->n_chosen++] = w;
            choose(s, w); /* a way over double links counts twice */
            s->n_chosen--;
        }
        take(s, s->ways[w], 1);
    }
}

NetMeshRings
net_mesh_rings(const guint8 *width, guint n)
{
    g_assert(n >= 3 && n <= 8);
    g_autofree Search *s = g_new0(Search, 1);
    s->width = width;
    s->n = n;
    s->bound = NET_MESH_MAX_RINGS;
    memcpy(s->left, width, (gsize)n * n);
    for (guint i = 0; i < n; i++) {
        guint links = 0;
        for (guint j = 0; j < n; j++)
            links += width[i * n + j];
        s->bound = MIN(s->bound, links / 2); /* a ring takes two links of each */
    }
    guint8 way[8] = {0};
    if (s->bound > 0)
        find_ways(s, way, 1, 1);
    choose(s, 0);
    return s->best;
}
