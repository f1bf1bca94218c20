/* Inside of `step`: chains, kernels and the tensor-parallel collectives between and beside them as one op of the engine
 * (segment.c makes them), and how they run. */
#pragma once

#include "step/build.h"

/* Speeds of kinds of work beside each other, 1 where they do not disturb; as the engine has them. */
typedef struct {
    double of[SIM_KINDS][SIM_KINDS]; /* of the first beside the second */
} StepSpeeds;
/* interference.c */
StepSpeeds step_speeds(const StepBuild *b);

/* Who runs it. `link` counts from 0. */
typedef struct {
    /* The link begins; `over_ns`: when what it waited for of the other kind was over (0: for nothing). Returns how long
     * it takes alone. */
    gint64 (*begin)(void *user, guint link, gint64 now_ns, gint64 over_ns);
    /* The link has ended, `late_ns` later than alone: something ran beside it. */
    void (*end)(void *user, guint link, gint64 start_ns, gint64 end_ns, gint64 late_ns);
    void *user;
} StepChainRun;

/* Returns when the last link ends. */
gint64 step_chain_run(const StepBuild *b, const StepOp *op, const StepSpeeds *speeds,
                      gint64 start_ns, const StepChainRun *run);

const StepLinkOfChain *step_chain_link(const StepBuild *b, const StepOp *op, guint link);
/* The part of a chain's time that each link is to account for, [n_links]: of kernels all, of collectives what no
 * kernel runs beside. */
void step_chain_shares(const StepBuild *b, const StepOp *op, const StepSpeeds *speeds,
                       gint64 *ret_ns);
/* Counts on the ports what went through them without being simulated. */
void step_count_chains(const StepBuild *b, SimEngine *engine);
