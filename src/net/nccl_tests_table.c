/* Which collective, how many ranks: what the columns of nccl-tests' tables give away. */
#include "config.h"

#include "net/nccl_tests_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Programs of nccl-tests without "_perf"; op < 0: a collective that is not modelled. */
static const struct {
    const char *program, *name;
    int op;
} programs[] = {
    {"all_reduce", "all_reduce", NET_ALL_REDUCE},
    {"all_gather", "all_gather", NET_ALL_GATHER},
    {"reduce_scatter", "reduce_scatter", NET_REDUCE_SCATTER},
    {"alltoall", "all_to_all", NET_ALL_TO_ALL},
    {"broadcast", "broadcast", NET_BROADCAST},
    {"sendrecv", "send_recv", NET_SEND_RECV},
    {"reduce", "reduce", -1},
    {"gather", "gather", -1},
    {"scatter", "scatter", -1},
    {"hypercube", "hypercube", -1},
};

#define BIT(op) (1u << (op))

char *
net_tests_name(const char *text, gsize n)
{
    for (guint i = 0; i < G_N_ELEMENTS(programs); i++)
        if (strlen(programs[i].program) == n && strncmp(programs[i].program, text, n) == 0)
            return g_strdup(programs[i].name);
    return NULL;
}

void
net_tests_version(const char *line, char **version)
{
    const char *at = strstr(line, "NCCL version ");
    const char *library = strstr(line, "nccl-library=");
    if (at != NULL && g_ascii_isdigit(at[13])) {
        g_free(*version);
        *version = g_strndup(at + 13, strspn(at + 13, "0123456789."));
    } else if (library != NULL) {
        int code = atoi(library + 13), unit = code >= 10000 ? 10000 : 1000; /* 2804, 22903 */
        if (code < 1000)
            return;
        g_free(*version);
        *version = g_strdup_printf("%d.%d.%d", code / unit, code % unit / 100, code % 100);
    }
}

gboolean
net_tests_run_read(NetTestsRun *run, char **words)
{
    guint at = 0;
    while (words[at] != NULL && strcmp(words[at], "Rank") != 0)
        at++;
    if (words[at] == NULL || words[at + 1] == NULL || !g_ascii_isdigit(words[at + 1][0]))
        return FALSE;
    guint on = at + 2;
    while (words[on] != NULL && strcmp(words[on], "on") != 0)
        on++;
    if (words[on] == NULL || words[on + 1] == NULL || words[on + 2] == NULL ||
        strcmp(words[on + 2], "device") != 0)
        return FALSE;
    gint64 rank = g_ascii_strtoll(words[at + 1], NULL, 10);
    if (rank < 0 || rank >= 1 << 24)
        return FALSE;
    if (run->hosts == NULL)
        run->hosts = g_ptr_array_new_with_free_func(g_free);
    const char *host = words[on + 1];
    guint n_hosts = run->hosts->len;
    gboolean stays = n_hosts > 0 && strcmp(run->hosts->pdata[n_hosts - 1], host) == 0;
    run->elided = run->elided || (rank > run->n_ranks && !stays);
    run->n_ranks = MAX(run->n_ranks, (guint)rank + 1);
    if (!g_ptr_array_find_with_equal_func(run->hosts, host, g_str_equal, NULL))
        g_ptr_array_add(run->hosts, g_strdup(host));
    guint name = on + 3;
    while (words[name] != NULL && words[name][0] != '[')
        name++;
    if (run->device == NULL && words[name] != NULL && words[name + 1] != NULL)
        run->device = g_strjoinv(" ", words + name + 1);
    return TRUE;
}

void
net_tests_run_clear(NetTestsRun *run)
{
    g_clear_pointer(&run->hosts, g_ptr_array_unref);
    g_clear_pointer(&run->device, g_free);
    run->n_ranks = 0;
    run->elided = FALSE;
}

NetTestsTable *
net_tests_table_new(guint line, const char *dtype)
{
    NetTestsTable *table = g_new0(NetTestsTable, 1);
    table->line = line;
    table->dtype = g_strdup(dtype);
    table->rows = g_array_new(FALSE, FALSE, sizeof(NetTestsRow));
    table->average_GBps = NAN;
    return table;
}

void
net_tests_table_free(NetTestsTable *table)
{
    if (table == NULL)
        return;
    g_free(table->name);
    g_free(table->dtype);
    g_free(table->device);
    g_free(table->nccl_version);
    g_clear_pointer(&table->hosts, g_ptr_array_unref);
    g_array_unref(table->rows);
    g_free(table);
}

static gint64
bytes_of(const char *dtype)
{
    static const struct {
        const char *part;
        gint64 bytes;
    } sizes[] = {{"double", 8}, {"64", 8}, {"float16", 2}, {"bf", 2},   {"half", 2},
                 {"fp8", 1},    {"f8", 1}, {"int8", 1},    {"char", 1}, {"", 4}};
    guint i = 0;
    while (strstr(dtype, sizes[i].part) == NULL)
        i++;
    return sizes[i].bytes;
}

void
net_tests_table_add(NetTestsTable *table, NetTestsShape *shape, guint line, const NetTestsLine *row)
{
    NetTestsRow r = row->row;
    r.line = line;
    if (r.bytes < shape->last_bytes && r.bytes != shape->first_bytes && shape->fell_line == 0)
        shape->fell_line = line;
    shape->last_bytes = r.bytes;
    shape->reduces = shape->reduces || (row->redop[0] != '\0' && strcmp(row->redop, "none") != 0);
    shape->rooted = shape->rooted || (row->has_root && row->root >= 0);
    shape->sliced = shape->sliced || r.count < r.bytes / bytes_of(row->dtype);
    g_array_append_val(table->rows, r);
}

/* busbw / algbw of the largest row: 1 where every byte is sent once. NAN: no row says. */
static double
largest_ratio(const NetTestsTable *table)
{
    double best = 0.0, ratio = NAN;
    for (guint i = 0; i < table->rows->len; i++) {
        const NetTestsRow *r = &g_array_index(table->rows, NetTestsRow, i);
        double alg = r->algbw_GBps[NET_TESTS_OUT_OF_PLACE];
        if (alg <= best)
            continue;
        best = alg;
        ratio = r->busbw_GBps[NET_TESTS_OUT_OF_PLACE] / alg;
    }
    return best >= 1.0 ? ratio : NAN;
}

/* The collectives that the columns leave. */
static guint
ops_of(const NetTestsTable *table, const NetTestsShape *shape, const NetTestsColumns *columns)
{
    if (shape->rooted)
        return shape->reduces || shape->sliced ? 0 : BIT(NET_BROADCAST);
    if (!shape->reduces) {
        gboolean old = columns->seen && !columns->root;
        guint both = BIT(NET_ALL_GATHER) | BIT(NET_ALL_TO_ALL);
        /* versions before 2.10 had no root, and no redop but for alltoall, whose rows leave it empty */
        return !old ? both : columns->redop ? BIT(NET_ALL_TO_ALL) : BIT(NET_ALL_GATHER);
    }
    if (shape->sliced)
        return BIT(NET_REDUCE_SCATTER);
    double ratio = largest_ratio(table);
    gboolean once = !isnan(ratio) && fabs(ratio - 1.0) < 0.01;
    guint all_reduce = BIT(NET_ALL_REDUCE), send_recv = BIT(NET_SEND_RECV);
    if (once && table->n_ranks > 2)
        return send_recv;
    return once || isnan(ratio) ? all_reduce | send_recv : all_reduce;
}

void
net_tests_table_finish(NetTestsTable *table, const NetTestsShape *shape,
                       const NetTestsColumns *columns, NetTestsRun *run, const char *version,
                       const char *program)
{
    table->n_ranks = run->n_ranks;
    /* more hosts than ranks: the lists of two runs, torn together */
    gboolean known = run->hosts != NULL && !run->elided && run->hosts->len <= run->n_ranks;
    table->hosts = known ? g_steal_pointer(&run->hosts) : g_ptr_array_new_with_free_func(g_free);
    table->device = g_steal_pointer(&run->device);
    table->nccl_version = g_strdup(version);
    table->ops = ops_of(table, shape, columns);
    for (guint i = 0; program != NULL && i < G_N_ELEMENTS(programs); i++) {
        if (strcmp(programs[i].name, program) != 0)
            continue;
        guint ops = programs[i].op < 0 ? 0 : BIT(programs[i].op);
        if (ops == 0 ? table->ops == 0 : (table->ops & ops) != 0) { /* else another run's name */
            table->name = g_strdup(program);
            table->ops = ops;
        }
    }
}

guint
net_tests_ops(const NetTestsTable *t, NetOp *ret_last, char **ret_words)
{
    GString *words = g_string_new(NULL);
    guint n = 0;
    for (guint i = 0; i < NET_N_OPS; i++) {
        if (!(t->ops & 1u << i))
            continue;
        g_string_append_printf(words, "%s%s", n++ > 0 ? " or " : "", net_op_name((NetOp)i));
        *ret_last = (NetOp)i;
    }
    if (n == 0)
        g_string_append(words, t->name != NULL ? t->name : "a reduction or gather to one root");
    *ret_words = g_string_free(words, FALSE);
    return n;
}

double
net_tests_average(const NetTestsTable *table)
{
    double sum = 0.0;
    guint n = 0;
    for (guint i = 0; i < table->rows->len; i++) {
        const NetTestsRow *r = &g_array_index(table->rows, NetTestsRow, i);
        for (guint place = 0; place < NET_TESTS_N_PLACES; place++) {
            if (isnan(r->busbw_GBps[place]))
                continue;
            sum += r->busbw_GBps[place];
            n++;
        }
    }
    return n > 0 ? sum / n : NAN;
}

/* busbw was printed to 0.01; algbw is known better from size and time, printed to 4 or 5 digits. */
static void
narrow(const NetTestsRow *r, guint place, double *low, double *high)
{
    double us = r->us[place], bus = r->busbw_GBps[place], alg = (double)r->bytes / us / 1e3;
    if (!(us > 0.0) || !(bus >= 1.0))
        return;
    /* a time to 0.01 below 100 us, to 0.1 below 10 ms, else to 1 */
    double digit = us < 100.0 ? 0.01 : us < 10000.0 ? 0.1 : 1.0;
    double off = 0.5 * digit / us + 0.005 / bus + 1e-6;
    *low = MAX(*low, bus / alg * (1.0 - off));
    *high = MIN(*high, bus / alg * (1.0 + off));
}

gboolean
net_tests_ranks(const NetTestsTable *table, NetOp op, guint *ret_low, guint *ret_high)
{
    if (op == NET_BROADCAST || op == NET_SEND_RECV)
        return FALSE;
    double low = 0.0, high = op == NET_ALL_REDUCE ? 2.0 : 1.0, whole = high;
    for (guint i = 0; i < table->rows->len; i++)
        for (guint place = 0; place < NET_TESTS_N_PLACES; place++)
            narrow(&g_array_index(table->rows, NetTestsRow, i), place, &low, &high);
    if (low == 0.0 || low > high)
        return FALSE;
    /* whole (n - 1) / n = ratio: n = whole / (whole - ratio) */
    double first = ceil(whole / (whole - low) - 1e-9);
    double last = high < whole ? floor(whole / (whole - high) + 1e-9) : G_MAXINT32;
    if (first > last || first > G_MAXINT32)
        return FALSE;
    *ret_low = (guint)MAX(first, 1);
    *ret_high = (guint)last;
    return TRUE;
}
