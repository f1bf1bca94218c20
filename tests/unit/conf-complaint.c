/* Hints, files in, files out: nothing half-written, every failure told. */
#include "config.h"

#include "conf/complaint.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static const char *const words[] = {"memory", "bandwidth", "link", "tp", NULL};

static void
test_near_miss(void)
{
    static const struct {
        const char *word, *near;
    } cases[] = {
        {"memory", "memory"},      {"memroy", "memory"}, {"MEMORY", "memory"},
        {"bandwith", "bandwidth"}, {"lnk", "link"},      {"pt", "tp"},
        {"zebra", NULL},           {"", NULL},           {"lattice", NULL},
        {"memorable", "memory"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpstr(conf_near_miss(cases[i].word, words), ==, cases[i].near);
    g_autofree char *near = conf_hint("memroy", words);
    g_assert_cmpstr(near, ==, "; did you mean 'memory'?");
    g_autofree char *none = conf_hint("zebra", words);
    g_assert_cmpstr(none, ==, "");
}

static char *
new_folder(void)
{
    char *folder = g_dir_make_tmp("dtsim-conf-XXXXXX", NULL);
    g_assert_nonnull(folder);
    return folder;
}

static void
test_write_and_read(void)
{
    g_autofree char *folder = new_folder();
    g_autofree char *path = g_build_filename(folder, "out.txt", NULL);
    g_autofree char *link = g_build_filename(folder, "link.txt", NULL);
    GError *error = NULL;
    g_assert_true(conf_write_text(path, "one\n", -1, &error));
    g_assert_no_error(error);
    g_assert_cmpint(symlink(path, link), ==, 0);
    g_assert_true(conf_write_text(link, "two and more", 3, &error));
    g_assert_no_error(error);

    gsize length = 0;
    g_autofree char *text = conf_read_text(path, &length, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(text, ==, "two");
    g_assert_cmpuint(length, ==, 3);
    g_assert_true(g_file_test(link, G_FILE_TEST_IS_SYMLINK));

    g_assert_cmpint(g_unlink(link), ==, 0);
    g_assert_cmpint(g_unlink(path), ==, 0);
    g_assert_cmpint(g_rmdir(folder), ==, 0); /* so no temporary file was left */
}

static void
test_write_fails(void)
{
    static const char *const paths[] = {"/dev/full", "/nowhere/at/all/x", "/", "/dev/none/x"};
    for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(conf_write_text(paths[i], "text", -1, &error));
        g_assert_error(error, CONF_ERROR, CONF_ERROR_IO);
        g_assert_true(g_str_has_prefix(error->message, paths[i]));
    }
    g_assert_true(conf_write_text("/dev/null", "text", -1, NULL));
}

static void
test_read_fails(void)
{
    static const struct {
        const char *content;
        gsize length;
        const char *tail;
    } cases[] = {
        {"a\nb\0c", 5, ":2: not a text file (a NUL byte)"},
        {"a\n\n\377", 4, ":3: not a text file (invalid UTF-8)"},
    };
    g_autofree char *folder = new_folder();
    g_autofree char *path = g_build_filename(folder, "in.txt", NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_true(g_file_set_contents(path, cases[i].content, (gssize)cases[i].length, NULL));
        g_assert_null(conf_read_text(path, NULL, &error));
        g_assert_error(error, CONF_ERROR, CONF_ERROR_SYNTAX);
        g_assert_true(g_str_has_suffix(error->message, cases[i].tail));
    }
    g_unlink(path);
    g_autoptr(GError) missing = NULL;
    g_assert_null(conf_read_text(path, NULL, &missing));
    g_assert_error(missing, CONF_ERROR, CONF_ERROR_IO);
    g_assert_nonnull(strstr(missing->message, "No such file"));
    g_autoptr(GError) is_folder = NULL;
    g_assert_null(conf_read_text(folder, NULL, &is_folder));
    g_assert_error(is_folder, CONF_ERROR, CONF_ERROR_IO);
    g_rmdir(folder);
}

static void
test_byte_order_mark(void)
{
    g_autofree char *folder = new_folder();
    g_autofree char *path = g_build_filename(folder, "in.txt", NULL);
    g_assert_true(g_file_set_contents(path, "\357\273\277x", -1, NULL));
    g_autofree char *text = conf_read_text(path, NULL, NULL);
    g_assert_cmpstr(text, ==, "x");
    g_unlink(path);
    g_rmdir(folder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/conf/complaint/names-the-nearest-word", test_near_miss);
    g_test_add_func("/conf/complaint/writes-whole-files", test_write_and_read);
    g_test_add_func("/conf/complaint/tells-failed-writes", test_write_fails);
    g_test_add_func("/conf/complaint/tells-failed-reads", test_read_fails);
    g_test_add_func("/conf/complaint/drops-a-byte-order-mark", test_byte_order_mark);
    return g_test_run();
}
