/* What is wrong with the tables of a system directory, what is odd, and what they hold and lack. */
#pragma once

#include "calibrate/observations.h"

/* In the order in which they are told. */
typedef enum {
    CALIBRATE_RULE_UNIT,       /* a series, or a whole table, in another unit than is due */
    CALIBRATE_RULE_IMPOSSIBLE, /* faster than the machine can be */
    CALIBRATE_RULE_TWICE,      /* rows of one thing that disagree */
    CALIBRATE_RULE_OUTLIER,    /* far from what the rows near it say */
    CALIBRATE_RULE_FALLING,    /* takes less than a row with less work */
    CALIBRATE_RULE_SPREAD,     /* its samples disagreed */
    CALIBRATE_N_RULES
} CalibrateRule;
const char *calibrate_rule_name(CalibrateRule rule); /* "outlier" */

typedef struct {
    ClusterTable table;
    guint line; /* 0: of the whole table */
    CalibrateRule rule;
    gboolean wrong; /* the table is; else it is odd */
    double size;    /* how far it is off, to order those of one rule */
    char *text;     /* one phrase: what is there, and what was to be expected */
} CalibrateFinding;

/* What is measured of a series. */
typedef struct {
    ClusterTable table;
    char *of;
    guint n_rows;
    char *range; /* "m 64-65536, n 256-65536, k 256-65536" */
} CalibrateCovered;

typedef struct {
    GArray *findings;   /* of CalibrateFinding, by table, rule, size */
    GArray *covered;    /* of CalibrateCovered */
    GPtrArray *missing; /* of char*: "gemm.tsv: no bf16 wgrad" */
    guint n_rows;
    guint n_wrong, n_odd; /* findings; one may be of many rows, and a row have two */
} CalibrateCheck;

/* All tables in the system's own folder. A system without any is an error. */
CalibrateCheck *calibrate_check(const ClusterSystem *system, GError **error);
void calibrate_check_free(CalibrateCheck *check);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CalibrateCheck, calibrate_check_free)

/* One table alone, as text. */
CalibrateCheck *calibrate_check_table(const ClusterSystem *system, ClusterTable table,
                                      const ConfTable *rows, GError **error);
