/* Many drawings of what is left to chance (noise.h): how long the iteration takes, and who is to blame. */
#pragma once

#include "step/noise.h"

/* What the time of the critical path beyond its undisturbed ops is due to. */
typedef enum {
    STEP_CAUSE_GPU,    /* GPUs that are slow, or fast: by their factor */
    STEP_CAUSE_JITTER, /* kernels and collectives, and daemons on GPUs */
    STEP_CAUSE_HOST,   /* launches: daemons and slow nodes */
    STEP_CAUSE_LINK,   /* messages and collectives over a link that is slow or down */
    STEP_CAUSE_SHARED, /* others that use the same links, or the same GPU */
    STEP_N_CAUSES
} StepCause;
extern const char *const step_cause_names[]; /* "gpu", "jitter" ... */

/* A GPU, the hosts of a node or a link, and what it cost on the critical path. */
typedef struct {
    StepWhere where; /* a link's name is borrowed from the noise */
    guint rank;      /* of a GPU, the rank on it */
    gint64 cost_ns;  /* sum over all samples */
    guint n_worst;   /* samples in which none cost more */
} StepSuspect;

typedef struct {
    gint64 time_ns;
    gint64 cause_ns[STEP_N_CAUSES]; /* of the critical path, beyond what its ops take alone */
    StepWhere worst;                /* who cost most; STEP_N_WHERES: nobody cost anything */
    gint64 worst_ns;
} StepSample;

typedef struct {
    guint n;
    StepSample *samples;     /* [n]: sample 1, 2, ... */
    gint64 *sorted_ns;       /* [n] times, ascending */
    StepResult *undisturbed; /* owned: without noise; the samples are as sure as it */
    GArray *suspects;        /* of StepSuspect, those that cost something, most first */
    guint ranks, ranks_simulated;
    gboolean lanes; /* a simulated rank stands for its tensor-parallel group */
    gboolean fused;
    guint64 ops; /* of all samples */
} StepSamples;

/* Samples 1..n on so many threads (0: one for each core); the number of threads changes no result. `done`, which may
 * be NULL, is called in the caller's thread with the number of samples that are done. */
StepSamples *step_samples_run(const Plan *plan, const Schedule *schedule, const CostBook *cost,
                              const NetBook *net, const StepOptions *options, guint n,
                              guint threads, void (*done)(void *user, guint n_done), void *user,
                              GError **error);
void step_samples_free(StepSamples *s);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StepSamples, step_samples_free)

/* The smallest time that at least the share `frac` (0..1) of all samples does not pass. */
gint64 step_samples_quantile_ns(const StepSamples *s, double frac);
double step_samples_mean_ns(const StepSamples *s);
double step_samples_deviation_ns(const StepSamples *s); /* of the samples; 0 for one */
