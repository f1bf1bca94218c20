/* What groups and messages put on the links above ports and cards: PCIe switches, leaf and spine switches.
 *
 * Simulated groups stand for all groups of their kind on their pipeline rank (build.h's classes).  The *truth* on a
 * link is the sum over all of these; it is found here once for each kind, pipeline rank and pattern, from the
 * routes of each group (net/routes.h). */
#pragma once

#include "net/routes.h"
#include "plan/plan.h"

/* Kinds of group: the plan's, and the two ranks with the same stages of two replicas. */
#define STEP_GROUP_REPLICA PLAN_N_GROUPS
#define STEP_N_GROUPS (PLAN_N_GROUPS + 1)

/* The lowest rank of a group names it. */
guint step_group_leader(const Plan *plan, guint kind, guint rank);
/* Slots of its members, by rank; GArray of guint, caller frees. */
GArray *step_group_slots(const Plan *plan, guint kind, guint rank);

typedef struct StepFabric StepFabric;
StepFabric *step_fabric_new(const Plan *plan); /* borrowed */
void step_fabric_free(StepFabric *f);
gboolean step_fabric_has_links(const StepFabric *f);

/* Who puts something on links: all groups of a kind whose leader is on pipeline rank `pp`, with one pattern, between
 * nodes or in them; or the messages from pipeline rank `pp` to `to`. */
typedef struct {
    guint kind, pp;
    gboolean message;
    guint to; /* of messages */
    NetPattern pattern;
    gboolean between;
} StepCrowd;

/* GArray of NetLinkLoad: of the group, or of the message from `rank`; borrowed. Bytes on the link for each byte of
 * each NIC (between nodes, and messages over them) or port of the group. */
const GArray *step_fabric_loads(StepFabric *f, const StepCrowd *crowd, guint rank);
/* [links]: the same summed over the whole crowd; borrowed, NULL: nothing anywhere. */
const double *step_fabric_truth(StepFabric *f, const StepCrowd *crowd);
/* How many times longer than the NICs (ports) themselves the busiest of the links that one of the crowd uses would
 * need, were all of the crowd at it at once; rounded, so that it tells classes apart. */
float step_fabric_press(StepFabric *f, const StepCrowd *crowd, guint rank);
