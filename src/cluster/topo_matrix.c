/* Reads what nvidia-smi topo -m prints. */
#include "config.h"

#include "cluster/topo_node.h"

#include "cluster/error.h"

#include <string.h>

typedef struct {
    const char *name;
    char **lines;
    guint line; /* from 0 */
    ClusterTopoNode *node;
    GArray *numa; /* of gint64: the numbers of NUMA nodes in order of appearance */
} Reader;

static gboolean G_GNUC_PRINTF(3, 4)
    complain(const Reader *r, GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE, "%s:%u: %s", r->name, r->line + 1, what);
    return FALSE;
}

/* Words of a line without blanks and the escapes that underline heads; NULL-terminated. */
static char **
words_of(const char *line)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    g_autoptr(GString) word = g_string_new(NULL);
    for (const char *at = line;; at++) {
        if (at[0] == '\033' && at[1] == '[') {
            at += 2;
            while (*at != '\0' && !g_ascii_isalpha(*at))
                at++;
            if (*at == '\0')
                at--;
        } else if (*at != '\0' && !g_ascii_isspace(*at)) {
            g_string_append_c(word, *at);
        } else if (word->len > 0) {
            g_ptr_array_add(words, g_strdup(word->str));
            g_string_truncate(word, 0);
        }
        if (*at == '\0')
            break;
    }
    g_ptr_array_add(words, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&words), FALSE);
}

static gboolean
is_gpu(const char *word)
{
    return g_str_has_prefix(word, "GPU") && g_ascii_isdigit(word[3]);
}

static gboolean
find_head(Reader *r, GError **error)
{
    for (; r->lines[r->line] != NULL; r->line++) {
        g_auto(GStrv) words = words_of(r->lines[r->line]);
        if (words[0] == NULL || !is_gpu(words[0]))
            continue;
        g_autoptr(GArray) devices = g_array_new(FALSE, TRUE, sizeof(ClusterTopoDevice));
        g_array_set_clear_func(devices, (GDestroyNotify)cluster_topo_device_clear);
        guint gpus = 0;
        for (guint i = 0; words[i] && !g_str_equal(words[i], "CPU") &&
                          !g_str_equal(words[i], "NUMA") && !g_str_equal(words[i], "GPU");
             i++) {
            if (is_gpu(words[i]) && gpus < devices->len)
                return complain(r, error, "'%s' stands behind cards; write GPUs first", words[i]);
            gpus += is_gpu(words[i]);
            ClusterTopoDevice device = {.name = g_strdup(words[i]), .numa = -1, .gdr = TRUE};
            g_array_append_val(devices, device);
        }
        if (devices->len > CLUSTER_TOPO_MAX_DEVICES)
            return complain(r, error, "has %u devices; write at most %d of one node", devices->len,
                            CLUSTER_TOPO_MAX_DEVICES);
        r->node = cluster_topo_node_new("nvidia-smi topo -m", g_steal_pointer(&devices), gpus);
        r->node->links_said = TRUE;
        r->line++;
        return TRUE;
    }
    g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                "%s: has no line with GPU0, GPU1, ... at its head; write what nvidia-smi topo -m "
                "prints or the XML of NCCL_TOPO_DUMP_FILE",
                r->name);
    return FALSE;
}

static gboolean
read_cell(Reader *r, guint i, guint j, const char *word, GError **error)
{
    ClusterTopoNode *node = r->node;
    guint n = node->devices->len;
    if ((i == j) != g_str_equal(word, "X"))
        return complain(r, error,
                        "'%s' stands in column %s; write X where a device meets itself "
                        "and nowhere else",
                        word, cluster_topo_device(node, j)->name);
    if (i == j)
        return TRUE;
    if (g_str_has_prefix(word, "NV") && g_ascii_isdigit(word[2])) {
        char *end;
        guint64 links = g_ascii_strtoull(word + 2, &end, 10);
        if (*end != '\0' || links < 1 || links > 18 || i >= node->n_gpus || j >= node->n_gpus)
            return complain(r, error,
                            "'%s' is no number of NVLinks; write NV1 to NV18 between "
                            "GPUs",
                            word);
        node->links[i * node->n_gpus + j] = (guint8)links;
        return TRUE;
    }
    for (ClusterNear near = CLUSTER_NEAR_PIX; near < CLUSTER_NEAR_N; near++) {
        if (g_str_equal(word, cluster_near_name(near))) {
            node->near[i * n + j] = (guint8)near;
            return TRUE;
        }
    }
    return complain(r, error, "'%s' is no distance; write X, NV4, PIX, PXB, PHB, NODE or SYS",
                    word);
}

/* The CPUs and the NUMA node stand behind the cells: "0-15,64-79  0  N/A". */
static void
read_numa(Reader *r, guint i, char **rest)
{
    if (i >= r->node->n_gpus || rest[0] == NULL || rest[1] == NULL)
        return;
    char *end;
    gint64 number = g_ascii_strtoll(rest[1], &end, 10);
    if (end == rest[1] || *end != '\0' || number < 0)
        return;
    guint k = 0;
    while (k < r->numa->len && g_array_index(r->numa, gint64, k) != number)
        k++;
    if (k == r->numa->len)
        g_array_append_val(r->numa, number);
    g_array_index(r->node->devices, ClusterTopoDevice, i).numa = (int)k;
}

static gboolean
read_row(Reader *r, guint i, GError **error)
{
    guint n = r->node->devices->len;
    const char *device = cluster_topo_device(r->node, i)->name;
    g_auto(GStrv) words = words_of(r->lines[r->line]);
    if (words[0] == NULL || !g_str_equal(words[0], device))
        return complain(r, error, "begins with '%s'; write the row of %s",
                        words[0] != NULL ? words[0] : "", device);
    if (g_strv_length(words) < n + 1)
        return complain(r, error, "%s has %u of %u cells; write one for each column", device,
                        g_strv_length(words) - 1, n);
    for (guint j = 0; j < n; j++)
        if (!read_cell(r, i, j, words[j + 1], error))
            return FALSE;
    for (guint j = 0; j < i; j++) {
        guint gpus = r->node->n_gpus;
        gboolean links =
            i < gpus && j < gpus && r->node->links[i * gpus + j] != r->node->links[j * gpus + i];
        if (links || r->node->near[i * n + j] != r->node->near[j * n + i])
            return complain(r, error, "%s and %s differ in the two rows; write the same both ways",
                            device, cluster_topo_device(r->node, j)->name);
    }
    read_numa(r, i, words + n + 1);
    return TRUE;
}

/* Rows of cards may be missing: distances are the same both ways. */
static gboolean
read_rows(Reader *r, GError **error)
{
    guint n = r->node->devices->len;
    for (guint i = 0; i < n; i++, r->line++) {
        while (r->lines[r->line] != NULL && *g_strchug(r->lines[r->line]) == '\0')
            r->line++;
        const char *line = r->lines[r->line];
        if (line == NULL || (i >= r->node->n_gpus && g_str_has_prefix(line, "Legend"))) {
            if (i >= r->node->n_gpus)
                break;
            while (r->lines[r->line] == NULL || *r->lines[r->line] == '\0')
                r->line--; /* the last that there is */
            return complain(r, error, "ends before the row of %s; write one for each GPU",
                            cluster_topo_device(r->node, i)->name);
        }
        if (!read_row(r, i, error))
            return FALSE;
    }
    for (guint i = 0; i < n; i++)
        for (guint j = 0; j < i; j++)
            r->node->near[i * n + j] = r->node->near[j * n + i];
    return TRUE;
}

/* "NIC0: mlx5_0" below the legend. */
static void
read_names(Reader *r)
{
    for (; r->lines[r->line] != NULL; r->line++) {
        g_auto(GStrv) words = words_of(r->lines[r->line]);
        gsize length = words[0] != NULL ? strlen(words[0]) : 0;
        if (length < 2 || words[0][length - 1] != ':' || words[1] == NULL)
            continue;
        words[0][length - 1] = '\0';
        for (guint i = r->node->n_gpus; i < r->node->devices->len; i++) {
            ClusterTopoDevice *card = &g_array_index(r->node->devices, ClusterTopoDevice, i);
            if (g_str_equal(card->name, words[0])) {
                g_free(card->name);
                card->name = g_strdup(words[1]);
                break;
            }
        }
    }
}

ClusterTopoNode *
cluster_topo_matrix_parse(const char *name, const char *text, GError **error)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GArray) numa = g_array_new(FALSE, FALSE, sizeof(gint64));
    Reader r = {.name = name, .lines = lines, .numa = numa};
    if (!find_head(&r, error))
        return NULL;
    g_autoptr(ClusterTopoNode) node = r.node;
    if (!read_rows(&r, error))
        return NULL;
    read_names(&r);
    node->n_numa = numa->len;
    return g_steal_pointer(&node);
}
