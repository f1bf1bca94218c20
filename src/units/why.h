/* A tree of named contributions behind a number: what `dtsim explain` and the report print.
 * The value of an inner node is the sum of its children. */
#pragma once

#include <glib.h>

typedef struct Why Why;
struct Why {
    char *name;       /* owned */
    double value;     /* in the unit of the root */
    double error;     /* one sigma; not the sum of its parts', which err together only in part */
    double share[3];  /* of the value: measured, interpolated, modelled */
    GPtrArray *parts; /* of Why*, owned; NULL for a leaf */
};

Why *why_new(const char *name, double value);
/* takes `part`; adds its value to `why` only (keep trees built bottom-up). */
void why_add(Why *why, Why *part);
void why_free(Why *why);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Why, why_free)
