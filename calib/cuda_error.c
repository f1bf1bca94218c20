/* One line for each failure of CUDA, cuBLAS and others. */
#include "config.h"

#include "calib/cuda_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *
last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

CalibStatus
calib_call_failed(int rank, const char *call, const char *reason, const char *file, int line,
                  CalibError *error)
{
    snprintf(error->text, sizeof error->text, "rank %d: %.*s: %s (%s:%d)", rank,
             (int)strcspn(call, "("), call, reason, last_part(file), line);
    return CALIB_FAILED;
}

CalibStatus
calib_cuda_failed(int rank, const char *call, cudaError_t code, const char *file, int line,
                  CalibError *error)
{
    cudaGetLastError(); /* else the next launch reports it again */
    calib_call_failed(rank, call, cudaGetErrorString(code), file, line, error);
    return code == cudaErrorMemoryAllocation ? CALIB_CANNOT : CALIB_FAILED;
}

CalibStatus
calib_cublas_failed(int rank, const char *call, cublasStatus_t code, const char *file, int line,
                    CalibError *error)
{
    calib_call_failed(rank, call, cublasGetStatusString(code), file, line, error);
    return code == CUBLAS_STATUS_ALLOC_FAILED || code == CUBLAS_STATUS_NOT_SUPPORTED ||
                   code == CUBLAS_STATUS_ARCH_MISMATCH
               ? CALIB_CANNOT
               : CALIB_FAILED;
}

CalibStatus
calib_cannot(CalibError *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return CALIB_CANNOT;
}
