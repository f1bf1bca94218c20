/* Cells of the layer cost's tables, read with their complaints. */
#pragma once

#include "cluster/system.h"
#include "conf/table.h"

gboolean cost_read_dtype(const ConfTable *table, guint row, guint column, ClusterDtype *ret,
                         GError **error);
/* From 1 to 2147483647. */
gboolean cost_read_count(const ConfTable *table, guint row, guint column, gint64 *ret,
                         GError **error);
/* A time in us, at least a nanosecond; gives ns. */
gboolean cost_read_time(const ConfTable *table, guint row, guint column, double *ret_ns,
                        GError **error);
