/* Rows of NCCL's tables that hold for several versions, as initialisers of NetNccl; what changed between them is
 * the argument. Only for nccl_2_*.c. */
#pragma once

#include "net/nccl.h"

/* Latencies since 2.21 [us]: of a Simple tree (base; a hop over NVLink, PCIe, network), of PAT (base; network),
 * and of a network hop of NVLSTree. */
#define NET_HOPS_2_21(tree_base, tree_nvlink, tree_pcie, tree_net, pat_base, pat_net,              \
                      nvls_tree_net)                                                               \
    .base_us = {[NET_ALGO_TREE] = {6.8, 14, tree_base},                                            \
                [NET_ALGO_RING] = {6.6, 14, 8.4},                                                  \
                [NET_ALGO_DIRECT] = {6.6, 0, 8.4},                                                 \
                [NET_ALGO_PAT] = {0, 0, pat_base}},                                                \
    .nvlink_us = {[NET_ALGO_TREE] = {0.6, 1.25, tree_nvlink},                                      \
                  [NET_ALGO_RING] = {0.6, 1.9, 3.4},                                               \
                  [NET_ALGO_COLLNET_DIRECT] = {0, 0, 3.7},                                         \
                  [NET_ALGO_COLLNET_CHAIN] = {0, 0, 2.8},                                          \
                  [NET_ALGO_NVLS] = {0, 0, 25},                                                    \
                  [NET_ALGO_NVLS_TREE] = {0, 0, 25},                                               \
                  [NET_ALGO_DIRECT] = {0.6, 0, 3.4}},                                              \
    .pcie_us = {[NET_ALGO_TREE] = {1, 1.9, tree_pcie},                                             \
                [NET_ALGO_RING] = {1, 2.5, 5.7},                                                   \
                [NET_ALGO_COLLNET_DIRECT] = {0, 0, 3.7},                                           \
                [NET_ALGO_COLLNET_CHAIN] = {0, 0, 2.8},                                            \
                [NET_ALGO_DIRECT] = {1, 0, 5.7}},                                                  \
    .net_us = {                                                                                    \
        [NET_ALGO_TREE] = {5, 8.5, tree_net},   [NET_ALGO_RING] = {2.7, 4, 14},                    \
        [NET_ALGO_COLLNET_DIRECT] = {0, 0, 31}, [NET_ALGO_COLLNET_CHAIN] = {0, 0, 30},             \
        [NET_ALGO_NVLS] = {0, 0, 18},           [NET_ALGO_NVLS_TREE] = {0, 0, nvls_tree_net},      \
        [NET_ALGO_DIRECT] = {5, 0, 14},         [NET_ALGO_PAT] = {0, 0, pat_net}}

/* GB/s of a channel since 2.18, with Blackwell's row; the last since 2.28. */
#define NET_RING_LL128_2_18(...)                                                                   \
    .ring_ll128_GBps = {[NET_VOLTA] = {20, 20, 20},                                                \
                        [NET_AMPERE] = {20, 20, 20},                                               \
                        [NET_HOPPER] = {36.7, 36.7, 36.7},                                         \
                        [NET_BLACKWELL] = {__VA_ARGS__}}
#define NET_TREE_LL128_2_18(...)                                                                   \
    .tree_ll128_GBps = {[NET_VOLTA] = {20, 20, 20},                                                \
                        [NET_AMPERE] = {20, 20, 20},                                               \
                        [NET_HOPPER] = {36.7, 36.7, 29},                                           \
                        [NET_BLACKWELL] = {__VA_ARGS__}}
#define NET_TREE_2_18(...)                                                                         \
    .tree_GBps = {[NET_VOLTA] = {26.5, 18.5, 10},                                                  \
                  [NET_AMPERE] = {24, 23.6, 17.8},                                                 \
                  [NET_HOPPER] = {38.7, 41.4, 36},                                                 \
                  [NET_BLACKWELL] = {__VA_ARGS__}}
#define NET_NVLS_TREE_2_28(...)                                                                    \
    .nvls_tree_GBps = {[NET_VOLTA] = {26.5, 18.5, 10},                                             \
                       [NET_AMPERE] = {24, 23.6, 17.8},                                            \
                       [NET_HOPPER] = {0, 57.7, 45.5},                                             \
                       [NET_BLACKWELL] = {__VA_ARGS__}}

/* Thread blocks of NVLS on Hopper, and on Blackwell on one node and on more. */
#define NET_NVLS_CHANNELS(blackwell_node, blackwell_nodes)                                         \
    .nvls_channels = {[NET_HOPPER] = {16, 16}, [NET_BLACKWELL] = {blackwell_node, blackwell_nodes}}
