/* A kernel or collective of one shape that a run looks up the time of, and what hangs on it. */
#pragma once

#include "net/collective.h"

typedef enum {
    STEP_SHAPE_GEMM,
    STEP_SHAPE_ATTENTION,
    STEP_SHAPE_MEMORY,
    STEP_SHAPE_COLLECTIVE,
    STEP_N_SHAPE_KINDS
} StepShapeKind;
extern const char *const step_shape_kind_names[]; /* "gemm", ... as in lists of shapes */

typedef struct {
    StepShapeKind kind;
    union {
        CostGemm gemm;
        CostAttention attention;
        struct {
            CostMemoryKernel kernel;
            gint64 bytes;
        } memory;
        struct {
            NetOp op;
            ClusterDtype dtype; /* of its elements; times do not depend on it */
            guint ranks, nodes;
            gboolean even; /* as many ranks on each node */
            gint64 bytes;  /* as NetOp counts them */
        } collective;
    };
    const char *name; /* static: of the first op that is of this shape */
    CostTime time;    /* of one, alone */
    double calls;     /* in an iteration, of the GPU that runs it most often */
    double path_ns;   /* of the critical path, with what it waits for beside others */
    double error_ns;  /* what it may shift the iteration by: path_ns x time.error_frac */
} StepShape;

/* Can a microbenchmark run it as it is? Not attention over more keys than queries or with narrower values, and no
 * uneven groups. */
gboolean step_shape_is_measurable(const StepShape *shape);
