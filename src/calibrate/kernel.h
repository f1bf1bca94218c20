/* What a kernel does, as far as its name says. */
#pragma once

#include "net/collective.h"

typedef enum {
    CALIBRATE_GEMM,
    CALIBRATE_ATTENTION,
    CALIBRATE_MEMORY,   /* all other computing */
    CALIBRATE_NCCL,     /* NCCL's, RCCL's */
    CALIBRATE_EXCHANGE, /* tokens to and from experts without NCCL: DeepEP, NVSHMEM */
    CALIBRATE_COPY,     /* copies and fills by the copy engines, which are no kernels */
    CALIBRATE_N_KINDS
} CalibrateKind;
const char *calibrate_kind_name(CalibrateKind kind);

CalibrateKind calibrate_kernel_kind(const char *name);
/* The operation in the name of NCCL's kernel or in "Collective name" of a profile: "all_reduce", "send_recv", but also
 * "reduce"; "other". Exchanges: "dispatch", "combine", "notify", "other". Never NULL. */
const char *calibrate_collective_name(const char *name);
const char *calibrate_exchange_name(const char *name);
/* By the layout that names of GEMM kernels have: TN forward, NN dgrad, NT wgrad; FALSE where none is. */
gboolean calibrate_kernel_pass(const char *name, CostGemmPass *ret_pass);
/* Does a kernel of fp32 operands round them to tf32, by its name? */
gboolean calibrate_kernel_is_tf32(const char *name);
