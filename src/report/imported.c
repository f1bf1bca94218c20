/* Imports as text, JSON, TSV. */
#include "config.h"

#include "report/imported.h"

#include "report/json_number.h"
#include "report/profile.h"

#include <string.h>

static void
tables_text(const ReportImported *r, GString *out)
{
    for (guint id = 0; r->merged != NULL && id < CALIBRATE_N_TABLES; id++) {
        const CalibrateMerged *m = &r->merged[id];
        if (m->rows == 0)
            continue;
        g_string_append_printf(out, "%s/%s.tsv: %u row%s added", r->directory,
                               calibrate_table(id)->name, m->added, m->added == 1 ? "" : "s");
        if (m->replaced > 0)
            g_string_append_printf(out, ", %u replaced", m->replaced);
        if (m->kept > 0)
            g_string_append_printf(out, ", %u there already and kept (--replace takes the new)",
                                   m->kept);
        g_string_append_c(out, '\n');
    }
}

static void
left_out_text(const ReportImported *r, GString *out)
{
    const GArray *left_out = calibrate_rows_left_out(r->import->rows);
    for (guint i = 0; i < left_out->len; i++) {
        const CalibrateLeftOut *l = &g_array_index(left_out, CalibrateLeftOut, i);
        g_string_append_printf(out, "left out: %s (%u)\n", l->reason, l->n);
    }
}

static void
imported_text(const ReportImported *r, GString *out)
{
    for (guint i = 0; i < r->traces->len; i++) {
        if (i > 0)
            g_string_append_c(out, '\n');
        report_profile_text(r->traces->pdata[i], out);
    }
    if (r->directory == NULL)
        return;
    if (r->traces->len > 0)
        g_string_append_c(out, '\n');
    tables_text(r, out);
    left_out_text(r, out);
    for (guint i = 0; i < r->import->notes->len; i++)
        g_string_append_printf(out, "%s\n", (const char *)r->import->notes->pdata[i]);
}

static void
tables_json(JsonBuilder *b, const ReportImported *r)
{
    report_json_array(b, "tables");
    for (guint id = 0; r->merged != NULL && id < CALIBRATE_N_TABLES; id++) {
        const CalibrateMerged *m = &r->merged[id];
        if (m->rows == 0)
            continue;
        report_json_object(b, NULL);
        report_json_text(b, "table", calibrate_table(id)->name);
        report_json_int(b, "added", m->added);
        report_json_int(b, "replaced", m->replaced);
        report_json_int(b, "kept", m->kept);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
}

static void
imported_json(const ReportImported *r, GString *out)
{
    const GArray *left_out = calibrate_rows_left_out(r->import->rows);
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    report_json_array(b, "profiles");
    for (guint i = 0; i < r->traces->len; i++)
        report_profile_json(b, r->traces->pdata[i]);
    json_builder_end_array(b);
    report_json_text(b, "directory", r->directory);
    report_json_text(b, "gpu", r->import->gpu);
    tables_json(b, r);
    report_json_array(b, "left_out");
    for (guint i = 0; i < left_out->len; i++) {
        const CalibrateLeftOut *l = &g_array_index(left_out, CalibrateLeftOut, i);
        report_json_object(b, NULL);
        report_json_text(b, "reason", l->reason);
        report_json_int(b, "n", l->n);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    report_json_array(b, "notes");
    for (guint i = 0; i < r->import->notes->len; i++)
        json_builder_add_string_value(b, r->import->notes->pdata[i]);
    json_builder_end_array(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

static void
imported_tsv(const ReportImported *r, GString *out)
{
    if (r->traces->len > 0)
        g_string_append(out, report_profile_columns);
    else
        g_string_append(out, "table\tadded\treplaced\tkept\n");
    for (guint i = 0; i < r->traces->len; i++)
        report_profile_tsv(r->traces->pdata[i], out);
    for (guint id = 0; r->traces->len == 0 && r->merged != NULL && id < CALIBRATE_N_TABLES; id++) {
        const CalibrateMerged *m = &r->merged[id];
        if (m->rows > 0)
            g_string_append_printf(out, "%s\t%u\t%u\t%u\n", calibrate_table(id)->name, m->added,
                                   m->replaced, m->kept);
    }
}

void
report_imported(const ReportImported *r, const char *format, GString *out)
{
    if (strcmp(format, "json") == 0)
        imported_json(r, out);
    else if (strcmp(format, "tsv") == 0)
        imported_tsv(r, out);
    else
        imported_text(r, out);
}
