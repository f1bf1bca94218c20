/* dtsim calibrate import: logs, profiles and tables of other programs into a system directory. */
#include "config.h"

#include "cli/arguments.h"
#include "cli/calibrate.h"
#include "cli/output.h"
#include "cluster/shipped.h"
#include "cluster/system.h"
#include "conf/complaint.h"
#include "report/imported.h"
#include "report/run.h"

#include <string.h>

#define MAX_NODES (1 << 16)
#define MAX_RANKS (1 << 20)

static const CliImport *const imports[] = {&cli_import_nccl_tests,
                                           &cli_import_kineto,
                                           &cli_import_chakra,
                                           &cli_import_mamf,
                                           &cli_import_tsv,
                                           &cli_import_megatron_log,
                                           NULL};

typedef struct {
    CalibrateImport import;
    CalibrateMergeWish merge;
    guint format;
    char *directory, *gpu;
} Wish;

static void
wish_clear(Wish *w)
{
    calibrate_import_clear(&w->import);
    g_free(w->directory);
    g_free(w->gpu);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Wish, wish_clear)

static gboolean
format_set(const char *name, const char *text, gpointer user, GError **error)
{
    return cli_parse_choice(name, text, report_format_names, &((Wish *)user)->format, error);
}

static gboolean
op_set(const char *name, const char *text, gpointer user, GError **error)
{
    const char *names[NET_N_OPS + 1] = {NULL};
    guint op;
    for (guint i = 0; i < NET_N_OPS; i++)
        names[i] = net_op_name((NetOp)i);
    if (!cli_parse_choice(name, text, names, &op, error))
        return FALSE;
    ((Wish *)user)->import.op = (int)op;
    return TRUE;
}

static gboolean
dtype_set(const char *name, const char *text, gpointer user, GError **error)
{
    static const char *const names[] = {"fp32", "tf32", "fp16", "bf16", "fp8", NULL};
    guint dtype;
    if (!cli_parse_choice(name, text, names, &dtype, error))
        return FALSE;
    ((Wish *)user)->import.dtype = names[dtype];
    return TRUE;
}

static gboolean
ranks_set(const char *name, const char *text, gpointer user, GError **error)
{
    return cli_parse_count(name, text, 2, MAX_RANKS, &((Wish *)user)->import.ranks, error);
}

static gboolean
nodes_set(const char *name, const char *text, gpointer user, GError **error)
{
    return cli_parse_count(name, text, 1, MAX_NODES, &((Wish *)user)->import.nodes, error);
}

static gboolean
per_node_set(const char *name, const char *text, gpointer user, GError **error)
{
    return cli_parse_count(name, text, 1, 1024, &((Wish *)user)->import.per_node, error);
}

#define CALLBACK(func)                                                                             \
    0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_CALLBACK, (gpointer)(GOptionArgFunc)(func)

static GOptionGroup *
import_group(Wish *w)
{
    const GOptionEntry entries[] = {
        {"output", 'o', G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_FILENAME, &w->directory,
         "System directory whose tables get the rows, made where it is missing; of megatron-log a "
         "table of runs",
         "DIR"},
        {"format", CALLBACK(format_set), "Of what is printed: text (default), json or tsv",
         "FORMAT"},
        {"replace", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_NONE, &w->merge.replaces,
         "New rows take the place of those that are there (default: these stay)", NULL},
        {"mix-machines", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_NONE, &w->import.mixes,
         "Take files of another GPU than the directory's", NULL},
        {"gpu", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_STRING, &w->gpu,
         "What files are of that do not say it", "NAME"},
        {"gpus-per-node", CALLBACK(per_node_set),
         "Count nodes by it where files do not name them (default: the directory's)", "N"},
        {"nodes", CALLBACK(nodes_set), "Nodes of logs that name no hosts", "N"},
        {"ranks", CALLBACK(ranks_set), "Ranks of logs that list none", "N"},
        {"op", CALLBACK(op_set), "Collective of logs that do not name it", "OP"},
        {"dtype", CALLBACK(dtype_set), "Of files that do not say it", "DTYPE"},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    GOptionGroup *group =
        g_option_group_new("import", "Import:", "Show the options of import", w, NULL);
    g_option_group_add_entries(group, entries);
    return group;
}

static const CliImport *
import_find(const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; imports[i] != NULL; i++) {
        if (name != NULL && strcmp(imports[i]->name, name) == 0)
            return imports[i];
        g_ptr_array_add(names, (gpointer)imports[i]->name);
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *list = g_strjoinv(" ", (char **)names->pdata);
    g_autofree char *hint = conf_hint(name != NULL ? name : "", (const char *const *)names->pdata);
    if (name != NULL)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "calibrate import: '%s' is no kind of file%s; write one of: %s", name, hint,
                    list);
    else
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "calibrate import: which kind of file? write one of: %s", list);
    return NULL;
}

static gboolean
check(const Wish *w, const CliImport *kind, int n_files, GError **error)
{
    if (n_files < 1)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "calibrate import %s: no file; write calibrate import %s FILE... -o DIR",
                    kind->name, kind->name);
    else if (w->directory == NULL && !kind->reports)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "calibrate import %s: where to? write -o DIR, the system directory",
                    kind->name);
    else
        return TRUE;
    return FALSE;
}

/* Runs have other columns than tables of kernels. */
static gboolean
run_kind(const Wish *w, const CliImport *kind, char **files, int n_files, GError **error)
{
    const CalibrateImport *import = &w->import;
    const char *other = import->op >= 0         ? "op"
                        : import->ranks > 0     ? "ranks"
                        : import->nodes > 0     ? "nodes"
                        : import->dtype != NULL ? "dtype"
                        : import->mixes         ? "mix-machines"
                        : w->merge.replaces     ? "replace"
                                                : NULL;
    if (other != NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--%s: says nothing of %s; write --gpu, --gpus-per-node, --format or -o", other,
                    kind->name);
        return FALSE;
    }
    const CliImportWish wish = {import, w->directory, report_format_names[w->format]};
    return kind->run(&wish, files, n_files, error);
}

/* What the directory says of nodes. */
static gboolean
take_directory(Wish *w, GError **error)
{
    if (w->directory == NULL || w->import.per_node > 0 || !cluster_shipped_is_folder(w->directory))
        return TRUE;
    g_autofree char *path = g_build_filename(w->directory, "system.conf", NULL);
    g_autoptr(ClusterSystem) system = cluster_system_load(path, NULL, error);
    if (system == NULL)
        return FALSE;
    w->import.per_node = system->gpus_per_node;
    return TRUE;
}

static guint
count_rows(const CalibrateImport *import)
{
    guint n = 0;
    for (guint id = 0; id < CALIBRATE_N_TABLES; id++)
        n += calibrate_rows_count(import->rows, id);
    return n;
}

static gboolean
write_report(Wish *w, const CliImport *kind, const GPtrArray *traces, GError **error)
{
    CalibrateMerged merged[CALIBRATE_N_TABLES];
    gboolean writes = w->directory != NULL;
    if (kind->reports && traces->len == 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s; there is no other file",
                    (const char *)w->import.notes->pdata[0]);
        return FALSE;
    }
    if (writes && count_rows(&w->import) == 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_OUTPUT,
                    "%s: nothing to write: no file has GPU kernels; leave -o out for the report",
                    w->directory);
        return FALSE;
    }
    if (writes && !calibrate_merge(w->directory, &w->import, &w->merge, merged, error))
        return FALSE;
    const ReportImported report = {traces, &w->import, w->directory, writes ? merged : NULL};
    g_autoptr(GString) out = g_string_new(NULL);
    report_imported(&report, report_format_names[w->format], out);
    return cli_output_write(NULL, out, error);
}

static gboolean
import(Wish *w, int argc, char **argv, GError **error)
{
    const CliImport *kind = import_find(argc > 1 ? argv[1] : NULL, error);
    if (kind == NULL || !check(w, kind, argc - 2, error) ||
        !calibrate_import_gpu(&w->import, "--gpu", w->gpu, error))
        return FALSE;
    if (kind->run != NULL)
        return run_kind(w, kind, argv + 2, argc - 2, error);
    if (!take_directory(w, error))
        return FALSE;
    g_autofree char *by = g_strdup_printf("dtsim calibrate import %s", kind->name);
    g_autoptr(GPtrArray) traces =
        g_ptr_array_new_with_free_func((GDestroyNotify)calibrate_trace_free);
    w->merge.by = by;
    w->import.tells_only = w->directory == NULL;
    for (int i = 2; i < argc; i++)
        if (!kind->read(argv[i], &w->import, traces, error))
            return FALSE;
    return write_report(w, kind, traces, error);
}

static int
import_run(int argc, char **argv, GError **error)
{
    g_auto(Wish) w = {0};
    calibrate_import_init(&w.import);
    g_autoptr(GString) about = g_string_new("What others measured becomes rows of a system "
                                            "directory's tables. Kinds of files:\n");
    for (guint i = 0; imports[i] != NULL; i++)
        g_string_append_printf(about, "  %-12s  %s\n", imports[i]->name, imports[i]->summary);
    CliArguments arguments = {
        "calibrate import", "KIND FILE... [OPTION...]", about->str, G_MAXUINT, {import_group(&w)}};
    gboolean helped = FALSE;
    if (!cli_arguments_parse(&arguments, &argc, &argv, &helped, error))
        return CLI_USAGE;
    return helped || import(&w, argc, argv, error) ? CLI_DONE : CLI_USAGE;
}

const CliCommand cli_calibrate_import = {"import", "logs, profiles and tables of other programs",
                                         import_run};
