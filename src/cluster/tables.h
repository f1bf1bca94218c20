/* Where a system's measurements lie: tables in its own folder, or by [tables] those of another system, whose GPU (or,
 * of collectives, whose links in a node) they were measured on. */
#pragma once

#include "cluster/system.h"

const char *cluster_table_name(ClusterTable table); /* "gemm": the key, and with .tsv the file */
/* The file in the system's own folder; NULL: there is none. Caller frees. */
char *cluster_table_path(const ClusterSystem *system, ClusterTable table);
/* The system that [tables] names for it, without overrides, which has that file; NULL without error: none is named. */
ClusterSystem *cluster_table_lender(const ClusterSystem *system, ClusterTable table,
                                    GError **error);
