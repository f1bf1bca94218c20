/* collective.tsv: rows "op dtype ranks nodes bytes time_us" gathered into sweeps. */
#pragma once

#include "net/fit.h"

#define NET_ERROR (net_error_quark())
GQuark net_error_quark(void);
typedef enum { NET_ERROR_ROW, NET_ERROR_CHOICE } NetError;

/* Array of NetSweep in order of (op, nodes, ranks), its curves freed with it. A missing file gives no
 * sweeps; a bad row is an error and leaves outputs untouched. `ret_n_rows` may be NULL. */
GArray *net_rows_load(const char *path, const NetFabric *fabric, guint *ret_n_rows, GError **error);
/* The same from text; `name` for messages. */
GArray *net_rows_parse(const char *name, const char *text, const NetFabric *fabric,
                       guint *ret_n_rows, GError **error);
/* The group that nccl-tests runs: `ranks` spread evenly over `nodes`. */
NetGroup net_even_group(const NetFabric *fabric, guint ranks, guint nodes);
/* An array that owns copies of the sweeps and of their curves. */
GArray *net_sweeps_copy(const NetSweep *sweeps, guint n);
/* A book made from sweeps in memory (borrowed, copied) that were measured on `system`. */
NetBook *net_book_new(const ClusterSystem *system, const NetSweep *sweeps, guint n, GError **error);
