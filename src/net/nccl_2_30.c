/* NCCL 2.30: channels of Blackwell as measured
 * (src/graph/tuning.cc, search.cc, topo.h at v2.30.7-1). */
#include "config.h"

#include "net/nccl_rows.h"

const NetNccl net_nccl_2_30 = {
    .since = 23000,
    NET_HOPS_2_21(8.4, 4, 4, 14, 8, 14, 20.9),
    .nvlink_frac = {0.8, 0.8, 0.824, 0.802},
    .ll_GBps = {39, 87.7, 141, 282},
    NET_RING_LL128_2_18(40, 40, 40),
    NET_TREE_LL128_2_18(55.6, 31.67, 20),
    NET_TREE_2_18(70, 42.8, 24),
    NET_NVLS_TREE_2_28(0, 96, 80),
    .ring_ll_frac = 0.5,
    .lone_ll128_frac = 0.92,
    .chained_tree_frac = 0.85,
    .max_channels = 64,
    .nvls = NET_NVLS_SWITCH,
    NET_NVLS_CHANNELS(24, 32),
    .pat = TRUE,
    .net_overhead = TRUE,
    .lone_tree_hops = TRUE,
};
