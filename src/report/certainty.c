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

/* A warning where any of `of` rows does. */
static void
append_modelled(guint n, guint of, GString *out)
{
    g_autofree char *text = g_strdup_printf(
        "WARNING: %u of %u rows rest%s mostly on shapes that were not measured; dtsim shapes --worth "
        "10 with the options of a row names those worth measuring.",
        n, of, n == 1 ? "s" : "");
    if (n > 0)
        report_paragraph(out, "  ", text);
}

/* --- which of several is best ------------------------------------------------------------------- */

/* Rows that may be best, and which others were left out for what. */
typedef struct {
    gboolean *is;             /* [n] owned */
    gboolean no_fit, stale;   /* some ran and do not fit; some have stale weights */
    gboolean any_synchronous; /* among all that ran */
} Field;

static gboolean
ran(const ReportRival *r)
{
    return r->doubts != NULL;
}

/* Those that fit, where any does; of these the synchronous ones, where there are any: with stale weights an iteration
 * is not the same step of training. */
static Field
field_of(const ReportRival *rivals, guint n)
{
    Field field = {.is = g_new0(gboolean, n)};
    gboolean any_fits = FALSE, any_synchronous = FALSE;
    for (guint i = 0; i < n; i++)
        any_fits = any_fits || (ran(&rivals[i]) && rivals[i].fits);
    for (guint i = 0; i < n; i++) {
        field.is[i] = ran(&rivals[i]) && (rivals[i].fits || !any_fits);
        field.no_fit = field.no_fit || (ran(&rivals[i]) && !field.is[i]);
        any_synchronous = any_synchronous || (field.is[i] && !rivals[i].stale);
        field.any_synchronous = field.any_synchronous || (ran(&rivals[i]) && !rivals[i].stale);
    }
    for (guint i = 0; i < n; i++)
        if (any_synchronous && field.is[i] && rivals[i].stale) {
            field.is[i] = FALSE;
            field.stale = TRUE;
        }
    return field;
}

static const ReportRival *
best_of(const ReportRival *rivals, guint n, const gboolean *takes_part)
{
    const ReportRival *best = NULL;
    for (guint i = 0; i < n; i++)
        if (takes_part[i] &&
            (best == NULL || rivals[i].time_s * rivals[i].scale < best->time_s * best->scale))
            best = &rivals[i];
    return best;
}

static gboolean
is_rival(const ReportRival *best, const ReportRival *other)
{
    double difference_s = other->time_s * other->scale - best->time_s * best->scale;
    double sigma_ns =
        step_doubt_of_difference(other->doubts, other->scale, best->doubts, best->scale);
    return other == best || difference_s <= sigma_ns * 1e-9;
}

gboolean *
report_rivals_of_best(const ReportRival *rivals, guint n)
{
    Field field = field_of(rivals, n);
    const ReportRival *best = best_of(rivals, n, field.is);
    for (guint i = 0; i < n; i++)
        field.is[i] = field.is[i] && is_rival(best, &rivals[i]);
    return field.is;
}

/* The names of those that may be better than the best. */
static char *
names_of(const ReportRival *rivals, guint n, const gboolean *is, const ReportRival *best)
{
    GString *names = g_string_new(NULL);
    guint n_others = 0;
    for (guint i = 0; i < n; i++) {
        if (!is[i] || &rivals[i] == best)
            continue;
        if (n_others < NAMES_MOST)
            g_string_append_printf(names, "%s%s", n_others > 0 ? "; " : "", rivals[i].name);
        n_others++;
    }
    if (n_others > NAMES_MOST)
        g_string_append_printf(names, "; and %u more", n_others - NAMES_MOST);
    return g_string_free(names, FALSE);
}

static void
append_best(const ReportRival *rivals, guint n, const char *what, GString *out)
{
    Field field = field_of(rivals, n);
    g_autofree gboolean *takes_part = field.is, *is = report_rivals_of_best(rivals, n);
    const ReportRival *best = best_of(rivals, n, takes_part);
    g_autofree char *others = names_of(rivals, n, is, best);
    guint n_in = 0;
    for (guint i = 0; i < n; i++)
        n_in += takes_part[i] ? 1 : 0;
    if (n_in < 2)
        return;
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "Best %s%s%s: %s. ", what,
                           field.stale ? " of synchronous schedules" : "",
                           !field.no_fit ? ""
                           : field.stale ? " that fit"
                                         : " of those that fit",
                           best->name);
    if (others[0] != '\0')
        g_string_append_printf(text, "Errors (one sigma) leave open whether it is better than: %s.",
                               others);
    else
        g_string_append_printf(text,
                               "It is better than all others%s by more than errors leave open "
                               "(one sigma).",
                               field.no_fit ? " of those that fit" : "");
    if (field.stale)
        g_string_append(text, " Asynchronous schedules take no part: their weights are stale.");
    else if (best->stale && field.any_synchronous)
        g_string_append(text, " It is asynchronous: its weights are stale.");
    report_paragraph(out, "  ", text->str);
}

void
report_certainty_block(const ReportRival *rivals, guint n, const char *what, GString *out)
{
    g_autofree ReportCertainty *of = g_new(ReportCertainty, n);
    guint n_ran = 0, n_models = 0;
    for (guint i = 0; i < n; i++) {
        if (!ran(&rivals[i]))
            continue;
        of[n_ran++] = rivals[i].certainty;
        n_models += report_certainty_is_modelled(rivals[i].certainty) ? 1 : 0;
    }
    report_append_certainties(of, n_ran, out);
    append_best(rivals, n, what, out);
    append_modelled(n_models, n_ran, out);
}
