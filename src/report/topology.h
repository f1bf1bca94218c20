/* The links of a machine, and a node that was read from a file: text, JSON, TSV. */
#pragma once

#include "cluster/topo_node.h"
#include "cluster/topology.h"

void report_topology(const ClusterTopology *t, const char *format, GString *out);

/* All borrowed. */
typedef struct {
    const char *file;
    const ClusterTopoNode *node;
    const ClusterTopoConf *conf;
    const char *base; /* the system that the rest is of; NULL: none fits */
} ReportTopoNode;
/* In TSV a row for each pair of devices. */
void report_topology_node(const ReportTopoNode *r, const char *format, GString *out);
