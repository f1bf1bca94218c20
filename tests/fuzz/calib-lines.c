/* Lists of shapes and rows of tables from arbitrary bytes: an error iff it failed; whatever is read has sizes that can be
 * planned with, and a row is written as it is read. */
#include "config.h"

#include "calib/nominal.h"
#include "calib/row.h"
#include "calib/shapes.h"

#include <glib.h>
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_shapes(const char *text)
{
    g_autofree char *copy = g_strdup(text);
    CalibMachine machine = calib_nominal_machine();
    CalibNominal gpu = calib_nominal(&machine);
    CalibShapes shapes = {0};
    CalibError error = {{0}};
    gboolean done = calib_shapes_parse("fuzz", copy, &shapes, &error);
    g_assert_true(done == (*error.text == '\0'));
    for (size_t i = 0; i < shapes.n; i++) {
        g_assert_true(isfinite(calib_case_guess_us(&gpu, &shapes.shapes[i].what)));
        g_assert_true(calib_case_footprint_bytes(&shapes.shapes[i].what) > 0);
        g_assert_true(shapes.shapes[i].calls > 0);
    }
    calib_shapes_clear(&shapes);
}

static void
read_rows(const CalibTable *table, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        CalibRow row, again;
        char written[1024];
        if (!calib_table_parse(table, *line, &row))
            continue;
        if (row.what.kind == CALIB_CASE_OVERLAP)
            continue; /* its slowdowns are of its times, whatever the line says */
        calib_table_format(table, &row, written, sizeof written);
        g_assert_true(g_str_has_suffix(written, "\n"));
        written[strlen(written) - 1] = '\0';
        g_assert_true(calib_table_parse(table, written, &again));
        g_assert_true(calib_case_compare(&row.what, &again.what) == 0);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    read_shapes(text);
    for (int i = 0; calib_tables[i] != NULL; i++)
        read_rows(calib_tables[i], text);
    return 0;
}
