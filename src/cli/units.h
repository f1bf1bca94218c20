/* "F=1,I=5/2,W=0.5,pair=3,comm=1": durations of textbook mode, exact. */
#pragma once

#include "step/step.h"

typedef struct {
    StepUnits units; /* integers: the given numbers times `scale`; p2p is not set */
    gint64 scale;
} CliUnits;

/* Numbers are decimals or fractions, not negative. What is left out follows from the rest: see units.c. */
gboolean cli_units_parse(const char *text, CliUnits *ret_units,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
