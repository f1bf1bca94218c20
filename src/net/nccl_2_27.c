/* NCCL 2.27: Blackwell and 64 channels (both since 2.25)
 * (src/graph/tuning.cc, search.cc, topo.h at v2.27.3-1). */
#include "config.h"

#include "net/nccl_rows.h"

const NetNccl net_nccl_2_27 = {
    .since = 22500,
    NET_HOPS_2_21(8.4, 4, 4, 14, 8, 14, 14),
    .nvlink_frac = {0.8, 0.8, 0.824, 0.8},
    .ll_GBps = {39, 87.7, 141, 282},
    NET_RING_LL128_2_18(73.4, 73.4, 73.4),
    NET_TREE_LL128_2_18(73.4, 73.4, 58),
    NET_TREE_2_18(77.4, 82.8, 72),
    .ring_ll_frac = 0.5,
    .lone_ll128_frac = 0.92,
    .chained_tree_frac = 0.85,
    .max_channels = 64,
    .nvls = NET_NVLS_GATHERS,
    NET_NVLS_CHANNELS(24, 32),
    .pat = TRUE,
    .net_overhead = TRUE,
    .lone_tree_hops = TRUE,
};
