/* Inside of `step`: columns of ranks, and which of them are simulated.
 *
 * A *column* is all pipeline ranks with the same (tp, cp, dp) coordinates; its number is tp + TP (cp + CP dp). */
#pragma once

#include "step/build.h"

typedef struct {
    guint tp, cp, dp, pp, n; /* n = tp x cp x dp columns */
    guint *class;            /* [n * pp] of each rank of each column */
    gboolean *is_simulated;  /* [n] */
} StepColumns;

guint step_column_rank(const StepBuild *b, const StepColumns *columns, guint column, guint pp_rank);
/* Adds columns until those simulated are enough for each other. */
void step_columns_close(const StepBuild *b, StepColumns *columns, StepRanks ranks);

/* classes.c: alike in all that decides about time. */
gboolean step_class_equal(const StepClass *x, const StepClass *y);
