/* One simulated iteration: options, loading, simulation. */
#include "config.h"

#include "cli/scenario.h"

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/config_file.h"
#include "cli/output.h"

CliScenario *
cli_scenario_new(void)
{
    CliScenario *s = g_new0(CliScenario, 1);
    s->in = cli_inputs_new();
    return s;
}

void
cli_scenario_free(CliScenario *s)
{
    if (s == NULL)
        return;
    step_result_free(s->result);
    g_clear_pointer(&s->advice, g_array_unref);
    cli_case_free(s->cased);
    llm_shape_free(s->shape);
    cli_machine_free(s->machine);
    cli_inputs_free(s->in);
    cli_format_clear(&s->format);
    g_free(s->defaults);
    g_free(s);
}

/* What the user might have said and did not, with the value taken: the run must not hide it. */
static char *
defaults_of(const CliScenario *s)
{
    const CliInputs *in = s->in;
    const PlanSpec *p = &s->cased->plan->spec;
    g_autoptr(GString) text = g_string_new(NULL);
    if (in->model == NULL && in->config_model == NULL)
        g_string_append(text, " --model " CLI_DEFAULT_MODEL);
    if (in->system == NULL)
        g_string_append(text, " --system " CLI_DEFAULT_SYSTEM);
    const struct {
        const char *name;
        gint64 value;
    } counts[] = {{"tp", p->tp},
                  {"pp", p->pp},
                  {"micro-batch-size", p->micro_batch},
                  {"seq-length", p->seq},
                  {"zero", p->zero}};
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
        if (!cli_inputs_is_given(in, counts[i].name))
            g_string_append_printf(text, " --%s %" G_GINT64_FORMAT, counts[i].name,
                                   counts[i].value);
    if (!cli_inputs_is_given(in, "gpus") && !cli_inputs_is_given(in, "nodes") &&
        !cli_inputs_is_given(in, "dp"))
        g_string_append_printf(text, " --dp %" G_GINT64_FORMAT, p->dp);
    if (!cli_inputs_is_given(in, "global-batch-size") && !cli_inputs_is_given(in, "microbatches"))
        g_string_append_printf(text, " --microbatches %" G_GINT64_FORMAT, p->microbatches);
    if (in->schedule == NULL)
        g_string_append_printf(text, " --schedule %s", s->cased->schedule->name);
    if (!cli_inputs_is_given(in, "recompute"))
        g_string_append_printf(text, " --recompute %s",
                               p->recompute == LLM_RECOMPUTE_NONE        ? "none"
                               : p->recompute == LLM_RECOMPUTE_SELECTIVE ? "selective"
                                                                         : "full");
    if (!cli_inputs_is_given(in, "attention"))
        g_string_append_printf(text, " --attention %s",
                               p->attention == LLM_ATTENTION_FLASH ? "flash" : "unfused");
    if (!cli_inputs_is_given(in, "dtype"))
        g_string_append_printf(text, " --dtype %s", cluster_dtype_name(p->dtype));
    return g_strdup(text->len > 0 ? text->str + 1 : "");
}

gboolean
cli_scenario_load(CliScenario *s, const char *command, const char *description,
                  const GOptionEntry *extra, int argc, char **argv, gboolean *ret_done,
                  GError **error)
{
    GOptionGroup *own = cli_format_group(&s->format);
    const GOptionEntry show[] = {
        {"show-config", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_NONE, &s->show_config,
         "Print everything resolved, as a command line, and stop", NULL},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    g_option_group_add_entries(own, show);
    if (extra != NULL)
        g_option_group_add_entries(own, extra);
    CliArguments arguments = {command,
                              "",
                              description,
                              0,
                              {own, cli_inputs_machine_group(s->in), cli_inputs_plan_group(s->in)}};
    if (!cli_arguments_parse(&arguments, &argc, &argv, ret_done, error))
        return FALSE;
    if (*ret_done)
        return TRUE;
    s->machine = cli_inputs_load_machine(s->in, error);
    if (s->machine == NULL || !cli_config_apply(s->in, s->machine->system, error))
        return FALSE;
    s->shape = cli_inputs_load_shape(s->in, error);
    PlanSpec spec;
    if (s->shape == NULL || !cli_inputs_spec(s->in, s->machine->system, &spec, error))
        return FALSE;
    s->cased = cli_case_new(s->machine, s->shape, &spec, s->in->placement, error);
    if (s->cased == NULL) {
        cli_config_prefix_error(s->in, error);
        return FALSE;
    }
    s->defaults = defaults_of(s);
    if (!s->show_config)
        return TRUE;
    *ret_done = TRUE;
    g_autofree char *config = cli_inputs_print(s->in, s->cased->plan, s->cased->schedule->name);
    g_autoptr(GString) out = g_string_new(config);
    return cli_output_write(s->format.output, out, error);
}

gboolean
cli_scenario_simulate(CliScenario *s, const StepOptions *options, GError **error)
{
    gint64 before = g_get_monotonic_time();
    s->result = cli_case_run(s->cased, options, error);
    s->wall_s = (double)(g_get_monotonic_time() - before) * 1e-6;
    return s->result != NULL;
}

ReportRun
cli_scenario_report(const CliScenario *s)
{
    return (ReportRun){.plan = s->cased->plan,
                       .schedule = s->cased->schedule,
                       .result = s->result,
                       .convention = (LlmFlopsConvention)s->in->flops,
                       .defaults = s->defaults,
                       .wall_s = s->wall_s,
                       .advice = s->advice};
}

int
cli_scenario_finish(const CliScenario *s, void (*write)(const ReportRun *run, GString *out),
                    GError **error)
{
    ReportRun run = cli_scenario_report(s);
    g_autoptr(GString) out = g_string_new(NULL);
    write(&run, out);
    if (!cli_output_write(s->format.output, out, error))
        return CLI_USAGE;
    return report_fits(s->result) ? CLI_DONE : CLI_NO;
}
