/* Fused attention as cuDNN recognises it: its operations one by one. */
#pragma once

#include "calib/cuda_graph.h"

/* Tensors in memory, in the order of the graph's `uids` where they are there, and numbers of the host. */
typedef enum {
    CALIB_FUSED_Q,
    CALIB_FUSED_K,
    CALIB_FUSED_V,
    CALIB_FUSED_O,
    CALIB_FUSED_STATISTICS, /* fp32: of each query the logarithm of its sum of exponentials */
    CALIB_FUSED_DO,
    CALIB_FUSED_DQ,
    CALIB_FUSED_DK,
    CALIB_FUSED_DV,
    CALIB_FUSED_DQ_SUMS, /* fp32: dQ while it is added up */
    CALIB_FUSED_DOT,     /* fp32: of each query dO O */
    CALIB_FUSED_SCALE,   /* 1 / sqrt(head_dim) */
    CALIB_FUSED_MASKED,  /* what a score becomes that is not seen */
    CALIB_FUSED_ONE,
    CALIB_FUSED_TENSORS
} CalibFusedTensor;

/* Which tensors the graph has, in order. */
typedef struct {
    CalibFusedTensor slots[CALIB_GRAPH_TENSORS];
    int n;
} CalibFusedSlots;

/* Adds all operations; calib_graph_finish comes next. */
void calib_fused_forward(CalibGraph *graph, const CalibAttention *attention,
                         CalibFusedSlots *ret_slots);
void calib_fused_backward(CalibGraph *graph, const CalibAttention *attention,
                          CalibFusedSlots *ret_slots);
/* Bytes in memory; 0 of the host's numbers. */
int64_t calib_fused_bytes(const CalibAttention *attention, CalibFusedTensor tensor);
