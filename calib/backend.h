/* What can be measured, and who measures it: the GPUs of this node, or recorded timings in tests.
 *
 * Plain C11 with no library, so that a node with CUDA and NCCL alone can build the calibrator. Units: bytes,
 * microseconds. A case is one thing to time; it holds no pointers, so that it can be sent to other ranks as it is.
 *
 * Processes of one run: rank 0 plans, measures and writes. All others sit in CalibBackend.share, get from there what
 * comes next, and join in (calib/follow.c). Kernels are measured by rank 0 on its first GPU alone; only cases for
 * which calib_case_is_shared holds reach the other ranks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    CALIB_FP32,
    CALIB_TF32,
    CALIB_FP16,
    CALIB_BF16,
    CALIB_FP8,
    CALIB_N_DTYPES
} CalibDtype;

/* C = A B of m x n x k, as PyTorch lays a linear layer out. Forward (TN): k contiguous in both. Dgrad (NN). Wgrad (NT):
 * fp32 sums added into C, as a main gradient is. `batch` equal problems at once (strided batched), each m x n x k; 1:
 * plain. `groups` > 1: one grouped GEMM, whose m (of wgrad: k) is the sum over the groups, evenly spread; batch is 1.
 * fp8: both operands in 8 bits with one scale each, C in bf16; no cast is timed. */
typedef enum { CALIB_FORWARD, CALIB_DGRAD, CALIB_WGRAD, CALIB_N_PASSES } CalibPass;
typedef struct {
    CalibDtype dtype;
    CalibPass pass;
    int64_t m, n, k, batch, groups;
} CalibGemm;

/* Names as in memory.tsv (calib_kernel_name). `bytes` below are what one ideal pass moves to and from HBM; a kernel of
 * a given number of bytes runs on as many elements as make them up, in bf16 where nothing is said, rows of 4096. */
typedef enum {
    CALIB_COPY,                /* read 2, written 2 B an element: 4 */
    CALIB_NORM,                /* RMSNorm: 4 */
    CALIB_NORM_BACKWARD,       /* x, dy read, dx written (with the weight's gradient): 6 */
    CALIB_SOFTMAX,             /* of rows, as unfused attention runs it: 4 */
    CALIB_SOFTMAX_BACKWARD,    /* y, dy, dx: 6 */
    CALIB_ACTIVATION,          /* SwiGLU: two read, one written: 6 */
    CALIB_ACTIVATION_BACKWARD, /* three read, two written: 10 */
    CALIB_ADD,                 /* 6 */
    CALIB_DROPOUT,             /* 4, and 1 of mask written: 5 */
    CALIB_ROPE,                /* 4 */
    CALIB_EMBEDDING,           /* row looked up, written: 4 */
    CALIB_EMBEDDING_BACKWARD, /* gradient of the tokens read, added into an fp32 table with atomics: 2 + 4 */
    CALIB_CROSS_ENTROPY,          /* of fp32 logits, unfused as in Megatron: 38 B a logit */
    CALIB_CROSS_ENTROPY_BACKWARD, /* 14 B a logit */
    CALIB_ADAM, /* fp32 gradient, master and two moments read; the last three and bf16 weight written: 30 B a parameter */
    CALIB_REDUCE,          /* sum over rows of a matrix: 2 read */
    CALIB_PERMUTE,         /* rows gathered by a random permutation: 4 */
    CALIB_CAST,            /* bf16 to fp8 with a known scale: 3 */
    CALIB_N_TABLE_KERNELS, /* above: rows of memory.tsv; below: rows of device.tsv, for system.conf */
    CALIB_TRIAD = CALIB_N_TABLE_KERNELS, /* a = b + s c, fp32: 12 */
    CALIB_LAUNCH, /* one empty kernel of many launched back to back; bytes 0 */
    CALIB_EVENT,  /* two events recorded one after the other: what they say; bytes 0 */
    CALIB_SYNC, /* launch of an empty kernel and cudaDeviceSynchronize, by the host's clock; bytes 0 */
    CALIB_H2D, /* pinned host memory to GPU */
    CALIB_D2H,
    CALIB_P2P, /* copy from GPU 0 to GPU 1 of this node */
    CALIB_N_KERNELS
} CalibKernel;
typedef struct {
    CalibKernel kernel;
    int64_t bytes;
} CalibMemory;

/* Fused (flash) attention, self-attention of `seq`; CalibMachine.attention says what runs it. */
typedef struct {
    CalibDtype dtype;
    int64_t batch, heads, kv_heads, head_dim, seq;
    bool causal, backward;
} CalibAttention;

/* `bytes` as nccl-tests' size: all_reduce, broadcast, send_recv the buffer of one rank; all_gather what a rank ends
 * with; reduce_scatter what it starts with; all_to_all one rank's whole buffer, its own slice included. Names as in
 * collective.tsv (calib_op_name). */
typedef enum {
    CALIB_ALL_REDUCE,
    CALIB_ALL_GATHER,
    CALIB_REDUCE_SCATTER,
    CALIB_ALL_TO_ALL,
    CALIB_BROADCAST, /* from rank 0 */
    CALIB_SEND_RECV, /* each rank to the next, the last to the first, as nccl-tests' sendrecv */
    CALIB_N_OPS,
    CALIB_COPY_ENGINE =
        CALIB_N_OPS /* beside compute only: GPU to pinned host memory by cudaMemcpyAsync, one GPU */
} CalibOp;
/* The group: the first ranks / nodes GPUs of each of the first `nodes` nodes. `in_place`: where the op has it; else
 * the backend answers CALIB_CANNOT. */
typedef struct {
    CalibOp op;
    CalibDtype dtype;
    int ranks, nodes;
    bool in_place;
    int64_t bytes;
} CalibCollective;

/* Compute repeated beside a collective, both long enough to overlap throughout. A sample holds CALIB_OVERLAP_TIMES
 * times, each of one call: the compute alone, the traffic alone, the compute beside the traffic, the traffic beside the
 * compute. They are taken in turn, so that a drifting clock touches all alike. */
#define CALIB_OVERLAP_TIMES 4
typedef enum {
    CALIB_WORK_GEMM,
    CALIB_WORK_ATTENTION,
    CALIB_WORK_MEMORY
} CalibWork; /* as in overlap.tsv */
typedef struct {
    CalibWork work;
    union {
        CalibGemm gemm;
        CalibAttention attention;
        CalibMemory memory;
    };
    CalibCollective traffic;
    int channels; /* that the collective must use: no fewer, no more; 0 for CALIB_COPY_ENGINE */
} CalibOverlap;

typedef enum {
    CALIB_CASE_GEMM,
    CALIB_CASE_MEMORY,
    CALIB_CASE_ATTENTION,
    CALIB_CASE_COLLECTIVE,
    CALIB_CASE_OVERLAP,
    CALIB_N_CASES
} CalibKind;

typedef struct {
    CalibKind kind;
    union {
        CalibGemm gemm;
        CalibMemory memory;
        CalibAttention attention;
        CalibCollective collective;
        CalibOverlap overlap;
    };
} CalibCase;

enum { CALIB_MESH_GPUS = 16 }; /* that links join without switches */

/* One machine as it describes itself; texts are empty and numbers 0 where it does not say. */
typedef struct {
    char gpu_name[128], driver[64], cuda[32], cublas[32], nccl[32], cudnn[32], mpi[64], host[128];
    char attention[96];                 /* "cuDNN 9.1 fused", "unfused: GEMMs and softmax" */
    char nccl_algo[64], nccl_proto[64]; /* as the environment has them */
    char clocks[256];                   /* how the GPU's clock ran, known at the end */
    int compute_capability;             /* 90 */
    int gpus, sms;                      /* of this node; of a GPU */
    int64_t memory_bytes,
        memory_free_bytes; /* all that CUDA sees; free once contexts and libraries are there */
    int64_t l2_bytes, clock_khz, memory_clock_khz;
    int memory_bus_bits;
    int nvlinks;                                    /* active links of GPU 0 */
    double nvlink_GBps;                             /* of one link and direction */
    uint8_t mesh[CALIB_MESH_GPUS][CALIB_MESH_GPUS]; /* links between each two GPUs of this node */
    bool nvswitch;                                  /* all GPUs meet in switches */
    int pcie_generation, pcie_width;
    int nics;
    double nic_Gbps;
    bool nic_through_host; /* cards cannot read GPU memory (no peer memory module) */
    int64_t host_memory_bytes;
    int hosts; /* of a node: NVLink joins those of a rack; 0: one. `nics`, `sockets` and host memory are of each */
    int sockets;
    int nodes, node, rank,
        world; /* of the run: one process a node, or one a GPU; at least 1, 0, 0, 1 */
} CalibMachine;

typedef struct {
    char text[512]; /* call, file:line, rank: one line */
} CalibError;

typedef enum {
    CALIB_OK,
    CALIB_CANNOT, /* this machine cannot do this case (no fp8, no memory left): skip it, say why in the table's notes */
    CALIB_FAILED  /* the device, a library or another rank failed: end */
} CalibStatus;

/* How a case is to be timed. A sample is the time of `calls` calls back to back, over `calls`: events resolve 0.5 us,
 * so that short kernels need many. Before the first sample the case runs for `warm_us`, and once at least. */
typedef struct {
    unsigned calls, samples;
    double warm_us;
} CalibTiming;

typedef struct CalibBackend {
    const char *name;
    void *state;
    CalibStatus (*describe)(void *state, CalibMachine *ret, CalibError *error);
    /* Writes calib_case_n_times(what) x timing->samples microseconds: all samples of the first time, then of the next.
     * A shared case is called by all ranks with the same arguments; each gets the slowest rank's times. */
    CalibStatus (*run)(void *state, const CalibCase *what, const CalibTiming *timing, double *us,
                       CalibError *error);
    /* Rank 0's `data` go to all ranks; waits for them as long as it takes, but not for a rank that is lost
     * (CALIB_FAILED). Never called when world is 1. */
    CalibStatus (*share)(void *state, void *data, size_t size, CalibError *error);
    double (*now_s)(void *state); /* a monotonic clock */
    /* Adds what is known once all is measured (CalibMachine.clocks); NULL: nothing. */
    void (*conclude)(void *state, CalibMachine *machine);
    void (*close)(void *state);
} CalibBackend;

/* How this process was started. */
typedef struct {
    int rank, world;        /* -1: not said (MPI's or Slurm's environment may know) */
    const char *rendezvous; /* a file that all ranks see; NULL: none */
} CalibLaunch;

typedef enum { CALIB_OPENED, CALIB_NO_GPU, CALIB_OPEN_FAILED } CalibOpened;
/* The backend that this program was built with. CALIB_NO_GPU: `error` says in one line what is missing. */
CalibOpened calib_backend_open(const CalibLaunch *launch, CalibBackend *ret, CalibError *error);
