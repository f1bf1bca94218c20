/* Fitted constants with their residuals, keys of system.conf, rows that were left out. */
#include "config.h"

#include "report/fitted.h"

#include "report/json_number.h"
#include "report/number.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

static const CalibrateModel *
model_at(const CalibrateFit *fit, guint i)
{
    return &g_array_index(fit->models, CalibrateModel, i);
}

/* --- text --------------------------------------------------------------------------------------- */

static ReportNumber
figure(double x)
{
    ReportNumber number = report_plain(x, 4);
    return number.text[0] != '\0' ? number : (ReportNumber){"-"};
}

/* Two digits of the error, never an exponent for what is large. */
static ReportNumber
spread(double x)
{
    ReportNumber number = x >= 10 ? report_fixed(x, 0) : report_plain(x, 2);
    return number.text[0] != '\0' ? number : (ReportNumber){"-"};
}

static void
name_constant(const CalibrateConstant *c, GString *out)
{
    g_string_assign(out, c->name);
    if (c->unit[0] != '\0')
        g_string_append_printf(out, ", %s", c->unit);
}

/* One line a constant; what holds for the whole line stands in its first. */
static void
add_model(ReportTable *table, const CalibrateModel *m)
{
    g_autoptr(GString) name = g_string_new(NULL);
    for (guint i = 0; i < m->n_constants; i++) {
        const CalibrateConstant *c = &m->constants[i];
        name_constant(c, name);
        report_table_cell(table, "%s", i == 0 ? m->of : "");
        report_table_cell(table, "%s", name->str);
        report_table_cell(table, "%s", figure(c->value).text);
        report_table_cell(table, "%s", spread(c->error).text);
        report_table_cell(table, "%s", figure(c->today).text);
        if (i > 0) {
            for (guint cell = 0; cell < 5; cell++)
                report_table_cell(table, "%s", "");
            continue;
        }
        report_table_cell(table, "%u", m->n_rows);
        report_table_cell(table, "%u", m->n_rows - m->n_used);
        report_table_cell(table, "%s", report_percent(m->residual.median).text);
        report_table_cell(table, "%s", report_percent(m->residual.p90).text);
        report_table_cell(table, "%s", report_percent(m->left_out.median).text);
    }
}

/* The models from `first` on that are of one table and formula; gives the next. */
static guint
models_text(const CalibrateFit *fit, guint first, GString *out)
{
    static const char *const heads[] = {"of",    "constant", "value",    "+-",
                                        "today", "rows",     "outliers", "median",
                                        "p90",   "left out", NULL};
    const CalibrateModel *head = model_at(fit, first);
    g_string_append_printf(out, "\n%s.tsv: %s\n", cluster_table_name(head->table), head->formula);
    g_autoptr(ReportTable) table = report_table_new("llrrrrrrrr", heads);
    guint i = first;
    for (; i < fit->models->len; i++) {
        const CalibrateModel *m = model_at(fit, i);
        if (m->table != head->table || strcmp(m->formula, head->formula) != 0)
            break;
        add_model(table, m);
    }
    report_table_print(table, 2, out);
    return i;
}

static void
keys_text(const CalibrateFit *fit, GString *out)
{
    static const char *const heads[] = {"key", "fitted", "+-", "today", "from", "", NULL};
    if (fit->keys->len == 0)
        return;
    g_string_append(out, "\nkeys of system.conf\n");
    g_autoptr(ReportTable) table = report_table_new("lrrrll", heads);
    for (guint i = 0; i < fit->keys->len; i++) {
        const CalibrateKey *k = &g_array_index(fit->keys, CalibrateKey, i);
        report_table_cell(table, "%s.%s", k->section, k->key);
        report_table_cell(table, "%s", k->text);
        report_table_cell(table, "%s", report_percent(k->error_frac).text);
        report_table_cell(table, "%s", k->today);
        report_table_cell(table, "%s", k->from);
        report_table_cell(table, "%s%s", k->refused != NULL ? "not taken: " : "",
                          k->refused != NULL ? k->refused : "");
    }
    report_table_print(table, 2, out);
}

static void
held_out_text(const CalibrateFit *fit, GString *out)
{
    static const char *const heads[] = {"table", "of", "rows", "median", "p90", NULL};
    if (fit->held_out->len == 0)
        return;
    if (fit->folds == 2)
        g_string_append(out, "\nwith half of its rows dtsim predicts the other half\n");
    else
        g_string_append_printf(out, "\nwith %u of %u parts of its rows dtsim predicts the other\n",
                               fit->folds - 1, fit->folds);
    g_autoptr(ReportTable) table = report_table_new("llrrr", heads);
    for (guint i = 0; i < fit->held_out->len; i++) {
        const CalibrateHeldOut *h = &g_array_index(fit->held_out, CalibrateHeldOut, i);
        report_table_cell(table, "%s.tsv", cluster_table_name(h->table));
        report_table_cell(table, "%s", h->of);
        report_table_cell(table, "%u", h->residual.n);
        report_table_cell(table, "%s", report_percent(h->residual.median).text);
        report_table_cell(table, "%s", report_percent(h->residual.p90).text);
    }
    report_table_print(table, 2, out);
}

static void
fitted_text(const ReportFitted *r, GString *out)
{
    const CalibrateFit *fit = r->fit;
    g_string_append_printf(
        out,
        "%s: constants of the models, fitted to its tables\n"
        "value +- one standard error; today: in system.conf or in the model; median and p90 of\n"
        "|model / measured - 1| over all rows; left out: the median over rows that were not fitted\n",
        r->system);
    for (guint i = 0; i < fit->models->len;)
        i = models_text(fit, i, out);
    held_out_text(fit, out);
    keys_text(fit, out);
    if (fit->notes->len > 0)
        g_string_append_c(out, '\n');
    for (guint i = 0; i < fit->notes->len; i++)
        g_string_append_printf(out, "%s\n", (const char *)fit->notes->pdata[i]);
    if (r->written != NULL)
        g_string_append_printf(out, "%s%s: %u key%s written\n", fit->notes->len > 0 ? "" : "\n",
                               r->written, r->n_written, r->n_written == 1 ? "" : "s");
}

/* --- JSON --------------------------------------------------------------------------------------- */

static void
residuals_json(JsonBuilder *b, const char *key, const CalibrateResiduals *residuals)
{
    report_json_object(b, key);
    report_json_double(b, "median", residuals->median);
    report_json_double(b, "p90", residuals->p90);
    json_builder_end_object(b);
}

static void
model_json(JsonBuilder *b, const CalibrateModel *m)
{
    report_json_object(b, NULL);
    report_json_text(b, "table", cluster_table_name(m->table));
    report_json_text(b, "of", m->of);
    report_json_text(b, "formula", m->formula);
    report_json_int(b, "rows", m->n_rows);
    report_json_int(b, "outliers", m->n_rows - m->n_used);
    residuals_json(b, "residual", &m->residual);
    residuals_json(b, "left_out", &m->left_out);
    report_json_array(b, "constants");
    for (guint i = 0; i < m->n_constants; i++) {
        const CalibrateConstant *c = &m->constants[i];
        report_json_object(b, NULL);
        report_json_text(b, "name", c->name);
        report_json_text(b, "unit", c->unit);
        report_json_double(b, "value", c->value);
        report_json_double(b, "error", c->error);
        report_json_double(b, "today", c->today);
        report_json_text(b, "key", c->key);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    json_builder_end_object(b);
}

static void
keys_json(JsonBuilder *b, const CalibrateFit *fit)
{
    report_json_array(b, "keys");
    for (guint i = 0; i < fit->keys->len; i++) {
        const CalibrateKey *k = &g_array_index(fit->keys, CalibrateKey, i);
        g_autofree char *name = g_strconcat(k->section, ".", k->key, NULL);
        report_json_object(b, NULL);
        report_json_text(b, "key", name);
        report_json_text(b, "fitted", k->text);
        report_json_double(b, "error_frac", k->error_frac);
        report_json_text(b, "today", k->today);
        report_json_text(b, "from", k->from);
        report_json_text(b, "refused", k->refused);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
}

static void
fitted_json(const ReportFitted *r, GString *out)
{
    const CalibrateFit *fit = r->fit;
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    report_json_text(b, "system", r->system);
    report_json_int(b, "folds", fit->folds);
    report_json_array(b, "models");
    for (guint i = 0; i < fit->models->len; i++)
        model_json(b, model_at(fit, i));
    json_builder_end_array(b);
    report_json_array(b, "held_out");
    for (guint i = 0; i < fit->held_out->len; i++) {
        const CalibrateHeldOut *h = &g_array_index(fit->held_out, CalibrateHeldOut, i);
        report_json_object(b, NULL);
        report_json_text(b, "table", cluster_table_name(h->table));
        report_json_text(b, "of", h->of);
        report_json_int(b, "rows", h->residual.n);
        residuals_json(b, "residual", &h->residual);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    keys_json(b, fit);
    report_json_array(b, "notes");
    for (guint i = 0; i < fit->notes->len; i++)
        json_builder_add_string_value(b, fit->notes->pdata[i]);
    json_builder_end_array(b);
    report_json_text(b, "written", r->written);
    json_builder_end_object(b);
    report_json_print(b, out);
}

/* --- TSV ---------------------------------------------------------------------------------------- */

/* One row a constant. */
static void
fitted_tsv(const ReportFitted *r, GString *out)
{
    g_string_append(out, "table\tof\tconstant\tunit\tvalue\terror\ttoday\tkey\trows\toutliers\t"
                         "median_frac\tp90_frac\tleft_out_median_frac\tleft_out_p90_frac\n");
    for (guint i = 0; i < r->fit->models->len; i++) {
        const CalibrateModel *m = model_at(r->fit, i);
        for (guint j = 0; j < m->n_constants; j++) {
            const CalibrateConstant *c = &m->constants[j];
            g_string_append_printf(
                out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%u\t%u\t%s\t%s\t%s\t%s\n",
                cluster_table_name(m->table), m->of, c->name, c->unit,
                report_plain(c->value, 6).text, report_plain(c->error, 3).text,
                report_plain(c->today, 6).text, c->key != NULL ? c->key : "", m->n_rows,
                m->n_rows - m->n_used, report_plain(m->residual.median, 4).text,
                report_plain(m->residual.p90, 4).text, report_plain(m->left_out.median, 4).text,
                report_plain(m->left_out.p90, 4).text);
        }
    }
}

void
report_fitted(const ReportFitted *r, const char *format, GString *out)
{
    if (strcmp(format, "json") == 0)
        fitted_json(r, out);
    else if (strcmp(format, "tsv") == 0)
        fitted_tsv(r, out);
    else
        fitted_text(r, out);
}
