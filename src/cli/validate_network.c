/* Three tests of the network model on measured sweeps: between sizes, to more nodes, and as shipped. */
#include "config.h"

#include "cli/validate_network.h"

#include "cli/command.h"
#include "cli/network_rows.h"
#include "cli/output.h"
#include "cli/validate_tables.h"
#include "net/rows.h"
#include "report/network.h"
#include "report/skipped.h"

#include <math.h>
#include <string.h>

typedef struct {
    CliTables tables;    /* of CliNetworkGroup */
    GPtrArray *rows;     /* of ReportNetworkRow */
    GHashTable *shipped; /* look-up only: system and overrides -> NetBook */
} Validation;

static void
row_free(gpointer data)
{
    ReportNetworkRow *row = data;
    for (guint t = 0; t < REPORT_NETWORK_N_TESTS; t++)
        g_array_unref(row->errors[t]);
    g_free(row);
}

static ReportNetworkRow *
row_of(Validation *v, const CliNetworkGroup *g)
{
    for (guint i = 0; i < v->rows->len; i++) {
        ReportNetworkRow *r = v->rows->pdata[i];
        if (r->broken == g->broken && strcmp(r->source, g->source) == 0 &&
            strcmp(r->gpu, g->gpu) == 0 && strcmp(r->collective, g->collective) == 0)
            return r;
    }
    ReportNetworkRow *r = g_new0(ReportNetworkRow, 1);
    *r = (ReportNetworkRow){
        .source = g->source, .gpu = g->gpu, .collective = g->collective, .broken = g->broken};
    for (guint t = 0; t < REPORT_NETWORK_N_TESTS; t++)
        r->errors[t] = g_array_new(FALSE, FALSE, sizeof(double));
    g_ptr_array_add(v->rows, r);
    return r;
}

static void
sweeps_free(GArray *sweeps)
{
    for (guint i = 0; i < sweeps->len; i++)
        net_curve_free(g_array_index(sweeps, NetSweep, i).curve);
    g_array_unref(sweeps);
}

/* Does sample i of its sweep belong to what is fitted? The two halves begin and end as far out. */
static gboolean
is_fitted(guint i)
{
    return i % 2 == 0;
}

/* The sweeps of a group that touch fewer than `below` nodes; of each every other size, or all. */
static GArray *
sweeps_for_fit(const CliNetworkGroup *g, const NetFabric *fabric, guint below, gboolean half)
{
    GArray *sweeps = g_array_new(FALSE, FALSE, sizeof(NetSweep));
    for (guint k = 0; k < g->sweeps->len; k++) {
        const CliNetworkSweep *s = g->sweeps->pdata[k];
        if (s->nodes >= below)
            continue;
        g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(NetSample));
        for (guint i = 0; i < s->samples->len; i++) {
            const CliNetworkSample *m = &g_array_index(s->samples, CliNetworkSample, i);
            NetSample sample = {m->bytes, m->us * 1e3};
            if (!half || is_fitted(i))
                g_array_append_val(samples, sample);
        }
        NetSweep sweep = {
            .op = g->op,
            .group = net_even_group(fabric, s->ranks, cli_network_nodes(g, s->ranks, s->nodes)),
            .curve = net_curve_new((const NetSample *)(gconstpointer)samples->data, samples->len)};
        g_array_append_val(sweeps, sweep);
    }
    return sweeps;
}

/* Is it a row of the book's own table, which has four digits? */
static gboolean
is_of_table(const CostTime *time, double log_ratio)
{
    return time->basis == COST_MEASURED && fabs(log_ratio) < 1e-3;
}

/* Errors of the sweeps of `from` nodes and more, at the sizes that were not fitted or at all. */
static void
predict(const CliNetworkGroup *g, const NetFabric *fabric, const NetBook *book, guint from,
        gboolean half, GArray *errors)
{
    for (guint k = 0; k < g->sweeps->len; k++) {
        const CliNetworkSweep *s = g->sweeps->pdata[k];
        NetGroup group = net_even_group(fabric, s->ranks, cli_network_nodes(g, s->ranks, s->nodes));
        for (guint i = 0; s->nodes >= from && i < s->samples->len; i++) {
            const CliNetworkSample *m = &g_array_index(s->samples, CliNetworkSample, i);
            if (half && is_fitted(i))
                continue;
            CostTime time = net_collective(book, g->op, group, (gint64)m->bytes).time;
            double log_ratio = log(time.ns / 1e3 / m->us);
            if (half || from > 0 || !is_of_table(&time, log_ratio))
                g_array_append_val(errors, log_ratio);
        }
    }
}

static gboolean
fit_and_predict(const CliNetworkGroup *g, const ClusterSystem *system, guint nodes, gboolean half,
                GArray *errors, GError **error)
{
    NetFabric fabric = net_fabric_of(system, NULL);
    GArray *sweeps = sweeps_for_fit(g, &fabric, half ? G_MAXUINT : nodes, half);
    g_autoptr(NetBook) book =
        net_book_new(system, (const NetSweep *)(gconstpointer)sweeps->data, sweeps->len, error);
    if (book != NULL)
        predict(g, &fabric, book, half ? 0 : nodes, half, errors);
    sweeps_free(sweeps);
    return book != NULL;
}

static guint
largest_nodes(const CliNetworkGroup *g)
{
    return ((const CliNetworkSweep *)g->sweeps->pdata[g->sweeps->len - 1])->nodes;
}

static gboolean
has_smaller(const CliNetworkGroup *g)
{
    return ((const CliNetworkSweep *)g->sweeps->pdata[0])->nodes < largest_nodes(g);
}

/* Is there a sweep of several nodes, and fewer than the most? */
static gboolean
fits_network(const CliNetworkGroup *g)
{
    for (guint k = 0; k < g->sweeps->len; k++) {
        guint nodes = ((const CliNetworkSweep *)g->sweeps->pdata[k])->nodes;
        if (nodes > 1 && nodes < largest_nodes(g))
            return TRUE;
    }
    return FALSE;
}

/* The shipped tables of a system with these overrides, loaded once. */
static const NetBook *
shipped_book(Validation *v, const ClusterSystem *system, const char *name,
             const GPtrArray *overrides, GError **error)
{
    g_autofree char *all = g_strjoinv(" ", (char **)overrides->pdata);
    g_autofree char *key = g_strconcat(name, " ", all, NULL);
    NetBook *book = g_hash_table_lookup(v->shipped, key);
    if (book == NULL) {
        book = net_book_load(system, error);
        if (book != NULL)
            g_hash_table_insert(v->shipped, g_steal_pointer(&key), book);
    }
    return book;
}

static guint
count_rows(const CliNetworkGroup *g)
{
    guint n = 0;
    for (guint k = 0; k < g->sweeps->len; k++) {
        const GArray *samples = ((const CliNetworkSweep *)g->sweeps->pdata[k])->samples;
        for (guint i = 0; i < samples->len; i++)
            n += g_array_index(samples, CliNetworkSample, i).n;
    }
    return n;
}

static gboolean
group_run(gpointer data, gpointer user, GError **error)
{
    const CliNetworkGroup *g = data;
    Validation *v = user;
    g_autoptr(GPtrArray) overrides = g_ptr_array_new_with_free_func(g_free);
    gboolean shipped = FALSE;
    const char *why = NULL, *name = cli_network_system(g, overrides, &shipped, &why);
    if (name == NULL) {
        report_skipped_add(v->tables.skipped, why, count_rows(g));
        return TRUE;
    }
    g_autoptr(ClusterSystem) system =
        cluster_system_load(name, (const char *const *)overrides->pdata, error);
    if (system == NULL)
        return FALSE;
    ReportNetworkRow *row = row_of(v, g);
    if (!fit_and_predict(g, system, 0, TRUE, row->errors[REPORT_NETWORK_SIZES], error))
        return FALSE;
    if (has_smaller(g)) {
        guint most = largest_nodes(g);
        row->nodes = MAX(row->nodes, most);
        GArray *errors = row->errors[fits_network(g) ? REPORT_NETWORK_NODES : REPORT_NETWORK_FIRST];
        if (!fit_and_predict(g, system, most, FALSE, errors, error))
            return FALSE;
    }
    if (!shipped)
        return TRUE;
    NetFabric fabric = net_fabric_of(system, NULL);
    const NetBook *book = shipped_book(v, system, name, overrides, error);
    if (book == NULL)
        return FALSE;
    predict(g, &fabric, book, 0, FALSE, row->errors[REPORT_NETWORK_SHIPPED]);
    return TRUE;
}

static gboolean
files_run(Validation *v, char **files, GError **error)
{
    if (!cli_tables_load(&v->tables, files, cli_network_read, error) ||
        !cli_tables_predict(&v->tables, files[0], group_run, v, error))
        return FALSE;
    if (v->rows->len > 0)
        return TRUE;
    g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                        "validate: no row that can be predicted; write tables of collectives with "
                        "columns source collective gpu gpus nodes bytes time_us");
    return FALSE;
}

int
cli_validate_network(const CliFormat *format, double tolerance, char **files, GError **error)
{
    Validation v = {.rows = g_ptr_array_new_with_free_func(row_free),
                    .shipped = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                                     (GDestroyNotify)net_book_free)};
    cli_tables_init(&v.tables, cli_network_groups_new());
    int status = CLI_USAGE;
    if (files_run(&v, files, error)) {
        ReportNetwork report = {v.rows, v.tables.n_rows, v.tables.skipped};
        g_autoptr(GString) out = g_string_new(NULL);
        report_network(&report, cli_format_name(format), out);
        double median = report_network_median(&report, REPORT_NETWORK_SIZES);
        if (cli_output_write(format->output, out, error))
            status = !isnan(tolerance) && !(median <= tolerance) ? CLI_NO : CLI_DONE;
    }
    g_ptr_array_unref(v.rows);
    g_hash_table_unref(v.shipped);
    cli_tables_clear(&v.tables);
    return status;
}
