/* The inside of a check: rules add findings, coverage what is there and what is missing. */
#pragma once

#include "calibrate/check.h"

typedef struct {
    const ClusterSystem *system;
    const CalibrateObservations *rows;
    GArray *findings;  /* of CalibrateFinding */
    gboolean *in_unit; /* one a series: FALSE where its unit is suspected */
    gboolean
        *is_doubted; /* one a row: impossible, or an outlier; it is no witness against others */
} CalibrateChecking;

/* Takes `text`. */
void calibrate_check_add(CalibrateChecking *c, guint line, CalibrateRule rule, gboolean wrong,
                         double size, char *text);
/* "4.100 us" by value; of overlap.tsv "1.7 times". Caller frees. */
char *calibrate_check_amount(ClusterTable table, double value);

/* Before the others: it fills in_unit. */
void calibrate_check_units(CalibrateChecking *c);
void calibrate_check_impossible(CalibrateChecking *c);
/* After what is impossible, as outliers. */
void calibrate_check_twice(CalibrateChecking *c);
void calibrate_check_outliers(CalibrateChecking *c);
/* After outliers, which explain what falls beside them. */
void calibrate_check_falling(CalibrateChecking *c);
void calibrate_check_spread(CalibrateChecking *c);

void calibrate_check_coverage(const ClusterSystem *system, ClusterTable table,
                              const CalibrateObservations *rows, CalibrateCheck *check);
