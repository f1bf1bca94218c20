/* Refinement of all surfaces of plain GEMMs: one for each dtype and pass. */
#pragma once

#include "calib/row.h"
#include "calib/sweep.h"

typedef struct CalibRefineGemm CalibRefineGemm;

/* Borrows the spec. */
CalibRefineGemm *calib_refine_gemm_new(const CalibSweepSpec *spec);
void calib_refine_gemm_free(CalibRefineGemm *refine);
/* A row of a grid or a named one; others than plain GEMMs are ignored. */
void calib_refine_gemm_tell(CalibRefineGemm *refine, const CalibRow *row);
/* False: no guess is expected to be off by half a percent. */
bool calib_refine_gemm_next(CalibRefineGemm *refine, CalibPoint *ret);
/* Of the last candidate: its row, or NULL. */
void calib_refine_gemm_answer(CalibRefineGemm *refine, const CalibRow *row);
