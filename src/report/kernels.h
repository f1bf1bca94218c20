/* Kernels that were left out of a fit and predicted: errors by GPU and dtype, beside two simple predictors. */
#pragma once

#include <glib.h>

typedef enum {
    REPORT_KERNELS_MODEL,    /* as simulations do, from the sample */
    REPORT_KERNELS_ROOFLINE, /* peak and memory rate alone */
    REPORT_KERNELS_NEAREST,  /* efficiency of the nearest shape of the sample */
    REPORT_KERNELS_N_WAYS
} ReportKernelsWay;

#define REPORT_KERNELS_LONG_US 10.0

typedef struct {
    double measured_us;
    double log_ratio[REPORT_KERNELS_N_WAYS]; /* ln(predicted / measured) */
    double error_frac;                       /* what the model says of itself, one sigma */
} ReportKernelsError;

typedef struct {
    const char *kind;                        /* "gemm", "attention", "attention backward" */
    const char *file, *source, *gpu, *dtype; /* borrowed; source "": the file names none */
    guint n_fitted;
    double sample_frac; /* of its shapes; more than was asked for where those were too few */
    GArray *errors;     /* of ReportKernelsError */
} ReportKernelsRow;

typedef struct {
    const GPtrArray *rows; /* of ReportKernelsRow */
    double sample_frac;
    guint n_measured;      /* rows of the files that were read */
    const GArray *skipped; /* of ReportSkipped */
} ReportKernels;

/* Errors are |predicted / measured - 1|; bias is exp(mean ln(predicted / measured)) - 1. */
void report_kernels(const ReportKernels *kernels, const char *format, GString *out);
/* Median error of the model over all rows of at least REPORT_KERNELS_LONG_US; NAN: none. */
double report_kernels_median(const ReportKernels *kernels);
