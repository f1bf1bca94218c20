/* Inside of `step`: whom the critical path of a sample accuses. */
#pragma once

#include "step/faults.h"
#include "step/samples.h"

/* What of one sample, or of several, is whose fault. */
typedef struct {
    gint64 cause_ns[STEP_N_CAUSES];
    gint64 *gpu_ns;  /* [n_ranks * n_members]: by the members' factors */
    gint64 *host_ns; /* [nodes] */
    gint64 *link_ns; /* [faults] */
    guint n_gpus, n_nodes, n_links;
} StepBlame;

void step_blame_init(StepBlame *blame, const StepPacing *p, guint n_links);
void step_blame_clear(StepBlame *blame);
/* Walks the path of an engine that has run. */
void step_blame_path(StepBlame *blame, const StepPace *pace, const GArray *faults,
                     const SimEngine *engine);
