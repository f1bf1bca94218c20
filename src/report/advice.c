/* What would help, in words and as JSON. */
#include "config.h"

#include "report/advice.h"

#include "report/number.h"
#include "report/section.h"

#include <math.h>

void
report_advice_clear(gpointer advice)
{
    ReportAdvice *a = advice;
    g_clear_pointer(&a->what, g_free);
    g_clear_pointer(&a->options, g_free);
}

static gboolean
is_better(const ReportAdvice *x, const ReportAdvice *y)
{
    if (x->n_changes != y->n_changes)
        return x->n_changes < y->n_changes;
    if (x->verdict != y->verdict)
        return x->verdict < y->verdict;
    if (x->verdict != STEP_DOES_NOT_FIT)
        return x->cost_frac < y->cost_frac;
    return x->saves_bytes > y->saves_bytes;
}

void
report_advice_sort(GArray *advice)
{
    ReportAdvice *a = (ReportAdvice *)(gpointer)advice->data;
    for (guint i = 1; i < advice->len; i++) {
        ReportAdvice moved = a[i];
        guint at = i;
        for (; at > 0 && is_better(&moved, &a[at - 1]); at--)
            a[at] = a[at - 1];
        a[at] = moved;
    }
}

/* "costs 24.1 %", "costs no time", "is 3.2 % faster": what is below 0.05 % is nothing. */
static char *
cost_in_words(double cost_frac)
{
    if (fabs(cost_frac) < 0.0005)
        return g_strdup("costs no time");
    return cost_frac > 0 ? g_strdup_printf("costs %s", report_percent(cost_frac).text)
                         : g_strdup_printf("is %s faster", report_percent(-cost_frac).text);
}

static const char *
outcome(const StepResult *now, const ReportAdvice *a)
{
    gboolean crowds_host = now->host_limit_bytes > 0 && a->host_bytes > now->host_limit_bytes;
    if (crowds_host)
        return "; but the host has no room for it";
    if (now->verdict == STEP_FITS || a->verdict == STEP_DOES_NOT_FIT)
        return "";
    if (a->verdict == STEP_FITS)
        return "; it then fits";
    return now->verdict == STEP_MAY_FIT ? "" : "; it then fits within the margin of error";
}

void
report_append_advice(const ReportRun *run, GString *out)
{
    if (run->advice == NULL)
        return;
    g_string_append(out, "\nWhat would help, each alone\n");
    for (guint i = 0; i < run->advice->len; i++) {
        const ReportAdvice *a = &g_array_index(run->advice, ReportAdvice, i);
        if (a->n_changes > 1 &&
            (i == 0 || g_array_index(run->advice, ReportAdvice, i - 1).n_changes == 1))
            g_string_append(out, "\nNone of them alone is enough; two together are\n");
        g_autofree char *cost = cost_in_words(a->cost_frac);
        g_autofree char *text = g_strdup_printf("%s saves %s and %s%s (%s)", a->what,
                                                report_gb((double)a->saves_bytes).text, cost,
                                                outcome(run->result, a), a->options);
        report_paragraph(out, "  - ", text);
    }
    if (run->advice->len == 0)
        g_string_append(out, "  nothing that this command knows takes less memory\n");
}

void
report_advice_json(JsonBuilder *b, const GArray *advice)
{
    report_json_array(b, "advice");
    for (guint i = 0; i < advice->len; i++) {
        const ReportAdvice *a = &g_array_index(advice, ReportAdvice, i);
        report_json_object(b, NULL);
        report_json_text(b, "what", a->what);
        report_json_text(b, "options", a->options);
        report_json_int(b, "changes", a->n_changes);
        report_json_int(b, "saves_bytes", a->saves_bytes);
        report_json_double(b, "cost_fraction", a->cost_frac);
        report_json_int(b, "peak_bytes", a->peak_bytes);
        report_json_text(b, "verdict", step_verdict_names[a->verdict]);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
}
