/* Reads a machine in one line, word by word. */
#include "config.h"

#include "cluster/description.h"

#include "cluster/error.h"
#include "units/quantity.h"

#include <string.h>

#define MAX_NODES 65536
#define EXAMPLE "64 nodes x 8 h100, rail 8x400Gbps, spine 2:1"

typedef struct {
    const char *text;
    GPtrArray *words; /* borrowed; ends with NULL */
    guint at;
    GPtrArray *set; /* "section.key=value", owned */
    guint said;     /* where in `set` begins what words say; before it, what the GPU does */
    const char *first, *other; /* of `set`, contradict each other; NULL: nothing does */
    const ClusterDescribedGpu *gpu;
    guint nodes, gpus, hosts; /* hosts of one node, gpus of one host */
    guint cards;              /* of a host; 0: not said */
    gboolean leaf_nodes, kind;
    gboolean core, dragonfly;
    gboolean no_leaves; /* kind is of a fabric without leaf switches */
} Reader;

static const char *
word(const Reader *r)
{
    return g_ptr_array_index(r->words, r->at);
}

static gboolean complain(const Reader *r, GError **error, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static gboolean
complain(const Reader *r, GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE, "system '%s': %s", r->text, what);
    return FALSE;
}

/* Takes the next word where it is one of `a` and `b`. */
static gboolean
skip(Reader *r, const char *a, const char *b)
{
    if (word(r) == NULL || (g_ascii_strcasecmp(word(r), a) && g_ascii_strcasecmp(word(r), b)))
        return FALSE;
    r->at++;
    return TRUE;
}

/* A whole word that is a number from 1 to `most`. */
static gboolean
is_count(const char *text, guint most, guint *ret)
{
    char *end = NULL;
    guint64 value = text != NULL && g_ascii_isdigit(*text) ? g_ascii_strtoull(text, &end, 10) : 0;
    if (value < 1 || value > most || *end != '\0')
        return FALSE;
    *ret = (guint)value;
    return TRUE;
}

static gboolean
take_count(Reader *r, const char *of, guint most, guint *ret, GError **error)
{
    if (!is_count(word(r), most, ret))
        return complain(r, error, "'%s' is no number of %s; write one from 1 to %u, as in '%s'",
                        word(r) != NULL ? word(r) : "", of, most, EXAMPLE);
    r->at++;
    return TRUE;
}

static void
set_text(Reader *r, const char *key, const char *value)
{
    char *text = g_strdup_printf("%s=%s", key, value);
    gsize of_key = strlen(key) + 1;
    for (guint i = r->said; i < r->set->len && r->first == NULL; i++) {
        const char *before = g_ptr_array_index(r->set, i);
        if (strncmp(before, text, of_key) == 0 && g_ascii_strcasecmp(before, text) != 0) {
            r->first = before;
            r->other = text;
        }
    }
    g_ptr_array_add(r->set, text);
}

static void
set_count(Reader *r, const char *key, guint value)
{
    g_autofree char *text = g_strdup_printf("%u", value);
    set_text(r, key, text);
}

/* "2:1" or "1.5:1" */
static gboolean
is_ratio(const char *text)
{
    char *end = NULL;
    double value = text != NULL && g_ascii_isdigit(*text) ? g_ascii_strtod(text, &end) : 0;
    return end != NULL && value >= 1 && value <= 1000 && g_str_equal(end, ":1");
}

static gboolean
take_ratio(Reader *r, const char *key, GError **error)
{
    if (!is_ratio(word(r)))
        return complain(r, error, "'%s' is no ratio; write for example 2:1 after '%s'",
                        word(r) != NULL ? word(r) : "",
                        (const char *)g_ptr_array_index(r->words, r->at - 1));
    set_text(r, key, word(r));
    r->at++;
    return TRUE;
}

/* "64 nodes x 8 h100", "64x8 h100" */
static gboolean
read_machine(Reader *r, GError **error)
{
    if (!take_count(r, "nodes", MAX_NODES, &r->nodes, error))
        return FALSE;
    if (!skip(r, "nodes", "node"))
        skip(r, "hosts", "host");
    if (!skip(r, "x", "x"))
        return complain(r, error,
                        "after the number of nodes comes x and the GPUs of each; write "
                        "for example '" EXAMPLE "'");
    if (!take_count(r, "GPUs of a node", 1024, &r->gpus, error))
        return FALSE;
    r->gpu = word(r) != NULL ? cluster_described_gpu_find(word(r)) : NULL;
    if (r->gpu == NULL) {
        g_autofree char *names = cluster_described_gpu_names();
        return complain(r, error, "'%s' is no GPU; write one of %s", word(r) != NULL ? word(r) : "",
                        names);
    }
    r->at++;
    return TRUE;
}

/* "8x400Gbps" is there as three words. */
static gboolean
read_cards(Reader *r, GError **error)
{
    gint64 rate;
    if (!take_count(r, "cards", 1024, &r->cards, error))
        return FALSE;
    set_count(r, "nic.count", r->cards);
    r->at++; /* the x */
    GError *cause = NULL;
    if (!units_parse(UNITS_RATE, word(r) != NULL ? word(r) : "", &rate, &cause)) {
        complain(r, error, "the rate of a card: %s", cause->message);
        g_error_free(cause);
        return FALSE;
    }
    set_text(r, "nic.rate", word(r));
    r->at++;
    return TRUE;
}

static gboolean
read_torus(Reader *r, GError **error)
{
    g_autoptr(GString) dimensions = g_string_new(NULL);
    guint size;
    do {
        if (!is_count(word(r), MAX_NODES, &size))
            return complain(r, error,
                            "a torus needs the nodes of each dimension; write torus 4x4x4");
        r->at++;
        g_string_append_printf(dimensions, "%s%u", dimensions->len > 0 ? "x" : "", size);
    } while (skip(r, "x", "x"));
    set_text(r, "fabric.dimensions", dimensions->str);
    return TRUE;
}

/* "nvl72": NVLink joins several hosts into one node. */
static gboolean
read_rack(Reader *r, GError **error)
{
    guint of_rack = 0;
    if (!is_count(word(r) + 3, 1024, &of_rack) || r->gpus == 0 || of_rack == 0 ||
        of_rack % r->gpus || (guint64)r->nodes * r->gpus % of_rack)
        return complain(r, error,
                        "'%s': %u hosts of %u GPUs do not fill such racks; write for example '18 x "
                        "4 gb200 nvl72'",
                        word(r), r->nodes, r->gpus);
    r->hosts = of_rack / r->gpus;
    set_count(r, "node.hosts", r->hosts);
    r->at++;
    return TRUE;
}

static gboolean
read_leaf(Reader *r, GError **error)
{
    guint nodes;
    if (is_ratio(word(r)))
        return take_ratio(r, "fabric.oversubscription", error);
    if (!take_count(r, "nodes below a leaf switch", MAX_NODES, &nodes, error))
        return FALSE;
    if (!skip(r, "nodes", "node"))
        skip(r, "hosts", "host");
    set_count(r, "fabric.leaf-nodes", nodes);
    r->leaf_nodes = TRUE;
    return TRUE;
}

static gboolean
read_counted(Reader *r, GError **error)
{
    static const struct {
        const char *many, *one, *key;
    } things[] = {{"sockets", "socket", "node.sockets"},
                  {"levels", "level", "fabric.levels"},
                  {"uplinks", "uplink", "fabric.uplinks"},
                  {"groups", "group", "fabric.groups"},
                  {"channels", "channel", "nccl.channels"}};
    guint count = 0;
    if (!take_count(r, "anything", MAX_NODES, &count, error))
        return FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(things); i++) {
        if (!skip(r, things[i].many, things[i].one))
            continue;
        set_count(r, things[i].key, count);
        return TRUE;
    }
    return complain(r, error,
                    "%u of what? write for example 8x400Gbps, 2:1, 3 levels, 16 uplinks, 9 groups "
                    "or 2 sockets",
                    count);
}

static gboolean
read_after_word(Reader *r, const char *first, gboolean *ret_known, GError **error)
{
    guint count = 0;
    *ret_known = TRUE;
    if (g_str_equal(first, "torus"))
        return read_torus(r, error);
    if (g_str_equal(first, "leaf"))
        return read_leaf(r, error);
    if (g_str_equal(first, "spine"))
        return take_ratio(r, "fabric.oversubscription", error);
    if (g_str_equal(first, "core")) {
        r->core = TRUE;
        return take_ratio(r, "fabric.spine-oversubscription", error);
    }
    if (g_str_equal(first, "pod")) {
        if (!take_count(r, "leaf switches of a pod", MAX_NODES, &count, error))
            return FALSE;
        skip(r, "leaves", "routers");
        set_count(r, "fabric.pod-leaves", count);
        return TRUE;
    }
    if (g_str_equal(first, "switch")) {
        if (!take_count(r, "GPUs below a PCIe switch", 1024, &count, error))
            return FALSE;
        skip(r, "gpus", "gpu");
        set_count(r, "node.pcie-switch-gpus", count);
        return TRUE;
    }
    *ret_known = FALSE;
    return TRUE;
}

static gboolean
read_word(Reader *r, GError **error)
{
    static const char *const links[] = {"nvswitch", "mesh", "pcie", NULL};
    static const char *const kinds[] = {"ideal", "rail", "fat-tree", "dragonfly", "torus", NULL};
    const char *next = g_ptr_array_index(r->words, r->at + 1);
    if (g_ascii_isdigit(*word(r))) {
        if (is_ratio(word(r)))
            return take_ratio(r, "fabric.oversubscription", error);
        if (next != NULL && g_ascii_strcasecmp(next, "x") == 0)
            return read_cards(r, error);
        gint64 rate;
        if (units_parse(UNITS_RATE, word(r), &rate, NULL)) {
            set_text(r, "nic.rate", word(r));
            r->at++;
            return TRUE;
        }
        return read_counted(r, error);
    }
    g_autofree char *first = g_ascii_strdown(word(r), -1);
    if (g_str_has_prefix(first, "nvl") && g_ascii_isdigit(first[3]))
        return read_rack(r, error);
    gboolean known = TRUE;
    r->at++;
    if (g_strv_contains(links, first)) {
        set_text(r, "node.link", first);
        return TRUE;
    }
    if (g_strv_contains(kinds, first)) {
        set_text(r, "fabric.kind", first);
        r->kind = !g_str_equal(first, "rail");
        r->dragonfly = g_str_equal(first, "dragonfly");
        r->no_leaves = g_str_equal(first, "ideal") || g_str_equal(first, "torus");
    }
    if (!read_after_word(r, first, &known, error))
        return FALSE;
    if (g_str_equal(first, "hashed"))
        set_text(r, "fabric.spreading", "hashed");
    else if (g_str_equal(first, "sharp"))
        set_text(r, "nccl.sharp", "yes");
    else if (!known && !g_strv_contains(kinds, first))
        return complain(
            r, error,
            "'%s' is no word of a description; write rail, fat-tree, dragonfly, torus "
            "AxBxC, ideal, leaf, spine, core, pod, hashed, nvswitch, mesh, pcie, nvl72, "
            "8x400Gbps or 2:1",
            first);
    return TRUE;
}

static guint
largest_divisor(guint of, guint most)
{
    while (most > 1 && of % most)
        most--;
    return MAX(most, 1);
}

static gboolean
read_words(Reader *r, GError **error)
{
    r->said = r->set->len;
    while (word(r) != NULL)
        if (!read_word(r, error))
            return FALSE;
    if (r->core && !r->dragonfly) /* whose links between groups need no level */
        set_count(r, "fabric.levels", 3);
    if (r->first != NULL)
        return complain(r, error, "%s contradicts %s; write one of the two", r->other, r->first);
    return !(r->leaf_nodes && r->no_leaves) ||
           complain(
               r, error,
               "nodes below a leaf switch, and a fabric without one; leave 'leaf' out, or write "
               "rail, fat-tree or dragonfly");
}

/* What follows from the words: sizes of a node, cards where none are said. */
static void
settle(Reader *r)
{
    g_assert(r->gpu->usual_gpus > 0 && r->gpus > 0);
    guint cards = r->cards;
    if (cards == 0)
        cards = largest_divisor(r->gpus, r->gpu->usual_cards * r->gpus / r->gpu->usual_gpus);
    set_count(r, "node.gpus", r->gpus * r->hosts);
    set_count(r, "node.hosts", r->hosts);
    set_count(r, "nic.count", cards * r->hosts);
    if (r->kind && !r->leaf_nodes)
        set_count(r, "fabric.leaf-nodes", 0);
}

/* Commas and blanks end words; an x after a number stands alone: "8x400Gbps" is 8, x, 400Gbps. */
static GPtrArray *
split(char *text)
{
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
    char *rest = NULL;
    for (char *part = strtok_r(text, " ,\t\n", &rest); part != NULL;
         part = strtok_r(NULL, " ,\t\n", &rest)) {
        while (*part != '\0') {
            gsize digits = strspn(part, "0123456789");
            gboolean cross = digits > 0 && (part[digits] == 'x' || part[digits] == 'X');
            gboolean alone =
                digits == 0 && (*part == 'x' || *part == 'X') && g_ascii_isdigit(part[1]);
            gsize length = cross ? digits : alone ? 1 : strlen(part);
            if (cross && part[digits + 1] == '\0') { /* "8x": the x ends the word */
                g_ptr_array_add(words, g_strndup(part, digits));
                g_ptr_array_add(words, g_strdup("x"));
                break;
            }
            g_ptr_array_add(words, g_strndup(part, length));
            part += length;
        }
    }
    g_ptr_array_add(words, NULL);
    return words;
}

gboolean
cluster_is_description(const char *name)
{
    if (*name == '/' || *name == '.' || *name == '\0')
        return FALSE;
    if (strchr(name, ' ') != NULL)
        return TRUE;
    for (const char *at = name + 1; *at != '\0'; at++)
        if (*at == 'x' && g_ascii_isdigit(at[-1]) && g_ascii_isdigit(at[1]))
            return TRUE;
    return FALSE;
}

ClusterDescription *
cluster_description_parse(const char *text, GError **error)
{
    g_autofree char *copy = g_strdup(text);
    g_autoptr(GPtrArray) words = split(copy);
    g_autoptr(GPtrArray) set = g_ptr_array_new_with_free_func(g_free);
    Reader r = {.text = text, .words = words, .set = set, .hosts = 1};
    if (!read_machine(&r, error))
        return NULL;
    for (guint i = 0; r.gpu->set[i] != NULL; i++)
        g_ptr_array_add(set, g_strdup(r.gpu->set[i]));
    if (r.gpu->pcie)
        set_text(&r, "node.link", "pcie");
    if (r.gpu->pcie && r.gpus % 2) /* the base has two sockets */
        set_count(&r, "node.sockets", 1);
    if (!read_words(&r, error))
        return NULL;
    settle(&r);
    g_ptr_array_add(set, NULL);
    ClusterDescription *d = g_new0(ClusterDescription, 1);
    d->base = g_strdup(r.gpu->base);
    d->n_nodes = r.nodes / r.hosts;
    d->set = (GStrv)g_ptr_array_free(g_steal_pointer(&set), FALSE);
    return d;
}

void
cluster_description_free(ClusterDescription *d)
{
    if (d == NULL)
        return;
    g_free(d->base);
    g_strfreev(d->set);
    g_free(d);
}
