/* The tables in a system's own folder: what a machine has measured itself. */
#pragma once

#include "cluster/tables.h"
#include "conf/table.h"

/* NULL: an error, or (*ret_why, the caller's to free) it has none: "no gemm.tsv", "gemm.tsv is that of dgx-h100". */
ConfTable *calibrate_own_table(const ClusterSystem *system, ClusterTable id, char **ret_why,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Of a system without any; `what`: "to fit". */
void calibrate_complain_of_no_table(const ClusterSystem *system, const char *what, GError **error);
