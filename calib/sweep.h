/* What to measure of a kind, before it is known how it turns out: one sweep a file. */
#pragma once

#include "calib/nominal.h"
#include "calib/shapes.h"

/* Order of measuring: what all else needs; what was asked for by name; then grids from coarse to fine; then where
 * interpolation is worst. */
typedef enum {
    CALIB_STAGE_DEVICE,
    CALIB_STAGE_NAMED,
    CALIB_STAGE_COARSE,
    CALIB_STAGE_MIDDLE,
    CALIB_STAGE_FINE,
    CALIB_STAGE_REFINE,
    CALIB_N_STAGES
} CalibStage;
const char *calib_stage_name(CalibStage stage);

typedef struct {
    CalibCase what; /* a row's first variant */
    CalibStage stage;
    double guess_s; /* of measuring the whole row */
} CalibPoint;

typedef struct {
    CalibPoint *points;
    size_t n, room;
} CalibPoints;

typedef struct {
    const CalibMachine *machine;
    CalibNominal gpu;
    const CalibShapes *named; /* may be empty */
    bool kinds[CALIB_N_CASES];
    bool dtypes[CALIB_N_DTYPES]; /* of grids; named shapes have theirs */
} CalibSweepSpec;

typedef struct {
    CalibKind kind;
    double share; /* of the time that is left after what was named */
    void (*list)(const CalibSweepSpec *spec, CalibPoints *points);
} CalibSweep;

extern const CalibSweep calib_sweep_memory, calib_sweep_gemm, calib_sweep_attention,
    calib_sweep_collective, calib_sweep_overlap;

/* Adds a point, unless its buffers do not fit or (of grids) one call takes too long to be worth it. */
void calib_points_add(CalibPoints *points, const CalibSweepSpec *spec, CalibCase what,
                      CalibStage stage);
/* Whether buffers, with as many again in rotation, fit into the GPU's free memory. */
bool calib_points_fits(const CalibSweepSpec *spec, const CalibCase *what);
double calib_points_guess_s(const CalibSweepSpec *spec, const CalibCase *what);
/* The dtype that kernels without a dtype of their own and collectives have: the first 16-bit one asked for. */
CalibDtype calib_sweep_dtype(const CalibSweepSpec *spec);

/* A candidate of GEMM refinement (calib/refine_gemm.c). */
bool calib_sweep_gemm_worth(const CalibSweepSpec *spec, const CalibGemm *gemm);
