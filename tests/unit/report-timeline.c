/* A time line is a TSV of every change, whole or not at all; and a picture says when it would be too full. */
#include "config.h"

#include "report/timeline.h"

#include <glib/gstdio.h>
#include <string.h>

static const gint64 some[STEP_N_MEMORY] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

static void
rows(void)
{
    g_autofree char *folder = g_dir_make_tmp("dtsim-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "m.tsv", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(ReportTimeline) t = report_timeline_open(path, FALSE, 1, &error);
    g_assert_no_error(error);
    report_timeline_add(t, 40, 0, 0, some); /* of a rank that is not asked for */
    report_timeline_add(t, 41, 1, 1234567891, some);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    g_assert_true(report_timeline_close(t, &error));
    g_assert_no_error(error);
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_true(g_str_has_prefix(lines[0], "time_ms\trank\tparameters_bytes\t"));
    g_assert_cmpstr(lines[1], ==, "1234.567891\t1\t1\t2\t3\t4\t5\t6\t7\t8\t9\t45");
    g_assert_cmpstr(lines[2], ==, "");
    g_unlink(path);
    g_assert_cmpint(g_rmdir(folder), ==, 0); /* nothing else was left in it */
}

static void
left_alone(void)
{
    g_autofree char *folder = g_dir_make_tmp("dtsim-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "m.tsv", NULL);
    ReportTimeline *t = report_timeline_open(path, FALSE, -1, NULL);
    report_timeline_add(t, 0, 0, 0, some);
    report_timeline_free(t);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
    g_autoptr(GError) error = NULL;
    g_assert_null(report_timeline_open("/nosuch/folder/m.tsv", FALSE, -1, &error));
    g_assert_nonnull(strstr(error->message, "write a path that can be written"));
}

static void
too_full(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ReportTimeline) t = report_timeline_open(NULL, TRUE, -1, &error);
    for (gint64 i = 0; i < 400001; i++)
        report_timeline_add(t, 0, 0, i, some);
    g_assert_false(report_timeline_plot(t, "title", 400001, 100, "/nosuch/m.svg", &error));
    g_assert_nonnull(strstr(error->message, "400001 changes of memory"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/timeline/a-row-a-change", rows);
    g_test_add_func("/report/timeline/abandoned-leaves-nothing", left_alone);
    g_test_add_func("/report/timeline/too-much-for-a-picture", too_full);
    return g_test_run();
}
