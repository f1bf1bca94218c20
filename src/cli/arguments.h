/* Reading a command's words: GOption tables under strict numbers and one-line complaints. */
#pragma once

#include <glib.h>

/* What a command accepts. `groups` are taken over by the context that parses. */
typedef struct {
    const char *command;     /* "sweep" */
    const char *parameters;  /* "[OPTION...]" or "FILE... [OPTION...]" */
    const char *description; /* sentences under the usage line */
    guint max_positional;    /* G_MAXUINT: any number */
    GOptionGroup *groups[4]; /* the first is the command's own */
} CliArguments;

/* Removes options from argv; what is left after argv[0] are positional words. When help was asked for,
 * prints it, and *ret_helped is TRUE. */
gboolean cli_arguments_parse(const CliArguments *arguments, int *argc, char ***argv,
                             gboolean *ret_helped, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Appends SECTION.KEY=VALUE, a key of system.conf, to `sets` (of char*). */
gboolean cli_parse_set(const char *option, const char *text, GPtrArray *sets,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* A whole decimal number min..max, nothing around it. `option` as "--tp" for the message. */
gboolean cli_parse_count(const char *option, const char *text, gint64 min, gint64 max,
                         gint64 *ret_value, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* A decimal number, finite and not negative. */
gboolean cli_parse_number(const char *option, const char *text, double *ret_value,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Index of `text` in the NULL-terminated `choices`. */
gboolean cli_parse_choice(const char *option, const char *text, const char *const *choices,
                          guint *ret_index, GError **error) G_GNUC_WARN_UNUSED_RESULT;
