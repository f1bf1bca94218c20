/* The words of tables that stand for one of a few things: passes, kernels, operations. */
#pragma once

#include "conf/table.h"

typedef enum {
    CALIBRATE_PASSES,   /* CostGemmPass */
    CALIBRATE_MEMORIES, /* CostMemoryKernel */
    CALIBRATE_OPS,      /* NetOp */
    CALIBRATE_WORKS,    /* CostWork */
    CALIBRATE_TRAFFICS, /* CostTraffic */
} CalibrateWords;

/* The i-th; NULL beyond the last. */
const char *calibrate_word(CalibrateWords words, guint i);
/* All of them, NULL after the last; free the array, not the words. */
const char **calibrate_words(CalibrateWords words);
gboolean calibrate_read_word(const ConfTable *table, guint row, guint column, CalibrateWords words,
                             guint *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;
