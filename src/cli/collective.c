/* dtsim collective: a table as that of nccl-tests, from the model, alone or against a log. */
#include "config.h"

#include "cli/arguments.h"
#include "cli/collective_log.h"
#include "cli/command.h"
#include "cli/format.h"
#include "cli/group.h"
#include "cli/output.h"
#include "cli/sizes.h"
#include "report/collective.h"
#include "report/gantt.h"

#include <math.h>
#include <string.h>

#define DEFAULT_SYSTEM "dgx-a100-80g"
#define DEFAULT_SIZES "8..8G"

typedef struct {
    CliFormat format;
    CliGroupWish group;
    CliLogWish log;
    char *system, *bytes, *plot;
    GPtrArray *sets; /* of char* */
} Wish;

static gboolean
count_set(const char *name, const char *text, gpointer user, GError **error)
{
    Wish *w = user;
    gint64 *field = strcmp(name, "--gpus") == 0    ? &w->group.gpus
                    : strcmp(name, "--nodes") == 0 ? &w->group.nodes
                                                   : &w->log.table;
    return cli_parse_count(name, text, 1, 1 << 20, field, error);
}

static gboolean
set_set(const char *name, const char *text, gpointer user, GError **error)
{
    return cli_parse_set(name, text, ((Wish *)user)->sets, error);
}

/* --algo, --proto, --nccl: a key of section nccl. */
static gboolean
nccl_set(const char *name, const char *text, gpointer user, GError **error)
{
    const char *key = strcmp(name, "--nccl") == 0 ? "version" : name + 2;
    if (text[0] == '\0') {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: is empty; leave it out, or write a value", name);
        return FALSE;
    }
    g_ptr_array_add(((Wish *)user)->sets, g_strdup_printf("nccl.%s=%s", key, text));
    return TRUE;
}

static gboolean
sharp_set(const char *name G_GNUC_UNUSED, const char *text G_GNUC_UNUSED, gpointer user,
          GError **error G_GNUC_UNUSED)
{
    g_ptr_array_add(((Wish *)user)->sets, g_strdup("nccl.sharp=yes"));
    return TRUE;
}

#define CALLBACK(function) G_OPTION_ARG_CALLBACK, (gpointer)(GOptionArgFunc)(function)

static GOptionGroup *
collective_group(Wish *w)
{
    const GOptionEntry entries[] = {
        {"bytes", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_STRING, &w->bytes,
         "8..8G (default), 8..8G:4 or 1M,64M; 1M is 1048576", "SIZES"},
        {"gpus", 0, G_OPTION_FLAG_NOALIAS, CALLBACK(count_set),
         "Ranks, on as few nodes as it takes", "N"},
        {"nodes", 0, G_OPTION_FLAG_NOALIAS, CALLBACK(count_set),
         "Nodes that they are spread over evenly; alone: all GPUs of these", "N"},
        {"system", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_FILENAME, &w->system,
         "Shipped system or a directory (default: " DEFAULT_SYSTEM ")", "NAME|DIR"},
        {"algo", 0, G_OPTION_FLAG_NOALIAS, CALLBACK(nccl_set), "As NCCL_ALGO: ring,tree,nvls ...",
         "NAME,..."},
        {"proto", 0, G_OPTION_FLAG_NOALIAS, CALLBACK(nccl_set), "As NCCL_PROTO: LL,LL128,Simple",
         "NAME,..."},
        {"nccl", 0, G_OPTION_FLAG_NOALIAS, CALLBACK(nccl_set), "Whose rules choose between them",
         "VERSION"},
        {"sharp", 0, G_OPTION_FLAG_NOALIAS | G_OPTION_FLAG_NO_ARG, CALLBACK(sharp_set),
         "Switches reduce (CollNet)", NULL},
        {"set", 0, G_OPTION_FLAG_NOALIAS | G_OPTION_FLAG_FILENAME, CALLBACK(set_set),
         "Override a key of the system", "SECTION.KEY=VALUE"},
        {"plot", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_FILENAME, &w->plot,
         "Picture of busbw and time, .svg or .png (gnuplot)", "FILE"},
        {"against", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_FILENAME, &w->log.path,
         "Log of nccl-tests to compare with", "LOG"},
        {"table", 0, G_OPTION_FLAG_NOALIAS, CALLBACK(count_set),
         "Which table of a log that has several", "N"},
        {"in-place", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_NONE, &w->log.in_place,
         "Compare with its in-place columns", NULL},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    GOptionGroup *group =
        g_option_group_new("collective", "Collective:", "Show the options of collective", w, NULL);
    g_option_group_add_entries(group, entries);
    return group;
}

/* One size; of a log also its time. */
static void
append_row(GArray *rows, const NetBook *book, NetOp op, const NetGroup *group, gint64 bytes,
           double measured_us, guint line)
{
    NetTime t = net_collective(book, op, *group, bytes);
    ReportCollectiveRow row = {.bytes = bytes,
                               .time_us = t.time.ns / 1e3,
                               .algorithm = t.algorithm,
                               .protocol = t.protocol,
                               .basis = t.time.basis,
                               .error_frac = t.time.error_frac,
                               .measured_us = measured_us,
                               .line = line};
    g_array_append_val(rows, row);
}

static gboolean
is_asked_for(const GArray *sizes, gint64 bytes)
{
    for (guint i = 0; sizes != NULL && i < sizes->len; i++)
        if (g_array_index(sizes, gint64, i) == bytes)
            return TRUE;
    return sizes == NULL;
}

/* The rows to print; of a log those that it has, among the sizes that were asked for. */
static gboolean
rows_fill(GArray *rows, const NetBook *book, const CliLogTable *against, NetOp op,
          const NetGroup *group, const GArray *sizes, GError **error)
{
    if (against == NULL) {
        for (guint i = 0; i < sizes->len; i++)
            append_row(rows, book, op, group, g_array_index(sizes, gint64, i), NAN, 0);
        return TRUE;
    }
    for (guint i = 0; i < against->rows->len; i++) {
        const CliLogRow *row = &g_array_index(against->rows, CliLogRow, i);
        if (is_asked_for(sizes, row->bytes))
            append_row(rows, book, op, group, row->bytes, row->us, row->line);
    }
    if (rows->len > 0)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "--bytes: none of these sizes stands in the log; leave it out");
    return FALSE;
}

static gboolean
wish_report(Wish *w, const ClusterSystem *system, const CliLogTable *against, NetOp op,
            GError **error)
{
    g_autoptr(GArray) sizes = NULL;
    if (w->bytes != NULL || against == NULL) {
        sizes = cli_sizes_parse("--bytes", w->bytes != NULL ? w->bytes : DEFAULT_SIZES, error);
        if (sizes == NULL)
            return FALSE;
    }
    NetGroup group;
    if (!cli_group_place(&w->group, system, &group, error))
        return FALSE;
    g_autoptr(NetBook) book = net_book_load(system, error);
    if (book == NULL || !net_collective_check(book, op, group, error))
        return FALSE;
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(ReportCollectiveRow));
    if (!rows_fill(rows, book, against, op, &group, sizes, error))
        return FALSE;
    guint least = group.least_per_node > 0 ? group.least_per_node : group.ranks_per_node;
    const ReportCollective report = {.op = op,
                                     .ranks = group.ranks,
                                     .nodes = group.nodes,
                                     .ranks_per_node = group.ranks_per_node,
                                     .least_per_node = least,
                                     .system = system->name,
                                     .log = against != NULL ? w->log.path : NULL,
                                     .remarks = against != NULL ? against->remarks : NULL,
                                     .rows = rows};
    if (w->plot != NULL && !report_collective_plot(&report, w->plot, error))
        return FALSE;
    g_autoptr(GString) out = g_string_new(NULL);
    report_collective(&report, cli_format_name(&w->format), out);
    return cli_output_write(w->format.output, out, error);
}

static gboolean
wish_run(Wish *w, const char *op_name, GError **error)
{
    if (w->plot != NULL && !report_plot_format(w->plot, NULL, error))
        return FALSE;
    if (w->log.path == NULL && (w->log.in_place || w->log.table > 0)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: says what to take of a log, and there is none; add --against LOG",
                    w->log.in_place ? "--in-place" : "--table");
        return FALSE;
    }
    int op = -1;
    if (op_name != NULL && !cli_op_parse(op_name, &op, error))
        return FALSE;
    if (op < 0 && w->log.path == NULL) {
        g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                            "collective: no operation; write for example dtsim collective "
                            "all_reduce --gpus 16");
        return FALSE;
    }
    g_ptr_array_add(w->sets, NULL);
    g_autoptr(ClusterSystem) system = cluster_system_load(
        w->system != NULL ? w->system : DEFAULT_SYSTEM, (const char *const *)w->sets->pdata, error);
    if (system == NULL)
        return FALSE;
    if (w->log.path == NULL)
        return wish_report(w, system, NULL, (NetOp)op, error);
    g_autoptr(CliLogTable) against = cli_log_table_load(&w->log, op, &w->group, error);
    return against != NULL && wish_report(w, system, against, against->op, error);
}

static int
collective_run(int argc, char **argv, GError **error)
{
    Wish w = {.sets = g_ptr_array_new_with_free_func(g_free)};
    CliArguments arguments = {
        "collective",
        "OP [OPTION...]",
        "Times one collective (all_reduce, all_gather, reduce_scatter, all_to_all, broadcast,\n"
        "send_recv) for each size, as nccl-tests does, or compares with a log of it.",
        1,
        {cli_format_group(&w.format), collective_group(&w)}};
    gboolean helped = FALSE;
    gboolean ok = cli_arguments_parse(&arguments, &argc, &argv, &helped, error) &&
                  (helped || wish_run(&w, argc > 1 ? argv[1] : NULL, error));
    g_ptr_array_unref(w.sets);
    g_free(w.system);
    g_free(w.bytes);
    g_free(w.plot);
    g_free(w.log.path);
    cli_format_clear(&w.format);
    return ok ? CLI_DONE : CLI_USAGE;
}

const CliCommand cli_collective = {"collective", "one collective by size, as nccl-tests shows it",
                                   collective_run};
