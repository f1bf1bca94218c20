/* Which groups of GPUs a system's collectives were measured on. */
#pragma once

#include "net/collective.h"

typedef struct {
    NetOp op;
    guint ranks, nodes, n_rows;
} NetCovered;

/* Array of NetCovered in order of (op, nodes, ranks). Caller frees. */
GArray *net_book_coverage(const NetBook *book);
