/* The model's few level constants, fitted to the measured sweeps of a system. */
#pragma once

#include "net/algorithm.h"
#include "net/curve.h"

typedef struct {
    NetOp op;
    NetGroup group;
    NetCurve *curve; /* owned by whoever made the list */
} NetSweep;

/* nccl-tests' send_recv over more than two ranks is a ring of sends at once, across nodes from rail to
 * rail; no message of a pipeline is like that: such a sweep tells its own time and no other. */
gboolean net_sweep_speaks_for_others(const NetSweep *sweep);

typedef struct {
    NetTuning tuning;
    double node_error_frac; /* rms of ln(measured / model), groups in a node */
    double net_error_frac;  /* the same across nodes */
} NetFit;

/* Least squares in log time by coordinate descent, each coordinate by golden section: no random start,
 * so the same sweeps give the same bits. Without sweeps of a kind its defaults stay. */
NetFit net_fit(const ClusterSystem *system, const NetSweep *sweeps, guint n);
