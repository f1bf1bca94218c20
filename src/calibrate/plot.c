/* Panels of a system's tables, in the order of the tables. */
#include "config.h"

#include "calibrate/plot.h"

#include "calibrate/own_table.h"
#include "calibrate/plot_parts.h"

#include <string.h>

#define MOST_SOURCE 150 /* characters of what a table says of itself */

static void
curve_free(gpointer data)
{
    CalibrateCurve *curve = data;
    g_free(curve->name);
    g_array_unref(curve->points);
    g_array_unref(curve->fit);
    g_free(curve);
}

static void
panel_free(gpointer data)
{
    CalibratePanel *panel = data;
    g_free(panel->title);
    g_array_unref(panel->cells);
    g_ptr_array_unref(panel->curves);
    g_free(panel);
}

void
calibrate_plot_free(CalibratePlot *plot)
{
    if (plot == NULL)
        return;
    g_ptr_array_unref(plot->panels);
    g_ptr_array_unref(plot->sources);
    g_ptr_array_unref(plot->notes);
    g_free(plot);
}

CalibratePanel *
calibrate_plot_panel(CalibratePlot *plot, ClusterTable table, char *title, const char *x_label,
                     const char *y_label)
{
    CalibratePanel *panel = g_new0(CalibratePanel, 1);
    *panel = (CalibratePanel){
        .table = table, .title = title, .x_label = x_label, .y_label = y_label, .ceiling = NAN};
    panel->cells = g_array_new(FALSE, FALSE, sizeof(CalibrateCell));
    panel->curves = g_ptr_array_new_with_free_func(curve_free);
    g_ptr_array_add(plot->panels, panel);
    return panel;
}

CalibrateCurve *
calibrate_plot_curve(CalibratePanel *panel, char *name)
{
    CalibrateCurve *curve = g_new0(CalibrateCurve, 1);
    curve->name = name;
    curve->points = g_array_new(FALSE, FALSE, sizeof(CalibratePoint));
    curve->fit = g_array_new(FALSE, FALSE, sizeof(CalibratePoint));
    g_ptr_array_add(panel->curves, curve);
    return curve;
}

typedef gboolean (*PlotTable)(CalibratePlot *plot, const ClusterSystem *system,
                              const ConfTable *table, GError **error);

/* overlap.tsv has too few rows for a picture. */
static const PlotTable plot_tables[CLUSTER_N_TABLES] = {
    [CLUSTER_TABLE_GEMM] = calibrate_plot_gemm,
    [CLUSTER_TABLE_ATTENTION] = calibrate_plot_attention,
    [CLUSTER_TABLE_MEMORY] = calibrate_plot_memory,
    [CLUSTER_TABLE_COLLECTIVE] = calibrate_plot_collective,
};

/* The first line of its comment, which says of what it is. */
static void
add_source(CalibratePlot *plot, const ConfTable *table, ClusterTable id)
{
    const char *comment = conf_table_comment(table);
    g_auto(GStrv) lines = g_strsplit(comment, "\n", 2);
    const char *first = lines[0] != NULL ? lines[0] + strspn(lines[0], "# ") : "";
    g_autofree char *text = g_utf8_substring(first, 0, MIN(g_utf8_strlen(first, -1), MOST_SOURCE));
    g_ptr_array_add(plot->sources, g_strdup_printf("%s.tsv: %s%s", cluster_table_name(id), text,
                                                   strlen(text) < strlen(first) ? " ..." : ""));
}

static gboolean
add_table(CalibratePlot *plot, const ClusterSystem *system, ClusterTable id, GError **error)
{
    g_autofree char *why = NULL;
    g_autoptr(ConfTable) table = calibrate_own_table(system, id, &why, error);
    guint before = plot->panels->len;
    if (table == NULL) {
        if (why != NULL)
            g_ptr_array_add(plot->notes, g_strdup_printf("left out: %s", why));
        return why != NULL;
    }
    if (!plot_tables[id](plot, system, table, error))
        return FALSE;
    if (plot->panels->len > before)
        add_source(plot, table, id);
    else
        g_ptr_array_add(plot->notes, g_strdup_printf("left out: %s.tsv has no rows to draw",
                                                     cluster_table_name(id)));
    return TRUE;
}

CalibratePlot *
calibrate_plot(const ClusterSystem *system, GError **error)
{
    g_autoptr(CalibratePlot) plot = g_new0(CalibratePlot, 1);
    plot->panels = g_ptr_array_new_with_free_func(panel_free);
    plot->sources = g_ptr_array_new_with_free_func(g_free);
    plot->notes = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(
        plot->sources,
        g_strdup("points: rows; lines: the curve of dtsim calibrate fit through them (of "
                 "attention they join points); squares: the median of rows"));
    for (guint id = 0; id < CLUSTER_N_TABLES; id++)
        if (plot_tables[id] != NULL && !add_table(plot, system, (ClusterTable)id, error))
            return NULL;
    if (plot->panels->len == 0) {
        calibrate_complain_of_no_table(system, "to draw", error);
        return NULL;
    }
    return g_steal_pointer(&plot);
}
