/* Errors of times, what the times rest on, and whether one is surely below another. */
#include "config.h"

#include "report/certainty.h"

#include "report/json_number.h"
#include "report/number.h"
#include "report/section.h"

#include <math.h>

#define NAMES_MOST 6 /* of rivals in the text */
#define DIGITS 6

const ReportCertainty report_no_certainty = {NAN, {NAN, NAN, NAN}};

const char *const report_basis_names[] = {[COST_MEASURED] = "measured",
                                          [COST_INTERPOLATED] = "interpolated",
                                          [COST_MODELLED] = "modelled"};

const char report_share_columns[] = "\tmeasured_share\tinterpolated_share\tmodelled_share";
const char report_certainty_columns[] =
    "\ttime_error_s\tmeasured_share\tinterpolated_share\tmodelled_share";

ReportCertainty
report_certainty(const StepResult *result)
{
    const double *share = result->share;
    return (ReportCertainty){(double)result->error_ns / 1e9, {share[0], share[1], share[2]}};
}

ReportCertainty
report_certainty_of_part(const Why *part)
{
    return (ReportCertainty){part->error, {part->share[0], part->share[1], part->share[2]}};
}

void
report_certainty_members(JsonBuilder *b, ReportCertainty c)
{
    report_json_double(b, "time_error_s", c.error_s);
    for (guint i = 0; i < G_N_ELEMENTS(report_basis_names); i++) {
        g_autofree char *key = g_strconcat(report_basis_names[i], "_share", NULL);
        report_json_double(b, key, c.share[i]);
    }
}

void
report_share_fields(ReportCertainty c, GString *out)
{
    for (guint i = 0; i < G_N_ELEMENTS(c.share); i++)
        g_string_append_printf(out, "\t%s", report_plain(c.share[i], DIGITS).text);
}

void
report_certainty_fields(ReportCertainty c, GString *out)
{
    g_string_append_printf(out, "\t%s", report_plain(c.error_s, DIGITS).text);
    report_share_fields(c, out);
}

/* "71.6 %", "70.2 to 71.6 %" */
static void
append_range(const ReportCertainty *of, guint n, guint basis, GString *text)
{
    double least = INFINITY, most = -INFINITY;
    for (guint i = 0; i < n; i++) {
        least = MIN(least, of[i].share[basis]);
        most = MAX(most, of[i].share[basis]);
    }
    ReportNumber low = report_fixed(100 * least, 1), high = report_fixed(100 * most, 1);
    if (text->len > 0)
        g_string_append(text, ", ");
    if (g_str_equal(low.text, high.text))
        g_string_append_printf(text, "%s %% %s", high.text, report_basis_names[basis]);
    else
        g_string_append_printf(text, "%s to %s %% %s", low.text, high.text,
                               report_basis_names[basis]);
}

static char *
words_of(const ReportCertainty *of, guint n)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(report_basis_names); i++)
        append_range(of, n, i, text);
    return g_string_free(text, FALSE);
}

char *
report_certainty_words(ReportCertainty c)
{
    return words_of(&c, 1);
}

void
report_append_certainties(const ReportCertainty *of, guint n, GString *out)
{
    g_autofree char *words = words_of(of, n);
    g_autofree char *text =
        g_strdup_printf("+- is one sigma; compute and communication are %s.", words);
    if (n > 0)
        report_paragraph(out, "  ", text);
}

gboolean
report_certainty_is_modelled(ReportCertainty c)
{
    return c.share[COST_MODELLED] > 0.5;
}

void
report_append_modelled(guint n, guint of, GString *out)
{
    g_autofree char *text = g_strdup_printf(
        "WARNING: %u of %u rows rest%s mostly on shapes that were not measured; dtsim shapes --worth "
        "10 with the options of a row names those worth measuring.",
        n, of, n == 1 ? "s" : "");
    if (n > 0)
        report_paragraph(out, "  ", text);
}

/* --- which of several is best ------------------------------------------------------------------- */

/* By errors of what times are made of alone: what the simulation leaves out errs in rows of one table alike, more or
 * less, and nothing says how much less. */

static gboolean
is_rival(const ReportRival *best, const ReportRival *other)
{
    double difference_s = other->time_s * other->scale - best->time_s * best->scale;
    double sigma_ns =
        step_doubt_of_difference(other->doubts, other->scale, best->doubts, best->scale);
    return other == best || difference_s <= sigma_ns * 1e-9;
}

gboolean *
report_rivals_of_best(const ReportRival *rivals, guint n, guint *ret_best)
{
    const ReportRival *best = NULL;
    for (guint i = 0; i < n; i++)
        if (rivals[i].doubts != NULL &&
            (best == NULL || rivals[i].time_s * rivals[i].scale < best->time_s * best->scale))
            best = &rivals[i];
    if (best == NULL)
        return NULL;
    gboolean *is = g_new0(gboolean, n);
    for (guint i = 0; i < n; i++)
        is[i] = rivals[i].doubts != NULL && is_rival(best, &rivals[i]);
    *ret_best = (guint)(best - rivals);
    return is;
}

void
report_append_best(const ReportRival *rivals, const char *const *names, guint n, const char *what,
                   GString *out)
{
    guint best, n_others = 0, n_told = 0;
    g_autofree gboolean *is = report_rivals_of_best(rivals, n, &best);
    g_autoptr(GString) others = g_string_new(NULL);
    if (is == NULL)
        return;
    for (guint i = 0; i < n; i++) {
        n_told += rivals[i].doubts != NULL && !is[i];
        if (!is[i] || i == best)
            continue;
        if (n_others < NAMES_MOST)
            g_string_append_printf(others, "%s%s", n_others > 0 ? "; " : "", names[i]);
        n_others++;
    }
    if (n_others + n_told == 0)
        return;
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "Best %s: %s. ", what, names[best]);
    if (n_others > NAMES_MOST)
        g_string_append_printf(others, "; and %u more", n_others - NAMES_MOST);
    if (n_others > 0)
        g_string_append_printf(text,
                               "Errors of kernels and collectives (one sigma) leave open whether "
                               "it is better than: %s.",
                               others->str);
    else
        g_string_append(text, "It is better than all others by more than errors of kernels and "
                              "collectives leave open (one sigma).");
    report_paragraph(out, "  ", text->str);
}
