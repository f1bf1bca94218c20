/* The rows of a table of measurements as points: of what series they are, where in it they lie, what was measured, and
 * what data sheets say of it. */
#pragma once

#include "cluster/tables.h"
#include "conf/table.h"

enum { CALIBRATE_AXES = 4 };

typedef struct {
    guint line;               /* in the file */
    guint series;             /* index into series */
    double x[CALIBRATE_AXES]; /* log2 of what its size is; 0 on axes that it has not */
    double value;             /* ns; of overlap.tsv a slowdown */
    double nominal_ns;        /* of flops, HBM or links at the rate of the data sheet; 0: none */
    double least_ns;    /* no less is possible: caches and switches that add are allowed for */
    double spread_frac; /* NAN: not said */
} CalibrateObservation;

typedef struct {
    char *of;       /* "bf16 forward" */
    guint first, n; /* of its rows */
    guint n_axes;   /* along which they differ */
    double base;    /* what its smallest rows take */
} CalibrateSeries;

typedef struct {
    ClusterTable table;
    GArray *series; /* of CalibrateSeries, in order of name */
    GArray *rows;   /* of CalibrateObservation, by series, x and line */
} CalibrateObservations;

/* `system`: whose data sheet it is. A bad cell is an error. */
CalibrateObservations *calibrate_observe(const ClusterSystem *system, ClusterTable table,
                                         const ConfTable *rows, GError **error);
void calibrate_observations_free(CalibrateObservations *observations);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CalibrateObservations, calibrate_observations_free)

const CalibrateSeries *calibrate_series_at(const CalibrateObservations *observations, guint i);
const CalibrateObservation *calibrate_observation_at(const CalibrateObservations *observations,
                                                     guint i);
/* NULL: there is none of that name. */
const CalibrateSeries *calibrate_series_find(const CalibrateObservations *observations,
                                             const char *of);
/* What the axis of a table is: "m", "bytes"; NULL: it has no such axis. */
const char *calibrate_axis_name(ClusterTable table, guint axis);
