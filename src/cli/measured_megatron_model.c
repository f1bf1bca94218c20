/* The model of a Megatron log. Words of notes are those that cli/measured_shape.c and cli/measured_plan.c look for; names of
 * arguments are those of megatron/training/arguments.py over its versions. */
#include "config.h"

#include "cli/measured_megatron_args.h"

#include <string.h>

const char *
cli_megatron_text(const CalibrateTraining *run, const char *name)
{
    return calibrate_training_argument(run, name);
}

gboolean
cli_megatron_is_true(const CalibrateTraining *run, const char *name)
{
    return strcmp(cli_megatron_text(run, name), "True") == 0;
}

gboolean
cli_megatron_is_false(const CalibrateTraining *run, const char *name)
{
    return strcmp(cli_megatron_text(run, name), "False") == 0;
}

/* Of the first of two names that has one; `otherwise` where neither has. */
gint64
cli_megatron_count(const CalibrateTraining *run, const char *name, const char *older,
                   gint64 otherwise)
{
    gint64 value;
    const char *const names[] = {name, older};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (names[i] != NULL && g_ascii_string_to_signed(cli_megatron_text(run, names[i]), 10, 0,
                                                         G_MAXINT32, &value, NULL))
            return value;
    return otherwise;
}

void
cli_megatron_add(GString *cell, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (cell->len > 0)
        g_string_append(cell, ", ");
    g_string_append_vprintf(cell, format, args);
    va_end(args);
}

gint64
cli_megatron_vocab_of(const CalibrateTraining *run)
{
    return run->vocab > 0 ? run->vocab
                          : cli_megatron_count(run, "vocab_size", "padded_vocab_size", 0);
}

gint64
cli_megatron_experts_of(const CalibrateTraining *run)
{
    gint64 one = cli_megatron_count(run, "num_experts", NULL, 0);
    const char *list =
        cli_megatron_text(run, "num_experts"); /* DeepSpeed's: "[1]" where there are none */
    if (*list == '[')
        one = g_ascii_strtoll(list + 1, NULL, 10);
    return one > 1 ? one : 0;
}

/* Versions that know of groups say 1 of them where there are none. */
gint64
cli_megatron_kv_heads_of(const CalibrateTraining *run)
{
    gint64 heads = cli_megatron_count(run, "num_attention_heads", NULL, 0);
    return cli_megatron_is_true(run, "group_query_attention")
               ? cli_megatron_count(run, "num_query_groups", NULL, heads)
           : cli_megatron_text(run, "num_key_value_heads")[0] != '\0'
               ? cli_megatron_count(run, "num_key_value_heads", NULL, heads)
               : heads;
}

/* "[0, 1, 1, 1]": leading layers without experts. */
gint64
cli_megatron_dense_layers_of(const CalibrateTraining *run)
{
    gint64 n = 0;
    for (const char *at = cli_megatron_text(run, "moe_layer_freq"); *at != '\0' && *at != '1'; at++)
        n += *at == '0';
    return n;
}

/* "2" and "[0, 1, 0, 1]"; a table of runs has only leading layers without experts. */
gboolean
cli_megatron_alternates(const CalibrateTraining *run)
{
    const char *first = strchr(cli_megatron_text(run, "moe_layer_freq"), '1');
    return cli_megatron_experts_of(run) > 0 &&
           (cli_megatron_count(run, "moe_layer_freq", NULL, 1) > 1 ||
            (first != NULL && strchr(first, '0') != NULL));
}

static void
fill_latent_notes(const CalibrateTraining *run, GString *cell)
{
    if (!cli_megatron_is_true(run, "multi_latent_attention"))
        return;
    static const char *const names[] = {"q-lora-rank", "kv-lora-rank", "qk-head-dim",
                                        "qk-pos-emb-head-dim", "v-head-dim"};
    cli_megatron_add(cell, "multi-latent-attention: true");
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *name = g_strdelimit(g_strdup(names[i]), "-", '_');
        gint64 value = cli_megatron_count(run, name, NULL, 0);
        if (value > 0)
            cli_megatron_add(cell, "%s: %" G_GINT64_FORMAT, names[i], value);
    }
}

static void
fill_expert_notes(const CalibrateTraining *run, GString *cell)
{
    if (cli_megatron_experts_of(run) == 0)
        return;
    const char *dispatcher = cli_megatron_text(run, "moe_token_dispatcher_type");
    if (*dispatcher != '\0')
        cli_megatron_add(cell, "transformer-impl: %s, moe-token-dispatcher-type: %s",
                         cli_megatron_text(run, "transformer_impl"), dispatcher);
    if (cli_megatron_is_true(run, "moe_router_enable_expert_bias"))
        cli_megatron_add(cell, "moe-router-enable-expert-bias: true");
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    double factor = g_ascii_strtod(cli_megatron_text(run, "moe_expert_capacity_factor"), NULL);
    if (factor > 0 && factor < 1e6)
        cli_megatron_add(cell, "moe-expert-capacity-factor: %s",
                         g_ascii_formatd(number, sizeof number, "%.9g", factor));
    if (cli_megatron_is_true(run, "moe_pad_expert_input_to_capacity"))
        cli_megatron_add(cell, "moe-pad-expert-input-to-capacity: true");
}

static void
fill_stage_notes(const CalibrateTraining *run, GString *cell)
{
    gint64 first = cli_megatron_count(run, "decoder_first_pipeline_num_layers", NULL, 0);
    gint64 last = cli_megatron_count(run, "decoder_last_pipeline_num_layers", NULL, 0);
    if (first > 0)
        cli_megatron_add(cell, "decoder-first-pipeline-num-layers: %" G_GINT64_FORMAT, first);
    if (last > 0)
        cli_megatron_add(cell, "decoder-last-pipeline-num-layers: %" G_GINT64_FORMAT, last);
    if (cli_megatron_is_true(run, "account_for_embedding_in_pipeline_split"))
        cli_megatron_add(cell, "account-for-embedding-in-pipeline-split: true");
    if (cli_megatron_is_true(run, "account_for_loss_in_pipeline_split"))
        cli_megatron_add(cell, "account-for-loss-in-pipeline-split: true");
    gint64 instances = cli_megatron_count(run, "num_distributed_optimizer_instances", NULL, 1);
    if (instances > 1)
        cli_megatron_add(cell, "num-distributed-optimizer-instances: %" G_GINT64_FORMAT, instances);
}

void
cli_megatron_notes(const CalibrateTraining *run, GString *cell)
{
    const char *position = cli_megatron_text(run, "position_embedding_type");
    if (g_str_has_suffix(position, "alibi"))
        cli_megatron_add(cell, "ALiBi");
    else if (strcmp(position, "none") == 0)
        cli_megatron_add(cell, "position-embedding-type: none");
    else if (g_str_has_suffix(position, "rope") || g_str_has_suffix(position, "rotary") ||
             cli_megatron_is_true(run, "use_rotary_position_embeddings"))
        cli_megatron_add(cell, "RoPE");
    if (strcmp(cli_megatron_text(run, "normalization"), "RMSNorm") == 0 ||
        strcmp(cli_megatron_text(run, "normalization"), "rmsnorm") == 0)
        cli_megatron_add(cell, "RMSNorm");
    if (cli_megatron_is_false(run, "add_bias_linear"))
        cli_megatron_add(cell, "no_bias");
    if (cli_megatron_is_true(run, "qk_layernorm"))
        cli_megatron_add(cell, "qk-layernorm: true");
    if (cli_megatron_is_true(run, "embed_layernorm"))
        cli_megatron_add(cell, "embed-layernorm");
    if (cli_megatron_is_false(run, "gradient_accumulation_fusion"))
        cli_megatron_add(cell, "no-gradient-accumulation-fusion: true");
    if (cli_megatron_is_true(run, "fp8_param_gather"))
        cli_megatron_add(cell, "fp8-param-gather: true");
    if (cli_megatron_is_true(run, "cross_entropy_loss_fusion"))
        cli_megatron_add(cell, "cross-entropy-fusion-impl: %s",
                         cli_megatron_text(run, "cross_entropy_fusion_impl"));
    gint64 predicted = cli_megatron_count(run, "mtp_num_layers", NULL, 0);
    if (predicted > 0)
        cli_megatron_add(cell, "mtp-num-layers: %" G_GINT64_FORMAT, predicted);
    fill_latent_notes(run, cell);
    fill_expert_notes(run, cell);
    fill_stage_notes(run, cell);
}

gint64
cli_megatron_head_dim_of(const CalibrateTraining *run)
{
    gint64 heads = cli_megatron_count(run, "num_attention_heads", NULL, 0);
    return cli_megatron_count(run, "kv_channels", NULL,
                              heads > 0 ? cli_megatron_count(run, "hidden_size", NULL, 0) / heads
                                        : 0);
}

/* BigScience's --glu-activation is geglu, liglu, reglu or swiglu, all of them gated. */
gint64
cli_megatron_is_gated(const CalibrateTraining *run)
{
    return cli_megatron_is_true(run, "swiglu") || cli_megatron_is_true(run, "quick_geglu") ||
           *cli_megatron_text(run, "glu_activation") != '\0';
}

gint64
cli_megatron_is_tied(const CalibrateTraining *run)
{
    return !cli_megatron_is_true(run, "untie_embeddings_and_output_weights");
}

gint64
cli_megatron_topk_of(const CalibrateTraining *run)
{
    return cli_megatron_experts_of(run) > 0 ? cli_megatron_count(run, "moe_router_topk", NULL, 2)
                                            : 0;
}

gint64
cli_megatron_shared_ffn_of(const CalibrateTraining *run)
{
    return cli_megatron_experts_of(run) > 0
               ? cli_megatron_count(run, "moe_shared_expert_intermediate_size", NULL, 0)
               : 0;
}
