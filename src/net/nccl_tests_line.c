/* A row is two whole numbers, a type and what follows; the header says which columns are there. */
#include "config.h"

#include "net/nccl_tests_line.h"

#include "net/rows.h"

#include <math.h>
#include <string.h>

/* As nccl-tests writes them (ncclstringtotype), over the years. */
static const char *const dtypes[] = {
    "int8",  "char",   "uint8",    "int32", "int",      "uint32",   "int64",  "uint64", "half",
    "float", "double", "bfloat16", "bf16",  "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2", NULL};

char **
net_tests_words(const char *line)
{
    GPtrArray *words = g_ptr_array_new();
    for (const char *p = line + strspn(line, " \t\r"); *p != '\0'; p += strspn(p, " \t\r")) {
        gsize n = strcspn(p, " \t\r");
        g_ptr_array_add(words, g_strndup(p, n));
        p += n;
    }
    g_ptr_array_add(words, NULL);
    return (char **)g_ptr_array_free(words, FALSE);
}

static const char *
dtype_of(const char *word)
{
    for (guint i = 0; dtypes[i] != NULL; i++)
        if (strcmp(dtypes[i], word) == 0)
            return dtypes[i];
    return NULL;
}

/* Digits alone; of the first word of a row also behind a label: "[STAT]:104857600". */
static gboolean
whole(const char *word, gboolean labelled, gint64 *ret)
{
    const char *p = word;
    if (labelled) {
        const char *end = word + strlen(word);
        for (p = end; p > word && g_ascii_isdigit(p[-1]); p--)
            ;
        if (p > word && strchr(":>]|", p[-1]) == NULL)
            return FALSE;
    }
    gsize n = strlen(p);
    if (n == 0 || n > 18 || strspn(p, "0123456789") != n)
        return FALSE;
    *ret = g_ascii_strtoll(p, NULL, 10);
    return TRUE;
}

static gboolean
number(const char *word, double *ret)
{
    char *end = NULL;
    if (word == NULL || !g_ascii_isdigit(word[0]))
        return FALSE;
    *ret = g_ascii_strtod(word, &end);
    return *end == '\0' && isfinite(*ret);
}

static gboolean
root_of(const char *word, gint64 *ret)
{
    const char *digits = word + (word[0] == '-');
    gsize n = strlen(digits);
    if (n == 0 || n > 9 || strspn(digits, "0123456789") != n)
        return FALSE;
    *ret = g_ascii_strtoll(word, NULL, 10);
    return TRUE;
}

gboolean
net_tests_header(char **words, NetTestsColumns *ret_columns)
{
    guint at = 0;
    while (words[at] != NULL && strcmp(words[at], "size") != 0)
        at++;
    if (words[at] == NULL || words[at + 1] == NULL || strcmp(words[at + 1], "count") != 0)
        return FALSE;
    NetTestsColumns c = {.seen = TRUE, .us = 1.0, .GBps = 1.0};
    gboolean busbw = FALSE;
    for (guint i = at; words[i] != NULL; i++) {
        c.redop = c.redop || strcmp(words[i], "redop") == 0;
        c.root = c.root || strcmp(words[i], "root") == 0;
        c.wrong = c.wrong || g_str_has_suffix(words[i], "wrong") || strcmp(words[i], "error") == 0;
        c.places += strcmp(words[i], "time") == 0 ? 1 : 0;
        busbw = busbw || strcmp(words[i], "busbw") == 0;
    }
    c.places = MIN(c.places, NET_TESTS_N_PLACES);
    if (c.places > 0 && busbw)
        *ret_columns = c;
    return c.places > 0 && busbw;
}

gboolean
net_tests_units(char **words, NetTestsColumns *columns, GError **error)
{
    static const struct {
        const char *word;
        double us, GBps;
    } units[] = {{"(B)", 0, 0},     {"(elements)", 0, 0}, {"(us)", 1, 0},
                 {"(ns)", 1e-3, 0}, {"(ms)", 1e3, 0},     {"(s)", 1e6, 0},
                 {"(GB/s)", 0, 1},  {"(MB/s)", 0, 1e-3},  {"(TB/s)", 0, 1e3}};
    guint at = 0;
    while (words[at] != NULL && words[at][0] != '(')
        at++;
    if (words[at] == NULL || words[at + 1] == NULL || strcmp(words[at + 1], "(elements)") != 0)
        return TRUE;
    for (guint i = at; words[i] != NULL; i++) {
        guint u = 0;
        while (u < G_N_ELEMENTS(units) && strcmp(units[u].word, words[i]) != 0)
            u++;
        if (u == G_N_ELEMENTS(units)) {
            g_set_error(error, NET_ERROR, NET_ERROR_ROW,
                        "the unit '%s' is not known; sizes are (B), times (us) or (ms), "
                        "bandwidths (GB/s) or (MB/s)",
                        words[i]);
            return FALSE;
        }
        columns->us = units[u].us > 0 ? units[u].us : columns->us;
        columns->GBps = units[u].GBps > 0 ? units[u].GBps : columns->GBps;
    }
    return TRUE;
}

/* time algbw busbw [wrong] of one place; how many words it took, 0: it is none. */
static guint
place_read(char **words, const NetTestsColumns *columns, gboolean wrong, NetTestsRow *row,
           guint place)
{
    double us, alg, bus, errors = -1;
    if (words[0] == NULL || words[1] == NULL || words[2] == NULL || !number(words[0], &us) ||
        !number(words[1], &alg) || !number(words[2], &bus))
        return 0;
    if (wrong && (words[3] == NULL ||
                  (g_ascii_strcasecmp(words[3], "N/A") != 0 && !number(words[3], &errors))))
        return 0;
    row->us[place] = us * columns->us;
    row->algbw_GBps[place] = alg * columns->GBps;
    row->busbw_GBps[place] = bus * columns->GBps;
    row->wrong[place] = errors == floor(errors) ? (gint64)MIN(errors, 9e18) : -1;
    return wrong ? 4 : 3;
}

/* As many places as the header has, to the end of the line; without a header both, or one of them. */
static gboolean
places_read(char **words, const NetTestsColumns *columns, NetTestsRow *row)
{
    guint n = g_strv_length(words);
    gboolean wrong = columns->seen ? columns->wrong : n == 8 || n == 4;
    guint per = wrong ? 4 : 3;
    if (columns->seen ? n != columns->places * per : n != per && n != 2 * per)
        return FALSE;
    for (guint place = 0; place < NET_TESTS_N_PLACES; place++) {
        row->us[place] = row->algbw_GBps[place] = row->busbw_GBps[place] = NAN;
        row->wrong[place] = -1;
    }
    for (guint i = 0; i < n / per; i++)
        if (place_read(words + i * per, columns, wrong, row, i) == 0)
            return FALSE;
    return TRUE;
}

NetTestsKind
net_tests_row(char **words, const NetTestsColumns *columns, NetTestsLine *ret_line)
{
    NetTestsLine line = {.root = -1};
    guint at = 2, n = g_strv_length(words);
    while (at < n && !(dtype_of(words[at]) != NULL && whole(words[at - 2], TRUE, &line.row.bytes) &&
                       whole(words[at - 1], FALSE, &line.row.count)))
        at++;
    if (at >= n)
        return NET_TESTS_OTHER;
    line.dtype = dtype_of(words[at++]);
    if (at < n && g_ascii_isalpha(words[at][0]))
        g_strlcpy(line.redop, words[at++], sizeof line.redop);
    /* a root is there where the header says so, or where one word more than times is left */
    guint left = n - at;
    gboolean odd = left == 9 || left == 7 || left == 5;
    if (at < n && (columns->seen ? columns->root : odd) && root_of(words[at], &line.root)) {
        line.has_root = TRUE;
        at++;
    }
    gboolean ok = places_read(words + at, columns, &line.row);
    *ret_line = line;
    if (ok)
        return NET_TESTS_ROW;
    /* "sum  -1node3:77:99 [0] NCCL INFO": somebody else wrote in between */
    gint64 whatever;
    double time;
    gboolean torn = at == n || !(number(words[at], &time) || whole(words[at], FALSE, &whatever));
    return torn ? NET_TESTS_HEAD : NET_TESTS_BROKEN;
}

gboolean
net_tests_tail(char **words, const NetTestsColumns *columns, NetTestsLine *line)
{
    double us;
    NetTestsRow row = line->row;
    if (!number(words[0] != NULL ? words[0] : "", &us) || g_strv_length(words) < 6 ||
        !places_read(words, columns, &row))
        return FALSE;
    line->row = row;
    return TRUE;
}
