/* Turns what CUDA and its libraries return into one line: rank, call, place, reason. */
#pragma once

#include "calib/backend.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

/* Each writes `error`. CALIB_CANNOT: memory is used up, or the library has nothing for this case. `call` may be a whole
 * expression; its function's name is told. */
CalibStatus calib_cuda_failed(int rank, const char *call, cudaError_t code, const char *file,
                              int line, CalibError *error);
CalibStatus calib_cublas_failed(int rank, const char *call, cublasStatus_t code, const char *file,
                                int line, CalibError *error);
/* CALIB_CANNOT with a reason. */
__attribute__((format(printf, 2, 3))) CalibStatus calib_cannot(CalibError *error,
                                                               const char *format, ...);
/* For other libraries: CALIB_FAILED. */
CalibStatus calib_call_failed(int rank, const char *call, const char *reason, const char *file,
                              int line, CalibError *error);

/* In functions that return a CalibStatus and have `error`. */
#define CALIB_TRY(call)                                                                            \
    do {                                                                                           \
        CalibStatus status_ = (call);                                                              \
        if (status_ != CALIB_OK)                                                                   \
            return status_;                                                                        \
    } while (0)
#define CALIB_CUDA(gpu, call)                                                                      \
    do {                                                                                           \
        cudaError_t code_ = (call);                                                                \
        if (code_ != cudaSuccess)                                                                  \
            return calib_cuda_failed((gpu)->rank, #call, code_, __FILE__, __LINE__, error);        \
    } while (0)
#define CALIB_CUBLAS(gpu, call)                                                                    \
    do {                                                                                           \
        cublasStatus_t code_ = (call);                                                             \
        if (code_ != CUBLAS_STATUS_SUCCESS)                                                        \
            return calib_cublas_failed((gpu)->rank, #call, code_, __FILE__, __LINE__, error);      \
    } while (0)
