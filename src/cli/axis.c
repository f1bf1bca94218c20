/* Ranges of a sweep: "1..64", "1..64:2", "1..64*2", "1,2,4,8"; of schedules, "1f1b,zb_h1". */
#include "config.h"

#include "cli/arguments.h"
#include "cli/candidates.h"
#include "cli/command.h"
#include "cli/inputs.h"

#include <string.h>

#define AXIS_MOST 10000 /* points of one axis: beyond this it is a slip of the pen */

void
cli_axis_free(CliAxis *axis)
{
    if (axis == NULL)
        return;
    g_array_unref(axis->values);
    g_clear_pointer(&axis->names, g_ptr_array_unref);
    g_free(axis);
}

static gboolean
axis_append(CliAxis *axis, const char *name, gint64 value, GError **error)
{
    if (axis->values->len >= AXIS_MOST) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: more than %d points; write a wider step, as %s 1..64*2", name, AXIS_MOST,
                    name);
        return FALSE;
    }
    g_array_append_val(axis->values, value);
    return TRUE;
}

/* FROM..TO[:STEP|*FACTOR] */
static gboolean
axis_append_range(CliAxis *axis, const char *name, const char *part, GError **error)
{
    const CliOption *o = axis->option;
    const char *dots = strstr(part, "..");
    g_autofree char *first = g_strndup(part, (gsize)(dots - part));
    const char *rest = dots + 2;
    gsize n = strcspn(rest, ":*");
    g_autofree char *last = g_strndup(rest, n);
    if (first[0] == '\0' || last[0] == '\0') {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: range '%s' has no %s; write both ends, as %s 1..64", name, part,
                    first[0] == '\0' ? "start" : "end", name);
        return FALSE;
    }
    gint64 from, to, step = 1;
    if (!cli_parse_count(name, first, o->min, o->max, &from, error) ||
        !cli_parse_count(name, last, o->min, o->max, &to, error))
        return FALSE;
    gboolean factor = rest[n] == '*';
    if (rest[n] != '\0' &&
        !cli_parse_count(name, rest + n + 1, factor ? 2 : 1, G_MAXINT32, &step, error))
        return FALSE;
    if (from > to || (factor && from == 0)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: range '%s' has no points; write the smaller number first, above 0", name,
                    part);
        return FALSE;
    }
    for (gint64 v = from; v <= to; v = factor ? v * step : v + step)
        if (!axis_append(axis, name, v, error))
            return FALSE;
    return TRUE;
}

static gboolean
axis_append_names(CliAxis *axis, const char *text, GError **error)
{
    g_autoptr(GArray) candidates = cli_candidates_parse(text, error);
    if (candidates == NULL)
        return FALSE;
    axis->names = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < candidates->len; i++) {
        gint64 value = i;
        g_array_append_val(axis->values, value);
        g_ptr_array_add(axis->names, g_strdup(g_array_index(candidates, CliCandidate, i).name));
    }
    return TRUE;
}

CliAxis *
cli_axis_parse(const CliOption *option, const char *text, GError **error)
{
    CliAxis *axis = g_new0(CliAxis, 1);
    axis->option = option;
    axis->values = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_autofree char *name = g_strconcat("--", option->name, NULL);
    if (option->type == CLI_OPTION_TEXT) {
        if (axis_append_names(axis, text, error))
            return axis;
        cli_axis_free(axis);
        return NULL;
    }
    g_auto(GStrv) parts = g_strsplit(text[0] != '\0' ? text : " ", ",", -1);
    for (guint i = 0; parts[i] != NULL; i++) {
        gint64 value;
        gboolean ok =
            strstr(parts[i], "..") != NULL
                ? axis_append_range(axis, name, parts[i], error)
                : cli_parse_count(name, parts[i], option->min, option->max, &value, error) &&
                      axis_append(axis, name, value, error);
        if (!ok) {
            cli_axis_free(axis);
            return NULL;
        }
    }
    return axis;
}
