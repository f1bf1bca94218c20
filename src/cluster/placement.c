/* Where ranks live: blocks of gpus-per-node consecutive ranks fill one node after the other. */
#include "config.h"

#include "cluster/system.h"

guint
cluster_node_of(const ClusterSystem *s, guint rank)
{
    return (guint)(rank / s->gpus_per_node);
}

guint
cluster_local_of(const ClusterSystem *s, guint rank)
{
    return (guint)(rank % s->gpus_per_node);
}

guint
cluster_cards_of_gpu(const ClusterSystem *s)
{
    return (guint)MAX(s->nics_per_node / s->gpus_per_node, 1);
}

guint
cluster_nic_of(const ClusterSystem *s, guint rank)
{
    /* 8 GPUs, 4 NICs: 0 0 1 1 2 2 3 3.  8 GPUs, 32 NICs: 0 4 8 .. 28, the first of each GPU's
     * four. */
    return (guint)((gint64)cluster_local_of(s, rank) * s->nics_per_node / s->gpus_per_node);
}
