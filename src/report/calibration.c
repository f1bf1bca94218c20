/* The data of plots/calibration.gp, and a script that holds both. */
#include "config.h"

#include "report/calibration.h"

#include "conf/complaint.h"
#include "report/number.h"
#include "report/picture.h"

#include <math.h>
#include <string.h>

#define SCRIPT "calibration.gp"
static const char *const formats[] = {"png", "svg", "pdf", "gp"};

/* "png"; NULL: none of them. */
static const char *
format_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (guint i = 0; dot != NULL && i < G_N_ELEMENTS(formats); i++)
        if (strcmp(dot + 1, formats[i]) == 0)
            return formats[i];
    return NULL;
}

gboolean
report_calibration_check(const char *path, GError **error)
{
    if (format_of(path) != NULL)
        return TRUE;
    g_set_error(error, CONF_ERROR, CONF_ERROR_VALUE,
                "-o: '%s' ends in none of .png, .svg, .pdf and .gp; write for example tables.png",
                path);
    return FALSE;
}

/* No tabs and lines within; never empty. */
static void
append_text(GString *out, const char *text)
{
    if (*text == '\0')
        g_string_append_c(out, '-');
    for (; *text != '\0'; text++)
        g_string_append_c(out, strchr("\t\n\r\"", *text) != NULL ? ' ' : *text);
}

static void
append_number(GString *out, double x)
{
    g_string_append(out, isnan(x) ? "NaN" : report_plain(x, 6).text);
}

static void
append_lines(GString *out, const GPtrArray *lines)
{
    for (guint i = 0; i < lines->len; i++) {
        append_text(out, lines->pdata[i]);
        g_string_append_c(out, '\n');
    }
}

static void
append_head(GString *out, const CalibratePanel *panel)
{
    gboolean map = panel->cells->len > 0;
    g_string_append_printf(out, "%s\t%u\t", map ? "map" : "curves", map ? 1 : panel->curves->len);
    append_number(out, panel->ceiling);
    g_string_append_c(out, '\t');
    append_text(out, panel->ceiling_name != NULL ? panel->ceiling_name : "");
    g_string_append_c(out, '\t');
    append_text(out, panel->title);
    g_string_append_printf(out, "\t%s\t%s\n", panel->x_label, panel->y_label);
}

static void
append_map(GString *out, const CalibratePanel *panel)
{
    for (guint i = 0; i < panel->cells->len; i++) {
        const CalibrateCell *cell = &g_array_index(panel->cells, CalibrateCell, i);
        const double values[] = {cell->x_low, cell->x_high, cell->y_low, cell->y_high, cell->value};
        for (guint v = 0; v < G_N_ELEMENTS(values); v++) {
            append_number(out, values[v]);
            g_string_append_c(out, v + 1 < G_N_ELEMENTS(values) ? '\t' : '\n');
        }
    }
}

/* Measured points, then those of the fit. */
static void
append_points(GString *out, const CalibrateCurve *curve, const GArray *points, gboolean measured)
{
    for (guint i = 0; i < points->len; i++) {
        const CalibratePoint *p = &g_array_index(points, CalibratePoint, i);
        append_number(out, p->x);
        g_string_append_c(out, '\t');
        append_number(out, measured ? p->y : NAN);
        g_string_append_c(out, '\t');
        append_number(out, measured ? NAN : p->y);
        g_string_append_c(out, '\t');
        append_text(out, curve->name);
        g_string_append_c(out, '\n');
    }
}

static GString *
data_of(const CalibratePlot *plot, const char *title)
{
    GString *out = g_string_new(NULL);
    append_text(out, title);
    g_string_append_c(out, '\n');
    append_lines(out, plot->sources);
    append_lines(out, plot->notes);
    g_string_append(out, "\n\n");
    for (guint i = 0; i < plot->panels->len; i++)
        append_head(out, plot->panels->pdata[i]);
    for (guint i = 0; i < plot->panels->len; i++) {
        const CalibratePanel *panel = plot->panels->pdata[i];
        if (panel->cells->len > 0) {
            g_string_append(out, "\n\n");
            append_map(out, panel);
            continue;
        }
        for (guint c = 0; c < panel->curves->len; c++) {
            const CalibrateCurve *curve = panel->curves->pdata[c];
            g_string_append(out, "\n\n");
            append_points(out, curve, curve->points, TRUE);
            append_points(out, curve, curve->fit, FALSE);
        }
    }
    return out;
}

/* Data as a block of gnuplot's, then the script; it draws a picture of the same name beside it. */
static gboolean
write_script(const GString *data, const char *path, GError **error)
{
    g_autofree char *script = report_plot_script("", SCRIPT, error);
    g_autofree char *body = script != NULL ? conf_read_text(script, NULL, error) : NULL;
    if (body == NULL)
        return FALSE;
    g_autofree char *base = g_path_get_basename(path);
    base[strlen(base) - strlen(".gp")] = '\0';
    g_autoptr(GString) out = g_string_new(NULL);
    g_string_append_printf(out, "# gnuplot %s.gp draws %s.png\n$tables << END_OF_TABLES\n", base,
                           base);
    g_string_append_len(out, data->str, (gssize)data->len);
    g_string_append_printf(
        out, "END_OF_TABLES\nARG1 = \"$tables\"\nARG2 = \"%s.png\"\nARG3 = \"png\"\n\n", base);
    g_string_append(out, body);
    return conf_write_text(path, out->str, (gssize)out->len, error);
}

gboolean
report_calibration_plot(const CalibratePlot *plot, const char *title, const char *path,
                        GError **error)
{
    if (!report_calibration_check(path, error))
        return FALSE;
    g_autoptr(GString) data = data_of(plot, title);
    const char *format = format_of(path);
    if (strcmp(format, "gp") == 0)
        return write_script(data, path, error);
    const ReportPicture wish = {"", SCRIPT, path, format};
    return report_plot_as(&wish, data, title, error);
}
