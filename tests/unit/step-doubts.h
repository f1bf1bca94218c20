/* Doubts as tests write them. */
#pragma once

#include "step/doubt.h"

static inline GArray *
doubts_new(const StepDoubt *doubts, guint n)
{
    GArray *array = g_array_new(FALSE, FALSE, sizeof(StepDoubt));
    g_array_append_vals(array, doubts, n);
    step_doubts_sort(array);
    return array;
}
