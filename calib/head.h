/* The first lines of every table: where, when and on what it was measured. */
#pragma once

#include "calib/backend.h"

/* Caller frees. */
char *calib_head_new(const CalibMachine *machine, const char *version, const char *name);
/* Compares what must not change between runs (GPU, driver, libraries, NCCL's settings) with the '#' lines of a file.
 * NULL: the same; else the first line of ours that the file has otherwise, and ret_theirs what it has ("" : nothing);
 * both are cut to `size`. */
bool calib_head_agrees(const char *head, const char *text, char *ret_ours, char *ret_theirs,
                       size_t size);
