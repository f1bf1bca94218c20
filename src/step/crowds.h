/* Inside of `step`: crowds on links above cards that the simulated columns leave out. */
#pragma once

#include "step/columns.h"

typedef struct StepCrowds StepCrowds;
/* NULL: no link above cards can bind. */
StepCrowds *step_crowds_new(const StepBuild *b, const StepColumns *columns);
void step_crowds_free(StepCrowds *crowds);
/* A column that is simulated from now on. */
void step_crowds_add(StepCrowds *crowds, guint column);
/* Columns (GArray of guint, caller frees) that bring what is still missing; empty: nothing is. */
GArray *step_crowds_missing(StepCrowds *crowds);
