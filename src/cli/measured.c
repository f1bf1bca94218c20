/* A row of measured runs as shape and plan. */
#include "config.h"

#include "cli/measured.h"

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

static gboolean
has(const char *text, const char *word)
{
    g_autofree char *lower = g_ascii_strdown(text, -1);
    return strstr(lower, word) != NULL;
}

/* What the simulator has no model of; NULL when it has. */
static const char *
refusal(const CliMeasurements *m, guint row)
{
    const char *notes = cli_measurements_text(m, row, "arch_notes");
    const char *zero = cli_measurements_text(m, row, "zero_stage");
    const char *precision = cli_measurements_text(m, row, "precision");
    static const struct {
        const char *word, *why;
    } shapes[] = {{"encoder", "not a decoder-only transformer"},
                  {"bidirectional", "not a decoder-only transformer"},
                  {"mla attention", "latent attention is not supported yet"},
                  {"multi-latent", "latent attention is not supported yet"},
                  {"hybrid-layer", "hybrid layers are not supported yet"},
                  {"sliding window", "alternating windows are not supported yet"},
                  {"fp8-param-gather", "fp8 weights are not supported yet"}};
    if (cli_measurements_text(m, row, "dup_of")[0] != '\0')
        return "repeats another row";
    if (cli_measurements_text(m, row, "moe_experts")[0] != '\0')
        return "mixture of experts is not supported yet";
    for (guint i = 0; i < G_N_ELEMENTS(shapes); i++)
        if (has(notes, shapes[i].word))
            return shapes[i].why;
    if (zero[0] != '\0' && zero[0] != '0' && zero[0] != '1')
        return "sharding beyond ZeRO 1 is not supported yet";
    if (has(precision, "mxfp8") || has(precision, "nvfp4") || has(precision, "fp8"))
        return "8-bit and 4-bit training is not supported yet";
    if (has(cli_measurements_text(m, row, "optimizer"), "none"))
        return "no optimizer step";
    if (has(cli_measurements_text(m, row, "framework"), "fsdp"))
        return "FSDP is not supported yet";
    return NULL;
}

static gboolean
read_sizes(const CliMeasurements *m, guint row, LlmShape *s, GError **error)
{
    const struct {
        const char *column;
        gint64 *field;
        gint64 fallback;
    } sizes[] = {{"layers", &s->layers, 0},      {"hidden", &s->hidden, 0},
                 {"heads", &s->heads, 0},        {"seq_len", &s->max_positions, 0},
                 {"vocab", &s->vocab, 0},        {"ffn_hidden", &s->ffn, -1},
                 {"kv_heads", &s->kv_heads, -1}, {"head_dim", &s->head_dim, -1}};
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
        if (!cli_measurements_int(m, row, sizes[i].column, sizes[i].fallback, sizes[i].field,
                                  error))
            return FALSE;
    if (s->ffn < 0)
        s->ffn = 4 * s->hidden;
    if (s->kv_heads < 0)
        s->kv_heads = s->heads;
    if (s->head_dim < 0)
        s->head_dim = s->heads > 0 ? s->hidden / s->heads : 0;
    return TRUE;
}

/* Gated shapes are Llama's kin, the others GPT-2's, where the notes say nothing else. */
static LlmShape *
read_shape(const CliMeasurements *m, guint row, GError **error)
{
    const char *notes = cli_measurements_text(m, row, "arch_notes");
    g_autoptr(LlmShape) s = g_new0(LlmShape, 1);
    s->name = g_strdup(cli_measurements_text(m, row, "id"));
    s->family = g_strdup("gpt");
    if (!read_sizes(m, row, s, error))
        return NULL;
    s->gated = strcmp(cli_measurements_text(m, row, "gated_mlp"), "1") == 0;
    s->tied = strcmp(cli_measurements_text(m, row, "tied_emb"), "1") == 0;
    gboolean bias = !s->gated && !has(notes, "no_bias");
    s->qkv_bias = s->out_bias = s->mlp_bias = bias;
    s->final_norm = TRUE;
    s->dropout = bias;
    s->norm = s->gated || has(notes, "rmsnorm") ? LLM_NORM_RMS : LLM_NORM_LAYER;
    s->embedding_norm = has(notes, "embed-layernorm");
    s->position = has(notes, "alibi")              ? LLM_POSITION_ALIBI
                  : s->gated || has(notes, "rope") ? LLM_POSITION_ROPE
                                                   : LLM_POSITION_LEARNED;
    s->position_rows = s->position == LLM_POSITION_LEARNED ? s->max_positions : 0;
    return llm_shape_check(s, error) ? g_steal_pointer(&s) : NULL;
}

static gboolean
read_degrees(const CliMeasurements *m, guint row, PlanSpec *p, GError **error)
{
    const struct {
        const char *column;
        gint64 *field;
        gint64 fallback;
    } counts[] = {{"tp", &p->tp, 1},
                  {"pp", &p->pp, 1},
                  {"dp", &p->dp, 1},
                  {"cp", &p->cp, 1},
                  {"ep", &p->ep, 1},
                  {"vpp", &p->vpp, 1},
                  {"gpus", &p->gpus, 0},
                  {"seq_len", &p->seq, 0},
                  {"micro_batch", &p->micro_batch, 1},
                  {"global_batch", &p->global_batch, 0}};
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
        if (!cli_measurements_int(m, row, counts[i].column, counts[i].fallback, counts[i].field,
                                  error))
            return FALSE;
    return TRUE;
}

/* Framework habits: Megatron accumulates gradients in fp32 under bf16 and in fp16 under fp16; overlap only
 * where the row says so; DeepSpeed's engine where the framework is built on it. */
static gboolean
read_plan(const CliMeasurements *m, guint row, PlanSpec *p, GError **error)
{
    const char *precision = cli_measurements_text(m, row, "precision");
    const char *overlap = cli_measurements_text(m, row, "overlap");
    const char *optimizer = cli_measurements_text(m, row, "optimizer");
    const char *recompute = cli_measurements_text(m, row, "recompute");
    *p = plan_spec_default();
    if (!read_degrees(m, row, p, error))
        return FALSE;
    p->sequence_parallel = strcmp(cli_measurements_text(m, row, "sp"), "1") == 0;
    p->zero = cli_measurements_text(m, row, "zero_stage")[0] == '1';
    p->attention = strcmp(cli_measurements_text(m, row, "flash_attn"), "1") == 0
                       ? LLM_ATTENTION_FLASH
                       : LLM_ATTENTION_UNFUSED;
    p->recompute = g_str_has_prefix(recompute, "full")        ? LLM_RECOMPUTE_FULL
                   : g_str_has_prefix(recompute, "selective") ? LLM_RECOMPUTE_SELECTIVE
                                                              : LLM_RECOMPUTE_NONE;
    p->dtype = g_str_has_prefix(precision, "fp16")   ? CLUSTER_FP16
               : g_str_has_prefix(precision, "fp32") ? CLUSTER_FP32
                                                     : CLUSTER_BF16;
    p->gradient_fp32 = p->dtype != CLUSTER_FP16 && !has(optimizer, "grad reduce bf16");
    gboolean none = has(overlap, "none") || has(overlap, "no overlap") || overlap[0] == '\0';
    p->overlap_grad_reduce =
        !none && (has(overlap, "grad") || has(overlap, "ddp") || has(overlap, "dp"));
    p->overlap_param_gather = p->overlap_grad_reduce && p->zero == 1 && has(overlap, "param");
    p->scatter_gather = has(overlap, "scatter-gather");
    p->deepspeed_pipeline =
        has(cli_measurements_text(m, row, "framework"), "deepspeed") && p->pp > 1;
    p->gradient_fusion = !has(cli_measurements_text(m, row, "framework"), "deepspeed");
    p->schedule = p->vpp > 1 ? "interleaved" : "1f1b";
    return TRUE;
}

static gboolean
read_results(const CliMeasurements *m, guint row, CliMeasured *r, GError **error)
{
    const char *use = cli_measurements_text(m, row, "use_for");
    r->id = cli_measurements_text(m, row, "id");
    r->source = cli_measurements_text(m, row, "source");
    r->measured_oom = strcmp(use, "oom") == 0;
    const char *kind = cli_measurements_text(m, row, "mem_kind");
    r->memory_allocated = has(kind, "allocat") || has(kind, "reserved");
    r->memory_last_stage = has(kind, "last rank");
    double any;
    if (!number_or_nan(m, row, "iter_s_any", &any, error) ||
        !number_or_nan(m, row, "measured_iter_s", &r->measured_s, error) ||
        !number_or_nan(m, row, "measured_peak_mem_GB", &r->measured_gb, error))
        return FALSE;
    if (!isnan(any))
        r->measured_s = any;
    if (use[0] != '\0' && !has(use, "time"))
        r->measured_s = NAN;
    return TRUE;
}

gboolean
cli_measured_read(const CliMeasurements *m, guint row, CliMeasured *ret_measured, GError **error)
{
    CliMeasured r = {0};
    gint64 gpus_per_node;
    if (!read_results(m, row, &r, error) ||
        !cli_measurements_int(m, row, "gpus_per_node", 8, &gpus_per_node, error))
        return FALSE;
    const char *why = refusal(m, row);
    r.overrides = g_ptr_array_new_with_free_func(g_free);
    r.skipped = why != NULL ? g_strdup(why)
                : isnan(r.measured_s) && isnan(r.measured_gb) && !r.measured_oom
                    ? g_strdup("nothing measured")
                    : cli_measured_hardware(
                          cli_measurements_text(m, row, "gpu"), MAX(gpus_per_node, 1),
                          cli_measurements_text(m, row, "inter_net"), &r.system, r.overrides);
    /* BigScience's job script says "do not remove or the training will hang" of this workaround
     * (bigscience train/tr11-176B-ml/tr11-176B-ml.slurm: CUDA_LAUNCH_BLOCKING=1). */
    if (r.skipped == NULL && has(cli_measurements_text(m, row, "framework"), "bigscience"))
        g_ptr_array_add(r.overrides, g_strdup("host.launch-blocking=yes"));
    g_ptr_array_add(r.overrides, NULL);
    if (r.skipped == NULL) {
        g_autoptr(GError) shape_error = NULL;
        r.shape = read_shape(m, row, &shape_error);
        if (r.shape == NULL && shape_error->domain == LLM_ERROR)
            r.skipped = g_strdup(shape_error->message);
        else if (r.shape == NULL)
            g_propagate_error(error, g_steal_pointer(&shape_error));
        if (r.skipped == NULL && (r.shape == NULL || !read_plan(m, row, &r.spec, error))) {
            cli_measured_clear(&r);
            return FALSE;
        }
    }
    *ret_measured = r;
    return TRUE;
}

void
cli_measured_clear(CliMeasured *r)
{
    g_free(r->skipped);
    g_free(r->system);
    g_clear_pointer(&r->overrides, g_ptr_array_unref);
    llm_shape_free(r->shape);
}
