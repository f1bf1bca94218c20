/* dtsim validate: predicted against published measured runs, worst first. */
#include "config.h"

#include "cli/arguments.h"
#include "cli/case.h"
#include "cli/command.h"
#include "cli/format.h"
#include "cli/measured.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/validate_kernels.h"
#include "cli/validate_network.h"
#include "report/run.h"
#include "report/validation.h"
#include "units/quantity.h"

#include <math.h>
#include <string.h>

typedef enum { ONLY_ALL, ONLY_TIME, ONLY_MEMORY, ONLY_NETWORK, ONLY_KERNELS } Only;

typedef struct {
    CliFormat format;
    Only only;
    double tolerance; /* NAN: not given */
    gint64 worst;
    char *gpu;            /* of kernels; NULL: not given */
    double sample_frac;   /* NAN: not given */
    gint64 seed;          /* 0: not given */
    GPtrArray *where;     /* of char*, "column=value" */
    GPtrArray *tables;    /* of ConfTable*, whose texts the rows borrow */
    GHashTable *machines; /* look-up only: system and overrides -> CliMachine* */
    GStringChunk *texts;  /* reasons of refusal */
    GArray *rows;         /* of ReportValidated */
} Validation;

static gboolean
tolerance_set(const char *name, const char *text, gpointer user, GError **error)
{
    Validation *v = user;
    if (units_parse_fraction(text, &v->tolerance, error))
        return TRUE;
    g_prefix_error(error, "%s: ", name);
    return FALSE;
}

static gboolean
worst_set(const char *name, const char *text, gpointer user, GError **error)
{
    return cli_parse_count(name, text, 0, G_MAXINT32, &((Validation *)user)->worst, error);
}

static gboolean
only_set(const char *name, const char *text, gpointer user, GError **error)
{
    Validation *v = user;
    v->only = strcmp(text, "time") == 0      ? ONLY_TIME
              : strcmp(text, "memory") == 0  ? ONLY_MEMORY
              : strcmp(text, "network") == 0 ? ONLY_NETWORK
              : strcmp(text, "kernels") == 0 ? ONLY_KERNELS
                                             : ONLY_ALL;
    if (v->only != ONLY_ALL)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "%s: '%s' is none of these; write time, memory, network or kernels", name, text);
    return FALSE;
}

static gboolean
sample_set(const char *name, const char *text, gpointer user, GError **error)
{
    double *frac = &((Validation *)user)->sample_frac;
    if (units_parse_fraction(text, frac, error) && *frac > 0 && *frac < 1)
        return TRUE;
    g_clear_error(error);
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "%s: '%s' is no share between 0 and 100%%; write for example %s 10%%", name, text,
                name);
    return FALSE;
}

static gboolean
seed_set(const char *name, const char *text, gpointer user, GError **error)
{
    return cli_parse_count(name, text, 1, G_MAXINT32, &((Validation *)user)->seed, error);
}

static gboolean
where_set(const char *name, const char *text, gpointer user, GError **error)
{
    if (strchr(text, '=') == NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: '%s' is not COLUMN=VALUE; write for example %s source=papers", name, text,
                    name);
        return FALSE;
    }
    g_ptr_array_add(((Validation *)user)->where, g_strdup(text));
    return TRUE;
}

static GOptionGroup *
validate_group(Validation *v)
{
    const GOptionEntry entries[] = {
        {"tolerance", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_CALLBACK,
         (gpointer)(GOptionArgFunc)tolerance_set,
         "Exit status 1 when the mean absolute error of time is larger", "20%"},
        {"worst", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_CALLBACK,
         (gpointer)(GOptionArgFunc)worst_set, "Rows that the text shows (default: 25)", "N"},
        {"only", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_CALLBACK,
         (gpointer)(GOptionArgFunc)only_set,
         "Runs with measured time; with measured memory, or out of it; collectives; or kernels",
         "time|memory|network|kernels"},
        {"where", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_CALLBACK,
         (gpointer)(GOptionArgFunc)where_set, "Only rows with this text in a column",
         "COLUMN=VALUE"},
        {"sample", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_CALLBACK,
         (gpointer)(GOptionArgFunc)sample_set,
         "Of kernels: share that the model is built from (default: 10%)", "10%"},
        {"seed", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_CALLBACK,
         (gpointer)(GOptionArgFunc)seed_set, "Of kernels: which sample (default: 1)", "N"},
        {"gpu", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_STRING, &v->gpu,
         "Of kernels: what files without a column gpu were measured on", "NAME"},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    GOptionGroup *group =
        g_option_group_new("validate", "Rows:", "Show the options of validation", v, NULL);
    g_option_group_add_entries(group, entries);
    return group;
}

/* The machine of a row, loaded once for all rows alike. */
static const CliMachine *
machine_of(Validation *v, const CliMeasured *m, GError **error)
{
    g_autofree char *overrides = g_strjoinv(" ", (char **)m->overrides->pdata);
    g_autofree char *key = g_strconcat(m->system, " ", overrides, NULL);
    CliMachine *machine = g_hash_table_lookup(v->machines, key);
    if (machine == NULL) {
        machine = cli_machine_load(m->system, (const char *const *)m->overrides->pdata, error);
        if (machine != NULL)
            g_hash_table_insert(v->machines, g_steal_pointer(&key), machine);
    }
    return machine;
}

/* What libraries allocate through torch: a cuBLAS workspace for each thread that multiplies, forward and
 * backward (PyTorch aten/src/ATen/cuda/CublasHandlePool.cpp: 32 MiB from Hopper on, else 4096 KiB x 2 + 16 KiB
 * x 8), the same again of TransformerEngine where it multiplies. */
static double
workspace_of(const CliMeasured *m)
{
    gboolean hopper = strstr(m->system, "h100") != NULL;
    return 2 * (hopper ? 32.0 : 8.125) * 1024 * 1024;
}

/* The memory that the row's measurement is about. */
static double
memory_of(const CliMeasured *m, const StepResult *r)
{
    guint at = m->memory_stage == CLI_STAGE_LAST    ? r->stages->len - 1
               : m->memory_stage == CLI_STAGE_FIRST ? 0
                                                    : r->memory_peak_stage;
    const StepStage *stage = &g_array_index(r->stages, StepStage, at);
    double bytes = (double)(m->memory_kind == CLI_MEMORY_ALLOCATED ? stage->peak_bytes
                                                                   : stage->reserved_bytes);
    if (m->memory_kind != CLI_MEMORY_PROCESS)
        bytes += workspace_of(m) - (double)stage->fixed.fixed_bytes;
    return bytes / 1e9;
}

/* Has the row something of what was asked for; what was not is forgotten. */
static gboolean
is_asked_for(const Validation *v, CliMeasured *m)
{
    if (v->only == ONLY_TIME)
        m->measured_gb = NAN;
    if (v->only == ONLY_MEMORY)
        m->measured_s = NAN;
    return v->only == ONLY_ALL || !isnan(m->measured_s) || !isnan(m->measured_gb) ||
           (v->only == ONLY_MEMORY && m->measured_oom);
}

/* Simulates a row; a plan that is refused is a skipped row. */
static gboolean
predict(Validation *v, CliMeasured *m, ReportValidated *row, GError **error)
{
    const CliMachine *machine = machine_of(v, m, error);
    if (machine == NULL)
        return FALSE;
    g_autoptr(GError) refusal = NULL;
    if (machine->system->peak_flops[m->spec.dtype] == 0) {
        row->skipped = "the GPU has no such precision";
        return TRUE;
    }
    g_autoptr(CliCase) c = cli_case_new(machine, m->shape, &m->spec, NULL, &refusal);
    StepOptions options = {.convention = LLM_FLOPS_MEGATRON};
    g_autoptr(StepResult) r = c != NULL ? cli_case_run(c, &options, &refusal) : NULL;
    if (r == NULL) {
        row->skipped = g_string_chunk_insert_const(v->texts, refusal->message);
        return TRUE;
    }
    row->predicted_s = m->stand_in ? NAN : (double)r->time_ns / 1e9;
    row->certainty = m->stand_in ? report_no_certainty : report_certainty(r);
    row->predicted_gb = memory_of(m, r);
    row->fits = r->verdict == STEP_FITS;
    return TRUE;
}

/* A column that --where names and the file lacks is a slip of the pen, not an empty choice. */
static gboolean
where_check(const Validation *v, const CliMeasurements *m, GError **error)
{
    for (guint i = 0; i < v->where->len; i++) {
        const char *text = v->where->pdata[i];
        g_autofree char *column = g_strndup(text, strcspn(text, "="));
        guint index;
        if (!conf_table_need_column(m->table, column, &index, error)) {
            g_prefix_error(error, "--where: ");
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean
is_wanted(const Validation *v, const CliMeasurements *m, guint row)
{
    for (guint i = 0; i < v->where->len; i++) {
        const char *text = v->where->pdata[i], *equals = strchr(text, '=');
        g_autofree char *column = g_strndup(text, (gsize)(equals - text));
        if (strcmp(cli_measurements_text(m, row, column), equals + 1) != 0)
            return FALSE;
    }
    return TRUE;
}

static gboolean
row_run(Validation *v, const CliMeasurements *m, guint i, GError **error)
{
    CliMeasured measured;
    if (!cli_measured_read(m, i, &measured, error))
        return FALSE;
    if (!is_asked_for(v, &measured)) {
        cli_measured_clear(&measured);
        return TRUE;
    }
    ReportValidated row = {.id = measured.id,
                           .source = measured.source[0] != '\0' ? measured.source
                                                                : conf_table_name(m->table),
                           .measured_s = measured.measured_s,
                           .predicted_s = NAN,
                           .measured_gb = measured.measured_gb,
                           .predicted_gb = NAN,
                           .measured_oom = measured.measured_oom};
    gboolean ok = TRUE;
    if (measured.skipped != NULL)
        row.skipped = g_string_chunk_insert_const(v->texts, measured.skipped);
    else
        ok = predict(v, &measured, &row, error);
    cli_measured_clear(&measured);
    if (ok)
        g_array_append_val(v->rows, row);
    return ok;
}

static gboolean
table_run(Validation *v, const char *path, GError **error)
{
    ConfTable *table = conf_table_load(path, error);
    if (table == NULL)
        return FALSE;
    g_ptr_array_add(v->tables, table);
    CliMeasurements m = {0};
    gboolean ok = cli_measurements_init(&m, table, error) && where_check(v, &m, error);
    guint n = conf_table_n_rows(table);
    CliProgress progress = cli_progress_start(path, n);
    for (guint i = 0; ok && i < n; i++) {
        cli_progress_at(&progress, i);
        if (is_wanted(v, &m, i))
            ok = row_run(v, &m, i, error);
    }
    cli_progress_end(&progress);
    cli_measurements_clear(&m);
    return ok;
}

static int
files_run(Validation *v, char **files, GError **error)
{
    for (guint i = 0; files[i] != NULL; i++)
        if (!table_run(v, files[i], error))
            return CLI_USAGE;
    if (v->rows->len == 0) {
        g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                            "validate: no rows; write files that have some, or a wider --where");
        return CLI_USAGE;
    }
    const char *why = g_array_index(v->rows, ReportValidated, 0).skipped;
    for (guint i = 1; why != NULL && i < v->rows->len; i++)
        if (g_array_index(v->rows, ReportValidated, i).skipped == NULL)
            why = NULL;
    if (why != NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "validate: none of the %u rows can be simulated; the first: %s", v->rows->len,
                    why);
        return CLI_USAGE;
    }
    g_autoptr(GString) out = g_string_new(NULL);
    report_validation(v->rows, (guint)v->worst, cli_format_name(&v->format), out);
    if (!cli_output_write(v->format.output, out, error))
        return CLI_USAGE;
    ReportErrors time = report_time_errors(v->rows, NULL);
    return !isnan(v->tolerance) && !(time.mean_absolute <= v->tolerance) ? CLI_NO : CLI_DONE;
}

static int
kernels_run(const Validation *v, char **files, GError **error)
{
    CliKernelOptions options = {.gpu = v->gpu,
                                .sample_frac = isnan(v->sample_frac) ? 0.1 : v->sample_frac,
                                .seed = MAX(v->seed, 1),
                                .tolerance = v->tolerance};
    return cli_validate_kernels(&v->format, &options, files, error);
}

/* Options that say something of kernels only. */
static gboolean
options_check(const Validation *v, GError **error)
{
    if (v->only == ONLY_KERNELS || (v->gpu == NULL && isnan(v->sample_frac) && v->seed == 0))
        return TRUE;
    const char *name = v->gpu != NULL ? "gpu" : isnan(v->sample_frac) ? "seed" : "sample";
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "--%s: it is of kernels; write --only kernels, or leave it out", name);
    return FALSE;
}

static int
chosen_run(Validation *v, char **files, GError **error)
{
    if (!options_check(v, error))
        return CLI_USAGE;
    if (v->only == ONLY_NETWORK)
        return cli_validate_network(&v->format, v->tolerance, files, error);
    return v->only == ONLY_KERNELS ? kernels_run(v, files, error) : files_run(v, files, error);
}

static int
validate_run(int argc, char **argv, GError **error)
{
    Validation v = {.tolerance = NAN,
                    .sample_frac = NAN,
                    .worst = 25,
                    .where = g_ptr_array_new_with_free_func(g_free),
                    .tables = g_ptr_array_new_with_free_func((GDestroyNotify)conf_table_free),
                    .machines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                                      (GDestroyNotify)cli_machine_free),
                    .texts = g_string_chunk_new(4096),
                    .rows = g_array_new(FALSE, FALSE, sizeof(ReportValidated))};
    CliArguments arguments = {
        "validate",
        "FILE...",
        "Simulates the measured runs in tables (CSV or TSV, one run a row) and compares.",
        G_MAXUINT,
        {cli_format_group(&v.format), validate_group(&v)}};
    gboolean helped = FALSE;
    int status = CLI_USAGE;
    if (cli_arguments_parse(&arguments, &argc, &argv, &helped, error)) {
        if (helped)
            status = CLI_DONE;
        else if (argc < 2)
            g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                                "validate: no file; write dtsim validate FILE...");
        else
            status = chosen_run(&v, argv + 1, error);
    }
    g_free(v.gpu);
    g_array_unref(v.rows);
    g_string_chunk_free(v.texts);
    g_hash_table_unref(v.machines);
    g_ptr_array_unref(v.tables);
    g_ptr_array_unref(v.where);
    cli_format_clear(&v.format);
    return status;
}

const CliCommand cli_validate = {"validate", "predicted against measured runs", validate_run};
