/* Rows of published measurements, gathered by machine. */
#include "config.h"

#include "cli/network_rows.h"

#include "cli/group.h"
#include "report/skipped.h"

#include <math.h>
#include <string.h>

typedef struct {
    const ConfTable *table;
    guint source, collective, gpu, gpus, nodes, bytes, time;
    int network, version, kind, busbw, notes, quality; /* -1: not there */
} Columns;

static void
sweep_free(gpointer data)
{
    CliNetworkSweep *sweep = data;
    g_array_unref(sweep->samples);
    g_free(sweep);
}

static void
group_free(gpointer data)
{
    CliNetworkGroup *group = data;
    g_free(group->setup);
    g_ptr_array_unref(group->sweeps);
    g_free(group);
}

GPtrArray *
cli_network_groups_new(void)
{
    return g_ptr_array_new_with_free_func(group_free);
}

static gboolean
columns_find(const ConfTable *t, Columns *c, GError **error)
{
    c->table = t;
    c->network = conf_table_find_column(t, "interconnect");
    c->version = conf_table_find_column(t, "nccl_version");
    c->kind = conf_table_find_column(t, "value_kind");
    c->busbw = conf_table_find_column(t, "busbw_GBps");
    c->notes = conf_table_find_column(t, "notes");
    c->quality = conf_table_find_column(t, "quality");
    return conf_table_need_column(t, "source", &c->source, error) &&
           conf_table_need_column(t, "collective", &c->collective, error) &&
           conf_table_need_column(t, "gpu", &c->gpu, error) &&
           conf_table_need_column(t, "gpus", &c->gpus, error) &&
           conf_table_need_column(t, "nodes", &c->nodes, error) &&
           conf_table_need_column(t, "bytes", &c->bytes, error) &&
           conf_table_need_column(t, "time_us", &c->time, error);
}

static const char *
text_of(const Columns *c, guint row, int column)
{
    return column >= 0 ? conf_table_text(c->table, row, (guint)column) : "";
}

static gboolean
skip(GArray *skipped, const char *reason)
{
    report_skipped_add(skipped, reason, 1);
    return TRUE;
}

/* "polaris run n8, env setup (4) of README": runs that differ in it are not one machine. Caller frees. */
static char *
setup_of(const char *notes)
{
    const char *at = strstr(notes, "setup (");
    const char *end = at != NULL ? strchr(at, ')') : NULL;
    return end != NULL ? g_strndup(at, (gsize)(end - at) + 1) : g_strdup("");
}

static CliNetworkGroup *
group_of(GPtrArray *groups, const Columns *c, guint row, NetOp op)
{
    const char *source = conf_table_text(c->table, row, c->source);
    const char *gpu = conf_table_text(c->table, row, c->gpu);
    const char *network = text_of(c, row, c->network), *version = text_of(c, row, c->version);
    gboolean broken = strcmp(text_of(c, row, c->quality), "C") == 0;
    g_autofree char *setup = setup_of(text_of(c, row, c->notes));
    for (guint i = 0; i < groups->len; i++) {
        CliNetworkGroup *g = groups->pdata[i];
        if (g->op == op && g->broken == broken && strcmp(g->source, source) == 0 &&
            strcmp(g->gpu, gpu) == 0 && strcmp(g->network, network) == 0 &&
            strcmp(g->version, version) == 0 && strcmp(g->setup, setup) == 0)
            return g;
    }
    CliNetworkGroup *g = g_new0(CliNetworkGroup, 1);
    *g = (CliNetworkGroup){.source = source,
                           .gpu = gpu,
                           .collective = net_op_name(op),
                           .network = network,
                           .version = version,
                           .setup = g_steal_pointer(&setup),
                           .broken = broken,
                           .op = op,
                           .sweeps = g_ptr_array_new_with_free_func(sweep_free)};
    g_ptr_array_add(groups, g);
    return g;
}

static CliNetworkSweep *
sweep_of(CliNetworkGroup *group, guint ranks, guint nodes)
{
    for (guint i = 0; i < group->sweeps->len; i++) {
        CliNetworkSweep *s = group->sweeps->pdata[i];
        if (s->ranks == ranks && s->nodes == nodes)
            return s;
    }
    CliNetworkSweep *s = g_new0(CliNetworkSweep, 1);
    s->ranks = ranks;
    s->nodes = nodes;
    s->samples = g_array_new(FALSE, FALSE, sizeof(CliNetworkSample));
    g_ptr_array_add(group->sweeps, s);
    return s;
}

static void
sample_add(CliNetworkSweep *sweep, double bytes, double us)
{
    for (guint i = 0; i < sweep->samples->len; i++) {
        CliNetworkSample *s = &g_array_index(sweep->samples, CliNetworkSample, i);
        if (s->bytes == bytes) {
            s->log_sum += log(us);
            s->us = exp(s->log_sum / ++s->n);
            return;
        }
    }
    CliNetworkSample s = {bytes, us, log(us), 1};
    g_array_append_val(sweep->samples, s);
}

static gboolean
row_read(const Columns *c, guint row, GPtrArray *groups, GArray *skipped, GError **error)
{
    int op;
    gint64 ranks, nodes;
    double bytes, us, busbw = 0.0;
    const char *kind = text_of(c, row, c->kind);
    if (!cli_op_parse(conf_table_text(c->table, row, c->collective), &op, NULL))
        return skip(skipped, "the collective is not modelled");
    if (conf_table_text(c->table, row, c->time)[0] == '\0')
        return skip(skipped, "no time out of place");
    if (c->busbw >= 0 && text_of(c, row, c->busbw)[0] != '\0' &&
        !conf_table_double(c->table, row, (guint)c->busbw, &busbw, error))
        return FALSE;
    /* a rate to 0.01 GB/s says a time only where it is large */
    if ((strstr(kind, "time derived") != NULL || strstr(kind, "rest derived") != NULL) && busbw < 1)
        return skip(skipped, "a time derived from a rate below 1 GB/s");
    if (!conf_table_int(c->table, row, c->gpus, &ranks, error) ||
        !conf_table_int(c->table, row, c->nodes, &nodes, error) ||
        !conf_table_double(c->table, row, c->bytes, &bytes, error) ||
        !conf_table_double(c->table, row, c->time, &us, error))
        return FALSE;
    if (ranks < 2 || nodes < 1 || nodes > ranks || ranks > 1 << 20 || !(bytes > 0) || !(us > 0))
        return skip(skipped, "fewer than 2 ranks, or no bytes, or no time");
    CliNetworkGroup *group = group_of(groups, c, row, (NetOp)op);
    group->most_per_node = MAX(group->most_per_node, (guint)((ranks + nodes - 1) / nodes));
    sample_add(sweep_of(group, (guint)ranks, (guint)nodes), bytes, us);
    return TRUE;
}

static int
compare_samples(gconstpointer a, gconstpointer b)
{
    double x = ((const CliNetworkSample *)a)->bytes, y = ((const CliNetworkSample *)b)->bytes;
    return (x > y) - (x < y);
}

static int
compare_sweeps(gconstpointer a, gconstpointer b)
{
    const CliNetworkSweep *x = *(const CliNetworkSweep *const *)a;
    const CliNetworkSweep *y = *(const CliNetworkSweep *const *)b;
    if (x->nodes != y->nodes)
        return x->nodes < y->nodes ? -1 : 1;
    return (x->ranks > y->ranks) - (x->ranks < y->ranks);
}

gboolean
cli_network_read(const ConfTable *table, GPtrArray *groups, GArray *skipped, GError **error)
{
    Columns columns;
    if (!columns_find(table, &columns, error))
        return FALSE;
    for (guint row = 0; row < conf_table_n_rows(table); row++)
        if (!row_read(&columns, row, groups, skipped, error))
            return FALSE;
    for (guint i = 0; i < groups->len; i++) {
        CliNetworkGroup *g = groups->pdata[i];
        g_ptr_array_sort(g->sweeps, compare_sweeps);
        for (guint k = 0; k < g->sweeps->len; k++)
            g_array_sort(((CliNetworkSweep *)g->sweeps->pdata[k])->samples, compare_samples);
    }
    return TRUE;
}
