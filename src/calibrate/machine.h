/* Are two names of a GPU of one kind of GPU? "NVIDIA H100 80GB HBM3" and "H100-SXM5-80GB" are. */
#pragma once

#include <glib.h>

/* Compares model, size of memory and form (SXM, PCIe) as far as both say them. */
gboolean calibrate_gpus_agree(const char *a, const char *b);
/* The GPU that a table says it is of: "# gpu: 8 x NAME" among its comments; NULL: it does not say. Caller frees. */
char *calibrate_gpu_of_comment(const char *comment);
