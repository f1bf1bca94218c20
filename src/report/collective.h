/* Times of one collective by size, alone or against those of a log: text, JSON, TSV and a plot. */
#pragma once

#include "net/collective.h"

typedef struct {
    gint64 bytes;
    double time_us;
    const char *algorithm, *protocol; /* borrowed; "" where there is none */
    CostBasis basis;
    double error_frac;  /* expected, one sigma */
    double measured_us; /* NAN: nothing to compare with */
    guint line;         /* of the log; 0: none */
} ReportCollectiveRow;

/* All borrowed. */
typedef struct {
    NetOp op;
    guint ranks, nodes, ranks_per_node, least_per_node;
    const char *system;
    const char *log;          /* path of the log; NULL: nothing to compare with */
    const GPtrArray *remarks; /* of char*: what was taken for granted; NULL: nothing */
    const GArray *rows;       /* of ReportCollectiveRow, ascending in bytes */
} ReportCollective;

/* algbw -> busbw of nccl-tests: bytes that each rank must send, over the size. */
double report_bus_factor(NetOp op, guint ranks);
void report_collective(const ReportCollective *r, const char *format, GString *out);
/* busbw and time against size; both curves where there is a log. */
gboolean report_collective_plot(const ReportCollective *r, const char *path,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
