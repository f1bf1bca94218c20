/* Hostfiles: which slot of the machine each rank has.
 *
 * Lines, one form or the other; '#' begins a comment:
 *   node12 slots=8          Open MPI, DeepSpeed: the next 8 ranks
 *   node12:8                MPICH, Slurm's machinefile: the same
 *   node12                  all GPUs of the node; where a plain name is there more than once (one line a rank), one
 *                           rank for each time
 *   rank 3=node12 slot=5    Open MPI's rankfile: GPU 5; every rank from 0 on
 * Ranks fill a node's GPUs in the order of the lines.
 *
 * Where all names are alike but for a number, at the end or before the domain, it says where in the fabric the node
 * is: counted from 0 (or 1, where that fits) with fabric_nodes, else from the lowest. Other names are nodes in
 * the order in which they come first. */
#pragma once

#include <glib.h>

/* Slots of ranks 0, 1, ..., as many as the file has: GArray of guint, caller frees. fabric_nodes 0: not known.
 * Messages: "FILE:LINE: what is wrong; what to write". */
GArray *cluster_hostfile_parse(const char *name, const char *text, gint64 gpus_per_node,
                               gint64 fabric_nodes, GError **error);
