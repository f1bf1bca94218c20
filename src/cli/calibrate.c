/* dtsim calibrate: measurements in, looked at and fitted; no GPU is needed. */
#include "config.h"

#include "cli/calibrate.h"
#include "cli/output.h"
#include "conf/complaint.h"

#include <string.h>

static const CliCommand *const words[] = {&cli_calibrate_import, &cli_calibrate_check,
                                          &cli_calibrate_diff,   &cli_calibrate_fit,
                                          &cli_calibrate_plot,   NULL};

static const CliCommand *
word_find(const char *name)
{
    for (guint i = 0; words[i] != NULL; i++)
        if (strcmp(words[i]->name, name) == 0)
            return words[i];
    return NULL;
}

static gboolean
is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* The words, and below them the help of each. */
static int
help(GError **error)
{
    g_autoptr(GString) out = g_string_new("Usage:\n  dtsim calibrate WORD ...\n\n"
                                          "Measurements into a system directory. Words:\n");
    for (guint i = 0; words[i] != NULL; i++)
        g_string_append_printf(out, "  %-8s  %s\n", words[i]->name, words[i]->summary);
    g_string_append_c(out, '\n');
    if (!cli_output_write(NULL, out, error))
        return CLI_USAGE;
    for (guint i = 0; words[i] != NULL; i++) {
        char *argv[] = {(char *)words[i]->name, (char *)"--help", NULL};
        int status = words[i]->run(2, argv, error);
        if (status != CLI_DONE)
            return status;
    }
    return CLI_DONE;
}

static int
calibrate_run(int argc, char **argv, GError **error)
{
    if (argc > 1 && is_help(argv[1]))
        return help(error);
    const CliCommand *word = argc > 1 ? word_find(argv[1]) : NULL;
    if (word != NULL)
        return word->run(argc - 1, argv + 1, error);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; words[i] != NULL; i++)
        g_ptr_array_add(names, (gpointer)words[i]->name);
    g_ptr_array_add(names, NULL);
    g_autofree char *list = g_strjoinv(" ", (char **)names->pdata);
    g_autofree char *hint = conf_hint(argc > 1 ? argv[1] : "", (const char *const *)names->pdata);
    if (argc > 1)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "calibrate: '%s' is no word of it%s; write one of: %s", argv[1], hint, list);
    else
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "calibrate: what is to be done? write one of: %s", list);
    return CLI_USAGE;
}

const CliCommand cli_calibrate = {"calibrate", "measurements into a system directory",
                                  calibrate_run};
