/* Tables of others and mamf-finder's lines from any bytes: rows or an error; what was taken goes into a table that reads
 * back with as many rows, and once more changes nothing. The first byte chooses the reader. */
#include "config.h"

#include "calibrate/merge.h"
#include "conf/table.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_table(const CalibrateImport *import, CalibrateTableId id)
{
    const CalibrateMergeWish wish = {FALSE, "fuzz"};
    CalibrateMerged first, second;
    g_autoptr(GError) error = NULL;
    if (calibrate_rows_count(import->rows, id) == 0)
        return;
    g_autofree char *text = calibrate_merge_text("t.tsv", NULL, id, import, &wish, &first, &error);
    g_assert_no_error(error);
    g_autoptr(ConfTable) table = conf_table_parse("t.tsv", text, '\t', &error);
    g_assert_no_error(error);
    g_assert_cmpuint(conf_table_n_rows(table), ==, first.added);
    g_autofree char *again =
        calibrate_merge_text("t.tsv", text, id, import, &wish, &second, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(again, ==, text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    g_autofree char *text = g_strndup((const char *)data + 1, size - 1);
    if (!g_utf8_validate(text, -1, NULL))
        return 0; /* files are checked when they are read */
    g_auto(CalibrateImport) import;
    g_autoptr(GError) error = NULL;
    calibrate_import_init(&import);
    gboolean done = data[0] == 'm' ? calibrate_import_mamf(&import, "fuzz.txt", text, &error)
                                   : calibrate_import_tsv(&import, "fuzz.tsv", text, '\t', &error);
    g_assert_true(done == (error == NULL));
    for (guint id = 0; done && id < CALIBRATE_N_TABLES; id++)
        check_table(&import, id);
    return 0;
}
