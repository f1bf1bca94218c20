/* What the error of a time is made of, so that errors of two times can be set against each other. */
#pragma once

#include <glib.h>

/* An error that has nothing to do with any other: of one kernel's time, of what a model has wrong for all of a family,
 * of all times together. The same source in two results of one machine is the same error. */
typedef struct {
    guint64 source;
    double ns; /* one sigma */
} StepDoubt;

/* Ascending by source, those of the same source added up. */
void step_doubts_sort(GArray *doubts);
/* One sigma of x_scale * x - y_scale * y, for two times with these doubts; of x alone where y is NULL. */
double step_doubt_of_difference(const GArray *x, double x_scale, const GArray *y, double y_scale);
