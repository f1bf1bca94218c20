/* Inside of `step`: noise of one run, and which ranks it takes. */
#pragma once

#include "step/faults.h"

typedef struct {
    StepPacing *pacing;
    StepPace *pace;
    GArray *faults; /* of StepFault */
} StepDisturbance;

/* Whatever may differ by chance on every rank takes all of them; or with runs of kernels as one op a lane of each
 * tensor-parallel group. What is slow for certain splits the classes. */
StepRanks step_ranks_of(const StepOptions *options);
/* Classes, ranks and programs as the options say. */
void step_build_as(StepBuild *b, const StepOptions *options);
/* Before the engine runs; nothing without noise. To be cleared after the run, in any case. */
gboolean step_disturb(StepDisturbance *d, const StepBuild *b, const StepOptions *options,
                      SimEngine *engine, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void step_disturbance_clear(StepDisturbance *d);
