/* A published measured run: one row of a table, as shape, system and plan.
 *
 * Columns that must be there: id gpu gpus layers hidden heads seq_len vocab tp pp dp micro_batch global_batch.
 * Others are read when there: source ffn_hidden kv_heads head_dim gated_mlp tied_emb arch_notes moe_experts
 * moe_topk moe_ffn_hidden moe_shared_ffn_hidden moe_dense_layers gpus_per_node inter_net framework vpp cp ep etp
 * sp zero_stage precision flash_attn recompute recompute_detail optimizer overlap schedule iter_s_any
 * measured_iter_s measured_peak_mem_GB mem_kind use_for dup_of notes. */
#pragma once

#include "conf/table.h"
#include "plan/plan.h"

typedef struct {
    const ConfTable *table; /* borrowed */
    GHashTable *columns;    /* look-up only: name -> index + 1 */
} CliMeasurements;

/* Refuses a table that lacks a column. Borrows `table`. */
gboolean cli_measurements_init(CliMeasurements *m, const ConfTable *table, GError **error);
void cli_measurements_clear(CliMeasurements *m);

/* What the measured bytes count: torch's tensors; the blocks that torch's allocator has reserved; or all of
 * the process, context and communication libraries too. And where. */
typedef enum { CLI_MEMORY_PROCESS, CLI_MEMORY_RESERVED, CLI_MEMORY_ALLOCATED } CliMemoryKind;
typedef enum { CLI_STAGE_FULLEST, CLI_STAGE_FIRST, CLI_STAGE_LAST } CliMemoryStage;

typedef struct {
    const char *id, *source;        /* borrowed from the table */
    double measured_s, measured_gb; /* NAN: not measured */
    gboolean measured_oom;
    CliMemoryKind memory_kind;
    CliMemoryStage memory_stage;
    gboolean stand_in; /* the system has the GPU's memory and not its speed: time is not compared */
    char *skipped;     /* owned: why it cannot be simulated, and nothing below is set; or NULL */
    char *system;      /* owned: a shipped name */
    GPtrArray *overrides; /* owned, NULL-terminated: "section.key=value" */
    LlmShape *shape;      /* owned */
    char *stage_layers;   /* owned: what spec.stage_layers borrows; or NULL */
    PlanSpec spec;
} CliMeasured;

/* A cell that is not a number where one is needed is an error; what is not supported is `skipped`. */
gboolean cli_measured_read(const CliMeasurements *m, guint row, CliMeasured *ret_measured,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
void cli_measured_clear(CliMeasured *measured);

/* The cell, or "" when the column is not there. */
const char *cli_measurements_text(const CliMeasurements *m, guint row, const char *column);
/* Empty or missing: `fallback`. */
gboolean cli_measurements_int(const CliMeasurements *m, guint row, const char *column,
                              gint64 fallback, gint64 *ret,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The hardware's words as a shipped system with overrides; NULL or why there is none (caller frees).
 * `lanes`: collectives that leave a node side by side, one for each tensor-parallel rank; a rate that was measured
 * is that of one. `ret_stand_in`: of the GPU only its memory is known. */
char *cli_measured_hardware(const char *gpu, gint64 gpus_per_node, const char *network,
                            gint64 lanes, char **ret_system, GPtrArray *overrides,
                            gboolean *ret_stand_in);
/* "8x 200 Gb/s HDR per node", "800 Gb/s per node", "400 Gb/s per GPU": bytes per second of a whole node; 0
 * when the text does not say. `ret_cards`: how many cards, 0 when it does not say. */
gint64 cli_measured_network(const char *text, gint64 gpus_per_node, gint64 *ret_cards);
