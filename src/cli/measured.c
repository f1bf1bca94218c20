/* A row of measured runs as shape and plan. */
#include "config.h"

#include "cli/measured_read.h"

#include <math.h>
#include <string.h>

static const char *const needed[] = {"id",    "gpu",         "gpus",        "layers", "hidden",
                                     "heads", "seq_len",     "vocab",       "tp",     "pp",
                                     "dp",    "micro_batch", "global_batch"};

gboolean
cli_measurements_init(CliMeasurements *m, const ConfTable *table, GError **error)
{
    for (guint i = 0; i < G_N_ELEMENTS(needed); i++) {
        guint column;
        if (!conf_table_need_column(table, needed[i], &column, error))
            return FALSE;
    }
    m->table = table;
    m->columns = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < conf_table_n_columns(table); i++)
        g_hash_table_insert(m->columns, (gpointer)conf_table_column_name(table, i),
                            GUINT_TO_POINTER(i + 1));
    return TRUE;
}

void
cli_measurements_clear(CliMeasurements *m)
{
    g_clear_pointer(&m->columns, g_hash_table_unref);
}

static int
column_of(const CliMeasurements *m, const char *name)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(m->columns, name)) - 1;
}

const char *
cli_measurements_text(const CliMeasurements *m, guint row, const char *column)
{
    int at = column_of(m, column);
    return at >= 0 ? conf_table_text(m->table, row, (guint)at) : "";
}

gboolean
cli_measurements_int(const CliMeasurements *m, guint row, const char *column, gint64 fallback,
                     gint64 *ret, GError **error)
{
    int at = column_of(m, column);
    if (at < 0 || conf_table_text(m->table, row, (guint)at)[0] == '\0') {
        *ret = fallback;
        return TRUE;
    }
    return conf_table_int(m->table, row, (guint)at, ret, error);
}

static gboolean
number_or_nan(const CliMeasurements *m, guint row, const char *column, double *ret, GError **error)
{
    *ret = NAN;
    int at = column_of(m, column);
    if (at < 0 || conf_table_text(m->table, row, (guint)at)[0] == '\0')
        return TRUE;
    return conf_table_double(m->table, row, (guint)at, ret, error);
}

/* What the simulator has no model of; NULL when it has. */
static const char *
refusal(const CliMeasurements *m, guint row)
{
    if (cli_measurements_text(m, row, "dup_of")[0] != '\0')
        return "repeats another row";
    const char *why = cli_measured_shape_refusal(m, row);
    return why != NULL ? why : cli_measured_plan_refusal(m, row);
}

/* Who counted: torch its tensors, torch its blocks, or the driver all of a process. */
static CliMemoryKind
memory_kind_of(const char *words)
{
    return cli_measured_has(words, "reserved") ? CLI_MEMORY_RESERVED
           : cli_measured_has(words, "allocat") || cli_measured_has(words, "xla") ||
                   cli_measured_has(words, "over devices")
               ? CLI_MEMORY_ALLOCATED
               : CLI_MEMORY_PROCESS;
}

static gboolean
read_results(const CliMeasurements *m, guint row, CliMeasured *r, GError **error)
{
    const char *use = cli_measurements_text(m, row, "use_for");
    r->id = cli_measurements_text(m, row, "id");
    r->source = cli_measurements_text(m, row, "source");
    r->measured_oom = strcmp(use, "oom") == 0;
    const char *kind = cli_measurements_text(m, row, "mem_kind");
    r->memory_kind = memory_kind_of(kind);
    /* nanotron's benchmark writes what world rank 0 has. */
    r->memory_stage = cli_measured_has(kind, "last rank") ? CLI_STAGE_LAST
                      : cli_measured_has(cli_measurements_text(m, row, "framework"), "nanotron")
                          ? CLI_STAGE_FIRST
                          : CLI_STAGE_FULLEST;
    double any;
    if (!number_or_nan(m, row, "iter_s_any", &any, error) ||
        !number_or_nan(m, row, "measured_iter_s", &r->measured_s, error) ||
        !number_or_nan(m, row, "measured_peak_mem_GB", &r->measured_gb, error))
        return FALSE;
    if (!isnan(any))
        r->measured_s = any;
    if (use[0] != '\0' && !cli_measured_has(use, "time"))
        r->measured_s = NAN;
    return TRUE;
}

/* Runs whose host waited for each kernel. BigScience's job script says "do not remove or the training will
 * hang" of this workaround (bigscience train/tr11-176B-ml/tr11-176B-ml.slurm: CUDA_LAUNCH_BLOCKING=1);
 * nanotron's pipelines before their repair took ten times as long in small microbatches and held no blocks. */
static gboolean
launches_block(const CliMeasurements *m, guint row)
{
    const char *framework = cli_measurements_text(m, row, "framework");
    return cli_measured_has(framework, "bigscience") ||
           (cli_measured_has(framework, "nanotron") &&
            strcmp(cli_measurements_text(m, row, "pp"), "1") != 0 &&
            strstr(cli_measurements_text(m, row, "notes"), "after_pp_fix=False") != NULL);
}

/* Before nanotron's repair a stage was full when it had more than its share, since then with its share. */
static gboolean
place_layers(const CliMeasurements *m, guint row, CliMeasured *r)
{
    if (r->spec.framework != PLAN_NANOTRON || r->spec.pp < 2)
        return TRUE;
    gboolean before = strstr(cli_measurements_text(m, row, "notes"), "after_pp_fix=False") != NULL;
    r->stage_layers = cli_measured_nanotron_layers(r->shape, r->spec.pp, !before);
    r->spec.stage_layers = r->stage_layers;
    r->spec.account_for_embedding = r->spec.account_for_loss = FALSE; /* the list says all */
    return r->stage_layers != NULL;
}

/* Shape and plan; what the simulator refuses is `skipped`. */
static gboolean
read_run(const CliMeasurements *m, guint row, CliMeasured *r, GError **error)
{
    GError *refused = NULL;
    r->shape = cli_measured_shape(m, row, &refused);
    if (r->shape == NULL && refused->domain == LLM_ERROR) {
        r->skipped = g_strdup(refused->message);
        g_error_free(refused);
        return TRUE;
    }
    if (r->shape == NULL) {
        g_propagate_error(error, refused);
        return FALSE;
    }
    if (!cli_measured_plan(m, row, r->shape, &r->spec, error))
        return FALSE;
    if (!place_layers(m, row, r))
        r->skipped = g_strdup("nanotron leaves stages between the ends without layers");
    return TRUE;
}

gboolean
cli_measured_read(const CliMeasurements *m, guint row, CliMeasured *ret_measured, GError **error)
{
    CliMeasured r = {0};
    gint64 gpus_per_node, tp;
    if (!read_results(m, row, &r, error) ||
        !cli_measurements_int(m, row, "gpus_per_node", 8, &gpus_per_node, error) ||
        !cli_measurements_int(m, row, "tp", 1, &tp, error))
        return FALSE;
    const char *why = refusal(m, row);
    r.overrides = g_ptr_array_new_with_free_func(g_free);
    r.skipped =
        why != NULL ? g_strdup(why)
        : isnan(r.measured_s) && isnan(r.measured_gb) && !r.measured_oom
            ? g_strdup("nothing measured")
            : cli_measured_hardware(cli_measurements_text(m, row, "gpu"), MAX(gpus_per_node, 1),
                                    cli_measurements_text(m, row, "inter_net"), MAX(tp, 1),
                                    &r.system, r.overrides, &r.stand_in);
    if (r.skipped == NULL && r.stand_in)
        r.measured_s = NAN;
    if (r.skipped == NULL && isnan(r.measured_s) && isnan(r.measured_gb) && !r.measured_oom)
        r.skipped = g_strdup_printf("no system for GPU '%s', and no memory measured",
                                    cli_measurements_text(m, row, "gpu"));
    if (r.skipped == NULL && launches_block(m, row))
        g_ptr_array_add(r.overrides, g_strdup("host.launch-blocking=yes"));
    g_ptr_array_add(r.overrides, NULL);
    if (r.skipped == NULL && !read_run(m, row, &r, error)) {
        cli_measured_clear(&r);
        return FALSE;
    }
    *ret_measured = r;
    return TRUE;
}

void
cli_measured_clear(CliMeasured *r)
{
    g_free(r->skipped);
    g_free(r->system);
    g_free(r->stage_layers);
    g_clear_pointer(&r->overrides, g_ptr_array_unref);
    llm_shape_free(r->shape);
}
