/* A run of Megatron's log as a row of measured runs, the table that dtsim validate reads (cli/measured.h). */
#pragma once

#include "calibrate/megatron_log.h"
#include "calibrate/steady.h"

/* What the log does not say. */
typedef struct {
    const char *id;
    const char *gpu;      /* "A100-SXM4-80GB" */
    gint64 gpus_per_node; /* 0: what validate takes otherwise */
} CliMegatronWish;

guint cli_megatron_n_columns(void);
const char *cli_megatron_column(guint index);
/* The cells of the plan and the model, those of times empty; NULL-terminated, caller frees with g_strfreev. NULL with
 * *error: what the dump lacks, or what the table has no column for. */
char **cli_megatron_cells(const char *name, const CalibrateTraining *run,
                          const CliMegatronWish *wish, GError **error);
/* Fills those of times and memory. */
void cli_megatron_measure(char **cells, const CalibrateTraining *run,
                          const CalibrateSteady *steady);
