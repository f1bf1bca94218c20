/* Pictures by gnuplot and a script of plots/, in any format that the script knows. */
#pragma once

#include <glib.h>

typedef struct {
    const char *who;    /* before a complaint: "--plot: " or "" */
    const char *script; /* "sweep.gp" */
    const char *path;   /* of the picture */
    const char *format; /* "png" */
} ReportPicture;

/* As report_plot, which knows svg and png. */
gboolean report_plot_as(const ReportPicture *wish, const GString *data, const char *title,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Where a script of plots/ lies; caller frees. */
char *report_plot_script(const char *who, const char *script, GError **error);
