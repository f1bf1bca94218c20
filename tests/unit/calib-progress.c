/* Progress of a run in a batch job's log: a line a minute, and nothing that only a terminal understands. */
#include "config.h"

#include "calib/progress.h"

#include <glib.h>
#include <string.h>

/* Seconds since the run began, as cases come; after each how many lines there are. */
static const struct {
    double now_s;
    guint lines;
} shown[] = {{0, 0}, {0.5, 0}, {59, 0}, {61, 1}, {62, 1}, {120, 1}, {121.5, 2}, {400, 3}, {401, 3}};

static guint
count_lines(FILE *stream, char *text, size_t size)
{
    rewind(stream);
    text[fread(text, 1, size - 1, stream)] = '\0';
    guint n = 0;
    for (const char *at = text; *at != '\0'; at++)
        n += *at == '\n';
    return n;
}

static void
test_log(void)
{
    char text[4096];
    FILE *stream = tmpfile();
    g_assert_nonnull(stream);
    CalibProgress progress = calib_progress_new(stream);
    for (gsize i = 0; i < G_N_ELEMENTS(shown); i++) {
        calib_progress_show(&progress, shown[i].now_s, "gemm bf16 forward", 7,
                            600 - shown[i].now_s);
        g_assert_cmpuint(count_lines(stream, text, sizeof text), ==, shown[i].lines);
    }
    calib_progress_end(&progress);
    g_assert_cmpuint(count_lines(stream, text, sizeof text), ==, 3);
    g_assert_true(g_str_has_prefix(text, "8min 59s left, 7 rows: gemm bf16 forward\n"));
    g_assert_null(strchr(text, '\r'));
    g_assert_null(strchr(text, '\033'));
    fclose(stream);
}

static void
test_durations(void)
{
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {
        {0, "0s"}, {59.4, "59s"}, {59.6, "1min 0s"}, {3599, "59min 59s"}, {7260, "2h 1min"}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        char text[32];
        calib_format_duration(cases[i].seconds, text, sizeof text);
        g_assert_cmpstr(text, ==, cases[i].text);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/calib/progress/log", test_log);
    g_test_add_func("/calib/progress/durations", test_durations);
    return g_test_run();
}
