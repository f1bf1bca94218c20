/* GOption under strict numbers, near-miss hints and one-line complaints. */
#include "config.h"

#include "cli/arguments.h"

#include "cli/command.h"
#include "cli/output.h"
#include "conf/complaint.h"

#include <errno.h>
#include <math.h>
#include <string.h>

gboolean
cli_parse_set(const char *option, const char *text, GPtrArray *sets, GError **error)
{
    const char *equals = strchr(text, '=');
    const char *dot = strchr(text, '.');
    if (equals == NULL || dot == NULL || dot > equals || dot == text || dot + 1 == equals) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: '%s' is not SECTION.KEY=VALUE; write for example %s nic.rate=100Gbps",
                    option, text, option);
        return FALSE;
    }
    g_ptr_array_add(sets, g_strdup(text));
    return TRUE;
}

gboolean
cli_parse_count(const char *option, const char *text, gint64 min, gint64 max, gint64 *ret_value,
                GError **error)
{
    gsize digits = text[0] == '-' ? 1 : 0;
    while (g_ascii_isdigit(text[digits]))
        digits++;
    if (text[digits] != '\0' || digits == 0 || !g_ascii_isdigit(text[digits - 1])) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: '%s' is not a whole number; write it in digits, as %s %" G_GINT64_FORMAT,
                    option, text, option, MAX(min, 8));
        return FALSE;
    }
    errno = 0;
    gint64 value = g_ascii_strtoll(text, NULL, 10);
    if (errno == ERANGE || value < min || value > max) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: %s is out of range; write a number from %" G_GINT64_FORMAT
                    " to %" G_GINT64_FORMAT,
                    option, text, min, max);
        return FALSE;
    }
    *ret_value = value;
    return TRUE;
}

gboolean
cli_parse_number(const char *option, const char *text, double *ret_value, GError **error)
{
    char *end = NULL;
    double value = g_ascii_isdigit(text[0]) ? g_ascii_strtod(text, &end) : NAN;
    if (!isfinite(value) || *end != '\0') {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: '%s' is not a number of 0 or more; write a decimal, as %s 1.0", option,
                    text, option);
        return FALSE;
    }
    *ret_value = value;
    return TRUE;
}

gboolean
cli_parse_choice(const char *option, const char *text, const char *const *choices, guint *ret_index,
                 GError **error)
{
    for (guint i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], text) == 0) {
            *ret_index = i;
            return TRUE;
        }
    }
    g_autofree char *hint = conf_hint(text, choices);
    g_autofree char *list = g_strjoinv(" ", (char **)choices);
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: '%s' is not known%s; write one of: %s",
                option, text, hint, list);
    return FALSE;
}

/* The long options of the help text, without dashes: the only list that has them all. */
static GPtrArray *
known_options(const char *help)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    for (const char *p = strstr(help, "--"); p != NULL; p = strstr(p, "--")) {
        gsize n = 2 + strspn(p + 2, "abcdefghijklmnopqrstuvwxyz0123456789-");
        if (n > 2)
            g_ptr_array_add(names, g_strndup(p + 2, n - 2));
        p += n;
    }
    g_ptr_array_add(names, NULL);
    return names;
}

/* Retells GOption's error in this program's form: place, what is wrong, what to write. */
static void
retell(const CliArguments *arguments, GOptionContext *context, const GError *cause, GError **error)
{
    const char *dashes = strstr(cause->message, "--");
    const char *word = dashes != NULL ? dashes : strrchr(cause->message, ' ') + 1;
    if (g_error_matches(cause, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION)) {
        g_autofree char *help = g_option_context_get_help(context, FALSE, NULL);
        g_autoptr(GPtrArray) known = known_options(help);
        g_autofree char *name = g_strndup(word, strcspn(word, "="));
        const char *bare = name + strspn(name, "-");
        const char *near = conf_near_miss(bare, (const char *const *)known->pdata);
        g_autofree char *hint =
            near != NULL ? g_strdup_printf("; did you mean '--%s'?", near) : g_strdup("");
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: not an option of '%s'%s; 'dtsim help %s' lists them", name,
                    arguments->command, hint, arguments->command);
    } else if (g_str_has_prefix(cause->message, "Missing argument")) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: has no value; write %s VALUE ('dtsim help %s' says which)", word, word,
                    arguments->command);
    } else {
        g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE, cause->message);
    }
}

gboolean
cli_arguments_parse(const CliArguments *arguments, int *argc, char ***argv, gboolean *ret_helped,
                    GError **error)
{
    gboolean help = FALSE;
    const GOptionEntry entries[] = {
        {"help", 'h', G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_NONE, &help, "Show this help", NULL},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    g_autofree char *program = g_strdup_printf("dtsim %s", arguments->command);
    g_set_prgname(program);
    g_autoptr(GOptionContext) context = g_option_context_new(arguments->parameters);
    g_option_context_set_help_enabled(context, FALSE);
    g_option_context_set_summary(context, arguments->description);
    g_option_group_add_entries(arguments->groups[0], entries);
    for (guint i = 0; i < G_N_ELEMENTS(arguments->groups) && arguments->groups[i] != NULL; i++)
        g_option_context_add_group(context, arguments->groups[i]);
    g_autoptr(GError) cause = NULL;
    if (!g_option_context_parse(context, argc, argv, &cause)) {
        retell(arguments, context, cause, error);
        return FALSE;
    }
    *ret_helped = help;
    if (help) {
        g_autofree char *text = g_option_context_get_help(context, FALSE, NULL);
        g_autoptr(GString) out = g_string_new(text);
        g_string_replace(out, "\u2026", "...", 0);
        return cli_output_write(NULL, out, error);
    }
    if (*argc > 1 && (guint)*argc - 1 > arguments->max_positional) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "'%s': unexpected word; '%s' takes options only as --NAME VALUE "
                    "('dtsim help %s' lists them)",
                    (*argv)[1 + arguments->max_positional], arguments->command, arguments->command);
        return FALSE;
    }
    return TRUE;
}
