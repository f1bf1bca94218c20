/* Calls of PyTorch that have a shape, told from the events of the host: packed into one text, so that equal ones are
 * kept once. */
#pragma once

#include "calibrate/event.h"
#include "calibrate/kernel.h"

typedef enum {
    CALIBRATE_CALL_NONE,
    CALIBRATE_CALL_GEMM,
    CALIBRATE_CALL_ATTENTION,
    CALIBRATE_CALL_MEMORY,
    CALIBRATE_CALL_COLLECTIVE,
} CalibrateCallKind;

typedef struct {
    CalibrateCallKind kind;
    const char *refusal; /* why it is no row of a table, though of a known kind; NULL: it is one */
    CostGemm gemm;       /* pass is as the strides say, where has_pass */
    gboolean has_pass;
    gboolean is_fp32; /* fp32 operands: the kernel's name says whether they were rounded to tf32 */
    CostAttention attention;
    CostMemoryKernel memory;
    gint64 bytes;     /* of memory: what one ideal pass moves; of a collective: nccl-tests' size */
    const char *name; /* of a collective, calibrate_collective_name */
    NetOp op;
    char dtype[16]; /* of a collective: "bf16", "int8" */
    gint64 group_size;
    char ranks[512]; /* "0, 1, 2, ..." as the profile has it; "": it does not say */
} CalibrateCall;

/* Appends to `out` what is kept of the event; FALSE where it is none of these. */
gboolean calibrate_call_pack(const CalibrateEvent *event, GString *out);
/* Bytes of an element by the profile's name of its type, "c10::BFloat16"; 0: not known. */
guint calibrate_call_type_bytes(const char *type);
/* The profile's name of a type by ours, "bf16"; "" where it has none. */
const char *calibrate_call_type_name(const char *dtype);
/* What it says; kind NONE for "". */
CalibrateCall calibrate_call_read(const char *packed);
/* Nodes that the ranks lie on, with `per_node` ranks on each; 0: it cannot be told. */
guint calibrate_call_nodes(const CalibrateCall *call, guint per_node);
