/* What the tables of a system directory look like: maps of efficiency and curves with the fit through them. */
#pragma once

#include "calibrate/fit_line.h"
#include "cluster/tables.h"

/* One square of a map: all rows in it. */
typedef struct {
    double x_low, x_high, y_low, y_high;
    double value; /* their median */
} CalibrateCell;

typedef struct {
    char *name;
    GArray *points; /* of CalibratePoint: measured */
    GArray *fit;    /* the same: of the curve through them; may be empty */
} CalibrateCurve;

typedef struct {
    ClusterTable table;
    char *title;
    const char *x_label, *y_label;
    GArray *cells;     /* of CalibrateCell; empty: it has curves */
    GPtrArray *curves; /* of CalibrateCurve */
    double ceiling;    /* what no row should be above, in y; NAN: nothing */
    const char *ceiling_name;
} CalibratePanel;

typedef struct {
    GPtrArray *panels;  /* of CalibratePanel */
    GPtrArray *sources; /* of char*: what each table says of itself */
    GPtrArray *notes;   /* of char*: tables that are not there */
} CalibratePlot;

/* A system without rows of its own to draw is an error. */
CalibratePlot *calibrate_plot(const ClusterSystem *system, GError **error);
void calibrate_plot_free(CalibratePlot *plot);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CalibratePlot, calibrate_plot_free)
