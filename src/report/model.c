/* Transformer shapes as text, JSON, TSV. */
#include "config.h"

#include "report/model.h"

#include "report/json_number.h"
#include "report/number.h"
#include "report/table.h"

#include <string.h>

#define G "%" G_GINT64_FORMAT

void
report_model_members(JsonBuilder *b, const LlmShape *shape)
{
    LlmParameters p = llm_parameters(shape);
    report_json_text(b, "name", shape->name);
    report_json_int(b, "parameters", p.total);
    report_json_int(b, "active_parameters", p.active);
    report_json_int(b, "layers", shape->layers);
    report_json_int(b, "hidden", shape->hidden);
    report_json_int(b, "heads", shape->heads);
    report_json_int(b, "kv_heads", shape->kv_heads);
    report_json_int(b, "head_dim", shape->head_dim);
    report_json_int(b, "ffn", shape->ffn);
    report_json_int(b, "vocab", shape->vocab);
    report_json_bool(b, "tied", shape->tied);
    report_json_text(b, "family", shape->family);
}

static void
models_json(const GPtrArray *shapes, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    report_json_array(b, "models");
    for (guint i = 0; i < shapes->len; i++) {
        report_json_object(b, NULL);
        report_model_members(b, shapes->pdata[i]);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

static void
models_tsv(const GPtrArray *shapes, GString *out)
{
    g_string_append(out, "name\tparameters\tactive_parameters\tlayers\thidden\theads\tkv_heads\t"
                         "head_dim\tffn\tvocab\ttied\tfamily\n");
    for (guint i = 0; i < shapes->len; i++) {
        const LlmShape *m = shapes->pdata[i];
        LlmParameters p = llm_parameters(m);
        g_string_append_printf(
            out, "%s\t" G "\t" G "\t" G "\t" G "\t" G "\t" G "\t" G "\t" G "\t" G "\t%d\t%s\n",
            m->name, p.total, p.active, m->layers, m->hidden, m->heads, m->kv_heads, m->head_dim,
            m->ffn, m->vocab, m->tied ? 1 : 0, m->family);
    }
}

static void
models_text(const GPtrArray *shapes, GString *out)
{
    static const char *const heads[] = {"model", "parameters", "layers",     "hidden", "heads",
                                        "kv",    "ffn",        "vocabulary", "family", NULL};
    g_autoptr(ReportTable) table = report_table_new("lrrrrrrrl", heads);
    for (guint i = 0; i < shapes->len; i++) {
        const LlmShape *m = shapes->pdata[i];
        report_table_cell(table, "%s", m->name);
        report_table_cell(table, "%s", report_big((double)llm_parameters(m).total).text);
        report_table_cell(table, G, m->layers);
        report_table_cell(table, G, m->hidden);
        report_table_cell(table, G, m->heads);
        report_table_cell(table, G, m->kv_heads);
        report_table_cell(table, G "%s", m->ffn, m->gated ? " gated" : "");
        report_table_cell(table, G "%s", m->vocab, m->tied ? " tied" : "");
        report_table_cell(table, "%s", m->family);
    }
    report_table_print(table, 0, out);
}

void
report_models(const GPtrArray *shapes, const char *format, GString *out)
{
    if (strcmp(format, "json") == 0)
        models_json(shapes, out);
    else if (strcmp(format, "tsv") == 0)
        models_tsv(shapes, out);
    else
        models_text(shapes, out);
}
