/* The model of a published run: sizes from columns, kinds from the notes. */
#include "config.h"

#include "cli/measured_read.h"

#include <math.h>
#include <string.h>

gboolean
cli_measured_has(const char *text, const char *word)
{
    g_autofree char *lower = g_ascii_strdown(text, -1);
    return strstr(lower, word) != NULL;
}

/* Behind the key and what may stand between: quotes, colon, equals sign, spaces. NULL: no such key. */
static const char *
behind(const char *notes, const char *key)
{
    const char *at = strstr(notes, key);
    if (at == NULL)
        return NULL;
    at += strlen(key);
    return at + strspn(at, "\": =");
}

gint64
cli_measured_note(const char *notes, const char *key, gint64 fallback)
{
    const char *at = behind(notes, key);
    char *end = NULL;
    gint64 value = at != NULL ? g_ascii_strtoll(at, &end, 10) : 0;
    return at == NULL || end == at ? fallback : value;
}

double
cli_measured_decimal(const char *notes, const char *key, double fallback)
{
    const char *at = behind(notes, key);
    char *end = NULL;
    double value = at != NULL ? g_ascii_strtod(at, &end) : 0;
    return at == NULL || end == at || !isfinite(value) ? fallback : value;
}

gboolean
cli_measured_says(const char *notes, const char *key, const char *value)
{
    const char *at = behind(notes, key);
    return at != NULL && g_str_has_prefix(at, value);
}

const char *
cli_measured_shape_refusal(const CliMeasurements *m, guint row)
{
    const char *notes = cli_measurements_text(m, row, "arch_notes");
    static const struct {
        const char *word, *why;
    } shapes[] = {{"encoder", "not a decoder-only transformer"},
                  {"bidirectional", "not a decoder-only transformer"},
                  {"hybrid-layer", "layers of a state-space model are not supported"}};
    for (guint i = 0; i < G_N_ELEMENTS(shapes); i++)
        if (cli_measured_has(notes, shapes[i].word))
            return shapes[i].why;
    return NULL;
}

static gboolean
read_sizes(const CliMeasurements *m, guint row, LlmShape *s, GError **error)
{
    const struct {
        const char *column;
        gint64 *field;
        gint64 fallback;
    } sizes[] = {{"layers", &s->layers, 0},
                 {"hidden", &s->hidden, 0},
                 {"heads", &s->heads, 0},
                 {"seq_len", &s->max_positions, 0},
                 {"vocab", &s->vocab, 0},
                 {"ffn_hidden", &s->ffn, -1},
                 {"kv_heads", &s->kv_heads, -1},
                 {"head_dim", &s->head_dim, -1},
                 {"moe_experts", &s->experts, 0},
                 {"moe_topk", &s->experts_per_token, 0},
                 {"moe_ffn_hidden", &s->expert_ffn, -1},
                 {"moe_shared_ffn_hidden", &s->shared_ffn, 0},
                 {"moe_dense_layers", &s->dense_layers, 0}};
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

/* Megatron routes a token to two experts where nothing is said. */
static void
read_experts(const char *notes, LlmShape *s)
{
    if (s->experts == 0) {
        s->experts_per_token = s->expert_ffn = s->shared_ffn = s->dense_layers = 0;
        return;
    }
    if (s->experts_per_token == 0)
        s->experts_per_token = cli_measured_note(notes, "moe-router-topk", 2);
    if (s->expert_ffn < 0)
        s->expert_ffn = s->ffn;
    s->moe_every = 1;
    s->router_bias = cli_measured_says(notes, "moe-router-enable-expert-bias", "true");
}

/* Two spellings: of sizes in words, and of Megatron's options with Megatron's defaults. */
static void
read_latent(const char *notes, LlmShape *s)
{
    gboolean words = cli_measured_has(notes, "mla attention");
    if (!words && !cli_measured_says(notes, "multi-latent-attention", "true"))
        return;
    s->q_lora = cli_measured_note(notes, words ? "q_lora" : "q-lora-rank", 0);
    s->kv_lora = cli_measured_note(notes, words ? "kv_lora" : "kv-lora-rank", 512);
    s->qk_nope_dim = cli_measured_note(notes, words ? "qk_nope" : "qk-head-dim", 128);
    s->qk_rope_dim = cli_measured_note(notes, words ? "qk_rope" : "qk-pos-emb-head-dim", 64);
    s->v_dim = cli_measured_note(notes, words ? ", v" : "v-head-dim", 128);
    s->kv_heads = s->heads;
    s->head_dim = s->qk_nope_dim + s->qk_rope_dim;
    if (words && cli_measured_has(notes, "mtp maybe 1"))
        s->mtp_layers = 1;
}

static LlmPosition
position_of(const char *notes, gboolean gated)
{
    if (cli_measured_has(notes, "alibi"))
        return LLM_POSITION_ALIBI;
    if (cli_measured_says(notes, "position-embedding-type", "none"))
        return LLM_POSITION_NONE;
    return gated || cli_measured_has(notes, "rope") ? LLM_POSITION_ROPE : LLM_POSITION_LEARNED;
}

/* Gated shapes are Llama's kin, the others GPT-2's, where the notes say nothing else. */
LlmShape *
cli_measured_shape(const CliMeasurements *m, guint row, GError **error)
{
    const char *notes = cli_measurements_text(m, row, "arch_notes");
    g_autoptr(LlmShape) s = g_new0(LlmShape, 1);
    s->name = g_strdup(cli_measurements_text(m, row, "id"));
    s->family = g_strdup("gpt");
    if (!read_sizes(m, row, s, error))
        return NULL;
    s->gated = strcmp(cli_measurements_text(m, row, "gated_mlp"), "1") == 0;
    s->tied = strcmp(cli_measurements_text(m, row, "tied_emb"), "1") == 0;
    gboolean bias = !s->gated && !cli_measured_has(notes, "no_bias");
    s->qkv_bias = s->out_bias = s->mlp_bias = bias;
    s->final_norm = TRUE;
    s->dropout = bias;
    s->norm = s->gated || cli_measured_has(notes, "rmsnorm") ? LLM_NORM_RMS : LLM_NORM_LAYER;
    s->embedding_norm = cli_measured_has(notes, "embed-layernorm");
    s->qk_norm = cli_measured_says(notes, "qk-layernorm", "true");
    s->sliding_window = cli_measured_note(notes, "sliding window", 0);
    s->global_every = s->sliding_window > 0 ? 2 : 0;
    s->attention_sinks = cli_measured_has(notes, "sink softmax");
    s->position = position_of(notes, s->gated);
    s->position_rows = s->position == LLM_POSITION_LEARNED ? s->max_positions : 0;
    read_experts(notes, s);
    s->mtp_layers = cli_measured_note(notes, "mtp-num-layers", 0);
    read_latent(notes, s);
    return llm_shape_check(s, error) ? g_steal_pointer(&s) : NULL;
}
