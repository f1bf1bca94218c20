/* Many samples as text, JSON, a table with a line for each, and a picture. */
#include "config.h"

#include "report/samples.h"

#include "report/certainty.h"
#include "report/gantt.h"
#include "report/json_number.h"
#include "report/number.h"
#include "report/section.h"
#include "report/shapes.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

#define SUSPECTS 8 /* of the text */

static const struct {
    const char *name;
    double frac;
} quantiles[] = {{"min", 0}, {"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"max", 1}};

static const char *const causes[STEP_N_CAUSES] = {
    [STEP_CAUSE_GPU] = "GPUs slower or faster than they should be",
    [STEP_CAUSE_JITTER] = "jitter of kernels and collectives",
    [STEP_CAUSE_HOST] = "hosts that stand still or are slow",
    [STEP_CAUSE_LINK] = "links that are slow or down",
    [STEP_CAUSE_SHARED] = "links and GPUs shared with others",
};

static double
seconds(double ns)
{
    return ns / 1e9;
}

static double
cause_s(const StepSamples *s, StepCause cause)
{
    double sum = 0;
    for (guint i = 0; i < s->n; i++)
        sum += (double)s->samples[i].cause_ns[cause];
    return seconds(sum / s->n);
}

/* --- text --------------------------------------------------------------------------------------------- */

static void
text_head(const ReportSamples *r, GString *out)
{
    const PlanSpec *p = &r->plan->spec;
    const StepSamples *s = r->samples;
    g_string_append_printf(
        out,
        "%s on %s: %" G_GINT64_FORMAT " GPUs, tp %" G_GINT64_FORMAT ", pp %" G_GINT64_FORMAT
        ", dp %" G_GINT64_FORMAT ", %s, %" G_GINT64_FORMAT " microbatch%s\n",
        r->plan->shape->name, r->plan->system->name, r->plan->gpus, p->tp, p->pp, p->dp,
        r->schedule->name, p->microbatches, p->microbatches == 1 ? "" : "es");
    g_string_append_printf(out, "%s, seed %" G_GUINT64_FORMAT ", samples 1 to %u\n\n", r->wrong,
                           r->noise->seed, s->n);
}

/* Noise is drawn onto times that err together: all samples by as much as the iteration without it. */
static ReportCertainty
certainty_of(const StepSamples *s)
{
    return report_certainty(s->undisturbed);
}

static void
text_certainty(const StepSamples *s, GString *out)
{
    g_autofree char *words = report_certainty_words(certainty_of(s));
    g_autofree char *text = g_strdup_printf(
        "+- is one sigma, by which all of these err together, beside what is left to chance; "
        "compute and communication are %s.",
        words);
    report_paragraph(out, "  ", text);
}

static void
text_row(ReportTable *table, const char *what, double ns, double undisturbed_ns)
{
    report_table_cell(table, "%s", what);
    report_table_cell(table, "%s", report_time(seconds(ns)).text);
    double over = ns / undisturbed_ns - 1;
    report_table_cell(table, "%s%s", over >= 0 ? "+" : "", report_percent(over).text);
}

static void
text_times(const StepSamples *s, GString *out)
{
    g_autoptr(ReportTable) table = report_table_new("lrr", NULL);
    double undisturbed_ns = (double)s->undisturbed->time_ns;
    report_table_cell(table, "undisturbed");
    report_table_cell(table, "%s", report_time(seconds(undisturbed_ns)).text);
    report_table_cell(table, "+- %s", report_time(certainty_of(s).error_s).text);
    text_row(table, "mean", step_samples_mean_ns(s), undisturbed_ns);
    for (guint i = 0; i < G_N_ELEMENTS(quantiles); i++)
        text_row(table, quantiles[i].name, (double)step_samples_quantile_ns(s, quantiles[i].frac),
                 undisturbed_ns);
    report_table_cell(table, "standard deviation");
    report_table_cell(table, "%s", report_time(seconds(step_samples_deviation_ns(s))).text);
    report_table_cell(table, " ");
    report_table_print(table, 2, out);
}

static void
text_causes(const StepSamples *s, GString *out)
{
    g_autoptr(ReportTable) table = report_table_new("lr", NULL);
    gboolean any = FALSE;
    for (guint k = 0; k < STEP_N_CAUSES; k++) {
        double mean_s = cause_s(s, k);
        if (fabs(mean_s) < 5e-10)
            continue;
        report_table_cell(table, "%s", causes[k]);
        report_table_cell(table, "%s%s", mean_s < 0 ? "-" : "", report_time(fabs(mean_s)).text);
        any = TRUE;
    }
    if (!any)
        return;
    g_string_append(out, "\nOn the critical path, a mean sample loses to\n");
    report_table_print(table, 2, out);
}

static void
text_suspects(const StepSamples *s, GString *out)
{
    static const char *const heads[] = {"guilty", "rank", "worst in", "costs a sample", NULL};
    if (s->suspects->len == 0)
        return;
    g_autoptr(ReportTable) table = report_table_new("lrrr", heads);
    for (guint i = 0; i < MIN(s->suspects->len, SUSPECTS); i++) {
        const StepSuspect *suspect = &g_array_index(s->suspects, StepSuspect, i);
        g_autofree char *name = step_where_name(&suspect->where);
        report_table_cell(table, "%s", name);
        if (suspect->where.kind == STEP_WHERE_GPU)
            report_table_cell(table, "%u", suspect->rank);
        else
            report_table_cell(table, " ");
        report_table_cell(table, "%u of %u", suspect->n_worst, s->n);
        report_table_cell(table, "%s", report_time(seconds((double)suspect->cost_ns / s->n)).text);
    }
    g_string_append_c(out, '\n');
    report_table_print(table, 2, out);
    if (s->suspects->len > SUSPECTS)
        g_string_append_printf(out, "  and %u more\n", s->suspects->len - SUSPECTS);
}

static void
samples_text(const ReportSamples *r, GString *out)
{
    const StepSamples *s = r->samples;
    text_head(r, out);
    text_times(s, out);
    text_certainty(s, out);
    text_causes(s, out);
    text_suspects(s, out);
    g_string_append_c(out, '\n');
    report_append_unmeasured(s->undisturbed, out);
    g_string_append_printf(out, "%u of %u ranks simulated%s%s\n", s->ranks_simulated, s->ranks,
                           s->lanes ? ", each for its tensor-parallel group in lock step" : "",
                           s->fused ? "; runs of kernels as one" : "");
}

/* --- JSON and TSV ------------------------------------------------------------------------------------- */

static void
json_inputs(JsonBuilder *b, const ReportSamples *r)
{
    const PlanSpec *p = &r->plan->spec;
    const struct {
        const char *name;
        gint64 value;
    } degrees[] = {{"tp", p->tp},
                   {"pp", p->pp},
                   {"dp", p->dp},
                   {"cp", p->cp},
                   {"ep", p->ep},
                   {"vpp", p->vpp},
                   {"microbatches", p->microbatches}};
    report_json_text(b, "dtsim", PACKAGE_VERSION);
    report_json_text(b, "model", r->plan->shape->name);
    report_json_text(b, "system", r->plan->system->name);
    report_json_int(b, "gpus", r->plan->gpus);
    report_json_object(b, "plan");
    for (guint i = 0; i < G_N_ELEMENTS(degrees); i++)
        report_json_int(b, degrees[i].name, degrees[i].value);
    report_json_text(b, "schedule", r->schedule->name);
    json_builder_end_object(b);
    report_json_text(b, "noise", r->wrong);
    report_json_int(b, "seed", (gint64)r->noise->seed);
}

static void
json_suspects(JsonBuilder *b, const StepSamples *s)
{
    report_json_array(b, "guilty");
    for (guint i = 0; i < s->suspects->len; i++) {
        const StepSuspect *suspect = &g_array_index(s->suspects, StepSuspect, i);
        g_autofree char *name = step_where_name(&suspect->where);
        report_json_object(b, NULL);
        report_json_text(b, "where", name);
        if (suspect->where.kind == STEP_WHERE_GPU)
            report_json_int(b, "rank", suspect->rank);
        report_json_int(b, "worst_in", suspect->n_worst);
        report_json_double(b, "cost_s", seconds((double)suspect->cost_ns / s->n));
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
}

static void
samples_json(const ReportSamples *r, GString *out)
{
    const StepSamples *s = r->samples;
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    json_inputs(b, r);
    report_json_object(b, "iteration");
    report_json_int(b, "samples", s->n);
    report_json_double(b, "undisturbed_s", seconds((double)s->undisturbed->time_ns));
    report_certainty_members(b, certainty_of(s));
    report_json_double(b, "mean_s", seconds(step_samples_mean_ns(s)));
    report_json_double(b, "deviation_s", seconds(step_samples_deviation_ns(s)));
    for (guint i = 0; i < G_N_ELEMENTS(quantiles); i++) {
        g_autofree char *key = g_strconcat(quantiles[i].name, "_s", NULL);
        report_json_double(b, key, seconds((double)step_samples_quantile_ns(s, quantiles[i].frac)));
    }
    report_json_array(b, "times_s");
    for (guint i = 0; i < s->n; i++)
        json_builder_add_double_value(b, seconds((double)s->samples[i].time_ns));
    json_builder_end_array(b);
    json_builder_end_object(b);
    ReportRun undisturbed = {.plan = r->plan, .schedule = r->schedule, .result = s->undisturbed};
    report_worth_members(b, &undisturbed);
    report_json_object(b, "causes_s");
    for (guint k = 0; k < STEP_N_CAUSES; k++)
        report_json_double(b, step_cause_names[k], cause_s(s, k));
    json_builder_end_object(b);
    json_suspects(b, s);
    report_json_object(b, "simulation");
    report_json_int(b, "ops", (gint64)s->ops);
    report_json_int(b, "ranks", s->ranks);
    report_json_int(b, "ranks_simulated", s->ranks_simulated);
    report_json_bool(b, "lanes", s->lanes);
    report_json_bool(b, "segments", s->fused);
    json_builder_end_object(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

static void
samples_tsv(const ReportSamples *r, GString *out)
{
    const StepSamples *s = r->samples;
    g_string_append(out, "sample\ttime_s\tundisturbed_s");
    for (guint k = 0; k < STEP_N_CAUSES; k++)
        g_string_append_printf(out, "\t%s_s", step_cause_names[k]);
    g_string_append_printf(out, "\tguilty\tguilty_s%s\n", report_certainty_columns);
    for (guint i = 0; i < s->n; i++) {
        const StepSample *sample = &s->samples[i];
        gboolean any = sample->worst.kind != STEP_N_WHERES;
        g_autofree char *name = any ? step_where_name(&sample->worst) : g_strdup("-");
        g_string_append_printf(out, "%u\t%s\t%s", i + 1,
                               report_plain(seconds((double)sample->time_ns), 10).text,
                               report_plain(seconds((double)s->undisturbed->time_ns), 10).text);
        for (guint k = 0; k < STEP_N_CAUSES; k++)
            g_string_append_printf(out, "\t%s",
                                   report_plain(seconds((double)sample->cause_ns[k]), 9).text);
        g_string_append_printf(out, "\t%s\t%s", name,
                               report_plain(seconds((double)sample->worst_ns), 9).text);
        report_certainty_fields(certainty_of(s), out);
        g_string_append_c(out, '\n');
    }
}

void
report_samples(const ReportSamples *r, const char *format, GString *out)
{
    if (strcmp(format, "json") == 0)
        samples_json(r, out);
    else if (strcmp(format, "tsv") == 0)
        samples_tsv(r, out);
    else
        samples_text(r, out);
}

/* --- picture ------------------------------------------------------------------------------------------ */

/* As many bins as the square root of the number of samples, of equal width from the least to the most. */
static void
append_histogram(const StepSamples *s, double scale, GString *data)
{
    guint n = MAX((guint)ceil(sqrt(s->n)), 1);
    double from = (double)s->sorted_ns[0], width = ((double)s->sorted_ns[s->n - 1] - from) / n;
    g_autofree guint *count = g_new0(guint, n);
    if (width <= 0)
        width = MAX(from * 1e-3, 1);
    for (guint i = 0; i < s->n; i++)
        count[MIN((guint)(((double)s->sorted_ns[i] - from) / width), n - 1)]++;
    for (guint i = 0; i < n; i++)
        g_string_append_printf(
            data, "%s\t%s\t%s\n", report_plain((from + (i + 0.5) * width) / scale, 9).text,
            report_plain(width / scale, 9).text, report_plain((double)count[i] / s->n, 9).text);
}

gboolean
report_samples_plot(const ReportSamples *r, const char *path, GError **error)
{
    const StepSamples *s = r->samples;
    gboolean long_ones = s->undisturbed->time_ns >= 2000000000;
    double scale = long_ones ? 1e9 : 1e6;
    g_autoptr(GString) data = g_string_new(NULL);
    append_histogram(s, scale, data);
    g_string_append(data, "\n\n");
    for (guint i = 0; i < s->n; i++)
        g_string_append_printf(data, "%s\t0\t%s\n",
                               report_plain((double)s->sorted_ns[i] / scale, 9).text,
                               report_plain((i + 1.0) / s->n, 9).text);
    g_autofree char *words =
        g_strdup_printf("%s on %s, %" G_GINT64_FORMAT " GPUs: %s\t%s\t%s\t%s", r->plan->shape->name,
                        r->plan->system->name, r->plan->gpus, r->wrong, long_ones ? "s" : "ms",
                        report_plain((double)s->undisturbed->time_ns / scale, 9).text,
                        report_plain((double)s->undisturbed->error_ns / scale, 9).text);
    return report_plot("samples.gp", data, words, path, error);
}
