/* Turns what NCCL returns into one line: rank, call, place, reason. */
#pragma once

#include "calib/cuda_error.h"

#include <nccl.h>

/* CALIB_CANNOT where memory ran out as a group was made is for the caller to say: here all is CALIB_FAILED. */
CalibStatus calib_nccl_failed(int rank, const char *call, ncclResult_t code, const char *file,
                              int line, CalibError *error);

/* In functions that return a CalibStatus and have `error`; `rank` of the process. */
#define CALIB_NCCL_CALL(rank, call)                                                                \
    do {                                                                                           \
        ncclResult_t code_ = (call);                                                               \
        if (code_ != ncclSuccess)                                                                  \
            return calib_nccl_failed((rank), #call, code_, __FILE__, __LINE__, error);             \
    } while (0)
