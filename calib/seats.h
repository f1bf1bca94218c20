/* Which process drives which GPU, and which GPUs a group has.
 *
 * One process a node may drive all GPUs of it, or each GPU may have a process, or anything between: processes of a node
 * that see the same GPUs share them out evenly; those that see different ones (a launcher hid the others') take all that
 * they see. GPUs of a node are numbered by rank, then by CUDA. Where NVLink joins hosts (GB200 NVL72) a node is all of
 * them. */
#pragma once

#include "calib/backend.h"

enum { CALIB_MOST_GPUS = 32 }; /* that one process sees */

/* What a process tells of itself. */
typedef struct {
    char boot[128];                 /* the same for processes of one host only */
    char links[64];                 /* the same where NVLink joins hosts; empty: it joins none */
    char host[128];                 /* for people */
    char kind[128];                 /* its GPUs' name */
    char gpus[CALIB_MOST_GPUS][24]; /* addresses on PCIe */
    int n_gpus;
} CalibSeatsHello;

typedef struct {
    int device, node, slot; /* CUDA's number here; the node's; the GPU's on its node */
} CalibSeat;
typedef struct {
    int nodes, gpus, hosts; /* of the run; of each node */
    int node, n;            /* of this process: its node, its GPUs */
    CalibSeat seats[CALIB_MOST_GPUS];
} CalibSeats;

bool calib_seats_find(const CalibSeatsHello *all, int world, int rank, CalibSeats *ret,
                      CalibError *error);
/* A GPU's rank among the first ranks / nodes GPUs of each of the first nodes; -1: it is none of them. */
int calib_seats_rank(const CalibSeat *seat, int ranks, int nodes);
