/* Inside of `step`: links that are slow or down, as changes of the engine's capacities. */
#pragma once

#include "step/pace.h"

/* One link in one sample: goes at 1 / times of its speed, or not at all, from a time to another. */
typedef struct {
    StepWhere where; /* a link's name is borrowed from the noise */
    double times;    /* 0: down */
    gint64 from_ns, to_ns;
} StepFault;

/* GArray of StepFault: what is slow all along, what fails once, and what is drawn for the sample. */
GArray *step_faults_draw(const StepPacing *p, guint sample);
/* `b` is the build that the engine was made for. Errors: a link by a name that nothing has. */
gboolean step_faults_attach(const GArray *faults, const StepPacing *p, const StepBuild *b,
                            SimEngine *engine, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Is a GPU's port, or the card it goes out by, what is faulty? Not of links by name. */
gboolean step_fault_is_at(const StepFault *fault, const Plan *plan, guint rank);
/* As fast as a tensor-parallel collective may go through ports of NVLink without being held up there by anything; 0:
 * others use them, too. */
double step_ports_free_Bps(const StepBuild *b, const StepNoise *noise);
/* Is that so for all of a build's programs? */
gboolean step_ports_are_free(const StepBuild *b);
/* Global ranks whose part of the machine is slow or fails, in whatever way; GArray of guint, ascending. */
GArray *step_noise_special(const StepNoise *noise, const Plan *plan);
