/* Tables: tab and comma, comments, quotes, gzip, complaints with line and column. */
#include "config.h"

#include "conf/complaint.h"
#include "conf/table.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>

static void
test_tsv(void)
{
    static const char text[] = "# source: a machine\n# date: a day\n\nname\tbytes\ttime_us\r\n"
                               "a\t1024\t1.5\n\n# between\nb b\t-3\t2e3\n\"q\t0\t0";
    GError *error = NULL;
    g_autoptr(ConfTable) table = conf_table_parse("x.tsv", text, '\t', &error);
    g_assert_no_error(error);
    g_assert_cmpuint(conf_table_n_rows(table), ==, 3);
    g_assert_cmpuint(conf_table_n_columns(table), ==, 3);
    g_assert_cmpstr(conf_table_name(table), ==, "x.tsv");
    g_assert_cmpstr(conf_table_comment(table), ==, "# source: a machine\n# date: a day");
    g_assert_cmpstr(conf_table_column_name(table, 2), ==, "time_us");
    g_assert_cmpint(conf_table_find_column(table, "bytes"), ==, 1);
    g_assert_cmpint(conf_table_find_column(table, "byte"), ==, -1);
    g_assert_cmpstr(conf_table_text(table, 1, 0), ==, "b b");
    g_assert_cmpstr(conf_table_text(table, 2, 0), ==, "\"q");
    g_assert_cmpuint(conf_table_line(table, 1), ==, 8);
    gint64 bytes = 0;
    double time_us = 0;
    g_assert_true(conf_table_int(table, 1, 1, &bytes, NULL));
    g_assert_cmpint(bytes, ==, -3);
    g_assert_true(conf_table_double(table, 1, 2, &time_us, NULL));
    g_assert_cmpfloat(time_us, ==, 2000);
}

static void
test_csv(void)
{
    static const char text[] = "a,b\n\"x, \"\"y\"\"\",1\r\n\"two\nlines\",\"\"\n,\n";
    GError *error = NULL;
    g_autoptr(ConfTable) table = conf_table_parse("x.csv", text, ',', &error);
    g_assert_no_error(error);
    g_assert_cmpuint(conf_table_n_rows(table), ==, 3);
    g_assert_cmpstr(conf_table_text(table, 0, 0), ==, "x, \"y\"");
    g_assert_cmpstr(conf_table_text(table, 0, 1), ==, "1");
    g_assert_cmpstr(conf_table_text(table, 1, 0), ==, "two\nlines");
    g_assert_cmpstr(conf_table_text(table, 1, 1), ==, "");
    g_assert_cmpstr(conf_table_text(table, 2, 1), ==, "");
    g_assert_cmpuint(conf_table_line(table, 1), ==, 3);
    g_assert_cmpuint(conf_table_line(table, 2), ==, 5);
}

static void
test_complains(void)
{
    static const struct {
        const char *text;
        char separator;
        const char *message;
    } cases[] = {
        {"", '\t', "x: no header; write the names of the columns in the first line"},
        {"# only\n", '\t', "x: no header; write the names of the columns in the first line"},
        {"a\tb\n1\n", '\t',
         "x:2: 1 cells, but the header names 2 columns; separate cells by one tab"},
        {"a,b\n1,2,3\n", ',',
         "x:2: 3 cells, but the header names 2 columns; separate cells by a comma"},
        {"a\ta\n", '\t', "x:1: column a stands twice in the header; keep one"},
        {"#\na\t\n", '\t', "x:2: column 2 has no name; write one in the header"},
        {"a,b\n\"1,2\n", ',', "x:2: a quote is not closed; write \" after the cell"},
        {"a,b\n\"1\"2,3\n", ',',
         "x:2: text after a closing quote; write \"\" for a quote inside a cell"},
        {"a\n\377\n", '\t', "x:2: not a text file (invalid UTF-8)"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(conf_table_parse("x", cases[i].text, cases[i].separator, &error));
        g_assert_error(error, CONF_ERROR, CONF_ERROR_SYNTAX);
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
}

static void
test_cells(void)
{
    static const struct {
        const char *cell;
        gboolean is_double, is_int;
    } cases[] = {
        {"1", TRUE, TRUE},
        {"-1", TRUE, TRUE},
        {"1.5", TRUE, FALSE},
        {"1e3", TRUE, FALSE},
        {"", FALSE, FALSE},
        {" 1", FALSE, FALSE},
        {"1 ", FALSE, FALSE},
        {"nan", FALSE, FALSE},
        {"inf", FALSE, FALSE},
        {"0x10", FALSE, FALSE},
        {"1e999", FALSE, FALSE},
        {"1,5", FALSE, FALSE},
        {"12abc", FALSE, FALSE},
        {"9223372036854775807", TRUE, TRUE},
        {"9223372036854775808", TRUE, FALSE},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strdup_printf("n\tx\n1\t%s\n", cases[i].cell);
        g_autoptr(ConfTable) table = conf_table_parse("f", text, '\t', NULL);
        g_autoptr(GError) error = NULL, error_int = NULL;
        double real = -7;
        gint64 whole = -7;
        g_assert_cmpint(conf_table_double(table, 0, 1, &real, &error), ==, cases[i].is_double);
        g_assert_cmpint(conf_table_int(table, 0, 1, &whole, &error_int), ==, cases[i].is_int);
        if (!cases[i].is_double) {
            g_assert_cmpfloat(real, ==, -7);
            g_assert_true(g_str_has_prefix(error->message, "f:2: column x: '"));
        }
        if (!cases[i].is_int) {
            g_assert_cmpint(whole, ==, -7);
            g_assert_error(error_int, CONF_ERROR, CONF_ERROR_VALUE);
        }
    }
}

static void
test_need_column(void)
{
    g_autoptr(ConfTable) table = conf_table_parse("f", "bytes\ttime_us\n", '\t', NULL);
    guint column = 99;
    g_autoptr(GError) error = NULL;
    g_assert_true(conf_table_need_column(table, "time_us", &column, NULL));
    g_assert_cmpuint(column, ==, 1);
    g_assert_false(conf_table_need_column(table, "time_ns", &column, &error));
    g_assert_error(error, CONF_ERROR, CONF_ERROR_MISSING);
    g_assert_cmpstr(error->message, ==,
                    "f: no column time_ns (is it 'time_us'?); columns are bytes time_us");
    g_assert_cmpuint(column, ==, 1);
}

/* `text` compressed, through GIO's own compressor. */
static void
write_gzip(const char *path, const char *text)
{
    g_autoptr(GFile) file = g_file_new_for_path(path);
    g_autoptr(GFileOutputStream) packed =
        g_file_replace(file, NULL, FALSE, G_FILE_CREATE_NONE, NULL, NULL);
    g_autoptr(GZlibCompressor) zip = g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, -1);
    g_autoptr(GOutputStream) plain =
        g_converter_output_stream_new(G_OUTPUT_STREAM(packed), G_CONVERTER(zip));
    g_assert_true(g_output_stream_write_all(plain, text, strlen(text), NULL, NULL, NULL));
    g_assert_true(g_output_stream_close(plain, NULL, NULL));
}

static void
test_files(void)
{
    g_autofree char *folder = g_dir_make_tmp("dtsim-conf-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "x.csv.gz", NULL);
    write_gzip(path, "a,b\n1,2\n");
    GError *error = NULL;
    g_autoptr(ConfTable) table = conf_table_load(path, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(conf_table_text(table, 0, 1), ==, "2");

    g_autoptr(GError) not_gzip = NULL;
    g_assert_true(g_file_set_contents(path, "a,b\n1,2\n", -1, NULL));
    g_assert_null(conf_table_load(path, &not_gzip));
    g_assert_error(not_gzip, CONF_ERROR, CONF_ERROR_IO);
    g_unlink(path);
    g_rmdir(folder);

    const char *data = g_getenv("DTSIM_TEST_DATA");
    g_autofree char *sample =
        g_build_filename(data != NULL ? data : "tests/data", "conf", "memory.tsv", NULL);
    g_autoptr(ConfTable) memory = conf_table_load(sample, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(conf_table_n_rows(memory), ==, 2);
}

/* 100 000 rows of random cells read back as written. */
static void
test_large(void)
{
    guint n = g_test_slow() ? 1000000 : 100000;
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint32));
    GString *text = g_string_new("a\tb\tc\n");
    for (guint i = 0; i < 3 * n; i++) {
        gint32 value = g_test_rand_int();
        g_array_append_val(values, value);
        g_string_append_printf(text, "%d%c", value, i % 3 == 2 ? '\n' : '\t');
    }
    g_autoptr(ConfTable) table = conf_table_parse("large", text->str, '\t', NULL);
    g_string_free(text, TRUE);
    g_assert_cmpuint(conf_table_n_rows(table), ==, n);
    for (guint i = 0; i < 3 * n; i++) {
        gint64 value = 0;
        g_assert_true(conf_table_int(table, i / 3, i % 3, &value, NULL));
        g_assert_cmpint(value, ==, g_array_index(values, gint32, i));
    }
    g_assert_cmpuint(conf_table_line(table, n - 1), ==, n + 1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/conf/table/reads-tabs", test_tsv);
    g_test_add_func("/conf/table/reads-commas-and-quotes", test_csv);
    g_test_add_func("/conf/table/says-line-and-remedy", test_complains);
    g_test_add_func("/conf/table/reads-cells-strictly", test_cells);
    g_test_add_func("/conf/table/names-missing-columns", test_need_column);
    g_test_add_func("/conf/table/loads-plain-and-gzip", test_files);
    g_test_add_func("/conf/table/reads-many-rows", test_large);
    return g_test_run();
}
