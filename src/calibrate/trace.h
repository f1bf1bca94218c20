/* A profile of one rank: what ran on the GPU, and the ops of PyTorch that launched it. */
#pragma once

#include "calibrate/call.h"

typedef struct {
    gint64 begin_ns, duration_ns;
    gint64 correlation; /* of its launch; -1: none */
    CalibrateKind kind;
    guint name;     /* index into names */
    guint call;     /* NCCL: index into names of what it says of its collective; 0: nothing */
    gint op;        /* index into ops of the innermost one known that launched it; -1 */
    gboolean alone; /* no other kernel ran meanwhile */
} CalibrateKernel;

/* A call that has a shape: only those that calibrate_shape_is_known says. */
typedef struct {
    gint64 begin_ns, end_ns;
    guint64 thread;
    guint text;  /* index into names: calibrate_call_pack */
    gint parent; /* the op around it; -1 */
} CalibrateOp;

typedef struct {
    char *name; /* "ProfilerStep#551" */
    gint64 begin_ns, duration_ns;
} CalibrateStep;

typedef struct {
    char *path;
    CalibrateHeader header;
    gint64 rank; /* as the file says, else as its name does; -1 */
    gboolean rank_of_name;
    GPtrArray *names; /* of char*, each once; [0] is "" */
    GArray *kernels;  /* of CalibrateKernel, by begin */
    GPtrArray *calls; /* of CalibrateCall, by name: what is packed there; NULL: nothing */
    GArray *ops;      /* of CalibrateOp, by thread and begin */
    GArray *steps;    /* of CalibrateStep, by begin; of the host's, not the GPU's */
    guint64 n_events;
    guint n_untimed; /* events of the GPU without usable times, left out */
} CalibrateTrace;

CalibrateTrace *calibrate_trace_load(const char *path, GError **error);
CalibrateTrace *calibrate_trace_parse(const char *name, const char *text, gsize length,
                                      GError **error);
/* Events of another kind of file than the profiler's; `source` hands them to `func`, and fills the header. */
typedef gboolean (*CalibrateTraceSource)(const char *path, CalibrateEventFunc func,
                                         gpointer func_user, CalibrateHeader *header, gpointer user,
                                         GError **error);
CalibrateTrace *calibrate_trace_gather(const char *path, CalibrateTraceSource source, gpointer user,
                                       GError **error);
void calibrate_trace_free(CalibrateTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CalibrateTrace, calibrate_trace_free)

const char *calibrate_trace_name(const CalibrateTrace *trace, guint index);
/* The call behind it: its own, else that of the op that launched it; NULL: none is known. */
const CalibrateCall *calibrate_kernel_call(const CalibrateTrace *trace,
                                           const CalibrateKernel *kernel);
/* Of an op; never NULL. */
const CalibrateCall *calibrate_op_call(const CalibrateTrace *trace, guint op);
