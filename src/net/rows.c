/* Reads collective.tsv into sweeps. */
#include "config.h"

#include "net/rows.h"

#include "conf/table.h"

#define MAX_RANKS (1 << 20)

G_DEFINE_QUARK(net_error_quark, net_error)

typedef struct {
    NetOp op;
    guint ranks, nodes;
    NetSample sample;
} Row;

static int
compare_sweeps(const Row *x, const Row *y)
{
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    if (x->nodes != y->nodes)
        return x->nodes < y->nodes ? -1 : 1;
    return x->ranks < y->ranks ? -1 : x->ranks > y->ranks;
}

static int
compare_rows(gconstpointer a, gconstpointer b)
{
    const Row *x = a, *y = b;
    int sweep = compare_sweeps(x, y);
    if (sweep != 0)
        return sweep;
    if (x->sample.bytes != y->sample.bytes)
        return x->sample.bytes < y->sample.bytes ? -1 : 1;
    return x->sample.ns < y->sample.ns ? -1 : x->sample.ns > y->sample.ns;
}

NetGroup
net_even_group(const NetFabric *fabric, guint ranks, guint nodes)
{
    g_assert(nodes > 0);
    guint k = (ranks + nodes - 1) / nodes;
    guint nics = nodes > 1 ? net_fabric_nics(fabric, k) : 1;
    return (NetGroup){.ranks = ranks, .nodes = nodes, .ranks_per_node = k, .nics = nics};
}

static gboolean
parse_op(const ConfTable *table, guint row, guint column, NetOp *ret_op, GError **error)
{
    const char *text = conf_table_text(table, row, column);
    g_autoptr(GString) names = g_string_new(NULL);
    for (int op = 0; op < NET_N_OPS; op++) {
        if (g_str_equal(text, net_op_name((NetOp)op))) {
            *ret_op = (NetOp)op;
            return TRUE;
        }
        g_string_append_printf(names, " %s", net_op_name((NetOp)op));
    }
    conf_table_complain(table, row, column, error, "unknown op '%s'; write one of:%s", text,
                        names->str);
    return FALSE;
}

typedef struct {
    guint op, ranks, nodes, bytes, time_us;
} Columns;

static gboolean
find_columns(const ConfTable *table, Columns *ret, GError **error)
{
    guint dtype; /* must be there for people; time depends on bytes alone */
    return conf_table_need_column(table, "op", &ret->op, error) &&
           conf_table_need_column(table, "dtype", &dtype, error) &&
           conf_table_need_column(table, "ranks", &ret->ranks, error) &&
           conf_table_need_column(table, "nodes", &ret->nodes, error) &&
           conf_table_need_column(table, "bytes", &ret->bytes, error) &&
           conf_table_need_column(table, "time_us", &ret->time_us, error);
}

static gboolean
parse_row(const ConfTable *table, guint row, const Columns *c, Row *ret, GError **error)
{
    gint64 ranks, nodes, bytes;
    double time_us;
    if (!parse_op(table, row, c->op, &ret->op, error) ||
        !conf_table_int(table, row, c->ranks, &ranks, error) ||
        !conf_table_int(table, row, c->nodes, &nodes, error) ||
        !conf_table_int(table, row, c->bytes, &bytes, error) ||
        !conf_table_double(table, row, c->time_us, &time_us, error))
        return FALSE;
    if (ranks < 2 || ranks > MAX_RANKS) {
        conf_table_complain(table, row, c->ranks, error,
                            "%" G_GINT64_FORMAT " is not a group; write 2 to %d ranks", ranks,
                            MAX_RANKS);
        return FALSE;
    }
    if (nodes < 1 || nodes > ranks) {
        conf_table_complain(table, row, c->nodes, error,
                            "%" G_GINT64_FORMAT " is out of range; write 1 to %" G_GINT64_FORMAT
                            " (the ranks of this row)",
                            nodes, ranks);
        return FALSE;
    }
    if (bytes <= 0) {
        conf_table_complain(table, row, c->bytes, error, "must be above 0; leave the row out");
        return FALSE;
    }
    if (!(time_us > 0.0)) {
        conf_table_complain(table, row, c->time_us, error, "must be above 0; leave the row out");
        return FALSE;
    }
    ret->ranks = (guint)ranks;
    ret->nodes = (guint)nodes;
    ret->sample = (NetSample){.bytes = (double)bytes, .ns = time_us * 1e3};
    return TRUE;
}

static void
clear_sweep(gpointer sweep)
{
    net_curve_free(((NetSweep *)sweep)->curve);
}

GArray *
net_sweeps_copy(const NetSweep *sweeps, guint n)
{
    GArray *copies = g_array_new(FALSE, FALSE, sizeof(NetSweep));
    g_array_set_clear_func(copies, clear_sweep);
    for (guint i = 0; i < n; i++) {
        NetSweep copy = sweeps[i];
        copy.curve = net_curve_copy(sweeps[i].curve);
        g_array_append_val(copies, copy);
    }
    return copies;
}

/* `rows` sorted. */
static GArray *
sweeps_of(const Row *rows, guint n, const NetFabric *fabric)
{
    GArray *sweeps = g_array_new(FALSE, FALSE, sizeof(NetSweep));
    g_array_set_clear_func(sweeps, clear_sweep);
    g_autofree NetSample *samples = g_new(NetSample, n + 1);
    for (guint i = 0; i < n;) {
        guint end = i;
        for (; end < n && compare_sweeps(&rows[end], &rows[i]) == 0; end++)
            samples[end - i] = rows[end].sample;
        NetSweep sweep = {
            .op = rows[i].op,
            .group = net_even_group(fabric, rows[i].ranks, rows[i].nodes),
            .curve = net_curve_new(samples, end - i),
        };
        g_array_append_val(sweeps, sweep);
        i = end;
    }
    return sweeps;
}

static GArray *
sweeps_of_table(const ConfTable *table, const NetFabric *fabric, guint *ret_n_rows, GError **error)
{
    Columns columns;
    if (!find_columns(table, &columns, error))
        return NULL;
    guint n = conf_table_n_rows(table);
    g_autofree Row *rows = g_new0(Row, n + 1);
    for (guint i = 0; i < n; i++)
        if (!parse_row(table, i, &columns, &rows[i], error))
            return NULL;
    qsort(rows, n, sizeof *rows, compare_rows);
    if (ret_n_rows != NULL)
        *ret_n_rows = n;
    return sweeps_of(rows, n, fabric);
}

GArray *
net_rows_load(const char *path, const NetFabric *fabric, guint *ret_n_rows, GError **error)
{
    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
        if (ret_n_rows != NULL)
            *ret_n_rows = 0;
        return sweeps_of(NULL, 0, fabric);
    }
    g_autoptr(ConfTable) table = conf_table_load(path, error);
    return table != NULL ? sweeps_of_table(table, fabric, ret_n_rows, error) : NULL;
}

GArray *
net_rows_parse(const char *name, const char *text, const NetFabric *fabric, guint *ret_n_rows,
               GError **error)
{
    g_autoptr(ConfTable) table = conf_table_parse(name, text, '\t', error);
    return table != NULL ? sweeps_of_table(table, fabric, ret_n_rows, error) : NULL;
}
