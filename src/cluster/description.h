/* Machines in one line: "64 nodes x 8 h100, rail 8x400Gbps, spine 2:1".
 *
 *   description   NODES [nodes|hosts] x GPUS GPU { WORD }     commas are blanks
 *   GPU           a name of cluster_described_gpus
 *   WORD          nvswitch | mesh | pcie | nvl72 (any number of GPUs)          the node
 *                 N sockets | switch N [gpus]                                  of link pcie
 *                 [N x] RATE (8x400Gbps)                                       cards of a node (or host) and rate
 *                 ideal | rail | fat-tree | dragonfly | torus AxBxC            the fabric
 *                 [leaf] R:1 | spine R:1 | core R:1                            uplinks of leaves; of spines (core)
 *                 leaf N [nodes] | pod N [leaves] | N levels | N groups | hashed | N uplinks | sharp
 *
 * A description begins from the shipped system of its GPU, whose measurements count for it as they do after --set.
 * With R:1 of three levels: leaf or spine is what goes up from the leaves, core what goes up from the spines. */
#pragma once

#include <glib.h>

typedef struct {
    char *base;    /* shipped system */
    GStrv set;     /* "section.key=value" */
    guint n_nodes; /* NVLink domains: of nvl72 racks */
} ClusterDescription;

/* Whether a name of a system is to be read so: it has blanks or a number, x and a number, and is no path. */
gboolean cluster_is_description(const char *name);
/* NULL: error that names the word and what to write. */
ClusterDescription *cluster_description_parse(const char *text, GError **error);
void cluster_description_free(ClusterDescription *d);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClusterDescription, cluster_description_free)

/* A GPU and the shipped system that it is closest to. */
typedef struct {
    const char *word, *base;
    const char *set[16]; /* what differs, NULL-terminated */
    guint usual_cards;   /* of a host, for usual_gpus */
    guint usual_gpus;
    gboolean pcie; /* has no NVLink */
} ClusterDescribedGpu;
const ClusterDescribedGpu *cluster_described_gpu_find(const char *word); /* NULL: none */
char *cluster_described_gpu_names(void); /* "a100, a100-40g, ..."; caller frees */
