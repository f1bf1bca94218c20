/* The model's few level constants, fitted to the measured sweeps of a system. */
#pragma once

#include "net/algorithm.h"
#include "net/curve.h"

typedef struct {
    NetOp op;
    NetGroup group;
    NetCurve *curve; /* owned by whoever made the list */
} NetSweep;

typedef struct {
    NetTuning tuning;
    double node_error_frac; /* rms of ln(measured / model), groups within a node */
    double net_error_frac;  /* the same across nodes */
} NetFit;

/* Least squares in log time by coordinate descent, each coordinate by golden section: no random start,
 * so the same sweeps give the same bits. Without sweeps of a kind its defaults stay. */
NetFit net_fit(const ClusterSystem *system, const NetSweep *sweeps, guint n);
