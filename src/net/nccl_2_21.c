/* NCCL 2.21: NVLS and CollNet gather and scatter; a Simple tree is taken for slow
 * (src/graph/tuning.cc, search.cc, topo.h at v2.21.5-1). */
#include "config.h"

#include "net/nccl.h"

const NetNccl net_nccl_2_21 = {
    .name = "2.21",
    .since = 22100,
    .base_us =
        {
            [NET_ALGO_TREE] = {6.8, 14, 0},
            [NET_ALGO_RING] = {6.6, 14, 8.4},
            [NET_ALGO_DIRECT] = {6.6, 0, 8.4},
        },
    .nvlink_us =
        {
            [NET_ALGO_TREE] = {0.6, 1.25, 28},
            [NET_ALGO_RING] = {0.6, 1.9, 3.4},
            [NET_ALGO_COLLNET_DIRECT] = {0, 0, 3.7},
            [NET_ALGO_COLLNET_CHAIN] = {0, 0, 2.8},
            [NET_ALGO_NVLS] = {0, 0, 25},
            [NET_ALGO_NVLS_TREE] = {0, 0, 25},
            [NET_ALGO_DIRECT] = {0.6, 0, 3.4},
        },
    .pcie_us =
        {
            [NET_ALGO_TREE] = {1, 1.9, 28},
            [NET_ALGO_RING] = {1, 2.5, 5.7},
            [NET_ALGO_COLLNET_DIRECT] = {0, 0, 3.7},
            [NET_ALGO_COLLNET_CHAIN] = {0, 0, 2.8},
            [NET_ALGO_DIRECT] = {1, 0, 5.7},
        },
    .net_us =
        {
            [NET_ALGO_TREE] = {5, 8.5, 28},
            [NET_ALGO_RING] = {2.7, 4, 14},
            [NET_ALGO_COLLNET_DIRECT] = {0, 0, 31},
            [NET_ALGO_COLLNET_CHAIN] = {0, 0, 30},
            [NET_ALGO_NVLS] = {0, 0, 18},
            [NET_ALGO_NVLS_TREE] = {0, 0, 14},
            [NET_ALGO_DIRECT] = {5, 0, 14},
        },
    .nvlink_frac = {0.8, 0.8, 0.824, 0.824},
    .ll_GBps = {39, 87.7, 141, 141},
    .ring_ll128_GBps = {[NET_VOLTA] = {20, 20, 20},
                        [NET_AMPERE] = {20, 20, 20},
                        [NET_HOPPER] = {36.7, 36.7, 36.7},
                        [NET_BLACKWELL] = {36.7, 36.7, 36.7}},
    .tree_ll128_GBps = {[NET_VOLTA] = {20, 20, 20},
                        [NET_AMPERE] = {20, 20, 20},
                        [NET_HOPPER] = {36.7, 36.7, 29},
                        [NET_BLACKWELL] = {36.7, 36.7, 29}},
    .tree_GBps = {[NET_VOLTA] = {26.5, 18.5, 10},
                  [NET_AMPERE] = {24, 23.6, 17.8},
                  [NET_HOPPER] = {38.7, 41.4, 36},
                  [NET_BLACKWELL] = {38.7, 41.4, 36}},
    .ring_ll_frac = 0.5,
    .lone_ll128_frac = 0.7,
    .chained_tree_frac = 0.85,
    .max_channels = 32,
    .nvls = NET_NVLS_GATHERS,
    .nvls_channels = {[NET_HOPPER] = {16, 16}, [NET_BLACKWELL] = {16, 16}},
    .ring_all_nodes = TRUE,
    .net_overhead = TRUE,
};
