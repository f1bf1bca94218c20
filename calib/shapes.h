/* The shapes that somebody needs: what `dtsim shapes` prints, and --shapes reads.
 *
 * Lines of words between tabs (blanks do, too); '#' begins a comment line; empty lines do not count. The first word says
 * what follows, the last, which may be left out, how often a training step runs it:
 *
 *   gemm        dtype pass m n k batch groups [calls]
 *   attention   dtype batch heads kv_heads head_dim seq causal [calls]
 *   memory      kernel bytes [calls]
 *   collective  op dtype ranks nodes bytes [calls]
 *
 * dtype: fp32 tf32 fp16 bf16 fp8. pass: forward dgrad wgrad. batch, groups: 1 where there are none; of a grouped GEMM m
 * (of wgrad: k) is the sum over the groups. causal: 0 or 1. bytes and kernel as in memory.tsv, op and bytes as in
 * collective.tsv. An attention line stands for forward and backward, a collective's for out of place and in place. */
#pragma once

#include "calib/case.h"

typedef struct {
    CalibCase what;
    double calls;
} CalibShape;

typedef struct {
    CalibShape *shapes;
    size_t n, room;
} CalibShapes; /* zeroed: none */

/* False: "FILE:LINE: what is wrong; what to write". */
bool calib_shapes_load(const char *path, CalibShapes *ret, CalibError *error);
/* `text` is cut up. */
bool calib_shapes_parse(const char *name, char *text, CalibShapes *ret, CalibError *error);
void calib_shapes_clear(CalibShapes *shapes);
