/* Hostfiles, line by line; then hosts become nodes. */
#include "config.h"

#include "cluster/hostfile.h"

#include <string.h>

#include "cluster/error.h"

#define MAX_SLOTS (1 << 22)
/* Numbers of hosts that lie farther apart are names, not places. */
#define MAX_SPAN 65536

typedef struct {
    char *name;
    guint line; /* where it came first */
    guint64 number;
    guint node, used; /* GPUs that have a rank */
    gboolean plain;   /* a line has its name alone */
    gboolean repeated;
} Host;

/* A line: so many ranks on a host, or (rankfile) a rank on a GPU of it. */
typedef struct {
    guint host, line;
    gint64 count; /* 0: a plain name */
    gint64 rank, gpu;
} Entry;

typedef struct {
    const char *file;
    guint line;
    gint64 per_node, fabric_nodes;
    GArray *hosts;          /* of Host */
    GHashTable *by_name;    /* borrowed name -> index + 1; look-up only */
    GArray *entries;        /* of Entry */
    gboolean ranks, counts; /* the forms of line met so far */
} Reader;

static gboolean complain(const Reader *r, guint line, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

static gboolean
complain(const Reader *r, guint line, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (line > 0)
        g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE, "%s:%u: %s", r->file, line, text);
    else
        g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE, "%s: %s", r->file, text);
    return FALSE;
}

static void
host_clear(gpointer data)
{
    g_free(((Host *)data)->name);
}

static guint
host_index(Reader *r, const char *name)
{
    guint found = GPOINTER_TO_UINT(g_hash_table_lookup(r->by_name, name));
    if (found == 0) {
        Host host = {.name = g_strdup(name), .line = r->line};
        g_array_append_val(r->hosts, host);
        found = r->hosts->len;
        g_hash_table_insert(r->by_name, host.name, GUINT_TO_POINTER(found));
    }
    return found - 1;
}

static gboolean
read_number(const char *text, gint64 *ret)
{
    guint64 value;
    if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT32, &value, NULL))
        return FALSE;
    *ret = (gint64)value;
    return TRUE;
}

/* --- lines ---------------------------------------------------------------------------------------- */

/* "rank 3=node12 slot=5", blanks anywhere. */
static gboolean
read_rank(Reader *r, const char *line, GError **error)
{
    g_autoptr(GRegex) form =
        g_regex_new("^rank\\s+(\\d+)\\s*=\\s*(\\S+)\\s+slots?\\s*=\\s*(\\d+)$", 0, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;
    Entry entry = {.line = r->line};
    gboolean ok = g_regex_match(form, line, 0, &match);
    g_autofree char *rank = ok ? g_match_info_fetch(match, 1) : NULL;
    g_autofree char *name = ok ? g_match_info_fetch(match, 2) : NULL;
    g_autofree char *gpu = ok ? g_match_info_fetch(match, 3) : NULL;
    if (!ok || !read_number(rank, &entry.rank) || !read_number(gpu, &entry.gpu))
        return complain(r, r->line, error, "'%s' is no rank; write rank 0=HOST slot=0", line);
    if (entry.gpu >= r->per_node)
        return complain(r, r->line, error,
                        "slot %s is not on the node of %" G_GINT64_FORMAT
                        " GPUs; write 0 to %" G_GINT64_FORMAT,
                        gpu, r->per_node, r->per_node - 1);
    entry.host = host_index(r, name);
    r->ranks = TRUE;
    g_array_append_val(r->entries, entry);
    return TRUE;
}

/* "slots=8" or "max_slots=8". */
static gboolean
read_word(const Reader *r, const char *word, gint64 *ret_count, gint64 *ret_most, GError **error)
{
    const char *const known[] = {"slots=", "max_slots=", "max-slots="};
    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        gint64 value;
        if (!g_str_has_prefix(word, known[i]))
            continue;
        if (!read_number(word + strlen(known[i]), &value) || value == 0)
            return complain(r, r->line, error, "'%s' is no count; write %s%" G_GINT64_FORMAT, word,
                            known[i], r->per_node);
        *(i == 0 ? ret_count : ret_most) = value;
        return TRUE;
    }
    return complain(r, r->line, error, "'%s' is not known; write HOST slots=%" G_GINT64_FORMAT,
                    word, r->per_node);
}

/* What stands behind the host: at most `most` ranks are on it, and where no count is said, as many as there is room. */
static gboolean
read_words(const Reader *r, char *const *words, gint64 *count, GError **error)
{
    gint64 most = r->per_node;
    for (guint i = 0; words[i] != NULL; i++)
        if (words[i][0] != '\0' && !read_word(r, words[i], count, &most, error))
            return FALSE;
    if (*count == 0 && most < r->per_node)
        *count = most;
    if (*count > most && most < r->per_node)
        return complain(r, r->line, error,
                        "%" G_GINT64_FORMAT " ranks are more than max_slots=%" G_GINT64_FORMAT
                        "; write at most as many",
                        *count, most);
    return TRUE;
}

/* "node12", "node12:8", "node12 slots=8". */
static gboolean
read_host(Reader *r, const char *line, GError **error)
{
    g_auto(GStrv) words = g_strsplit_set(line, " \t", -1);
    Entry entry = {.line = r->line};
    char *colon = strchr(words[0], ':');
    if (colon != NULL) {
        if (colon == words[0] || !read_number(colon + 1, &entry.count) || entry.count == 0)
            return complain(r, r->line, error, "'%s' is no host; write HOST:%" G_GINT64_FORMAT,
                            words[0], r->per_node);
        *colon = '\0';
    }
    if (strchr(words[0], '=') != NULL || words[0][0] == '[')
        return complain(r, r->line, error, "'%s' is no host; write HOST slots=%" G_GINT64_FORMAT,
                        words[0], r->per_node);
    if (!read_words(r, words + 1, &entry.count, error))
        return FALSE;
    entry.host = host_index(r, words[0]);
    Host *host = &g_array_index(r->hosts, Host, entry.host);
    host->repeated = host->repeated || (host->plain && entry.count == 0);
    host->plain = host->plain || entry.count == 0;
    r->counts = TRUE;
    g_array_append_val(r->entries, entry);
    return TRUE;
}

static gboolean
read_lines(Reader *r, const char *text, GError **error)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i] != NULL; i++) {
        char *line = lines[i];
        line[strcspn(line, "#")] = '\0';
        g_strstrip(line);
        r->line = i + 1;
        if (line[0] == '\0')
            continue;
        if (!g_utf8_validate(line, -1, NULL))
            return complain(r, r->line, error, "is not UTF-8; write HOST slots=%" G_GINT64_FORMAT,
                            r->per_node);
        gboolean rank = g_str_has_prefix(line, "rank ") || g_str_has_prefix(line, "rank\t");
        if (!(rank ? read_rank(r, line, error) : read_host(r, line, error)))
            return FALSE;
        if (r->ranks && r->counts)
            return complain(r, r->line, error,
                            "ranks and hosts stand in one file; write 'rank N=HOST slot=M' lines "
                            "alone, or 'HOST slots=N' lines alone");
    }
    if (r->entries->len == 0)
        return complain(r, 0, error, "names no host; write lines like HOST slots=%" G_GINT64_FORMAT,
                        r->per_node);
    return TRUE;
}

/* --- nodes ---------------------------------------------------------------------------------------- */

/* The digits at the end of the name, or at the end of what is before the domain. */
static gboolean
find_digits(const char *name, gsize *ret_from, gsize *ret_to)
{
    gsize ends[] = {strlen(name), strcspn(name, ".")};
    for (guint i = 0; i < G_N_ELEMENTS(ends); i++) {
        gsize from = ends[i];
        while (from > 0 && g_ascii_isdigit(name[from - 1]))
            from--;
        if (from < ends[i] && ends[i] - from <= 9) {
            *ret_from = from;
            *ret_to = ends[i];
            return TRUE;
        }
    }
    return FALSE;
}

/* Numbers of all hosts, whose names are alike but for them. */
static gboolean
find_numbers(Reader *r, guint64 *ret_lowest, guint64 *ret_highest)
{
    const char *first = g_array_index(r->hosts, Host, 0).name;
    gsize from, to, first_from, first_to;
    if (!find_digits(first, &first_from, &first_to))
        return FALSE;
    *ret_lowest = G_MAXUINT64;
    *ret_highest = 0;
    for (guint i = 0; i < r->hosts->len; i++) {
        Host *host = &g_array_index(r->hosts, Host, i);
        if (!find_digits(host->name, &from, &to) || from != first_from ||
            strncmp(host->name, first, from) != 0 || strcmp(host->name + to, first + first_to) != 0)
            return FALSE;
        host->number = g_ascii_strtoull(host->name + from, NULL, 10);
        *ret_lowest = MIN(*ret_lowest, host->number);
        *ret_highest = MAX(*ret_highest, host->number);
    }
    return TRUE;
}

/* Two hosts of one number: node1 and node01. */
static gboolean
check_numbers(const Reader *r, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL); /* number -> index + 1 */
    for (guint i = 0; i < r->hosts->len; i++) {
        const Host *host = &g_array_index(r->hosts, Host, i);
        gpointer key = GSIZE_TO_POINTER(host->number + 1);
        guint other = GPOINTER_TO_UINT(g_hash_table_lookup(seen, key));
        if (other > 0)
            return complain(r, host->line, error,
                            "hosts '%s' and '%s' have the same number; write one name for a host",
                            g_array_index(r->hosts, Host, other - 1).name, host->name);
        g_hash_table_insert(seen, key, GUINT_TO_POINTER(i + 1));
    }
    return TRUE;
}

static gboolean
place_hosts(Reader *r, GError **error)
{
    guint64 lowest = 0, highest = 0, base = 0, nodes = (guint64)r->fabric_nodes;
    gboolean numbered = find_numbers(r, &lowest, &highest);
    if (numbered && nodes == 0) {
        numbered = highest - lowest < MAX_SPAN;
        base = lowest;
    } else if (numbered && highest >= nodes) {
        base = 1;
    }
    if (numbered && !check_numbers(r, error))
        return FALSE;
    for (guint i = 0; i < r->hosts->len; i++) {
        Host *host = &g_array_index(r->hosts, Host, i);
        if (nodes > 0 && numbered && (host->number < base || host->number - base >= nodes))
            return complain(r, host->line, error,
                            "host '%s' is not in a fabric of %" G_GINT64_FORMAT
                            " nodes, which are counted from %" G_GUINT64_FORMAT
                            "; write a larger --fabric-nodes",
                            host->name, r->fabric_nodes, base);
        if (nodes > 0 && !numbered && i >= nodes)
            return complain(r, host->line, error,
                            "host '%s' is one more than the %" G_GINT64_FORMAT
                            " nodes of the fabric; write a larger --fabric-nodes",
                            host->name, r->fabric_nodes);
        host->node = numbered ? (guint)(host->number - base) : i;
    }
    return TRUE;
}

/* --- ranks ---------------------------------------------------------------------------------------- */

static gboolean
any_repeated(const Reader *r)
{
    for (guint i = 0; i < r->hosts->len; i++)
        if (g_array_index(r->hosts, Host, i).repeated)
            return TRUE;
    return FALSE;
}

static gboolean
deal_counts(const Reader *r, GArray *slots, GError **error)
{
    gint64 plain = any_repeated(r) ? 1 : r->per_node;
    for (guint i = 0; i < r->entries->len; i++) {
        const Entry *entry = &g_array_index(r->entries, Entry, i);
        Host *host = &g_array_index(r->hosts, Host, entry->host);
        gint64 n = entry->count > 0 ? entry->count : plain;
        if (host->used + n > r->per_node)
            return complain(r, entry->line, error,
                            "host '%s' has %" G_GINT64_FORMAT
                            " ranks and its node %" G_GINT64_FORMAT
                            " GPUs; write fewer, or --set node.gpus=%" G_GINT64_FORMAT,
                            host->name, host->used + n, r->per_node, host->used + n);
        if (slots->len + n > MAX_SLOTS)
            return complain(r, entry->line, error, "more than %d ranks; write fewer", MAX_SLOTS);
        for (gint64 k = 0; k < n; k++) {
            guint slot = (guint)(host->node * r->per_node) + host->used++;
            g_array_append_val(slots, slot);
        }
    }
    return TRUE;
}

static gboolean
deal_ranks(const Reader *r, GArray *slots, GError **error)
{
    g_autoptr(GHashTable) taken = g_hash_table_new(NULL, NULL);
    g_autofree guint8 *is_there = g_new0(guint8, r->entries->len);
    g_array_set_size(slots, r->entries->len);
    for (guint i = 0; i < r->entries->len; i++) {
        const Entry *entry = &g_array_index(r->entries, Entry, i);
        const Host *host = &g_array_index(r->hosts, Host, entry->host);
        guint slot = (guint)(host->node * r->per_node + entry->gpu);
        if (entry->rank >= r->entries->len)
            return complain(r, entry->line, error,
                            "rank %" G_GINT64_FORMAT
                            " of %u; write every rank from 0 on, each once",
                            entry->rank, r->entries->len);
        if (is_there[entry->rank])
            return complain(r, entry->line, error,
                            "rank %" G_GINT64_FORMAT " is there twice; write it once", entry->rank);
        if (!g_hash_table_add(taken, GUINT_TO_POINTER(slot)))
            return complain(r, entry->line, error,
                            "slot %" G_GINT64_FORMAT " of '%s' has a rank already; write another",
                            entry->gpu, host->name);
        is_there[entry->rank] = 1;
        g_array_index(slots, guint, entry->rank) = slot;
    }
    return TRUE;
}

GArray *
cluster_hostfile_parse(const char *name, const char *text, gint64 gpus_per_node,
                       gint64 fabric_nodes, GError **error)
{
    Reader r = {
        .file = name,
        .per_node = gpus_per_node,
        .fabric_nodes = fabric_nodes,
        .hosts = g_array_new(FALSE, FALSE, sizeof(Host)),
        .by_name = g_hash_table_new(g_str_hash, g_str_equal),
        .entries = g_array_new(FALSE, FALSE, sizeof(Entry)),
    };
    g_array_set_clear_func(r.hosts, host_clear);
    g_autoptr(GArray) slots = g_array_new(FALSE, TRUE, sizeof(guint));
    gboolean ok = read_lines(&r, text, error) && place_hosts(&r, error) &&
                  (r.ranks ? deal_ranks(&r, slots, error) : deal_counts(&r, slots, error));
    g_hash_table_unref(r.by_name);
    g_array_unref(r.hosts);
    g_array_unref(r.entries);
    return ok ? g_steal_pointer(&slots) : NULL;
}
