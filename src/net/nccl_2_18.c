/* NCCL 2.18: NVLS and its trees (2.17 has NVLS in one node only), tables of Hopper
 * (src/graph/tuning.cc, search.cc, topo.h at v2.18.3-1). */
#include "config.h"

#include "net/nccl_rows.h"

const NetNccl net_nccl_2_18 = {
    .since = 21700,
    .base_us =
        {
            [NET_ALGO_TREE] = {6.8, 14, 0},
            [NET_ALGO_RING] = {6.6, 14, 8.4},
            [NET_ALGO_COLLNET_DIRECT] = {6.8, 14, 0},
            [NET_ALGO_NVLS] = {0, 0, 23},
            [NET_ALGO_NVLS_TREE] = {0, 0, 23},
            [NET_ALGO_DIRECT] = {6.6, 0, 8.4},
        },
    .nvlink_us =
        {
            [NET_ALGO_TREE] = {0.6, 1.25, 4},
            [NET_ALGO_RING] = {0.6, 1.9, 3.4},
            [NET_ALGO_COLLNET_DIRECT] = {0, 0, 8},
            [NET_ALGO_COLLNET_CHAIN] = {0, 0, 4.75},
            [NET_ALGO_DIRECT] = {0.6, 0, 3.4},
        },
    .pcie_us =
        {
            [NET_ALGO_TREE] = {1, 1.9, 6},
            [NET_ALGO_RING] = {1, 2.5, 5.7},
            [NET_ALGO_COLLNET_DIRECT] = {0, 0, 8},
            [NET_ALGO_COLLNET_CHAIN] = {0, 0, 4.75},
            [NET_ALGO_DIRECT] = {1, 0, 5.7},
        },
    .net_us =
        {
            [NET_ALGO_TREE] = {5, 8.5, 14},
            [NET_ALGO_RING] = {2.7, 4, 14},
            [NET_ALGO_COLLNET_DIRECT] = {0, 0, 10.7},
            [NET_ALGO_COLLNET_CHAIN] = {0, 0, 14},
            [NET_ALGO_NVLS] = {0, 0, 18},
            [NET_ALGO_NVLS_TREE] = {0, 0, 19},
            [NET_ALGO_DIRECT] = {5, 0, 14},
        },
    .nvlink_frac = {0.8, 0.8, 0.8, 0.8},
    .ll_GBps = {39, 87.7, 87.7, 87.7},
    NET_RING_LL128_2_18(36.7, 36.7, 36.7),
    NET_TREE_LL128_2_18(36.7, 36.7, 29),
    NET_TREE_2_18(38.7, 41.4, 36),
    .lone_ll128_frac = 0.7,
    .chained_tree_frac = 0.85,
    .max_channels = 32,
    .nvls = NET_NVLS_FIRST,
    NET_NVLS_CHANNELS(16, 16),
    .ring_all_nodes = TRUE,
    .net_overhead = TRUE,
};
