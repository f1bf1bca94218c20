/* Lines of any text, and the labels that launchers put before them. */
#include "config.h"

#include "conf/line_label.h"
#include "conf/lines.h"

#include <glib/gstdio.h>
#include <string.h>

static gboolean
collect(const char *line, guint number, gpointer user, G_GNUC_UNUSED GError **error)
{
    GPtrArray *lines = user;
    g_ptr_array_add(lines, g_strdup(line));
    g_assert_cmpuint(number, ==, lines->len);
    return TRUE;
}

static GPtrArray *
lines_of(const char *text, gsize n)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) error = NULL;
    g_assert_true(conf_lines_parse(text, n, collect, lines, &error));
    g_assert_no_error(error);
    return lines;
}

/* The same as splitting the whole text. */
static void
test_lines(void)
{
    for (guint i = 0; i < 500; i++) {
        g_autoptr(GString) text = g_string_new(NULL);
        for (gint k = g_test_rand_int_range(0, 40); k > 0; k--)
            g_string_append_c(text, "ab \n"[g_test_rand_int_range(0, 4)]);
        g_autoptr(GPtrArray) lines = lines_of(text->str, text->len);
        g_auto(GStrv) twin = g_strsplit(text->str, "\n", -1);
        guint n = g_strv_length(twin);
        n -= n > 0 && twin[n - 1][0] == '\0'; /* what is after the last line break is no line */
        g_assert_cmpuint(lines->len, ==, n);
        for (guint k = 0; k < n; k++)
            g_assert_cmpstr(lines->pdata[k], ==, twin[k]);
    }
}

static void
test_long(void)
{
    g_autofree char *text = g_strnfill(3 * CONF_LINE_MAX_BYTES, 'x');
    text[2 * CONF_LINE_MAX_BYTES] = '\n';
    text[2 * CONF_LINE_MAX_BYTES + 3] = '\0';
    text[3 * CONF_LINE_MAX_BYTES - 1] = '\r';
    g_autoptr(GPtrArray) lines = lines_of(text, 3 * CONF_LINE_MAX_BYTES);
    g_assert_cmpuint(lines->len, ==, 2);
    g_assert_cmpuint(strlen(lines->pdata[0]), ==, CONF_LINE_MAX_BYTES);
    g_assert_true(g_str_has_prefix(lines->pdata[1], "xx xxx"));
    g_assert_cmpuint(strlen(lines->pdata[1]), ==, CONF_LINE_MAX_BYTES - 2);
}

/* From a file, packed or not. */
static void
test_load(void)
{
    static const guint8 packed[] = {
        0x1f, 0x8b, 0x08, 0,    0,    0,    0,    0, 2, 3, 0x4b, 0xe4,
        0x4a, 2,    0,    0xfb, 0x90, 0x07, 0xef, 3, 0, 0, 0}; /* "a\nb" */
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("dtsim-lines-XXXXXX", &error);
    g_assert_no_error(error);
    g_autofree char *path = g_build_filename(folder, "log.gz", NULL);
    g_assert_true(g_file_set_contents(path, (const char *)packed, sizeof packed, &error));
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    g_assert_true(conf_lines_load(path, collect, lines, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(lines->len, ==, 2);
    g_assert_cmpstr(lines->pdata[1], ==, "b");
    g_assert_true(g_file_set_contents(path, (const char *)packed, 12, &error));
    g_assert_false(conf_lines_load(path, collect, lines, &error));
    g_assert_nonnull(error);
    g_clear_error(&error);
    g_assert_false(conf_lines_load(folder, collect, lines, &error));
    g_assert_nonnull(error);
    g_assert_cmpint(g_remove(path), ==, 0);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}

static void
test_labels(void)
{
    static const struct {
        const char *line, *label, *rest;
    } cases[] = {
        {"12: iteration", "12", " iteration"},
        {"  0:", "0", ""},
        {"[1,3]<stdout>: x", "1,3", " x"},
        {"[3]<stderr>:x", "3", "x"},
        {"[default3]: iteration", "default3", " iteration"},
        {"[rank2]:x", "rank2", "x"},
        {"[pod/a/b] x", "pod/a/b", " x"},
        {"[2024-09-14 19:44:19] iteration", "", "[2024-09-14 19:44:19] iteration"},
        {"[Rank 0] (after", "", "[Rank 0] (after"},
        {"[default] x", "", "[default] x"},
        {"12:30 x", "", "12:30 x"},
        {" plain", "", " plain"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *label;
        gsize n;
        const char *rest = conf_line_label(cases[i].line, &label, &n);
        g_autofree char *found = g_strndup(label, n);
        g_assert_cmpstr(found, ==, cases[i].label);
        g_assert_cmpstr(rest, ==, cases[i].rest);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary(
        "lines are what stands between line breaks, labels what launchers put before them");
    g_test_add_func("/conf/lines/as-split", test_lines);
    g_test_add_func("/conf/lines/long-ones-are-cut", test_long);
    g_test_add_func("/conf/lines/of-files-packed-or-not", test_load);
    g_test_add_func("/conf/lines/labels-of-launchers", test_labels);
    return g_test_run();
}
