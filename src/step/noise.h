/* What is not as it should be on a machine: GPUs of unlike speed, kernels that take now more and now less, slow
 * parts, links that fail for a while, daemons.
 *
 * A *sample* is one drawing of all that is left to chance.  Every draw comes from a stream that is named by its
 * purpose, the seed and the sample, and by whom it is for (a GPU, a rank and the number of its op, a group and the
 * number of its meeting): so sample k alone is sample k of many, and one kind of noise moves no draw of another.
 *
 * A GPU's speed is 1 + spread * z, z normal: its kernels take 1 / speed of their time.
 * A kernel takes 1 + jitter * z of its time; a run of kernels that is simulated as one op (--detail segment), of
 * times d_i, takes sum d_i + jitter * z * sqrt(sum d_i^2), as the sum of independent draws does.  A collective is
 * drawn once for all its members.  Pipeline messages and copies to the host have no jitter of their own.
 * A daemon takes so long of every period, from a phase that is drawn once: what is at work then stands still. */
#pragma once

#include "step/step.h"

typedef enum {
    STEP_WHERE_GPU,    /* a slot of the machine: its kernels */
    STEP_WHERE_NODE,   /* kernels of its GPUs, and its hosts' launches */
    STEP_WHERE_NIC,    /* a card of a node, both directions */
    STEP_WHERE_NVLINK, /* the port of a GPU, both directions */
    STEP_WHERE_LINK,   /* a link by the name that the report gives it */
    STEP_N_WHERES
} StepWhereKind;

typedef struct {
    StepWhereKind kind;
    guint index; /* GPU or node */
    guint nic;
    char *link; /* owned; of STEP_WHERE_LINK */
} StepWhere;

typedef struct {
    StepWhere where;
    double times; /* as long as it should take, > 1 */
} StepSlow;

/* A link that carries nothing for a while: once, or each of its kind now and then. */
typedef struct {
    StepWhere where;
    double per_hour; /* 0: once, at at_ns */
    gint64 at_ns, for_ns;
} StepFlap;

/* Who stands still: the hosts of a node together, each rank's host by itself, each GPU by itself. */
typedef enum { STEP_DAEMON_NODE, STEP_DAEMON_RANK, STEP_DAEMON_GPU, STEP_N_DAEMONS } StepVictim;
typedef struct {
    StepVictim victim;
    gint64 takes_ns, every_ns;
} StepDaemon;

typedef struct StepNoise {
    double gpu_spread_frac, jitter_frac;
    GArray *slow;    /* of StepSlow */
    GArray *flaps;   /* of StepFlap */
    GArray *daemons; /* of StepDaemon */
    guint64 seed;
    guint sample; /* from 1 */
} StepNoise;

StepNoise *step_noise_new(void); /* nothing wrong; sample 1 */
void step_noise_free(StepNoise *noise);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StepNoise, step_noise_free)

/* Add to what is there. "2%": gpu-spread and jitter.  "gpu:17=1.3,node:3=1.2,nic:5.2=50%": takes 1.3 times as long, or
 * goes at 50 % of its speed.  "nic:5.2@100ms+50ms": from 100 ms on for 50 ms; "nic@2/h+50ms": each card twice an
 * hour.  "10ms/1s", "rank:10ms/1s", "gpu:1ms/1s".  On failure nothing is added. */
gboolean step_noise_parse_share(const char *option, const char *text, double *ret_frac,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean step_noise_parse_slow(StepNoise *noise, const char *text,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean step_noise_parse_flaps(StepNoise *noise, const char *text,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean step_noise_parse_daemons(StepNoise *noise, const char *text,
                                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Do the places exist on the plan's machine? (Not of links by name: step_run says.) */
gboolean step_noise_check(const StepNoise *noise, const Plan *plan,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Is anything left to chance, so that samples differ? */
gboolean step_noise_is_random(const StepNoise *noise);
/* Is a link meant by its name? */
gboolean step_noise_names_links(const StepNoise *noise);
/* May any two ranks differ? Then classes do not help. */
gboolean step_noise_is_everywhere(const StepNoise *noise);
/* "gpu:17", "nic:5.2" ...: as it is written. Caller frees. */
char *step_where_name(const StepWhere *where);
