/* cuDNN, found when the program runs: a node without it measures attention unfused. */
#pragma once

#include "calib/cuda_gpu.h"

#include <cudnn.h>

/* Of the backend (graph) API, which has the same form since cuDNN 8. */
typedef struct {
    void *library; /* NULL: linked in */
    size_t (*version)(void);
    const char *(*text)(cudnnStatus_t);
    cudnnStatus_t (*create)(cudnnHandle_t *);
    cudnnStatus_t (*destroy)(cudnnHandle_t);
    cudnnStatus_t (*set_stream)(cudnnHandle_t, cudaStream_t);
    cudnnStatus_t (*create_descriptor)(cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t *);
    cudnnStatus_t (*destroy_descriptor)(cudnnBackendDescriptor_t);
    cudnnStatus_t (*set)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                         cudnnBackendAttributeType_t, int64_t n, const void *values);
    cudnnStatus_t (*get)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                         cudnnBackendAttributeType_t, int64_t most, int64_t *n, void *values);
    cudnnStatus_t (*finalize)(cudnnBackendDescriptor_t);
    cudnnStatus_t (*execute)(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                             cudnnBackendDescriptor_t pack);
} CalibCudnn;

/* Fused attention needs no help of its caller's since then. */
#define CALIB_CUDNN_LEAST 90600

/* False: it is not there, or older than CALIB_CUDNN_LEAST. */
bool calib_cudnn_load(CalibCudnn *ret);
void calib_cudnn_unload(CalibCudnn *cudnn);
