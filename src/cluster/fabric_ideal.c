/* One switch without limits: any card to any other at its rate, so there are no links. */
#include "config.h"

#include "cluster/parts.h"

const ClusterFabricKind cluster_fabric_ideal = {.plan = NULL};
