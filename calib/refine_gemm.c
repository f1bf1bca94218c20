/* Surfaces of log(roofline / time) over (log2 of the larger of m and n, log2 of the smaller, log2 k).
 *
 * Tried on published tables of whole grids of bf16 products (m of 64 to 32768, n and k of 256 to 65536, over 10 us) as the
 * truth: N forward rows as the plan chooses them, all other rows predicted by the simulator, whose median error was
 *
 *     rows             H100                 B200                 A100                 L40S
 *             plan  theirs  random  plan  theirs  random  plan  theirs  random  plan  theirs  random
 *     150     3.9 %  3.9 %  4.8 %   4.6 %  4.3 %  5.5 %   5.2 %  5.2 %  5.2 %   7.4 %  7.3 %  7.8 %
 *     300     3.7 %  3.8 %  4.3 %   4.4 %  4.4 %  4.7 %   5.2 %  5.2 %  4.9 %   7.0 %  7.0 %  7.3 %
 *     600     3.8 %  3.7 %  4.1 %   4.4 %  4.4 %  4.5 %   5.0 %  5.1 %  4.6 %   6.8 %  6.7 %  7.1 %
 *
 * theirs: with efficiencies against the simulator's own reference instead of this roofline, which makes no difference. */
#include "config.h"

#include "calib/refine_gemm.h"

#include "calib/grow.h"
#include "calib/refine.h"

#include <math.h>

/* Cells: those of the grid, and a quarter of a doubling at last. */
#define LOW 7
#define HIGH 15
#define COARSE 2
#define LEAST 0.25
#define WORTH 0.005
/* The simulator reads ratios to the forward GEMM off the other passes: they need fewer points. */
#define BACKWARD_WEIGHT 0.2
/* What a kernel that is all launch counts, beside one that is all work. */
#define FLOOR_CALLS 4
/* A candidate far from all named shapes, where there are some. */
#define FAR_WEIGHT 0.3

typedef struct {
    const CalibRefineGemm *all;
    CalibDtype dtype;
    CalibPass pass;
    CalibRefine *refine; /* NULL: this dtype is not wanted */
} Sheet;

struct CalibRefineGemm {
    const CalibSweepSpec *spec;
    Sheet sheets[CALIB_N_DTYPES][CALIB_N_PASSES];
    Sheet *asked;
    CalibGemm candidate;
};

static void
coordinates(const CalibGemm *g, double x[3])
{
    double m = log2((double)g->m * (double)g->batch), n = log2((double)g->n);
    x[0] = fmax(m, n);
    x[1] = fmin(m, n);
    x[2] = log2((double)g->k);
}

/* Whole tiles where there are many; at least what tensor cores load at once. */
static int64_t
rounded(double log2_size)
{
    double size = exp2(log2_size), unit = size >= 256 ? 64 : 16;
    return (int64_t)(floor(size / unit + 0.5) * unit);
}

static CalibGemm
gemm_at(const Sheet *sheet, const double x[3])
{
    return (CalibGemm){
        sheet->dtype, sheet->pass, rounded(x[0]), rounded(x[1]), rounded(x[2]), 1, 1};
}

/* 1 at a named shape, less away from all of them. */
static double
nearness(const Sheet *sheet, const double x[3])
{
    const CalibShapes *named = sheet->all->spec->named;
    double nearest2 = HUGE_VAL;
    for (size_t i = 0; i < named->n; i++) {
        const CalibCase *what = &named->shapes[i].what;
        if (what->kind != CALIB_CASE_GEMM || what->gemm.groups > 1)
            continue;
        double y[3], sum = 0;
        coordinates(&what->gemm, y);
        for (int axis = 0; axis < 3; axis++)
            sum += (x[axis] - y[axis]) * (x[axis] - y[axis]);
        nearest2 = fmin(nearest2, sum);
    }
    if (isinf(nearest2))
        return 1;
    return FAR_WEIGHT + (1 - FAR_WEIGHT) * exp(-nearest2 / 2);
}

static double
weight(const void *context, const double x[3])
{
    const Sheet *sheet = context;
    const CalibSweepSpec *spec = sheet->all->spec;
    CalibCase what = {.kind = CALIB_CASE_GEMM};
    what.gemm = gemm_at(sheet, x);
    if (x[0] < x[1] || !calib_sweep_gemm_worth(spec, &what.gemm) || !calib_points_fits(spec, &what))
        return 0;
    double us = calib_gemm_roofline_us(&spec->gpu, &what.gemm);
    double share = us / (us + FLOOR_CALLS * spec->gpu.floor_us);
    return share * nearness(sheet, x) * (sheet->pass == CALIB_FORWARD ? 1 : BACKWARD_WEIGHT);
}

CalibRefineGemm *
calib_refine_gemm_new(const CalibSweepSpec *spec)
{
    CalibRefineGemm *all = calloc(1, sizeof *all);
    if (all == NULL)
        abort();
    all->spec = spec;
    for (int dtype = 0; dtype < CALIB_N_DTYPES; dtype++)
        for (int pass = 0; pass < CALIB_N_PASSES && spec->dtypes[dtype]; pass++) {
            Sheet *sheet = &all->sheets[dtype][pass];
            *sheet = (Sheet){.all = all, .dtype = (CalibDtype)dtype, .pass = (CalibPass)pass};
            sheet->refine = calib_refine_new(&(CalibRefineBox){
                {LOW, LOW, LOW}, {HIGH, HIGH, HIGH}, COARSE, LEAST, weight, sheet});
        }
    return all;
}

void
calib_refine_gemm_free(CalibRefineGemm *all)
{
    if (all == NULL)
        return;
    for (int dtype = 0; dtype < CALIB_N_DTYPES; dtype++)
        for (int pass = 0; pass < CALIB_N_PASSES; pass++)
            calib_refine_free(all->sheets[dtype][pass].refine);
    free(all);
}

static double
log_efficiency(const CalibRefineGemm *all, const CalibRow *row)
{
    return log(calib_gemm_roofline_us(&all->spec->gpu, &row->what.gemm) / row->us[0]);
}

void
calib_refine_gemm_tell(CalibRefineGemm *all, const CalibRow *row)
{
    const CalibGemm *g = &row->what.gemm;
    if (row->what.kind != CALIB_CASE_GEMM || g->groups > 1 || !(row->us[0] > 0))
        return;
    Sheet *sheet = &all->sheets[g->dtype][g->pass];
    double x[3];
    coordinates(g, x);
    if (sheet->refine != NULL)
        calib_refine_tell(sheet->refine, x, log_efficiency(all, row));
}

bool
calib_refine_gemm_next(CalibRefineGemm *all, CalibPoint *ret)
{
    double best = 0, at[3] = {0};
    for (int dtype = 0; dtype < CALIB_N_DTYPES; dtype++)
        for (int pass = 0; pass < CALIB_N_PASSES; pass++) {
            Sheet *sheet = &all->sheets[dtype][pass];
            double x[3] = {0},
                   score = sheet->refine != NULL ? calib_refine_best(sheet->refine, x) : 0;
            if (score > best) {
                best = score;
                all->asked = sheet;
                for (int axis = 0; axis < 3; axis++)
                    at[axis] = x[axis];
            }
        }
    if (best < WORTH)
        return false;
    all->candidate = gemm_at(all->asked, at);
    *ret = (CalibPoint){.stage = CALIB_STAGE_REFINE};
    ret->what.kind = CALIB_CASE_GEMM;
    ret->what.gemm = all->candidate;
    ret->guess_s = calib_points_guess_s(all->spec, &ret->what);
    return true;
}

void
calib_refine_gemm_answer(CalibRefineGemm *all, const CalibRow *row)
{
    if (row == NULL || !(row->us[0] > 0)) {
        calib_refine_drop(all->asked->refine);
        return;
    }
    double x[3];
    coordinates(&all->candidate, x);
    calib_refine_cut(all->asked->refine, x, log_efficiency(all, row));
}
