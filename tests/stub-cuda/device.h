/* A GPU that computes nothing: it keeps account of memory and of time.
 *
 * Each stream has a clock, which every call that is enqueued moves on by what the call takes: figures of an H100 as below,
 * and up to half a percent more or less by chance. Every address that a call is given must lie in memory that was
 * allocated. In the environment: DTSIM_STUB_GPUS (1), DTSIM_STUB_OTHER (a GPU of another kind; none), DTSIM_STUB_MEMORY in bytes (80e9), DTSIM_STUB_CAPABILITY (90),
 * DTSIM_STUB_FAIL=FUNCTION:NTH:CODE, DTSIM_STUB_HANG=FUNCTION:NTH, and DTSIM_STUB_TRACE, a file to which the names of functions go when they are first
 * called. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdbool.h>

#define STUB_FLOOR_US 2.5      /* of each kernel */
#define STUB_MEMORY_B_US 3.0e6 /* 3 TB/s */
#define STUB_HOST_B_US 5.0e4   /* 50 GB/s */
#define STUB_PEER_B_US 4.0e5   /* 400 GB/s */
#define STUB_PEAK_FLOP_US 7e8  /* 700 TFLOPS in 16 bits */

/* Code that this call of a function is to return: 0 unless DTSIM_STUB_FAIL says so. */
int stub_enter(const char *function);
/* Moves a stream's clock. */
void stub_spend(cudaStream_t stream, double us);
/* All of it in one allocation of the GPU? Else complains, and the program ends with status 3. */
void stub_check(const char *function, const void *at, size_t bytes);

/* In functions that return a status: the failure that was asked for. */
#define STUB_ENTER(type)                                                                           \
    do {                                                                                           \
        int code_ = stub_enter(__func__);                                                          \
        if (code_ != 0)                                                                            \
            return (type)code_;                                                                    \
    } while (0)
