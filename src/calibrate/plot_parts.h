/* The inside of a plot: each table adds its panels. */
#pragma once

#include "calibrate/plot.h"
#include "conf/table.h"

#include <math.h>

/* They take `title` and `name`; what they give is the plot's. */
CalibratePanel *calibrate_plot_panel(CalibratePlot *plot, ClusterTable table, char *title,
                                     const char *x_label, const char *y_label);
CalibrateCurve *calibrate_plot_curve(CalibratePanel *panel, char *name);

gboolean calibrate_plot_gemm(CalibratePlot *plot, const ClusterSystem *system,
                             const ConfTable *table, GError **error);
gboolean calibrate_plot_attention(CalibratePlot *plot, const ClusterSystem *system,
                                  const ConfTable *table, GError **error);
gboolean calibrate_plot_memory(CalibratePlot *plot, const ClusterSystem *system,
                               const ConfTable *table, GError **error);
gboolean calibrate_plot_collective(CalibratePlot *plot, const ClusterSystem *system,
                                   const ConfTable *table, GError **error);
