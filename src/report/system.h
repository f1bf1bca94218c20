/* What there is: systems as text, JSON, TSV. */
#pragma once

#include "cluster/tables.h"

typedef struct {
    const ClusterSystem *system;    /* borrowed */
    guint n_rows[CLUSTER_N_TABLES]; /* measurements that count for it; 0: modelled */
    GArray *covered;                /* of NetCovered (net/coverage.h), borrowed */
} ReportSystem;

/* `rows`: of ReportSystem. `whole`: the complete system.conf of each (text), below what is measured of it. `format` as
 * --format. */
void report_systems(const GArray *rows, gboolean whole, const char *format, GString *out);
