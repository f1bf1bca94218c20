/* What there is: systems as text, JSON, TSV. */
#pragma once

#include "cluster/system.h"

typedef struct {
    const ClusterSystem *system;                       /* borrowed */
    guint n_gemm, n_attention, n_memory, n_collective; /* measurements in its tables */
} ReportSystem;

/* `rows`: of ReportSystem. `whole`: the complete system.conf of each (text). `format` as --format. */
void report_systems(const GArray *rows, gboolean whole, const char *format, GString *out);
