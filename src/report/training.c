/* Iteration times as text, JSON, TSV. */
#include "config.h"

#include "report/training.h"

#include "report/json_number.h"
#include "report/number.h"

#include <math.h>
#include <string.h>

static const char columns[] =
    "file\tplan\tglobal_batch\titer_s\tlow_s\thigh_s\tspread_frac\ttflops\tlines\tfirst\tlast\t"
    "other_batch\twarm_up\tpaused\tskipped\tdisturbed\ttorn\n";

static const char *
plural(guint n)
{
    return n == 1 ? "" : "s";
}

static void
counted_text(const ReportTraining *r, GString *out)
{
    const CalibrateSteady *s = r->steady;
    guint n = s->n[CALIBRATE_STEADY];
    g_string_append_printf(out, "  iteration  %.3f s, ", s->s);
    if (n > 1)
        g_string_append_printf(out,
                               "median of %u lines (iterations %" G_GINT64_FORMAT
                               " to %" G_GINT64_FORMAT "), %.3f to %.3f s, spread %s\n",
                               n, s->first, s->last, s->low_s, s->high_s,
                               report_percent(s->spread_frac).text);
    else
        g_string_append_printf(out, "of one line (iteration %" G_GINT64_FORMAT ")\n", s->first);
    if (!isnan(s->tflops))
        g_string_append_printf(out, "  printed    %s TFLOP/s per GPU\n",
                               report_fixed(s->tflops, 1).text);
}

static void
doubts_text(const ReportTraining *r, GString *out)
{
    const CalibrateSteady *s = r->steady;
    if (s->interval > 1)
        g_string_append_printf(out, "  each line is the mean of %" G_GINT64_FORMAT " iterations\n",
                               s->interval);
    if (s->n_starts > 1)
        g_string_append_printf(out, "  training began %u times\n", s->n_starts);
    if (s->all_skipped)
        g_string_append(out, "  the loss scaler skipped steps in all of these: they lack the "
                             "optimizer's part\n");
    if (s->all_paused)
        g_string_append(out, "  an evaluation or a checkpoint was before each of these, and may be "
                             "in their time\n");
    if (s->n[CALIBRATE_STEADY] == 1 && s->n[CALIBRATE_WARM_UP] == 0)
        g_string_append(out, "  nothing to compare it with: it may hold the warm-up\n");
}

static void
training_text(const ReportTraining *r, GString *out)
{
    const CalibrateSteady *s = r->steady;
    g_string_append_printf(out, "%s: %s", r->file,
                           r->plan != NULL ? r->plan : "no dump of arguments");
    if (s->global_batch > 0)
        g_string_append_printf(out, ", global batch %" G_GINT64_FORMAT, s->global_batch);
    g_string_append_c(out, '\n');
    counted_text(r, out);
    for (guint i = 1; i < CALIBRATE_N_VERDICTS; i++)
        if (s->n[i] > 0)
            g_string_append_printf(out, "  left out   %u line%s %s\n", s->n[i], plural(s->n[i]),
                                   calibrate_steady_verdict_name(i));
    doubts_text(r, out);
}

static void
training_json(JsonBuilder *b, const ReportTraining *r)
{
    static const char *const keys[CALIBRATE_N_VERDICTS] = {
        "lines", "other_batch", "warm_up", "paused", "skipped", "disturbed", "torn"};
    const CalibrateSteady *s = r->steady;
    report_json_object(b, NULL);
    report_json_text(b, "file", r->file);
    report_json_text(b, "plan", r->plan);
    if (s->global_batch > 0)
        report_json_int(b, "global_batch", s->global_batch);
    else
        report_json_double(b, "global_batch", NAN);
    report_json_double(b, "iter_s", s->s);
    report_json_double(b, "low_s", s->low_s);
    report_json_double(b, "high_s", s->high_s);
    report_json_double(b, "spread_frac", s->spread_frac);
    report_json_double(b, "tflops", s->tflops);
    report_json_int(b, "first", s->first);
    report_json_int(b, "last", s->last);
    report_json_int(b, "interval", s->interval);
    report_json_int(b, "starts", s->n_starts);
    for (guint i = 0; i < CALIBRATE_N_VERDICTS; i++)
        report_json_int(b, keys[i], s->n[i]);
    report_json_bool(b, "all_skipped", s->all_skipped);
    report_json_bool(b, "all_paused", s->all_paused);
    json_builder_end_object(b);
}

static void
training_tsv(const ReportTraining *r, GString *out)
{
    const CalibrateSteady *s = r->steady;
    const double values[] = {s->s, s->low_s, s->high_s, s->spread_frac, s->tflops};
    g_string_append_printf(out, "%s\t%s\t", r->file, r->plan != NULL ? r->plan : "");
    if (s->global_batch > 0)
        g_string_append_printf(out, "%" G_GINT64_FORMAT, s->global_batch);
    for (guint i = 0; i < G_N_ELEMENTS(values); i++)
        g_string_append_printf(out, "\t%s", report_plain(values[i], 6).text);
    g_string_append_printf(out, "\t%u\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT,
                           s->n[CALIBRATE_STEADY], s->first, s->last);
    for (guint i = 1; i < CALIBRATE_N_VERDICTS; i++)
        g_string_append_printf(out, "\t%u", s->n[i]);
    g_string_append_c(out, '\n');
}

void
report_training(const GArray *runs, const char *format, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    gboolean json = strcmp(format, "json") == 0, tsv = strcmp(format, "tsv") == 0;
    if (tsv)
        g_string_append(out, columns);
    json_builder_begin_array(b);
    for (guint i = 0; i < runs->len; i++) {
        const ReportTraining *r = &g_array_index(runs, ReportTraining, i);
        if (json)
            training_json(b, r);
        else if (tsv)
            training_tsv(r, out);
        else
            training_text(r, out);
    }
    json_builder_end_array(b);
    if (json)
        report_json_print(b, out);
}
