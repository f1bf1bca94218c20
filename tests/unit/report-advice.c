/* Advice: what fits comes first, the cheapest of it at the top; the rest by what it saves. */
#include "config.h"

#include "report/advice.h"

#include <string.h>

static GArray *
advice_new(const ReportAdvice *list, guint n)
{
    GArray *advice = g_array_new(FALSE, FALSE, sizeof(ReportAdvice));
    g_array_set_clear_func(advice, report_advice_clear);
    for (guint i = 0; i < n; i++) {
        ReportAdvice a = list[i];
        a.what = g_strdup(list[i].what);
        a.options = g_strdup("--x");
        g_array_append_val(advice, a);
    }
    return advice;
}

static void
sorted(void)
{
    const ReportAdvice list[] = {
        {.what = (char *)"c", .saves_bytes = 5, .cost_frac = 0.1, .verdict = STEP_DOES_NOT_FIT},
        {.what = (char *)"e", .saves_bytes = 9, .cost_frac = 0.5, .verdict = STEP_DOES_NOT_FIT},
        {.what = (char *)"b", .saves_bytes = 1, .cost_frac = 0.3, .verdict = STEP_FITS},
        {.what = (char *)"m", .saves_bytes = 2, .cost_frac = -0.2, .verdict = STEP_MAY_FIT},
        {.what = (char *)"a", .saves_bytes = 1, .cost_frac = -0.1, .verdict = STEP_FITS},
        {.what = (char *)"g", .cost_frac = -0.9, .verdict = STEP_FITS, .n_changes = 2},
        {.what = (char *)"f", .cost_frac = -1.0, .verdict = STEP_FITS, .n_changes = 2},
        {.what = (char *)"d", .saves_bytes = 5, .cost_frac = 0.0, .verdict = STEP_DOES_NOT_FIT},
    };
    g_autoptr(GArray) advice = advice_new(list, G_N_ELEMENTS(list));
    report_advice_sort(advice);
    g_autoptr(GString) order = g_string_new(NULL);
    for (guint i = 0; i < advice->len; i++)
        g_string_append(order, g_array_index(advice, ReportAdvice, i).what);
    g_assert_cmpstr(order->str, ==, "abmecdfg");
}

static void
as_json(void)
{
    const ReportAdvice list[] = {{.what = (char *)"full recompute",
                                  .saves_bytes = 31,
                                  .peak_bytes = 7,
                                  .cost_frac = 0.25,
                                  .verdict = STEP_MAY_FIT,
                                  .n_changes = 1}};
    g_autoptr(GArray) advice = advice_new(list, 1);
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    report_advice_json(b, advice);
    json_builder_end_object(b);
    g_autoptr(GString) out = g_string_new(NULL);
    report_json_print(b, out);
    g_assert_nonnull(strstr(out->str, "\"saves_bytes\" : 31"));
    g_assert_nonnull(strstr(out->str, "\"cost_fraction\" : 0.25"));
    g_assert_nonnull(strstr(out->str, "\"changes\" : 1"));
    g_assert_nonnull(strstr(out->str, "\"verdict\" : \"may_fit\""));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/advice/what-fits-first-then-what-saves-most", sorted);
    g_test_add_func("/report/advice/as-json", as_json);
    return g_test_run();
}
