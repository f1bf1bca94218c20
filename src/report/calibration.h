/* Pictures of a system's tables: through gnuplot and plots/calibration.gp. */
#pragma once

#include "calibrate/plot.h"

/* PNG, SVG or PDF by the ending of `path`; .gp: the script with its data, which gnuplot runs anywhere. The file
 * appears whole or not at all. */
gboolean report_calibration_plot(const CalibratePlot *plot, const char *title, const char *path,
                                 GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The ending is one of these. */
gboolean report_calibration_check(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
