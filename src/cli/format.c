/* --format and --output. */
#include "config.h"

#include "cli/format.h"

#include "cli/arguments.h"
#include "cli/command.h"
#include "report/run.h"

#include <string.h>

static gboolean
format_set(const char *name, const char *text, gpointer user, GError **error)
{
    CliFormat *format = user;
    return cli_parse_choice(name, text, report_format_names, &format->index, error);
}

static gboolean
output_set(const char *name, const char *text, gpointer user, GError **error)
{
    CliFormat *format = user;
    if (text[0] == '\0') {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: is empty; write %s FILE", name, name);
        return FALSE;
    }
    if (g_str_has_suffix(text, ".png") || g_str_has_suffix(text, ".svg")) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: '%s' names a picture, and a table would go there; write --plot=%s where "
                    "the command draws one, or another name",
                    name, text, text);
        return FALSE;
    }
    g_free(format->output);
    format->output = g_strdup(text);
    return TRUE;
}

static const char *const format_helps[] = {
    "text (default), json or tsv", "text, json (default) or tsv", "text, json or tsv (default)"};

GOptionGroup *
cli_format_group(CliFormat *format)
{
    const GOptionEntry entries[] = {
        {"format", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_CALLBACK,
         (gpointer)(GOptionArgFunc)format_set, format_helps[format->index], "FORMAT"},
        {"output", 'o', G_OPTION_FLAG_NOALIAS | G_OPTION_FLAG_FILENAME, G_OPTION_ARG_CALLBACK,
         (gpointer)(GOptionArgFunc)output_set, "Where to write (default: standard output)", "FILE"},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    GOptionGroup *group =
        g_option_group_new("output", "Output:", "Show the options of output", format, NULL);
    g_option_group_add_entries(group, entries);
    return group;
}

const char *
cli_format_name(const CliFormat *format)
{
    return report_format_names[format->index];
}

void
cli_format_clear(CliFormat *format)
{
    g_clear_pointer(&format->output, g_free);
}
