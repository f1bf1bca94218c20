/* dtsim: sub-commands in git's style; with none, `run`. */
#include "config.h"

#include "cli/command.h"
#include "cli/output.h"
#include "conf/complaint.h"

#include <string.h>

static const CliCommand *
command_find(const char *name)
{
    for (guint i = 0; cli_commands[i] != NULL; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

static int
complain(const GError *error)
{
    g_autofree char *line = g_strdelimit(g_strdup(error->message), "\r\n", ' ');
    g_printerr("dtsim: %s\n", line);
    return CLI_USAGE;
}

static int
command_run(const CliCommand *command, int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    int status = command->run(argc, argv, &error);
    return error != NULL ? complain(error) : status;
}

static int
print(const GString *text)
{
    g_autoptr(GError) error = NULL;
    return cli_output_write(NULL, text, &error) ? CLI_DONE : complain(error);
}

static int
help(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append(text,
                    "Usage: dtsim [COMMAND] [OPTION...]\n"
                    "\n"
                    "Predicts the iteration time and the memory of distributed training of a\n"
                    "transformer, and says where the time goes.\n"
                    "\n"
                    "Commands (with none, run):\n");
    for (guint i = 0; cli_commands[i] != NULL; i++)
        g_string_append_printf(text, "  %-10s  %s\n", cli_commands[i]->name,
                               cli_commands[i]->summary);
    g_string_append(text,
                    "\n"
                    "  dtsim help COMMAND   the options of a command\n"
                    "  dtsim --version      the version\n"
                    "\n"
                    "Example:\n"
                    "  dtsim --model gpt3-175b --system dgx-a100-80g --gpus 1024 \\\n"
                    "        --tp 8 --pp 16 --micro-batch-size 1 --global-batch-size 1536\n"
                    "\n"
                    "Exit status: 0 done; 1 the answer is no (does not fit, outside tolerance);\n"
                    "2 bad usage or input. The manual page dtsim(1) has the rest.\n");
    return print(text);
}

static int
unknown_command(const char *name)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; cli_commands[i] != NULL; i++)
        g_ptr_array_add(names, (gpointer)cli_commands[i]->name);
    g_ptr_array_add(names, "help");
    g_autofree char *list = NULL;
    g_ptr_array_add(names, NULL);
    list = g_strjoinv(" ", (char **)names->pdata);
    g_autofree char *hint = conf_hint(name, (const char *const *)names->pdata);
    g_autoptr(GError) error = g_error_new(
        CLI_ERROR, CLI_ERROR_USAGE, "'%s' is not a command%s; write one of: %s", name, hint, list);
    return complain(error);
}

static int
stands_alone(const char *what, const char *word)
{
    g_autoptr(GError) error =
        g_error_new(CLI_ERROR, CLI_ERROR_USAGE, "'%s': unexpected word; write %s", word, what);
    return complain(error);
}

static int
help_of(int argc, char **argv)
{
    if (argc < 2)
        return help();
    const CliCommand *command = command_find(argv[1]);
    gboolean has_word = argc == 3 && command == &cli_calibrate; /* help of one of its words */
    if (argc > 2 && !has_word)
        return stands_alone("dtsim help COMMAND", argv[2]);
    if (command == NULL)
        return unknown_command(argv[1]);
    char *words[] = {argv[1], has_word ? argv[2] : (char *)"--help", (char *)"--help", NULL};
    return command_run(command, has_word ? 3 : 2, words);
}

int
main(int argc, char **argv)
{
    g_set_prgname("dtsim");
    if (argc < 2 || argv[1][0] == '-') {
        if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
            return help();
        if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
            if (argc > 2)
                return stands_alone("dtsim --version alone", argv[2]);
            g_autoptr(GString) text = g_string_new("dtsim " PACKAGE_VERSION "\n");
            return print(text);
        }
        argv[0] = (char *)cli_run.name;
        return command_run(&cli_run, argc, argv);
    }
    if (strcmp(argv[1], "help") == 0)
        return help_of(argc - 1, argv + 1);
    const CliCommand *command = command_find(argv[1]);
    if (command == NULL)
        return unknown_command(argv[1]);
    return command_run(command, argc - 1, argv + 1);
}
