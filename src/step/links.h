/* Links above ports and cards as resources of the engine, and what the result says of all links. */
#pragma once

#include "step/build.h"
#include "step/fabric.h"

/* Of one link by one range of meetings. */
typedef struct {
    guint32 link, crowd, meeting, n;
    guint32 load; /* NetLoad */
    double weight;
} StepLinkUse;

/* At one port, or over one boundary between stages, so that who meets at several is not counted twice. */
typedef struct {
    StepCrowd crowd;
    guint port;      /* messages: STEP_PORT_WIRES and the index of the wire */
    guint32 counter; /* resource: what one of the crowd that is simulated sends, on average */
} StepLinkCrowd;

/* Collects who uses which link; nothing is in the engine before the end. */
typedef struct {
    StepBuild *b;
    SimEngine *engine;
    GArray *crowds;  /* of StepLinkCrowd */
    GArray *uses;    /* of StepLinkUse */
    GArray *members; /* of StepLinkUse: link 0, weight 1 */
} StepLinkUses;

StepLinkUses *step_link_uses_new(StepBuild *b, SimEngine *engine);
/* A simulated group of a kind, by one of its ranks, that meets in `meeting`: with each pattern that the port's ops
 * have. Once for each group and port. */
void step_link_uses_group(StepLinkUses *uses, guint port, guint kind, guint rank, guint32 meeting);
/* The messages over a wire (step_n_wires) of a simulated rank to the rank of its column on pipeline rank `to`: `n`
 * meetings. */
void step_link_uses_message(StepLinkUses *uses, guint wire, guint rank, guint to, guint32 first,
                            guint n);
/* Makes the resources, each for all links that are used alike, and keeps them in b->fabric_links. */
void step_link_uses_end(StepLinkUses *uses);

/* link_census.c: uses of one link, [from, end) of the sorted list. */
typedef struct {
    guint from, end;
    ClusterTopoLink link;
} StepLinkSpan;
/* How many links are in truth what the resource of spans [i, end) is: used alike, by all crowds that there are. 0: the
 * simulated ranks are not all that uses these links. And entries of b->fabric_links for links that no resource is like. */
typedef struct StepLinkCensus StepLinkCensus;
StepLinkCensus *step_link_census_new(StepLinkUses *uses, const GArray *spans);
double step_link_census_alike(StepLinkCensus *c, const StepLinkSpan *span, guint n);
void step_link_census_end(StepLinkCensus *c); /* frees it */
