/* NCCL 2.10: stands for all before 2.17
 * (src/graph/tuning.cc, search.cc, topo.h at v2.10.3-1). */
#include "config.h"

#include "net/nccl.h"

const NetNccl net_nccl_2_10 = {
    .since = 0,
    .base_us =
        {
            [NET_ALGO_TREE] = {4.4, 4.4, 0},
            [NET_ALGO_RING] = {3.6, 10, 8.4},
            [NET_ALGO_COLLNET_DIRECT] = {4.4, 4.4, 0},
            [NET_ALGO_DIRECT] = {6.6, 0, 8.4},
        },
    .nvlink_us =
        {
            [NET_ALGO_TREE] = {0.52, 1.25, 28},
            [NET_ALGO_RING] = {0.47, 1.9, 3.4},
            [NET_ALGO_COLLNET_DIRECT] = {0, 0, 8},
            [NET_ALGO_DIRECT] = {0.6, 0, 3.4},
        },
    .pcie_us =
        {
            [NET_ALGO_TREE] = {1, 1.9, 28},
            [NET_ALGO_RING] = {1, 2.5, 5.7},
            [NET_ALGO_COLLNET_DIRECT] = {0, 0, 8},
            [NET_ALGO_DIRECT] = {1, 0, 5.7},
        },
    .net_us =
        {
            [NET_ALGO_TREE] = {5, 8.5, 28},
            [NET_ALGO_RING] = {2.7, 4, 9.6},
            [NET_ALGO_COLLNET_DIRECT] = {0, 0, 10.7},
            [NET_ALGO_DIRECT] = {5, 0, 14},
        },
    .nvlink_frac = {0.88, 0.88, 0.8, 0.8},
    .ll_GBps = {39, 87.7, 87.7, 87.7},
    .ring_ll128_GBps = {[NET_VOLTA] = {20, 20, 20},
                        [NET_AMPERE] = {20, 20, 20},
                        [NET_HOPPER] = {20, 20, 20},
                        [NET_BLACKWELL] = {20, 20, 20}},
    .tree_ll128_GBps = {[NET_VOLTA] = {20, 20, 20},
                        [NET_AMPERE] = {20, 20, 20},
                        [NET_HOPPER] = {20, 20, 20},
                        [NET_BLACKWELL] = {20, 20, 20}},
    .tree_GBps = {[NET_VOLTA] = {26.5, 18.5, 10},
                  [NET_AMPERE] = {24, 23.6, 17.8},
                  [NET_HOPPER] = {24, 23.6, 17.8},
                  [NET_BLACKWELL] = {24, 23.6, 17.8}},
    .ampere_cap_GBps = 235,
    .lone_ll128_frac = 0.7,
    .chained_tree_frac = 1,
    .max_channels = 32,
};
