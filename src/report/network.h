/* Collectives predicted against published measurements: errors of three tests by source. */
#pragma once

#include <glib.h>

typedef enum {
    REPORT_NETWORK_SIZES, /* fitted on every other size of each sweep, the others predicted */
    REPORT_NETWORK_NODES, /* fitted on smaller node counts, some of several nodes, the largest predicted */
    REPORT_NETWORK_FIRST,   /* the same, where only single nodes were fitted */
    REPORT_NETWORK_SHIPPED, /* the shipped system, nothing fitted */
    REPORT_NETWORK_N_TESTS
} ReportNetworkTest;

typedef struct {
    const char *source, *gpu, *collective; /* borrowed */
    gboolean broken;                       /* a broken or unknown fabric: not in the sums */
    guint nodes; /* largest count that was predicted from smaller ones; 0: none */
    GArray *errors
        [REPORT_NETWORK_N_TESTS]; /* of double: ln(predicted / measured); empty: not applicable */
} ReportNetworkRow;

typedef struct {
    const GPtrArray *rows; /* of ReportNetworkRow, sources together */
    guint n_measured;      /* rows of the files that were read */
    GArray *skipped;       /* of ReportSkipped */
} ReportNetwork;

/* Errors are |predicted / measured - 1|; bias is exp(mean ln(predicted / measured)) - 1. */
void report_network(const ReportNetwork *network, const char *format, GString *out);
/* Median error of all rows whose fabric is whole; NAN: none. */
double report_network_median(const ReportNetwork *network, ReportNetworkTest test);
