/* What a profile says as a whole: unions of intervals on the GPU, and kernels by kind, operation and name. */
#pragma once

#include "calibrate/trace.h"

/* Of kernels and copies. Where there is none all are 0, and n_gpu says so. */
typedef struct {
    guint n_gpu;             /* kernels and copies */
    gint64 span_ns;          /* from the first's begin to the last's end */
    gint64 busy_ns;          /* anything runs */
    gint64 compute_ns;       /* a kernel that computes runs */
    gint64 nccl_ns;          /* one of NCCL's runs */
    gint64 communication_ns; /* one of NCCL's or an exchange runs */
    gint64 exposed_ns;       /* communication runs and nothing computes */
    guint n[CALIBRATE_N_KINDS];
    gint64 total_ns[CALIBRATE_N_KINDS]; /* sums, not unions */
} CalibrateProfile;
CalibrateProfile calibrate_profile(const CalibrateTrace *trace);

/* Kernels of one name, or NCCL's and exchanges' of one operation and size. */
typedef struct {
    CalibrateKind kind;
    guint name;            /* into the trace's names; of groups by operation 0 */
    const char *operation; /* "all_reduce"; NULL */
    gint64 bytes;          /* of the collective; -1: it does not say */
    gint64 ranks;          /* of its group; 0: it does not say */
    guint n;
    gint64 total_ns, min_ns, max_ns;
    double median_ns;
} CalibrateGroup;
/* Of CalibrateGroup, longest first. */
GArray *calibrate_groups_by_name(const CalibrateTrace *trace);
GArray *calibrate_groups_by_operation(
    const CalibrateTrace *trace); /* of kinds NCCL and exchange alone */
