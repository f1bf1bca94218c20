/* Arguments of a Megatron log, and columns that are made of several. */
#pragma once

#include "calibrate/megatron_log.h"

/* "" where there is none. */
const char *cli_megatron_text(const CalibrateTraining *run, const char *name);
gboolean cli_megatron_is_true(const CalibrateTraining *run, const char *name);
gboolean cli_megatron_is_false(const CalibrateTraining *run, const char *name);
/* Of the first of two names (`older` may be NULL) that has one; `otherwise` where neither has. */
gint64 cli_megatron_count(const CalibrateTraining *run, const char *name, const char *older,
                          gint64 otherwise);
/* One more word of a list with commas. */
void cli_megatron_add(GString *cell, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* The model. */
gint64 cli_megatron_vocab_of(const CalibrateTraining *run); /* 0: it does not say */
gint64 cli_megatron_experts_of(const CalibrateTraining *run);
gint64 cli_megatron_topk_of(const CalibrateTraining *run);
gint64 cli_megatron_shared_ffn_of(const CalibrateTraining *run);
gboolean cli_megatron_alternates(const CalibrateTraining *run); /* dense ones behind experts */
gint64 cli_megatron_dense_layers_of(const CalibrateTraining *run);
gint64 cli_megatron_kv_heads_of(const CalibrateTraining *run);
gint64 cli_megatron_head_dim_of(const CalibrateTraining *run);
gint64 cli_megatron_is_gated(const CalibrateTraining *run);
gint64 cli_megatron_is_tied(const CalibrateTraining *run);
void cli_megatron_notes(const CalibrateTraining *run, GString *cell);

/* The plan. */
gboolean cli_megatron_uses_deepspeed(const CalibrateTraining *run);
gint64 cli_megatron_virtual_stages_of(const CalibrateTraining *run);
gint64 cli_megatron_uses_flash(const CalibrateTraining *run);
gint64 cli_megatron_is_sequence_parallel(const CalibrateTraining *run);
void cli_megatron_framework(const CalibrateTraining *run, GString *cell);
void cli_megatron_zero(const CalibrateTraining *run, GString *cell);
void cli_megatron_recompute(const CalibrateTraining *run, GString *cell);
void cli_megatron_recompute_detail(const CalibrateTraining *run, GString *cell);
void cli_megatron_precision(const CalibrateTraining *run, GString *cell);
void cli_megatron_optimizer(const CalibrateTraining *run, GString *cell);
void cli_megatron_overlap(const CalibrateTraining *run, GString *cell);
void cli_megatron_schedule(const CalibrateTraining *run, GString *cell);

/* The argument that a table of runs has no column for, where it is not as usual: its name; NULL: none. */
const char *cli_megatron_unusual(const CalibrateTraining *run);
