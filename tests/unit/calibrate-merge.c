/* Rows into tables: what is there stays, or is replaced; columns; provenance; other machines. */
#include "config.h"

#include "calibrate/error.h"
#include "calibrate/merge.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static const CalibrateMergeWish keeps = {FALSE, "test"}, replaces = {TRUE, "test"};

static void
add_gemm(CalibrateImport *import, const char *m, const char *pass, double us)
{
    const char *const keys[] = {"bf16", m, "8", "4", "1", pass};
    calibrate_rows_add(import->rows, CALIBRATE_TABLE_GEMM, keys, &us);
}

static char *
merge(const char *text, const CalibrateImport *import, const CalibrateMergeWish *wish,
      CalibrateMerged *ret)
{
    GError *error = NULL;
    char *merged =
        calibrate_merge_text("gemm.tsv", text, CALIBRATE_TABLE_GEMM, import, wish, ret, &error);
    g_assert_no_error(error);
    return merged;
}

static void
test_new_file(void)
{
    g_auto(CalibrateImport) import;
    CalibrateMerged merged;
    calibrate_import_init(&import);
    g_assert_true(calibrate_import_gpu(&import, "x", "NVIDIA H100", NULL));
    add_gemm(&import, "16", "forward", 2.5);
    add_gemm(&import, "32", "dgrad", 5);
    add_gemm(&import, "16", "forward", 1.5);
    add_gemm(&import, "16", "forward", 9);
    g_ptr_array_add(import.sources, g_strdup("a.json (2026-11-29): by hand"));
    g_autofree char *text = merge(NULL, &import, &keeps, &merged);
    g_assert_cmpstr(text, ==,
                    "# gpu: NVIDIA H100\n"
                    "# test: a.json (2026-11-29): by hand\n"
                    "#   rows of this table from it: 2\n"
                    "# columns: dtype; C[m,n] = A[m,k] B[k,n]; batch > 1 = strided batched; "
                    "time_us of one call;\n"
                    "# pass: forward (TN: y = x W^T), dgrad (NN), wgrad (NT, added into an fp32 "
                    "main gradient)\n"
                    "dtype\tm\tn\tk\tbatch\tpass\ttime_us\n"
                    "bf16\t16\t8\t4\t1\tforward\t2.5\n"
                    "bf16\t32\t8\t4\t1\tdgrad\t5\n");
    g_assert_cmpuint(merged.rows, ==, 2);
    g_assert_cmpuint(merged.added, ==, 2);
}

/* Other columns in another order, one of its own, and none of passes until a row needs it. */
static void
test_old_file(void)
{
    static const char old[] = "# by hand\n"
                              "m\tn\tk\tdtype\tbatch\ttime_us\tnote\n"
                              "# between\n"
                              "16\t8\t4\tbf16\t1\t7\tgood\n"
                              "64\t8\t4\tbf16\t1\t8\t\n";
    g_auto(CalibrateImport) import;
    CalibrateMerged merged;
    calibrate_import_init(&import);
    add_gemm(&import, "16", "forward", 2.5);
    add_gemm(&import, "32", "forward", 3);
    g_autofree char *kept = merge(old, &import, &keeps, &merged);
    g_assert_cmpstr(kept, ==,
                    "# by hand\n"
                    "#   rows of this table from them: 1\n"
                    "m\tn\tk\tdtype\tbatch\ttime_us\tnote\n"
                    "# between\n"
                    "16\t8\t4\tbf16\t1\t7\tgood\n"
                    "64\t8\t4\tbf16\t1\t8\t\n"
                    "32\t8\t4\tbf16\t1\t3\t-\n");
    g_assert_cmpuint(merged.added, ==, 1);
    g_assert_cmpuint(merged.kept, ==, 1);
    add_gemm(&import, "16", "dgrad", 4);
    g_autofree char *replaced = merge(old, &import, &replaces, &merged);
    g_assert_cmpstr(replaced, ==,
                    "# by hand\n"
                    "#   rows of this table from them: 3\n"
                    "m\tn\tk\tdtype\tbatch\ttime_us\tnote\tpass\n"
                    "# between\n"
                    "64\t8\t4\tbf16\t1\t8\t\tforward\n"
                    "16\t8\t4\tbf16\t1\t2.5\t-\tforward\n"
                    "32\t8\t4\tbf16\t1\t3\t-\tforward\n"
                    "16\t8\t4\tbf16\t1\t4\t-\tdgrad\n");
    g_assert_cmpuint(merged.replaced, ==, 1);
    g_assert_cmpuint(merged.added, ==, 2);
}

/* Importing the same twice adds nothing; replacing it once more only moves rows. */
static void
test_twice(void)
{
    for (guint run = 0; run < 100; run++) {
        g_auto(CalibrateImport) import;
        CalibrateMerged first, second, third;
        calibrate_import_init(&import);
        for (int i = 0; i < g_test_rand_int_range(1, 20); i++) {
            char m[8];
            g_snprintf(m, sizeof m, "%d", g_test_rand_int_range(1, 9));
            add_gemm(&import, m, g_test_rand_bit() ? "forward" : "dgrad",
                     g_test_rand_double_range(1, 2));
        }
        g_autofree char *once = merge(NULL, &import, &keeps, &first);
        g_autofree char *twice = merge(once, &import, &keeps, &second);
        g_assert_cmpstr(twice, ==, once);
        g_assert_cmpuint(second.added, ==, 0);
        g_assert_cmpuint(second.kept, ==, first.added);
        g_autofree char *thrice = merge(once, &import, &replaces, &third);
        g_assert_cmpuint(third.replaced, ==, first.added);
        /* the same rows below a header that says so */
        const char *rows = strstr(once, "\nbf16"), *again = strstr(thrice, "\nbf16");
        g_assert_cmpstr(rows, ==, again);
    }
}

/* Several rows of one thing are all replaced. */
static void
test_replaces_all(void)
{
    g_auto(CalibrateImport) import;
    CalibrateMerged merged;
    calibrate_import_init(&import);
    add_gemm(&import, "16", "forward", 2);
    g_autofree char *text = merge("dtype\tm\tn\tk\tbatch\ttime_us\nbf16\t16\t8\t4\t1\t7\n"
                                  "bf16\t1\t8\t4\t1\t5\nbf16\t16\t8\t4\t1\t9\n",
                                  &import, &replaces, &merged);
    g_assert_cmpstr(strstr(text, "dtype"), ==,
                    "dtype\tm\tn\tk\tbatch\ttime_us\nbf16\t1\t8\t4\t1\t5\nbf16\t16\t8\t4\t1\t2\n");
}

static void
test_complaints(void)
{
    g_auto(CalibrateImport) import;
    CalibrateMerged merged;
    g_autoptr(GError) error = NULL;
    calibrate_import_init(&import);
    add_gemm(&import, "16", "forward", 2);
    g_assert_null(calibrate_merge_text("d/gemm.tsv", "dtype\tm\n", CALIBRATE_TABLE_GEMM, &import,
                                       &keeps, &merged, &error));
    g_assert_cmpstr(error->message, ==,
                    "d/gemm.tsv: no column n (is it 'm'?); columns are dtype m");
}

/* Two importers' files, and a directory whose table says its GPU. */
static void
test_machines(void)
{
    g_auto(CalibrateImport) import;
    g_autoptr(GError) error = NULL;
    CalibrateMerged merged[CALIBRATE_N_TABLES];
    g_autofree char *folder = g_dir_make_tmp("dtsim-merge-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "gemm.tsv", NULL);
    calibrate_import_init(&import);
    g_assert_true(calibrate_import_gpu(&import, "a.log", "NVIDIA H100 80GB HBM3", NULL));
    g_assert_true(calibrate_import_gpu(&import, "b.log", NULL, NULL));
    g_assert_false(calibrate_import_gpu(&import, "c.log", "NVIDIA A100-SXM4-80GB", &error));
    g_assert_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_MACHINE);
    g_clear_error(&error);
    add_gemm(&import, "16", "forward", 2);
    static const char other[] =
        "# gpu: 8 x NVIDIA A100-SXM4-80GB\ndtype\tm\tn\tk\tbatch\ttime_us\n";
    g_assert_true(g_file_set_contents(path, other, -1, NULL));
    g_assert_false(calibrate_merge(folder, &import, &keeps, merged, &error));
    g_assert_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_MACHINE);
    g_autofree char *after = NULL, *mixed = NULL;
    g_assert_true(g_file_get_contents(path, &after, NULL, NULL));
    g_assert_cmpstr(after, ==, other);
    import.mixes = TRUE;
    g_assert_true(calibrate_merge(folder, &import, &keeps, merged, NULL));
    g_assert_cmpuint(merged[CALIBRATE_TABLE_GEMM].added, ==, 1);
    g_assert_true(g_file_get_contents(path, &mixed, NULL, NULL));
    g_assert_true(g_str_has_suffix(mixed, "\nbf16\t16\t8\t4\t1\t2\n"));
    g_unlink(path);
    g_rmdir(folder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("New rows go below those that are there");
    g_test_add_func("/calibrate/merge/new-file", test_new_file);
    g_test_add_func("/calibrate/merge/old-file", test_old_file);
    g_test_add_func("/calibrate/merge/twice", test_twice);
    g_test_add_func("/calibrate/merge/replaces-all", test_replaces_all);
    g_test_add_func("/calibrate/merge/complaints", test_complaints);
    g_test_add_func("/calibrate/merge/machines", test_machines);
    return g_test_run();
}
