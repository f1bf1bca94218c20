/* What others put on the links: "nic=30%,spine=50%".
 *
 * Somebody else wants that share of every link of the kind, in both directions and at all times, and shares it max-min
 * as any traffic does: all that use a full link go at the same part of their speed.  Beside 50 % a transfer that
 * would fill the link goes at 2/3 (and so does the other), one that needs half of it is not disturbed. */
#pragma once

#include "cluster/topology.h"

typedef enum {
    STEP_LINK_NVLINK, /* ports of GPUs */
    STEP_LINK_NIC,
    STEP_LINK_PCIE,  /* ports of GPUs to the host */
    STEP_LINK_ABOVE, /* + ClusterTopoKind */
    STEP_N_LINKS = STEP_LINK_ABOVE + CLUSTER_TOPO_N_KINDS
} StepLinkKind;

typedef struct {
    double share[STEP_N_LINKS]; /* of the capacity, 0..1 */
} StepBackground;

/* NULL is nothing. */
gboolean step_background_parse(const char *text, StepBackground *ret,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
