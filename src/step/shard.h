/* Inside of `step`: parameters and gradients of a stage's units while the program of a rank is written. */
#pragma once

#include "step/build.h"

/* A unit's state. What a stage keeps outside of its layers may be gathered and reduced as one, FSDP's root. */
typedef struct {
    PlanUnit unit;
    StepParameters moved; /* of it, what is gathered when it is used: without resident tensors */
    gboolean root;
    gboolean present;   /* its parameters are here, or on their way */
    gboolean fresh;     /* gathered, and not used since */
    gboolean unreduced; /* full gradients are kept */
    gboolean reduced;   /* those of some microbatch */
    guint dropped;      /* ops of the compute stream after which they were last dropped */
    guint ready;        /* ops of the gather stream after which the parameters are here */
} StepUnit;

typedef struct {
    guint stage;
    GArray *units;   /* of StepUnit, in forward order */
    guint uses_left; /* backward tokens that need the parameters */
} StepShard;

/* Compute of a unit that was launched. */
typedef struct {
    guint end; /* ops of the compute stream after which it is over */
    gint64 elements;
} StepUsed;

typedef struct {
    StepBuild *b;
    StepClass *class;
    GPtrArray *shards;     /* of StepShard, [stages]; NULL: not on this rank */
    GHashTable *templates; /* by what makes them differ -> template; look-up only */
    GArray *used;          /* of StepUsed: units in the order of their compute */
    gint64 resident;       /* parameters that stay gathered */
} StepSharding;

/* shard.c: tokens of stages that are gathered or reduced. */
void step_sharding_init(StepSharding *s, StepBuild *b, StepClass *class);
void step_sharding_clear(StepSharding *s);
/* Appends the calls of a token: parts, with gathers before and reductions behind them. */
void step_run_token(StepSharding *s, SimProgram *program, ScheduleToken token, gboolean last,
                    guint32 label);
/* Does the token complete gradients that are then reduced, and does it reduce them itself? */
gboolean step_token_completes(const StepBuild *b, ScheduleToken token, gboolean last);
gboolean step_token_reduces(const StepBuild *b, ScheduleToken token, gboolean last);
/* Around a pair, which is one template: before it all that the token needs is gathered; after it what the token
 * is done with goes. */
void step_before_pair(StepSharding *s, SimProgram *program, ScheduleToken token, guint32 label);
void step_after_pair(StepSharding *s, SimProgram *program, ScheduleToken token, guint32 label);
/* Launches the reduction of all gradients of these stages: as one where buckets are only on the first stage. */
void step_reduce_stages(StepSharding *s, SimProgram *program, const guint *stages, guint n);

/* gather.c */
/* Gathers a unit before its compute, as early as prefetch allows; nothing when it is there. */
void step_gather_unit(StepSharding *s, SimProgram *program, StepShard *shard, guint unit,
                      guint32 label);
/* Of the parameters of a unit, those in tensors that stay gathered (DeepSpeed's persistent ones). */
StepParameters step_resident_parameters(const StepBuild *b, guint stage, const PlanUnit *unit);
