/* What launchers put before lines to say which process wrote them. */
#pragma once

#include <glib.h>

/* "[1,0]<stdout>:" of mpirun --tag-output, "0: " of srun -l, "[default3]:" of torchrun and DeepSpeed's launcher,
 * "[pod/NAME/CONTAINER] " of kubectl --prefix: the rest of the line, and the label; or the line and "". */
const char *conf_line_label(const char *line, const char **ret_label, gsize *ret_n);
