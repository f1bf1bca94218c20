/* Logs of training: the time of an iteration, and a row of measured runs for dtsim validate. */
#include "config.h"

#include "calibrate/steady.h"
#include "cli/calibrate.h"
#include "cli/measured_megatron.h"
#include "cli/measured_megatron_args.h"
#include "cli/output.h"
#include "conf/complaint.h"
#include "report/training.h"

#include <string.h>

/* Starts of one plan: a run that went on where it stopped. */
typedef struct {
    CalibrateTraining
        *run; /* the first, borrowed from its log; iterations and memory are those of all */
    char *plan, *id;
    char **cells; /* NULL: the log does not say enough, and nobody wants a row */
    CalibrateSteady steady;
} Group;

typedef struct {
    const CliImportWish *wish;
    GPtrArray *logs; /* of CalibrateMegatronLog */
    GPtrArray *groups;
    GPtrArray *files; /* of each group, borrowed */
} Session;

static void
group_free(gpointer data)
{
    Group *g = data;
    g_free(g->plan);
    g_free(g->id);
    g_strfreev(g->cells);
    g_free(g);
}

static char *
plan_of(const CalibrateTraining *run)
{
    static const struct {
        const char *name, *argument;
        gboolean always;
    } degrees[] = {{"tp", "tensor_model_parallel_size", TRUE},
                   {"pp", "pipeline_model_parallel_size", TRUE},
                   {"dp", "data_parallel_size", TRUE},
                   {"cp", "context_parallel_size", FALSE},
                   {"ep", "expert_model_parallel_size", FALSE}};
    if (run->line == 0)
        return NULL;
    GString *text = g_string_new(NULL);
    gint64 gpus = cli_megatron_count(run, "world_size", NULL, 0);
    if (gpus > 0) /* dumps of some forks do not say it */
        g_string_append_printf(text, "%" G_GINT64_FORMAT " GPUs", gpus);
    for (guint i = 0; i < G_N_ELEMENTS(degrees); i++) {
        gint64 n = cli_megatron_count(run, degrees[i].argument, NULL, 1);
        if (degrees[i].always || n > 1)
            g_string_append_printf(text, "%s%s %" G_GINT64_FORMAT, text->len > 0 ? ", " : "",
                                   degrees[i].name, n);
    }
    return g_string_free(text, FALSE);
}

static gboolean
is_taken(const Session *s, const char *id)
{
    for (guint i = 0; i < s->groups->len; i++)
        if (strcmp(((const Group *)s->groups->pdata[i])->id, id) == 0)
            return TRUE;
    return FALSE;
}

/* The name of the file, of a later plan in it or of its namesake in another folder with a number. */
static char *
id_of(const Session *s, const char *path)
{
    g_autofree char *name = g_path_get_basename(path);
    if (g_str_has_suffix(name, ".gz"))
        name[strlen(name) - 3] = '\0';
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name)
        *dot = '\0';
    char *id = g_strdup(name);
    for (guint n = 2; is_taken(s, id); n++) {
        g_free(id);
        id = g_strdup_printf("%s-%u", name, n);
    }
    return id;
}

/* --- groups ------------------------------------------------------------------------------------- */

/* The memory is that of the start in which most ranks said theirs. */
static void
join(Group *g, CalibrateTraining *run)
{
    g_array_append_vals(g->run->iterations, run->iterations->data, run->iterations->len);
    if (g_hash_table_size(run->ranks) <= g_hash_table_size(g->run->ranks))
        return;
    GHashTable *ranks = g->run->ranks;
    g->run->ranks = run->ranks;
    run->ranks = ranks;
    g->run->reserved_bytes = run->reserved_bytes;
}

/* All but the name is the same. */
static gboolean
is_same_plan(const Group *g, const Group *other)
{
    if (g->cells == NULL || other->cells == NULL)
        return FALSE;
    for (guint i = 0; i < cli_megatron_n_columns(); i++)
        if (strcmp(cli_megatron_column(i), "id") != 0 && strcmp(g->cells[i], other->cells[i]) != 0)
            return FALSE;
    return TRUE;
}

static Group *
group_new(const Session *s, const char *path, CalibrateTraining *run, GError **error)
{
    char *id = id_of(s, path);
    const CalibrateImport *import = s->wish->import;
    const CliMegatronWish wish = {id, import->gpu != NULL ? import->gpu : "", import->per_node};
    g_autoptr(GError) refusal = NULL;
    Group *g = g_new0(Group, 1);
    g->run = run;
    g->plan = plan_of(run);
    g->id = id;
    g->cells = cli_megatron_cells(path, run, &wish, &refusal);
    if (g->cells != NULL || s->wish->output == NULL)
        return g;
    g_propagate_error(error, g_steal_pointer(&refusal));
    group_free(g);
    return NULL;
}

static gboolean
read_file(Session *s, const char *path, GError **error)
{
    CalibrateMegatronLog *log = calibrate_megatron_log_load(path, error);
    if (log == NULL)
        return FALSE;
    g_ptr_array_add(s->logs, log);
    guint first = s->groups->len;
    for (guint i = 0; i < log->runs->len; i++) {
        CalibrateTraining *run = log->runs->pdata[i];
        Group *g = group_new(s, path, run, error);
        if (g == NULL)
            return FALSE;
        guint at = first;
        while (at < s->groups->len && !is_same_plan(s->groups->pdata[at], g))
            at++;
        if (at < s->groups->len) {
            join(s->groups->pdata[at], run);
            group_free(g);
        } else {
            g_ptr_array_add(s->groups, g);
            g_ptr_array_add(s->files, log->name);
        }
    }
    return TRUE;
}

static void
measure(Session *s)
{
    for (guint i = 0; i < s->groups->len; i++) {
        Group *g = s->groups->pdata[i];
        g->steady = calibrate_steady(g->run->iterations);
        if (g->cells != NULL)
            cli_megatron_measure(g->cells, g->run, &g->steady);
    }
}

/* --- the table ---------------------------------------------------------------------------------- */

static void
append_cell(GString *out, const char *cell, char separator)
{
    if (separator == ',' && strpbrk(cell, ",\"\n") != NULL) {
        g_string_append_c(out, '"');
        for (; *cell != '\0'; cell++)
            g_string_append(out, *cell == '"' ? "\"\"" : (char[]){*cell, '\0'});
        g_string_append_c(out, '"');
        return;
    }
    for (; *cell != '\0'; cell++)
        g_string_append_c(out, (guchar)*cell < ' ' ? ' ' : *cell);
}

static gboolean
write_table(const Session *s, GError **error)
{
    guint n = cli_megatron_n_columns();
    char separator = g_str_has_suffix(s->wish->output, ".csv") ? ',' : '\t';
    g_autoptr(GString) out =
        g_string_new("# Runs out of logs of Megatron, by dtsim calibrate import megatron-log.\n"
                     "# Units: seconds; GB = 1e9 bytes. gpus_per_node empty: 8.\n");
    for (guint i = 0; i < n; i++)
        g_string_append_printf(out, "%s%c", cli_megatron_column(i), i + 1 < n ? separator : '\n');
    for (guint k = 0; k < s->groups->len; k++) {
        const Group *g = s->groups->pdata[k];
        for (guint i = 0; i < n; i++) {
            append_cell(out, g->cells[i], separator);
            g_string_append_c(out, i + 1 < n ? separator : '\n');
        }
    }
    return conf_write_text(s->wish->output, out->str, (gssize)out->len, error);
}

static gboolean
report(const Session *s, GError **error)
{
    gboolean text = strcmp(s->wish->format, "text") == 0;
    g_autoptr(GString) out = g_string_new(NULL);
    g_autoptr(GArray) runs = g_array_new(FALSE, FALSE, sizeof(ReportTraining));
    for (guint i = 0; i < s->groups->len; i++) {
        const Group *g = s->groups->pdata[i];
        ReportTraining r = {s->files->pdata[i], g->plan, &g->steady};
        g_array_append_val(runs, r);
    }
    report_training(runs, s->wish->format, out);
    for (guint i = 0; text && i < s->logs->len; i++) {
        const CalibrateMegatronLog *log = s->logs->pdata[i];
        for (guint k = 0; k < log->notes->len; k++)
            g_string_append_printf(out, "%s\n", (const char *)log->notes->pdata[k]);
    }
    if (text && s->wish->output != NULL)
        g_string_append_printf(out, "%s: %u row%s%s\n", s->wish->output, s->groups->len,
                               s->groups->len == 1 ? "" : "s",
                               s->wish->import->per_node > 0
                                   ? ""
                                   : ", of nodes with 8 GPUs (--gpus-per-node says otherwise)");
    return cli_output_write(NULL, out, error);
}

static gboolean
session_run(Session *s, char **files, int n, GError **error)
{
    if (s->wish->output != NULL && s->wish->import->gpu == NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: a log of Megatron does not say its GPU; write it as --gpu A100-SXM4-80GB",
                    files[0]);
        return FALSE;
    }
    for (int i = 0; i < n; i++)
        if (!read_file(s, files[i], error))
            return FALSE;
    measure(s);
    return (s->wish->output == NULL || write_table(s, error)) && report(s, error);
}

static gboolean
megatron_log_run(const CliImportWish *wish, char **files, int n, GError **error)
{
    Session s = {.wish = wish,
                 .logs =
                     g_ptr_array_new_with_free_func((GDestroyNotify)calibrate_megatron_log_free),
                 .groups = g_ptr_array_new_with_free_func(group_free),
                 .files = g_ptr_array_new()};
    gboolean done = session_run(&s, files, n, error);
    g_ptr_array_unref(s.groups);
    g_ptr_array_unref(s.files);
    g_ptr_array_unref(s.logs);
    return done;
}

const CliImport cli_import_megatron_log = {
    "megatron-log", "logs of Megatron: iteration times; -o RUNS.csv is a table for validate", TRUE,
    NULL, megatron_log_run};
