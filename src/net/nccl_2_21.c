/* NCCL 2.21: NVLS and CollNet gather and scatter; a Simple tree is taken for slow
 * (src/graph/tuning.cc, search.cc, topo.h at v2.21.5-1). */
#include "config.h"

#include "net/nccl_rows.h"

const NetNccl net_nccl_2_21 = {
    .since = 22100,
    NET_HOPS_2_21(0, 28, 28, 28, 0, 0, 14),
    .nvlink_frac = {0.8, 0.8, 0.824, 0.824},
    .ll_GBps = {39, 87.7, 141, 141},
    NET_RING_LL128_2_18(36.7, 36.7, 36.7),
    NET_TREE_LL128_2_18(36.7, 36.7, 29),
    NET_TREE_2_18(38.7, 41.4, 36),
    .ring_ll_frac = 0.5,
    .lone_ll128_frac = 0.7,
    .chained_tree_frac = 0.85,
    .max_channels = 32,
    .nvls = NET_NVLS_GATHERS,
    NET_NVLS_CHANNELS(16, 16),
    .ring_all_nodes = TRUE,
    .net_overhead = TRUE,
};
