/* Transformer shapes as text, JSON, TSV. */
#include "config.h"

#include "report/model.h"

#include "report/json_number.h"
#include "report/number.h"
#include "report/table.h"

#include <string.h>

#define G "%" G_GINT64_FORMAT

static gint64
window_layers(const LlmShape *shape)
{
    if (shape->sliding_window == 0) {
        return 0;
    }
    gint64 global = shape->global_every > 0 ? shape->layers / shape->global_every : 0;
    return shape->layers - global;
}

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
    if (shape->experts > 0) {
        report_json_int(b, "experts", shape->experts);
        report_json_int(b, "experts_per_token", shape->experts_per_token);
        report_json_int(b, "expert_ffn", shape->expert_ffn);
        report_json_int(b, "shared_ffn", shape->shared_ffn);
        report_json_int(b, "moe_layers", llm_shape_moe_layers(shape));
    }
    if (shape->kv_lora > 0) {
        report_json_int(b, "q_lora", shape->q_lora);
        report_json_int(b, "kv_lora", shape->kv_lora);
        report_json_int(b, "v_dim", shape->v_dim);
    }
    if (shape->sliding_window > 0) {
        report_json_int(b, "window", shape->sliding_window);
        report_json_int(b, "window_layers", window_layers(shape));
    }
    if (shape->mtp_layers > 0) {
        report_json_int(b, "mtp_layers", shape->mtp_layers);
        report_json_int(b, "mtp_parameters", shape->mtp_layers * p.mtp);
    }
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
                         "head_dim\tffn\tvocab\ttied\tfamily\texperts\texperts_per_token\t"
                         "expert_ffn\tshared_ffn\tmoe_layers\tkv_lora\twindow\tmtp_layers\n");
    for (guint i = 0; i < shapes->len; i++) {
        const LlmShape *m = shapes->pdata[i];
        LlmParameters p = llm_parameters(m);
        g_string_append_printf(
            out, "%s\t" G "\t" G "\t" G "\t" G "\t" G "\t" G "\t" G "\t" G "\t" G "\t%d\t%s",
            m->name, p.total, p.active, m->layers, m->hidden, m->heads, m->kv_heads, m->head_dim,
            m->ffn, m->vocab, m->tied ? 1 : 0, m->family);
        g_string_append_printf(out, "\t" G "\t" G "\t" G "\t" G "\t" G "\t" G "\t" G "\t" G "\n",
                               m->experts, m->experts_per_token, m->expert_ffn, m->shared_ffn,
                               llm_shape_moe_layers(m), m->kv_lora, m->sliding_window,
                               m->mtp_layers);
    }
}

/* "64 x 1408, 6 a token, 2816 shared"; of a dense model nothing. */
static char *
experts_text(const LlmShape *m)
{
    g_autoptr(GString) text = g_string_new(NULL);
    if (m->experts > 0) {
        g_string_append_printf(text, G " x " G ", " G " a token", m->experts, m->expert_ffn,
                               m->experts_per_token);
    }
    if (m->shared_ffn > 0) {
        g_string_append_printf(text, ", " G " shared", m->shared_ffn);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
models_text(const GPtrArray *shapes, GString *out)
{
    static const char *const heads[] = {"model",      "parameters", "active",  "layers",
                                        "hidden",     "heads",      "kv",      "ffn",
                                        "vocabulary", "family",     "experts", NULL};
    g_autoptr(ReportTable) table = report_table_new("lrrrrrrrrll", heads);
    for (guint i = 0; i < shapes->len; i++) {
        const LlmShape *m = shapes->pdata[i];
        LlmParameters p = llm_parameters(m);
        gboolean has_dense = llm_shape_moe_layers(m) < m->layers;
        g_autofree char *ffn =
            has_dense ? g_strdup_printf(G "%s", m->ffn, m->gated ? " gated" : "") : g_strdup("-");
        g_autofree char *experts = experts_text(m);
        report_table_cell(table, "%s", m->name);
        report_table_cell(table, "%s", report_big((double)p.total).text);
        report_table_cell(table, "%s", report_big((double)p.active).text);
        report_table_cell(table, G, m->layers);
        report_table_cell(table, G, m->hidden);
        report_table_cell(table, G, m->heads);
        report_table_cell(table, G, m->kv_heads);
        report_table_cell(table, "%s", ffn);
        report_table_cell(table, G "%s", m->vocab, m->tied ? " tied" : "");
        report_table_cell(table, "%s", m->family);
        report_table_cell(table, "%s", experts);
    }
    report_table_print(table, 0, out);
}

/* What a table has no room for. */
static void
model_details(const LlmShape *m, GString *out)
{
    LlmParameters p = llm_parameters(m);
    g_string_append_printf(out, "parameters: %s", report_grouped((double)p.total).text);
    if (p.active != p.total) {
        g_string_append_printf(out, ", of which a token meets %s",
                               report_grouped((double)p.active).text);
    }
    g_string_append_c(out, '\n');
    if (m->experts > 0) {
        g_string_append_printf(out,
                               "experts: in " G " of " G
                               " layers; such a layer has %s parameters, " G " in its router\n",
                               llm_shape_moe_layers(m), m->layers,
                               report_big((double)p.moe_layer).text, p.router);
    }
    if (m->kv_lora > 0) {
        g_string_append_printf(out,
                               "latent attention: keys and values from " G ", queries from " G
                               "; heads " G " + " G " wide, values " G "\n",
                               m->kv_lora, m->q_lora > 0 ? m->q_lora : m->hidden, m->qk_nope_dim,
                               m->qk_rope_dim, m->v_dim);
    }
    if (m->sliding_window > 0) {
        g_string_append_printf(out, "%s: " G " tokens in " G " of " G " layers\n",
                               m->window_is_chunk ? "chunk" : "window", m->sliding_window,
                               window_layers(m), m->layers);
    }
    if (m->mtp_layers > 0) {
        g_string_append_printf(out,
                               "multi-token prediction: " G " module%s of %s parameters, not "
                               "counted above\n",
                               m->mtp_layers, m->mtp_layers > 1 ? "s" : "",
                               report_big((double)p.mtp).text);
    }
}

void
report_models(const GPtrArray *shapes, const char *format, GString *out)
{
    if (strcmp(format, "json") == 0)
        models_json(shapes, out);
    else if (strcmp(format, "tsv") == 0)
        models_tsv(shapes, out);
    else {
        models_text(shapes, out);
        if (shapes->len == 1)
            model_details(shapes->pdata[0], out);
    }
}
