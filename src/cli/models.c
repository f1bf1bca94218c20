/* dtsim models: the transformer shapes that ship with dtsim, or one shape. */
#include "config.h"

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/format.h"
#include "cli/output.h"
#include "llm/shape.h"
#include "report/model.h"

static int
models_run(int argc, char **argv, GError **error)
{
    g_auto(CliFormat) format = {0};
    CliArguments arguments = {"models",
                              "[NAME|FILE]",
                              "Lists the transformer shapes that ship with dtsim, or shows one:\n"
                              "a shipped name or a config.json in Hugging Face's form.",
                              1,
                              {cli_format_group(&format)}};
    gboolean helped;
    if (!cli_arguments_parse(&arguments, &argc, &argv, &helped, error) || helped)
        return CLI_DONE;
    g_autoptr(GPtrArray) shapes = g_ptr_array_new_with_free_func((GDestroyNotify)llm_shape_free);
    g_auto(GStrv) names = argc > 1 ? g_strdupv((char *[]){argv[1], NULL}) : llm_shape_names();
    for (guint i = 0; names[i] != NULL; i++) {
        LlmShape *shape = llm_shape_load(names[i], NULL, error);
        if (shape == NULL)
            return CLI_USAGE;
        g_ptr_array_add(shapes, shape);
    }
    if (names[0] == NULL) {
        g_set_error_literal(
            error, CLI_ERROR, CLI_ERROR_USAGE,
            "no models are installed; set DTSIM_DATA to the folder that holds them");
        return CLI_USAGE;
    }
    g_autoptr(GString) out = g_string_new(NULL);
    report_models(shapes, cli_format_name(&format), out);
    return cli_output_write(format.output, out, error) ? CLI_DONE : CLI_USAGE;
}

const CliCommand cli_models = {"models", "what models there are", models_run};
