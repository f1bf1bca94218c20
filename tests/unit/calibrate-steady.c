/* The lines of a log that say the time of an iteration. */
#include "config.h"

#include "calibrate/steady.h"

#include <math.h>
#include <string.h>

/* "155.5 129 128.9s 64:130 | 140": times; behind one 's' a skipped step, 'p' a pause before it; "BATCH:" before it,
 * -1 of a line that says none; '|' a new start. */
static GArray *
lines_of(const char *text)
{
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(CalibrateIteration));
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    guint start = 1;
    for (guint i = 0; words[i] != NULL; i++) {
        CalibrateIteration it = {.iteration = lines->len + 1, .global_batch = 8, .tflops = NAN};
        char *at = words[i];
        if (*at == '|') {
            start++;
            continue;
        }
        if (strchr(at, ':') != NULL) {
            it.global_batch = g_ascii_strtoll(at, &at, 10);
            at++;
        }
        it.start = start;
        it.s = g_ascii_strtod(at, &at);
        it.skipped = *at == 's';
        it.after_pause = *at == 'p';
        g_array_append_val(lines, it);
    }
    return lines;
}

/* One letter a line. */
static char *
verdicts_of(const GArray *lines)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < lines->len; i++)
        g_string_append_c(text, ".bwpsdt"[g_array_index(lines, CalibrateIteration, i).verdict]);
    return g_string_free(text, FALSE);
}

static void
test_verdicts(void)
{
    static const struct {
        const char *lines, *verdicts;
        double s;
    } cases[] = {
        {"5", ".", 5},
        {"155.5 129", "w.", 129},
        {"155.4838s 129.0288s 128.8915s", "w..", 128.96015}, /* all skipped: they stay */
        {"5 5 5", "...", 5},
        {"30 12 10.5 10.1 10 10 10.1 10", "www.....", 10}, /* 10.5 > 10.05 + 3 * 0.1005 */
        {"30 10 10 30 10 10", "w..d..", 10},
        {"30 10 9s 10 10", "w.s..", 10},
        {"30 10 10 14p 10", "w..p.", 10},
        {"30 14p 13p", "w..", 13.5},
        {"4:2 4:1 5 4 4 4", "bbw...", 4},
        {"4 4 -1:0.005", "..t", 4},
        {"-1:9 -1:9 4:2 4 -1:4", "ttb.t", 4},
        {"-1:5 -1:4 -1:4 -1:4", "w...", 4}, /* of versions that say none */
        {"20 10 10 | 20 10 10 10", "w..w...", 10},
        {"10 10 10 10 | 20", "....d", 10},
        {"10 11 12 13", "....", 11.5}, /* slower and slower is not warm */
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GArray) lines = lines_of(cases[i].lines);
        CalibrateSteady steady = calibrate_steady(lines);
        g_autofree char *verdicts = verdicts_of(lines);
        g_assert_cmpstr(verdicts, ==, cases[i].verdicts);
        g_assert_cmpfloat_with_epsilon(steady.s, cases[i].s, 1e-9);
    }
}

static void
test_figures(void)
{
    g_autoptr(GArray) lines = lines_of("30 10 10.2 9.9 10 10.1");
    CalibrateSteady steady = calibrate_steady(lines);
    g_assert_cmpfloat_with_epsilon(steady.s, 10, 1e-9);
    g_assert_cmpfloat_with_epsilon(steady.low_s, 9.9, 1e-9);
    g_assert_cmpfloat_with_epsilon(steady.high_s, 10.2, 1e-9);
    g_assert_cmpfloat_with_epsilon(steady.spread_frac, 0.014826,
                                   1e-9); /* deviations 0 .2 .1 0 .1 */
    g_assert_cmpint(steady.first, ==, 2);
    g_assert_cmpint(steady.last, ==, 6);
    g_assert_cmpuint(steady.n[CALIBRATE_STEADY], ==, 5);
    g_assert_cmpuint(steady.n[CALIBRATE_WARM_UP], ==, 1);
    g_assert_cmpuint(steady.n_starts, ==, 1);
    g_assert_cmpint(steady.interval, ==, 1);
    g_assert_cmpint(steady.global_batch, ==, 8);
    g_assert_true(isnan(steady.tflops));
    g_assert_false(steady.all_skipped || steady.all_paused);
}

static char *
random_lines(void)
{
    GString *text = g_string_new("1:1");
    for (gint n = g_test_rand_int_range(0, 30); n > 0; n--) {
        double s = 10 + g_test_rand_double() * (g_test_rand_int_range(0, 6) == 0 ? 20 : 0.2);
        static const char *const marks[] = {"", "", "", "", "s", "p", " |"};
        g_string_append_printf(text, " %.3f%s", s, marks[g_test_rand_int_range(0, 7)]);
    }
    return g_string_free(text, FALSE);
}

/* Lines of each kind add up, the median lies between the least and the most, and another unit of time changes neither. */
static void
test_any(void)
{
    for (guint i = 0; i < 2000; i++) {
        g_autofree char *text = random_lines();
        g_autoptr(GArray) lines = lines_of(text);
        CalibrateSteady steady = calibrate_steady(lines);
        guint n = 0;
        for (guint k = 0; k < CALIBRATE_N_VERDICTS; k++)
            n += steady.n[k];
        g_assert_cmpuint(n, ==, lines->len);
        g_assert_cmpuint(steady.n[CALIBRATE_STEADY], >, 0);
        g_assert_cmpfloat(steady.low_s, <=, steady.s);
        g_assert_cmpfloat(steady.s, <=, steady.high_s);
        g_autoptr(GArray) longer = lines_of(text);
        for (guint k = 0; k < longer->len; k++)
            g_array_index(longer, CalibrateIteration, k).s *= 1024;
        CalibrateSteady of_longer = calibrate_steady(longer);
        g_autofree char *verdicts = verdicts_of(lines), *others = verdicts_of(longer);
        g_assert_cmpstr(verdicts, ==, others);
        g_assert_cmpfloat(of_longer.s, ==, steady.s * 1024);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("an iteration takes the median of the lines that nothing disturbed");
    g_test_add_func("/calibrate/steady/what-becomes-of-lines", test_verdicts);
    g_test_add_func("/calibrate/steady/figures", test_figures);
    g_test_add_func("/calibrate/steady/any-lines", test_any);
    return g_test_run();
}
