/* Counts by reason. */
#include "config.h"

#include "report/skipped.h"

#include <string.h>

void
report_skipped_add(GArray *skipped, const char *reason, guint n)
{
    for (guint i = 0; i < skipped->len; i++) {
        ReportSkipped *s = &g_array_index(skipped, ReportSkipped, i);
        if (strcmp(s->reason, reason) == 0) {
            s->n += n;
            return;
        }
    }
    ReportSkipped one = {reason, n};
    g_array_append_val(skipped, one);
}

void
report_skipped_text(const GArray *skipped, guint n_rows, GString *out)
{
    guint n = 0;
    for (guint i = 0; i < skipped->len; i++)
        n += g_array_index(skipped, ReportSkipped, i).n;
    g_string_append_printf(out, "skipped: %u of %u rows\n", n, n_rows);
    for (guint i = 0; i < skipped->len; i++) {
        const ReportSkipped *s = &g_array_index(skipped, ReportSkipped, i);
        g_string_append_printf(out, "  %4u  %s\n", s->n, s->reason);
    }
}
