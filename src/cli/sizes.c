/* Reading sizes of messages: nccl-tests' suffixes, ranges with a factor, lists. */
#include "config.h"

#include "cli/sizes.h"

#include "cli/arguments.h"
#include "cli/command.h"
#include "units/quantity.h"

#include <math.h>
#include <string.h>

#define BYTES_MOST ((gint64)1 << 50)

static gboolean
complain(const char *option, const char *text, const char *what, GError **error)
{
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "%s: '%s' %s; write sizes as 1M (1048576), a range as 8..8G or a list as 1M,64M,1G",
                option, text, what);
    return FALSE;
}

/* The power of 1024 that a suffix alone stands for; -1: it is none of these. */
static int
power_of(const char *suffix)
{
    static const char letters[] = "KMGT";
    const char *at =
        suffix[0] != '\0' && suffix[1] == '\0' ? strchr(letters, g_ascii_toupper(suffix[0])) : NULL;
    return suffix[0] == '\0' ? 0 : at != NULL ? (int)(at - letters) + 1 : -1;
}

gboolean
cli_size_parse(const char *option, const char *text, gint64 *ret_bytes, GError **error)
{
    char *end = NULL;
    double value = g_ascii_isdigit(text[0]) ? g_ascii_strtod(text, &end) : NAN;
    if (!isfinite(value))
        return complain(option, text, "is not a size", error);
    int power = power_of(end);
    if (power >= 0) {
        value = floor(value * exp2(10.0 * power)); /* 51.2M is 53687091 bytes */
    } else {
        gint64 bytes;
        if (!units_parse(UNITS_BYTES, text, &bytes, NULL))
            return complain(option, text, "has no unit of bytes", error);
        value = (double)bytes;
    }
    if (value < 1 || value > (double)BYTES_MOST)
        return complain(option, text, "is not from 1 byte to 1024T", error);
    *ret_bytes = (gint64)value;
    return TRUE;
}

static gboolean
range_parse(const char *option, const char *part, GArray *sizes, GError **error)
{
    const char *dots = strstr(part, "..");
    g_autofree char *low = g_strndup(part, (gsize)(dots - part));
    g_autofree char *high = g_strdup(dots + 2);
    char *colon = strchr(high, ':');
    gint64 factor = 2, first, last;
    if (colon != NULL) {
        *colon = '\0';
        if (!cli_parse_count(option, colon + 1, 2, 1 << 20, &factor, error))
            return FALSE;
    }
    if (!cli_size_parse(option, low, &first, error) || !cli_size_parse(option, high, &last, error))
        return FALSE;
    if (first > last)
        return complain(option, part, "falls", error);
    g_array_append_val(sizes, first);
    for (gint64 bytes = first; bytes <= last / factor;) {
        bytes *= factor;
        g_array_append_val(sizes, bytes);
    }
    return TRUE;
}

static int
compare(gconstpointer a, gconstpointer b)
{
    gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}

GArray *
cli_sizes_parse(const char *option, const char *text, GError **error)
{
    g_autoptr(GArray) sizes = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);
    for (guint i = 0; parts[i] != NULL; i++) {
        gint64 bytes;
        if (strstr(parts[i], "..") != NULL) {
            if (!range_parse(option, parts[i], sizes, error))
                return NULL;
        } else if (cli_size_parse(option, parts[i], &bytes, error)) {
            g_array_append_val(sizes, bytes);
        } else {
            return NULL;
        }
    }
    if (sizes->len == 0) {
        complain(option, text, "is empty", error);
        return NULL;
    }
    g_array_sort(sizes, compare);
    for (guint i = sizes->len - 1; i > 0; i--)
        if (g_array_index(sizes, gint64, i) == g_array_index(sizes, gint64, i - 1))
            g_array_remove_index(sizes, i);
    return g_steal_pointer(&sizes);
}
