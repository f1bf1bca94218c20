/* Does it fit: in words. */
#include "config.h"

#include "report/section.h"

#include "report/number.h"

gboolean
report_fits(const StepResult *result)
{
    return result->verdict != STEP_DOES_NOT_FIT;
}

static void
append_host(const StepResult *r, GString *text)
{
    g_string_append_printf(text, "It DOES NOT FIT: needs %s of host memory, the node has %s.",
                           report_gb((double)r->host_bytes).text,
                           report_gb((double)r->host_limit_bytes).text);
}

/* Of the stage with the peak: the one with most reserved is the same but for the fixed part. */
void
report_append_verdict(const ReportRun *run, GString *out)
{
    const StepResult *r = run->result;
    gint64 over = r->memory_peak_bytes - r->memory_limit_bytes;
    gint64 spare = r->memory_limit_bytes - r->memory_reserved_bytes;
    g_autoptr(GString) text = g_string_new(NULL);
    if (over > 0)
        g_string_append_printf(text, "It DOES NOT FIT: %s too much.", report_gb((double)over).text);
    else if (r->verdict == STEP_DOES_NOT_FIT)
        append_host(r, text);
    else if (r->verdict == STEP_MAY_FIT)
        g_string_append_printf(
            text,
            "It fits WITHIN THE MARGIN OF ERROR: %s to spare, and fragmentation of %s "
            "(--fragmentation) would take %s.",
            report_gb((double)-over).text, report_percent(run->plan->spec.fragmentation).text,
            report_gb((double)(r->memory_reserved_bytes - r->memory_peak_bytes)).text);
    else
        g_string_append_printf(text, "It fits, with %s to spare.", report_gb((double)spare).text);
    report_paragraph(out, "  ", text->str);
}
