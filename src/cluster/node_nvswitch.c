/* GPUs behind NVSwitches, a rack of several hosts too: each port has its full rate to any other, so there are no
 * links. */
#include "config.h"

#include "cluster/parts.h"

const ClusterNodeKind cluster_node_nvswitch = {.n_links = NULL};
