/* Constants of the models, fitted to the tables of one system directory: what each is, how far rows lie from it, and
 * which key of system.conf takes it.
 *
 *     gemm        time = launch + roofline / efficiency          cost/roofline.h, by dtype
 *                 time = FLOPs / (peak share)                     products of 100 us and more at peak
 *                 time = forward x factor                         dgrad and wgrad
 *     attention   time = launch + roofline / efficiency          by pass and mask
 *     memory      time = launch + bytes / rate                    by kernel; rows that the L2 cache may hold left out
 *                 time = floor                                    of the smallest
 *     collective  time = L + X + 2 sqrt(fill L X)                 by operation and group: L latency, X = sent bytes / rate;
 *                                                                 sent: net_ring_bytes
 *                 levels of the model of NCCL (net/fabric.h)      in a node, across nodes
 *     overlap     slow-down - 1 = factor x that of the model      by kind of kernel and traffic (cost/overlap.c)
 *
 * Lines are robust (fit_line.h). Tables that the system borrows of another are that one's to fit. */
#pragma once

#include "calibrate/fit_line.h"
#include "cluster/tables.h"

typedef struct {
    const char *name; /* "rate" */
    const char *unit; /* "GB/s", "us" or "" */
    double value;     /* NAN: rows do not say it */
    double error;     /* one standard error; NAN: not known */
    double today;     /* of the model or of system.conf; NAN: there is none */
    const char *key;  /* "gpu.memory-efficiency", which takes it; NULL: none does */
} CalibrateConstant;

enum { CALIBRATE_MAX_CONSTANTS = 8 };

typedef struct {
    ClusterTable table;
    char *of; /* "bf16 forward" */
    const char *formula;
    CalibrateConstant constants[CALIBRATE_MAX_CONSTANTS];
    guint n_constants;
    guint n_rows, n_used;        /* those that are no outliers */
    CalibrateResiduals residual; /* of all rows, outliers too */
    CalibrateResiduals left_out; /* each from constants that were fitted without it */
} CalibrateModel;

/* What system.conf may take. */
typedef struct {
    const char *section, *key;
    char *text; /* "0.904", "17.3us" */
    char *today;
    double error_frac; /* relative standard error; NAN: not known */
    char *from;        /* "memory.tsv: copy, 12 rows" */
    char *refused;     /* why it is not to be written; NULL: it is */
} CalibrateKey;

/* Rows as dtsim predicts them that does not have them. */
typedef struct {
    ClusterTable table;
    char *of; /* "bf16" */
    CalibrateResiduals residual;
} CalibrateHeldOut;

typedef struct {
    guint folds;
    GArray *models;   /* of CalibrateModel */
    GArray *keys;     /* of CalibrateKey */
    GArray *held_out; /* of CalibrateHeldOut */
    GPtrArray *notes; /* of char*: tables that are not there */
} CalibrateFit;

/* Rows are parted into `folds` >= 2, each predicted from the others. A system without a table of its own is an
 * error. */
CalibrateFit *calibrate_fit(const ClusterSystem *system, guint folds, GError **error);
void calibrate_fit_free(CalibrateFit *fit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CalibrateFit, calibrate_fit_free)

/* The text of a system.conf with those keys that are not refused. Only their values change, with a comment that says
 * what they are of where the line had none; keys that are missing come after the others of their section. Caller
 * frees. */
char *calibrate_fit_conf(const CalibrateFit *fit, const char *text);
/* Replaces `path` by it, whole or not at all; the new text must be a good system.conf. `ret_n`: keys. */
gboolean calibrate_fit_write(const CalibrateFit *fit, const char *path, guint *ret_n,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
