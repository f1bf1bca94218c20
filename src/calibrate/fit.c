/* A fit as a whole: tables in turn, models, keys. */
#include "config.h"

#include "calibrate/fit.h"

#include "calibrate/fit_parts.h"
#include "calibrate/own_table.h"
#include "units/quantity.h"

#include <math.h>

/* Fewer rows, or a standard error above this part of the value, are nothing to write down. */
#define LEAST_ROWS 3
#define LARGEST_ERROR 0.1

static void
clear_model(gpointer model)
{
    g_free(((CalibrateModel *)model)->of);
}

static void
clear_key(gpointer data)
{
    CalibrateKey *key = data;
    g_free(key->text);
    g_free(key->today);
    g_free(key->from);
    g_free(key->refused);
}

static void
clear_held_out(gpointer held_out)
{
    g_free(((CalibrateHeldOut *)held_out)->of);
}

static CalibrateFit *
fit_new(guint folds)
{
    CalibrateFit *fit = g_new0(CalibrateFit, 1);
    fit->folds = folds;
    fit->models = g_array_new(FALSE, TRUE, sizeof(CalibrateModel));
    fit->keys = g_array_new(FALSE, TRUE, sizeof(CalibrateKey));
    fit->held_out = g_array_new(FALSE, TRUE, sizeof(CalibrateHeldOut));
    g_array_set_clear_func(fit->models, clear_model);
    g_array_set_clear_func(fit->keys, clear_key);
    g_array_set_clear_func(fit->held_out, clear_held_out);
    fit->notes = g_ptr_array_new_with_free_func(g_free);
    return fit;
}

void
calibrate_fit_free(CalibrateFit *fit)
{
    if (fit == NULL)
        return;
    g_array_unref(fit->models);
    g_array_unref(fit->keys);
    g_array_unref(fit->held_out);
    g_ptr_array_unref(fit->notes);
    g_free(fit);
}

/* --- what the tables add ------------------------------------------------------------------------ */

CalibrateModel *
calibrate_fit_add(CalibrateFit *fit, ClusterTable table, char *of, const char *formula,
                  const GArray *points, CalibrateForm form, CalibrateLine *ret)
{
    if (points->len == 0) {
        g_free(of);
        return NULL;
    }
    const CalibratePoint *p = (const CalibratePoint *)(const void *)points->data;
    *ret = calibrate_line_fit(p, points->len, form);
    CalibrateModel model = {
        .table = table,
        .of = of,
        .formula = formula,
        .n_rows = ret->n,
        .n_used = ret->n_used,
        .residual = calibrate_line_residuals(ret, p, points->len),
        .left_out = calibrate_line_left_out(p, points->len, form, fit->folds),
    };
    g_array_append_val(fit->models, model);
    return &g_array_index(fit->models, CalibrateModel, fit->models->len - 1);
}

void
calibrate_model_constant(CalibrateModel *model, CalibrateConstant constant)
{
    g_assert(model->n_constants < CALIBRATE_MAX_CONSTANTS);
    model->constants[model->n_constants++] = constant;
}

void
calibrate_fit_held_out_add(CalibrateFit *fit, ClusterTable table, char *of, GArray *errors)
{
    CalibrateHeldOut held_out = {table, of, calibrate_residuals_of(errors)};
    g_array_append_val(fit->held_out, held_out);
}

/* `fault`: what else is wrong with it; NULL. Caller frees. */
static char *
refusal(const CalibrateModel *model, double error_frac, const char *fault)
{
    if (model->n_rows < LEAST_ROWS)
        return g_strdup_printf("%u row%s %s too few", model->n_rows, model->n_rows == 1 ? "" : "s",
                               model->n_rows == 1 ? "is" : "are");
    if (!(error_frac <= LARGEST_ERROR))
        return g_strdup("rows do not settle it");
    return g_strdup(fault);
}

static char *
source_of(const CalibrateModel *model)
{
    return g_strdup_printf("%s.tsv: %s, %u row%s", cluster_table_name(model->table), model->of,
                           model->n_rows, model->n_rows == 1 ? "" : "s");
}

void
calibrate_fit_key_fraction(CalibrateFit *fit, const char *section, const char *key, double value,
                           double error, double today, const CalibrateModel *model,
                           const char *fault)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE], before[G_ASCII_DTOSTR_BUF_SIZE];
    CalibrateKey k = {.section = section, .key = key, .error_frac = error / value};
    k.text = g_strdup(g_ascii_formatd(text, sizeof text, "%.3g", value));
    k.today = g_strdup(g_ascii_formatd(before, sizeof before, "%.4g", today));
    k.from = source_of(model);
    const char *above = value <= 1 ? NULL : "above 1: is the nominal rate right?";
    k.refused = refusal(model, k.error_frac, fault != NULL ? fault : above);
    g_array_append_val(fit->keys, k);
}

void
calibrate_fit_key_time(CalibrateFit *fit, const char *section, const char *key, double ns,
                       double error_ns, gint64 today_ns, const CalibrateModel *model)
{
    CalibrateKey k = {.section = section, .key = key, .error_frac = error_ns / ns};
    k.text = units_format(UNITS_TIME, units_round_up_ns(ns), 3);
    k.today = units_format(UNITS_TIME, today_ns, 4);
    k.from = source_of(model);
    k.refused = refusal(model, k.error_frac, NULL);
    g_array_append_val(fit->keys, k);
}

/* --- the whole ---------------------------------------------------------------------------------- */

typedef gboolean (*FitTable)(CalibrateFit *fit, const ClusterSystem *system, const ConfTable *table,
                             GError **error);

static const FitTable fit_tables[CLUSTER_N_TABLES] = {
    [CLUSTER_TABLE_GEMM] = calibrate_fit_gemm,
    [CLUSTER_TABLE_ATTENTION] = calibrate_fit_attention,
    [CLUSTER_TABLE_MEMORY] = calibrate_fit_memory,
    [CLUSTER_TABLE_OVERLAP] = calibrate_fit_overlap,
    [CLUSTER_TABLE_COLLECTIVE] = calibrate_fit_collective,
};

/* FALSE without error: there is none; a note says so. */
static gboolean
fit_one(CalibrateFit *fit, const ClusterSystem *system, ClusterTable id, GError **error)
{
    char *why = NULL;
    g_autoptr(ConfTable) table = calibrate_own_table(system, id, &why, error);
    if (why != NULL)
        g_ptr_array_add(fit->notes, why);
    /* the first reads it as dtsim does, and complains as dtsim does */
    return table != NULL && calibrate_fit_hold_out(fit, system, id, table, error) &&
           fit_tables[id](fit, system, table, error);
}

CalibrateFit *
calibrate_fit(const ClusterSystem *system, guint folds, GError **error)
{
    g_assert(folds >= 2);
    g_autoptr(CalibrateFit) fit = fit_new(folds);
    guint n_tables = 0;
    for (guint id = 0; id < CLUSTER_N_TABLES; id++) {
        GError *bad = NULL;
        n_tables += fit_one(fit, system, (ClusterTable)id, &bad);
        if (bad != NULL) {
            g_propagate_error(error, bad);
            return NULL;
        }
    }
    if (n_tables == 0) {
        calibrate_complain_of_no_table(system, "to fit", error);
        return NULL;
    }
    return g_steal_pointer(&fit);
}
