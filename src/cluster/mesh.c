/* Reads which GPUs of a node NVLinks join. */
#include "config.h"

#include "cluster/mesh.h"

#include "cluster/error.h"

#include <string.h>

#define MAX_GPUS 32
#define MAX_LINKS 18 /* of one GPU, Hopper's and Blackwell's */

/* DGX-1 with V100: 6 links a GPU; two fully joined quads and a cube's edges between them, those that stand in
 * every ring doubled. From the topology table of NVIDIA's DGX-1 V100 white paper. */
static const char dgx1[] = "0-1:1 0-2:1 0-3:2 0-4:2 1-2:2 1-3:1 1-5:2 2-3:2 2-6:1 3-7:1 "
                           "4-5:1 4-6:1 4-7:2 5-6:2 5-7:1 6-7:2";

static gboolean
complain(const char *word, const char *what, GError **error)
{
    g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE, "'%s' %s; write for example 0-1:2", word,
                what);
    return FALSE;
}

static gboolean
read_pair(const char *word, guint gpus, guint8 *links, GError **error)
{
    guint64 value[3] = {0, 0, 1};
    static const char ends[] = "-:";
    const char *at = word;
    for (guint i = 0; i < 3; i++) {
        char *end;
        if (!g_ascii_isdigit(*at))
            return complain(word, "is no pair of GPUs with a number of links", error);
        value[i] = g_ascii_strtoull(at, &end, 10);
        at = end;
        if (i > 0 && *at == '\0')
            break;
        if (i == 2 || *at != ends[i])
            return complain(word, "is no pair of GPUs with a number of links", error);
        at++;
    }
    if (value[0] >= gpus || value[1] >= gpus || value[0] == value[1])
        return complain(word, "does not name two GPUs of the node", error);
    if (value[2] < 1 || value[2] > MAX_LINKS)
        return complain(word, "has no number of links from 1 to 18", error);
    if (links[value[0] * gpus + value[1]] > 0)
        return complain(word, "names a pair a second time", error);
    links[value[0] * gpus + value[1]] = links[value[1] * gpus + value[0]] = (guint8)value[2];
    return TRUE;
}

/* Whether each reaches each directly or over one GPU between, as NCCL forwards. */
static gboolean
check_reach(const guint8 *links, guint gpus, GError **error)
{
    for (guint i = 0; i < gpus; i++) {
        for (guint j = i + 1; j < gpus; j++) {
            gboolean reached = links[i * gpus + j] > 0;
            for (guint k = 0; k < gpus && !reached; k++)
                reached = links[i * gpus + k] > 0 && links[k * gpus + j] > 0;
            if (reached)
                continue;
            g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                        "GPU %u does not reach GPU %u over one other; add for example %u-%u:1", i,
                        j, i, j);
            return FALSE;
        }
    }
    return TRUE;
}

guint8 *
cluster_mesh_parse(const char *text, guint gpus, GError **error)
{
    if (gpus > MAX_GPUS) {
        g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                    "a mesh joins at most %d GPUs; write link = nvswitch", MAX_GPUS);
        return NULL;
    }
    g_autofree guint8 *links = g_new0(guint8, (gsize)gpus * gpus);
    if (*text == '\0' && gpus == 8)
        text = dgx1;
    if (*text == '\0') {
        for (guint i = 0; i < gpus * gpus; i++)
            links[i] = i / gpus != i % gpus;
        return g_steal_pointer(&links);
    }
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    for (guint i = 0; words[i] != NULL; i++)
        if (*words[i] != '\0' && !read_pair(words[i], gpus, links, error))
            return NULL;
    return check_reach(links, gpus, error) ? g_steal_pointer(&links) : NULL;
}
