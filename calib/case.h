/* Cases by name, size and order. */
#pragma once

#include "calib/backend.h"

const char *calib_dtype_name(CalibDtype dtype);
int calib_dtype_bytes(CalibDtype dtype);
const char *calib_pass_name(CalibPass pass);
const char *calib_kernel_name(CalibKernel kernel);
const char *calib_op_name(CalibOp op);
const char *calib_work_name(CalibWork work);
const char *calib_kind_name(CalibKind kind); /* "gemm": a word of --only */
/* Of CALIB_N_DTYPES and so on; -1: none has that name. */
int calib_dtype_find(const char *name);
int calib_pass_find(const char *name);
int calib_kernel_find(const char *name);
int calib_op_find(const char *name); /* CALIB_COPY_ENGINE is "copy" */
int calib_kind_find(const char *name);

/* Times that one sample has: CALIB_OVERLAP_TIMES for an overlap, else 1. */
unsigned calib_case_n_times(const CalibCase *what);
/* Do all ranks take part? */
bool calib_case_is_shared(const CalibCase *what);
/* Total order; 0: the same case. */
int calib_case_compare(const CalibCase *a, const CalibCase *b);
/* "gemm bf16 forward 4096 x 4096 x 1024": one line for people. */
void calib_case_describe(const CalibCase *what, char *text, size_t size);
/* Floating point operations and bytes moved in memory or over links by one call. */
double calib_gemm_flops(const CalibGemm *gemm);
double calib_gemm_bytes(const CalibGemm *gemm); /* each matrix once */
double calib_attention_flops(const CalibAttention *attention);
/* Bytes that each rank sends at least: nccl-tests' bus rate times the time. */
double calib_collective_sent_bytes(const CalibCollective *collective);
/* Memory that the buffers take on one GPU, without rotation. */
int64_t calib_case_footprint_bytes(const CalibCase *what);
