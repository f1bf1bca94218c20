/* Sweeps of another system with the same links in a node ([tables] collective of system.conf). */
#pragma once

#include "net/rows.h"

/* Takes `sweeps`, those of the system itself, and gives them back with the lender's of one node beside them, where the
 * system has none of that op and group; adds their points to `n_rows`. NULL: error. */
GArray *net_lent_add(const ClusterSystem *system, GArray *sweeps, const NetFabric *fabric,
                     guint *n_rows, GError **error);
