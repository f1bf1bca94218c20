/* A collective as traffic: buffers and calls of the GPUs of this process that are in its group. */
#pragma once

#include "calib/cuda_traffic.h"
#include "calib/nccl_groups.h"

enum { CALIB_SMALL_BYTES = 4096 };

/* One GPU of this process. */
typedef struct {
    CalibGpu *gpu;
    cudaStream_t stream; /* of traffic beside compute */
    char *buffer;        /* of such traffic: compute has the arena */
    int64_t buffer_bytes;
    char *small; /* what GPUs align by */
} CalibNcclGpu;

typedef struct {
    CalibTraffic traffic;
    const CalibCollective *collective;
    const CalibGroup *group;
    int rank;
    ncclDataType_t type;
    size_t count; /* of elements that one call of NCCL is told */
    unsigned n;
    struct {
        CalibNcclGpu *gpu;
        int seat, rank; /* which comm of the group; rank in it */
        char *from, *to;
    } members[CALIB_MOST_GPUS];
} CalibNcclTraffic;

/* Lays out buffers in arenas, or beside them where `beside` compute. CALIB_CANNOT: no memory, or no such collective.
 * The group comes later (calib_nccl_traffic_join): who cannot have buffers must say so first. Keeps `collective`. */
CalibStatus calib_nccl_traffic_init(CalibNcclTraffic *t, const CalibCollective *collective,
                                    bool beside, const CalibSeats *seats, CalibNcclGpu *gpus,
                                    int rank, CalibError *error);
void calib_nccl_traffic_join(CalibNcclTraffic *t, const CalibGroup *group);
