/* Columns of text are aligned and no line ends in spaces. */
#include "config.h"

#include "report/table.h"

#include "report/section.h"

#include <string.h>

static void
columns_are_as_wide_as_their_widest_cell(void)
{
    static const char *const heads[] = {"name", "n", "note", NULL};
    g_autoptr(ReportTable) table = report_table_new("lrl", heads);
    const char *const cells[] = {"a", "1", "", "longer", "1234", "x"};
    for (guint i = 0; i < G_N_ELEMENTS(cells); i++)
        report_table_cell(table, "%s", cells[i]);
    g_autoptr(GString) out = g_string_new(NULL);
    report_table_print(table, 2, out);
    g_assert_cmpstr(out->str, ==,
                    "  name       n  note\n"
                    "  a          1\n"
                    "  longer  1234  x\n");
}

/* Any text of words no longer than a line: no line is over 96 columns, and the words come back. */
static void
paragraphs_keep_every_word_and_their_width(void)
{
    for (guint n = 0; n < 200; n++) {
        g_autoptr(GString) text = g_string_new("w");
        for (guint i = 0; i < n; i++) {
            g_autofree char *word = g_strnfill((gsize)g_test_rand_int_range(1, 20), 'x');
            g_string_append_printf(text, " %s", word);
        }
        g_autoptr(GString) out = g_string_new(NULL);
        report_paragraph(out, "  head: ", text->str);
        g_auto(GStrv) lines = g_strsplit(out->str, "\n", -1);
        g_autoptr(GString) again = g_string_new(NULL);
        for (guint i = 0; lines[i] != NULL && lines[i][0] != '\0'; i++) {
            g_assert_cmpuint(strlen(lines[i]), <=, 96);
            g_assert_true(i == 0 || g_str_has_prefix(lines[i], "        "));
            g_string_append_printf(again, "%s%s", i > 0 ? " " : "", lines[i] + 8);
        }
        g_assert_cmpstr(again->str, ==, text->str);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/table/columns-are-as-wide-as-their-widest-cell",
                    columns_are_as_wide_as_their_widest_cell);
    g_test_add_func("/report/section/paragraphs-keep-every-word-and-their-width",
                    paragraphs_keep_every_word_and_their_width);
    return g_test_run();
}
