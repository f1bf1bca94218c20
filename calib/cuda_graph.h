/* A graph of operations that cuDNN makes one kernel of.
 *
 * Failures are kept in the graph: what comes after one does nothing, and calib_graph_finish tells it. Tensors live as
 * long as the graph. */
#pragma once

#include "calib/cuda_cudnn.h"

typedef cudnnBackendDescriptor_t CalibTensor;
typedef struct {
    int64_t dims[4], strides[4]; /* batch, heads, rows, columns */
} CalibShape4;
typedef enum {
    CALIB_TENSOR_REAL,    /* in memory */
    CALIB_TENSOR_VIRTUAL, /* between operations */
    CALIB_TENSOR_VALUE    /* one number, of the host */
} CalibTensorKind;

/* Descriptors: of tensors, operations and plans, and a pack a copy of the buffers. */
enum { CALIB_GRAPH_TENSORS = 24, CALIB_GRAPH_OPERATIONS = 48, CALIB_GRAPH_DESCRIPTORS = 1280 };
typedef struct {
    const CalibCudnn *cudnn;
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t device; /* NULL: the handle's GPU; else plans are made for this one */
    int rank;
    CalibStatus status;
    CalibError error;
    cudnnBackendDescriptor_t descriptors[CALIB_GRAPH_DESCRIPTORS];
    int n_descriptors;
    cudnnBackendDescriptor_t operations[CALIB_GRAPH_OPERATIONS];
    int n_operations;
    int64_t uids
        [CALIB_GRAPH_TENSORS]; /* of tensors that are not virtual, in the order they were made */
    int n_uids;
    int64_t last_uid;
    cudnnBackendDescriptor_t plan;
    int64_t workspace_bytes;
} CalibGraph;

void calib_graph_init(CalibGraph *graph, const CalibCudnn *cudnn, cudnnHandle_t handle, int rank);
void calib_graph_clear(CalibGraph *graph);

/* Row-major and dense. */
CalibShape4 calib_shape4(int64_t batch, int64_t heads, int64_t rows, int64_t columns);
/* Rows and columns change places; the memory stays as it is. */
CalibShape4 calib_shape4_transposed(CalibShape4 shape);

CalibTensor calib_graph_tensor(CalibGraph *graph, cudnnDataType_t type, CalibShape4 shape,
                               CalibTensorKind kind);
/* c = a b */
void calib_graph_multiply(CalibGraph *graph, CalibTensor a, CalibTensor b, CalibTensor c);
/* y = x op b (b may be NULL), or t ? x : b; axis of CUDNN_POINTWISE_GEN_INDEX, else -1. */
typedef struct {
    cudnnPointwiseMode_t mode;
    cudnnDataType_t compute;
    CalibTensor x, b, t, y;
    int64_t axis;
} CalibPointwise;
void calib_graph_pointwise(CalibGraph *graph, const CalibPointwise *pointwise);
void calib_graph_reduce(CalibGraph *graph, cudnnReduceTensorOp_t how, CalibTensor x, CalibTensor y);
void calib_graph_reshape(CalibGraph *graph, CalibTensor x, CalibTensor y);

/* Plans: the first engine of cuDNN's heuristic that takes the graph. CALIB_CANNOT: none does. */
CalibStatus calib_graph_finish(CalibGraph *graph, CalibError *error);
/* What a call needs, for the pointers of all tensors in `uids`. It lives as long as the graph. */
cudnnBackendDescriptor_t calib_graph_pack(CalibGraph *graph, void *const *pointers,
                                          void *workspace);
