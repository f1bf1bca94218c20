/* The inside of observations: what each row of a table is. */
#pragma once

#include "calibrate/observations.h"

/* Appends a point to `rows` and the name of its series (char*) to `names`, in the order of the table; `series` of the points is
 * the caller's. */
gboolean calibrate_read_observations(const ClusterSystem *system, ClusterTable table,
                                     const ConfTable *text, GPtrArray *names, GArray *rows,
                                     GError **error) G_GNUC_WARN_UNUSED_RESULT;
