/* How two systems differ: what their system.conf say, and what their tables measured of the same. */
#pragma once

#include "calibrate/observations.h"

enum { CALIBRATE_A, CALIBRATE_B, CALIBRATE_N_SIDES };

typedef struct {
    const char *section, *key;
    char *text[CALIBRATE_N_SIDES];
    double ratio; /* B over A; NAN: is no figure, or A's is 0 */
} CalibrateFact;

/* Of B's time over A's. */
typedef struct {
    guint n;
    double median, p10, p90; /* NAN: of none */
} CalibrateRatios;

typedef struct {
    ClusterTable table;
    char *of;
    CalibrateRatios same;          /* rows of both */
    CalibrateRatios near;          /* A's other rows and what B's rows around them say */
    guint only[CALIBRATE_N_SIDES]; /* rows that the other has not */
} CalibrateSeriesDiff;

typedef struct {
    ClusterTable table;
    char *of, *at; /* "bf16 forward", "m 64, n 256, k 256, batch 1" */
    guint line[CALIBRATE_N_SIDES];
    double value[CALIBRATE_N_SIDES];
    double ratio, off; /* B over A; |ln| of that over the median of the series */
} CalibrateRowDiff;

typedef struct {
    GArray *facts;    /* of CalibrateFact that differ, in order of keys */
    GArray *series;   /* of CalibrateSeriesDiff, by table and name */
    GArray *worst;    /* of CalibrateRowDiff: the few of each table that are farthest off */
    GPtrArray *notes; /* of char*: tables that only one has, or that are another system's */
} CalibrateDiff;

CalibrateDiff *calibrate_diff(const ClusterSystem *a, const ClusterSystem *b, GError **error);
void calibrate_diff_free(CalibrateDiff *diff);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CalibrateDiff, calibrate_diff_free)

/* One table of both, from memory, added to `diff`. `system`: on which each was measured. */
CalibrateDiff *calibrate_diff_new(void);
gboolean calibrate_diff_table(CalibrateDiff *diff, ClusterTable table,
                              const ClusterSystem *const system[CALIBRATE_N_SIDES],
                              const ConfTable *const rows[CALIBRATE_N_SIDES],
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
