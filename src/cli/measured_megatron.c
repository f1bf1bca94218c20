/* Megatron's arguments as columns of a table of measured runs. */
#include "config.h"

#include "cli/measured_megatron.h"

#include "cli/command.h"
#include "cli/measured_megatron_args.h"

#include <string.h>

/* One of: an argument by name (and an older name) with what stands for it where it is missing, -1: it must be there; a
 * number; a text. Without any it is filled elsewhere. */
static const struct {
    const char *column, *name, *older;
    gint64 otherwise;
    gint64 (*number)(const CalibrateTraining *run);
    void (*fill)(const CalibrateTraining *run, GString *cell);
} columns[] = {
    {"source", NULL, NULL, 0, NULL, NULL},
    {"id", NULL, NULL, 0, NULL, NULL},
    {"layers", "num_layers", "encoder_num_layers", -1, NULL, NULL},
    {"hidden", "hidden_size", NULL, -1, NULL, NULL},
    {"ffn_hidden", "ffn_hidden_size", NULL, -1, NULL, NULL},
    {"heads", "num_attention_heads", NULL, -1, NULL, NULL},
    {"kv_heads", NULL, NULL, 0, cli_megatron_kv_heads_of, NULL},
    {"head_dim", NULL, NULL, 0, cli_megatron_head_dim_of, NULL},
    {"vocab", NULL, NULL, 0, cli_megatron_vocab_of, NULL},
    {"seq_len", "seq_length", "encoder_seq_length", -1, NULL, NULL},
    {"gated_mlp", NULL, NULL, 0, cli_megatron_is_gated, NULL},
    {"tied_emb", NULL, NULL, 0, cli_megatron_is_tied, NULL},
    {"moe_experts", NULL, NULL, 0, cli_megatron_experts_of, NULL},
    {"moe_topk", NULL, NULL, 0, cli_megatron_topk_of, NULL},
    {"moe_ffn_hidden", "moe_ffn_hidden_size", "ffn_hidden_size", 0, NULL, NULL},
    {"moe_shared_ffn_hidden", NULL, NULL, 0, cli_megatron_shared_ffn_of, NULL},
    {"moe_dense_layers", NULL, NULL, 0, cli_megatron_dense_layers_of, NULL},
    {"arch_notes", NULL, NULL, 0, NULL, cli_megatron_notes},
    {"gpu", NULL, NULL, 0, NULL, NULL},
    {"gpus", "world_size", NULL, -1, NULL, NULL},
    {"gpus_per_node", NULL, NULL, 0, NULL, NULL},
    {"inter_net", NULL, NULL, 0, NULL, NULL},
    {"framework", NULL, NULL, 0, NULL, cli_megatron_framework},
    {"tp", "tensor_model_parallel_size", NULL, -1, NULL, NULL},
    {"pp", "pipeline_model_parallel_size", NULL, -1, NULL, NULL},
    {"vpp", NULL, NULL, 0, cli_megatron_virtual_stages_of, NULL},
    {"dp", "data_parallel_size", NULL, -1, NULL, NULL},
    {"cp", "context_parallel_size", NULL, 1, NULL, NULL},
    {"ep", "expert_model_parallel_size", "moe_expert_parallel_size", 1, NULL, NULL},
    {"etp", "expert_tensor_parallel_size", NULL, 0, NULL, NULL},
    {"sp", NULL, NULL, 0, cli_megatron_is_sequence_parallel, NULL},
    {"zero_stage", NULL, NULL, 0, NULL, cli_megatron_zero},
    {"micro_batch", "micro_batch_size", NULL, -1, NULL, NULL},
    {"global_batch", "global_batch_size", NULL, -1, NULL, NULL},
    {"precision", NULL, NULL, 0, NULL, cli_megatron_precision},
    {"flash_attn", NULL, NULL, 0, cli_megatron_uses_flash, NULL},
    {"recompute", NULL, NULL, 0, NULL, cli_megatron_recompute},
    {"recompute_detail", NULL, NULL, 0, NULL, cli_megatron_recompute_detail},
    {"optimizer", NULL, NULL, 0, NULL, cli_megatron_optimizer},
    {"overlap", NULL, NULL, 0, NULL, cli_megatron_overlap},
    {"schedule", NULL, NULL, 0, NULL, cli_megatron_schedule},
    {"measured_peak_mem_GB", NULL, NULL, 0, NULL, NULL},
    {"mem_kind", NULL, NULL, 0, NULL, NULL},
    {"iter_s_any", NULL, NULL, 0, NULL, NULL},
    {"iter_s_how", NULL, NULL, 0, NULL, NULL},
    {"use_for", NULL, NULL, 0, NULL, NULL},
};

guint
cli_megatron_n_columns(void)
{
    return G_N_ELEMENTS(columns);
}

const char *
cli_megatron_column(guint index)
{
    g_assert(index < G_N_ELEMENTS(columns));
    return columns[index].column;
}

static void
set(char **cells, const char *column, char *value)
{
    for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
        if (strcmp(columns[i].column, column) != 0)
            continue;
        g_free(cells[i]);
        cells[i] = value;
        return;
    }
    g_assert_not_reached();
}

/* What a table of runs has no words for. */
static gboolean
check(const char *name, const CalibrateTraining *run, GError **error)
{
    const char *why = NULL, *unusual = cli_megatron_unusual(run);
    if (run->line == 0)
        why =
            "has no dump of arguments ('tensor_model_parallel_size ...... 4'), so its plan is not "
            "known; leave -o out, or write a log from its start";
    else if (cli_megatron_vocab_of(run) == 0)
        why = "does not say its vocabulary; a log has it as 'padded vocab (size: 50257)' or as the "
              "argument padded_vocab_size";
    else if (cli_megatron_experts_of(run) > 0 && cli_megatron_uses_deepspeed(run))
        why = "has DeepSpeed's experts, for which tables of runs have no column; leave -o out";
    else if (cli_megatron_alternates(run))
        why = "has experts in some layers only, for which tables of runs have no column; leave -o "
              "out";
    if (why != NULL)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: %s", name, why);
    else if (unusual != NULL)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s:%u: says %s %.40s, for which tables of runs have no column; leave -o out",
                    name, run->line, unusual, cli_megatron_text(run, unusual));
    return why == NULL && unusual == NULL;
}

static gboolean
fill_cell(const char *name, const CalibrateTraining *run, guint i, GString *cell, GError **error)
{
    if (columns[i].fill != NULL)
        columns[i].fill(run, cell);
    else if (columns[i].number != NULL)
        g_string_append_printf(cell, "%" G_GINT64_FORMAT, columns[i].number(run));
    if (columns[i].name == NULL)
        return TRUE;
    gint64 value = cli_megatron_count(run, columns[i].name, columns[i].older, columns[i].otherwise);
    if (value < 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s:%u: the dump of arguments has no number at '%s'; is the log whole?", name,
                    run->line, columns[i].name);
        return FALSE;
    }
    g_string_append_printf(cell, "%" G_GINT64_FORMAT, value);
    return TRUE;
}

char **
cli_megatron_cells(const char *name, const CalibrateTraining *run, const CliMegatronWish *wish,
                   GError **error)
{
    if (!check(name, run, error))
        return NULL;
    g_auto(GStrv) cells = g_new0(char *, G_N_ELEMENTS(columns) + 1);
    for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
        g_autoptr(GString) cell = g_string_new(NULL);
        if (!fill_cell(name, run, i, cell, error))
            return NULL;
        cells[i] = g_strdup(cell->str);
    }
    set(cells, "source", g_strdup("megatron-log"));
    set(cells, "id", g_strdup(wish->id));
    set(cells, "gpu", g_strdup(wish->gpu));
    if (wish->gpus_per_node > 0)
        set(cells, "gpus_per_node", g_strdup_printf("%" G_GINT64_FORMAT, wish->gpus_per_node));
    return g_steal_pointer(&cells);
}

/* Memory counts where every rank of the model has said it. */
void
cli_megatron_measure(char **cells, const CalibrateTraining *run, const CalibrateSteady *steady)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    gint64 ranks = cli_megatron_count(run, "tensor_model_parallel_size", NULL, 1) *
                   cli_megatron_count(run, "pipeline_model_parallel_size", NULL, 1);
    gboolean memory = run->reserved_bytes > 0 && g_hash_table_size(run->ranks) >= ranks;
    if (steady->global_batch > 0)
        set(cells, "global_batch", g_strdup_printf("%" G_GINT64_FORMAT, steady->global_batch));
    g_ascii_formatd(number, sizeof number, "%.6g", steady->s);
    set(cells, "iter_s_any", g_strdup(number));
    set(cells, "iter_s_how", g_strdup("median of steady iterations"));
    set(cells, "use_for", g_strdup(memory ? "time+memory" : "time"));
    if (!memory)
        return;
    g_ascii_formatd(number, sizeof number, "%.4g", run->reserved_bytes / 1e9);
    set(cells, "measured_peak_mem_GB", g_strdup(number));
    set(cells, "mem_kind", g_strdup("torch max reserved of the fullest rank"));
}
