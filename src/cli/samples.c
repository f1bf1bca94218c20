/* dtsim run --samples: options, the samples, their report. */
#include "config.h"

#include "cli/samples.h"

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/noise.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/samples.h"

#define MOST_SAMPLES 1000000
#define MOST_THREADS 4096

gboolean
cli_sampling_check(const CliSampling *wish, const CliInputs *in, gboolean trace, GError **error)
{
    const char *problem = NULL;
    if (wish->samples == NULL && wish->threads != NULL)
        problem =
            "--threads: one iteration is simulated by one; leave it out, or add --samples 200";
    else if (wish->samples != NULL && trace)
        problem = "--trace: shows one sample; write --sample 1 instead of --samples";
    else if (wish->samples != NULL && in->sample > 0)
        problem = "--samples: --sample is one of them; write one of the two";
    else if (in->sample > 0 && !step_noise_is_random(in->noise))
        problem = "--sample: nothing is left to chance, so all are alike; leave it out, or add "
                  "--jitter 1%, --gpu-spread 2%, --daemon 10ms/1s or --flap nic@2/h+50ms";
    else if (wish->samples != NULL && !step_noise_is_random(in->noise))
        problem = "--samples: nothing is left to chance, so all would be alike; add --jitter 1%, "
                  "--gpu-spread 2%, --daemon 10ms/1s or --flap nic@2/h+50ms";
    if (problem == NULL)
        return TRUE;
    g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE, problem);
    return FALSE;
}

static void
show_progress(void *user, guint n_done)
{
    cli_progress_at(user, n_done - 1);
}

gboolean
cli_sampling_run(const CliSampling *wish, CliScenario *s, const char *plot, GError **error)
{
    gint64 n, threads = 0;
    if (!cli_parse_count("--samples", wish->samples, 1, MOST_SAMPLES, &n, error) ||
        (wish->threads != NULL &&
         !cli_parse_count("--threads", wish->threads, 1, MOST_THREADS, &threads, error)))
        return FALSE;
    const CliCase *c = s->cased;
    StepOptions options = cli_inputs_step_options(s->in);
    CliProgress progress = cli_progress_start("sample", (guint)n);
    g_autoptr(StepSamples) samples =
        step_samples_run(c->plan, c->schedule, c->machine->cost, c->machine->net, &options,
                         (guint)n, (guint)threads, show_progress, &progress, error);
    cli_progress_end(&progress);
    if (samples == NULL)
        return FALSE;
    g_autofree char *wrong = cli_noise_print(s->in);
    ReportSamples report = {.plan = c->plan,
                            .schedule = c->schedule,
                            .samples = samples,
                            .noise = options.noise,
                            .wrong = wrong};
    if (plot != NULL && !report_samples_plot(&report, plot, error))
        return FALSE;
    g_autoptr(GString) out = g_string_new(NULL);
    report_samples(&report, cli_format_name(&s->format), out);
    return cli_output_write(s->format.output, out, error);
}
