/* Rows that survive: torn files, full disks, other machines. */
#include "config.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calib/interrupt.h"
#include "calib/store.h"

#include "calib-folder.h"
#include "calib-recorded.h"

static CalibStoreStatus
open_store(const char *path, const CalibMachine *machine, bool resume, CalibStore **ret,
           CalibError *error)
{
    CalibStoreSpec spec = {path, "0.1.0", "here", machine, resume};
    *ret = NULL;
    return calib_store_open(&spec, ret, error);
}

static CalibStore *
must_open(const char *path, bool resume)
{
    Recorded r = recorded_new(8);
    CalibStore *store;
    CalibError error = {{0}};
    g_assert_cmpint(open_store(path, &r.machine, resume, &store, &error), ==, CALIB_STORE_OK);
    return store;
}

static CalibRow
row_of(int i)
{
    CalibRow row;
    memset(&row, 0, sizeof row);
    row.what.kind = CALIB_CASE_GEMM;
    row.what.gemm =
        (CalibGemm){CALIB_BF16, CALIB_FORWARD, 128 * (i % 7 + 1), 128, 64 * (i + 1), 1, 1};
    row.us[0] = 10.0 + i / 3.0;
    row.samples = 9;
    row.steady = i % 5 != 0;
    return row;
}

static void
add_rows(CalibStore *store, int from, int to)
{
    CalibError error;
    for (int i = from; i < to; i++) {
        CalibRow row = row_of(i);
        g_assert_cmpint(calib_store_add(store, &row, &error), ==, CALIB_STORE_OK);
    }
}

static void
finish(CalibStore *store)
{
    CalibError error;
    g_assert_cmpint(calib_store_finish(store, &error), ==, CALIB_STORE_OK);
    calib_store_free(store);
}

/* The table that N rows make, without its date. */
static char *
whole_table(int n)
{
    char *path = folder_new();
    CalibStore *store = must_open(path, false);
    add_rows(store, 0, n);
    finish(store);
    char *text = folder_read(path, "gemm.tsv", "# date");
    folder_free(path);
    return text;
}

/* Each row is in the file before the next one is added; at the end the table is there, sorted, and no other file. */
static void
test_written_at_once(void)
{
    char *path = folder_new();
    CalibStore *store = must_open(path, false);
    for (int i = 0; i < 5; i++) {
        add_rows(store, i, i + 1);
        g_autofree char *text = folder_read(path, "gemm.tsv.part", "#");
        char **lines = g_strsplit(text, "\n", -1);
        g_assert_cmpuint(g_strv_length(lines), ==, (guint)i + 4); /* columns, rows, the end */
        g_strfreev(lines);
        g_assert_false(folder_has(path, "gemm.tsv"));
    }
    finish(store);
    g_assert_true(folder_has(path, "gemm.tsv"));
    g_assert_false(folder_has(path, "gemm.tsv.part"));
    g_assert_false(folder_has(path, "memory.tsv"));
    g_autofree char *text = folder_read(path, "gemm.tsv", NULL);
    g_assert_true(g_str_has_prefix(text, "# source: measured by dtsim-calibrate 0.1.0 on node1\n"));
    g_assert_nonnull(strstr(text, "\n# gpu: 8 x NVIDIA H100 80GB HBM3\n# driver: 570.1\n"));
    g_assert_nonnull(strstr(text, "\tunsteady\n"));
    folder_free(path);
}

/* Cut off after any number of bytes, the file is read as far as its last whole row, gone on with, and the table comes
 * out as if nothing had happened. */
static void
test_torn_anywhere(void)
{
    enum { N = 12 };
    g_autofree char *expected = whole_table(N);
    char *path = folder_new();
    CalibStore *store = must_open(path, false);
    add_rows(store, 0, N);
    calib_store_free(store);
    g_autofree char *whole = folder_read(path, "gemm.tsv.part", NULL);
    g_autofree char *file = g_build_filename(path, "gemm.tsv.part", NULL);
    gsize length = strlen(whole);
    for (gsize cut = 0; cut <= length; cut += cut < length - 200 ? 17 : 1) {
        folder_empty(path);
        g_assert_true(g_file_set_contents(file, whole, (gssize)cut, NULL));
        store = must_open(path, true);
        guint known = calib_store_n_rows(store);
        g_assert_cmpuint(known, <=, N);
        for (guint i = 0; i < known; i++) { /* no row is half read */
            CalibRow row = row_of((int)i);
            g_assert_nonnull(calib_store_find(store, &row.what));
        }
        add_rows(store, (int)known, N);
        finish(store);
        g_autofree char *text = folder_read(path, "gemm.tsv", "# date");
        g_assert_cmpstr(text, ==, expected);
    }
    folder_free(path);
}

/* A finished table is gone on with: what was there stays, and is there all the time. */
static void
test_finished_tables_grow(void)
{
    g_autofree char *expected = whole_table(9);
    char *path = folder_new();
    CalibStore *store = must_open(path, false);
    add_rows(store, 0, 4);
    finish(store);
    store = must_open(path, true);
    g_assert_cmpuint(calib_store_n_rows(store), ==, 4);
    add_rows(store, 4, 7);
    g_assert_true(folder_has(path, "gemm.tsv"));
    calib_store_free(store); /* killed */
    store = must_open(path, true);
    g_assert_cmpuint(calib_store_n_rows(store), ==, 7);
    add_rows(store, 7, 9);
    finish(store);
    g_autofree char *text = folder_read(path, "gemm.tsv", "# date");
    g_assert_cmpstr(text, ==, expected);
    folder_free(path);
}

static void
test_other_machines(void)
{
    char *path = folder_new();
    CalibStore *store = must_open(path, false);
    add_rows(store, 0, 3);
    calib_store_free(store);
    g_autofree char *before = folder_read(path, "gemm.tsv.part", NULL);
    Recorded r = recorded_new(8);
    CalibError error = {{0}};
    g_assert_cmpint(open_store(path, &r.machine, false, &store, &error), ==, CALIB_STORE_REFUSED);
    g_assert_null(store);
    g_assert_nonnull(strstr(error.text, "write --resume to go on there, or another -o"));
    char *const fields[] = {r.machine.gpu_name, r.machine.driver, r.machine.cuda,
                            r.machine.cublas,   r.machine.nccl,   r.machine.cudnn,
                            r.machine.nccl_algo};
    for (gsize i = 0; i < G_N_ELEMENTS(fields); i++) {
        g_autofree char *was = g_strdup(fields[i]);
        strcpy(fields[i], "9.9");
        g_assert_cmpint(open_store(path, &r.machine, true, &store, &error), ==,
                        CALIB_STORE_REFUSED);
        g_assert_nonnull(strstr(error.text, "measured elsewhere"));
        g_assert_nonnull(strstr(error.text, "9.9"));
        g_assert_null(strchr(error.text, '\n'));
        strcpy(fields[i], was);
    }
    strcpy(r.machine.host, "node2"); /* another node of the same kind is the same machine */
    g_assert_cmpint(open_store(path, &r.machine, true, &store, &error), ==, CALIB_STORE_OK);
    calib_store_free(store);
    g_autofree char *after = folder_read(path, "gemm.tsv.part", NULL);
    g_assert_cmpstr(before, ==, after);
    folder_free(path);
}

/* A row in the middle that is none is not passed over. */
static void
test_damaged(void)
{
    char *path = folder_new();
    CalibStore *store = must_open(path, false);
    add_rows(store, 0, 3);
    calib_store_free(store);
    g_autofree char *whole = folder_read(path, "gemm.tsv.part", NULL);
    char **halves = g_strsplit(whole, "bf16\t256", 2);
    g_assert_cmpuint(g_strv_length(halves), ==, 2);
    g_autofree char *text = g_strjoinv("bf19\t256", halves);
    g_strfreev(halves);
    g_autofree char *file = g_build_filename(path, "gemm.tsv.part", NULL);
    g_assert_true(g_file_set_contents(file, text, -1, NULL));
    Recorded r = recorded_new(8);
    CalibError error = {{0}};
    g_assert_cmpint(open_store(path, &r.machine, true, &store, &error), ==, CALIB_STORE_REFUSED);
    g_assert_nonnull(strstr(error.text, "not a row of gemm.tsv; delete the line"));
    folder_free(path);
}

/* A file that may not grow beyond some size stands for a full disk: the row that does not fit is not half there, and
 * with room again the table is completed. */
static void
test_full_disk(void)
{
    enum { N = 60 };
    g_autofree char *expected = whole_table(N);
    for (rlim_t most = 200; most < 2700; most += 271) {
        char *path = folder_new();
        pid_t child = fork();
        if (child == 0) {
            struct rlimit limit = {most, most};
            CalibStore *store = must_open(path, false);
            CalibError error = {{0}};
            calib_interrupt_watch();
            setrlimit(RLIMIT_FSIZE, &limit);
            for (int i = 0; i < N; i++) {
                CalibRow row = row_of(i);
                CalibStoreStatus status = calib_store_add(store, &row, &error);
                if (status == CALIB_STORE_FAILED &&
                    strstr(error.text, "what was measured is kept: make room and go on with "
                                       "--resume") != NULL)
                    _exit(i == (int)calib_store_n_rows(store) ? 5 : 6);
            }
            _exit(0);
        }
        int status;
        g_assert_cmpint(waitpid(child, &status, 0), ==, child);
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, 5);
        CalibStore *store = must_open(path, true);
        int known = (int)calib_store_n_rows(store);
        g_autofree char *part = folder_read(path, "gemm.tsv.part", NULL);
        g_assert_true(*part == '\0' || g_str_has_suffix(part, "\n"));
        add_rows(store, known, N);
        finish(store);
        g_autofree char *text = folder_read(path, "gemm.tsv", "# date");
        g_assert_cmpstr(text, ==, expected);
        folder_free(path);
    }
}

/* Why something is missing stands in its table: each reason once, with how many there were. */
static void
test_notes(void)
{
    char *path = folder_new();
    CalibStore *store = must_open(path, false);
    CalibError error;
    add_rows(store, 0, 1);
    for (int i = 1; i < 30; i++) {
        CalibRow row = row_of(i);
        g_assert_cmpint(calib_store_note(store, &row.what,
                                         i < 20 ? "no memory left" : "no such kernel", &error),
                        ==, CALIB_STORE_OK);
    }
    finish(store);
    g_autofree char *text = folder_read(path, "gemm.tsv", NULL);
    g_assert_nonnull(strstr(text, "# left out: 19, the first gemm bf16 forward 256 x 128 x 128: no "
                                  "memory left\n"));
    g_assert_nonnull(strstr(text, "# left out: 10, the first "));
    store = must_open(path, true);
    g_assert_cmpuint(calib_store_n_rows(store), ==, 1);
    calib_store_free(store);
    folder_free(path);
}

/* Two runs in one folder would write over each other: the second is refused while the first is there, and not after. */
static void
test_two_writers(void)
{
    char *path = folder_new();
    CalibStore *store = must_open(path, false);
    Recorded r = recorded_new(8);
    CalibError error = {{0}};
    pid_t child = fork();
    if (child == 0) {
        CalibStore *second;
        CalibStoreStatus status = open_store(path, &r.machine, true, &second, &error);
        _exit(status == CALIB_STORE_REFUSED && strstr(error.text, "writes there now") ? 5 : 6);
    }
    int status;
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 5);
    calib_store_free(store);
    calib_store_free(must_open(path, true));
    folder_free(path);
}

/* What somebody may have edited is not lost. */
static void
test_edited_text(void)
{
    char *path = folder_new();
    CalibStore *store = must_open(path, false);
    CalibError error;
    static const char *const texts[] = {"# date: 1\n# clocks: none\na = 1\n",
                                        "# date: 2\n# clocks: 1 MHz\na = 1\n",
                                        "# date: 2\n# clocks: 1 MHz\na = 2\n"};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_assert_cmpint(calib_store_write_text(store, "system.conf", texts[i], &error), ==,
                        CALIB_STORE_OK);
        g_autofree char *text = folder_read(path, "system.conf", NULL);
        g_assert_cmpstr(text, ==, texts[i]);
        g_assert_true(folder_has(path, "system.conf.old") == (i == 2));
    }
    g_autofree char *old = folder_read(path, "system.conf.old", NULL);
    g_assert_cmpstr(old, ==, texts[1]);
    calib_store_free(store);
    folder_free(path);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/calib/store/rows-are-written-at-once", test_written_at_once);
    g_test_add_func("/calib/store/torn-anywhere", test_torn_anywhere);
    g_test_add_func("/calib/store/finished-tables-grow", test_finished_tables_grow);
    g_test_add_func("/calib/store/other-machines-are-refused", test_other_machines);
    g_test_add_func("/calib/store/damaged-rows-are-named", test_damaged);
    g_test_add_func("/calib/store/full-disk", test_full_disk);
    g_test_add_func("/calib/store/notes", test_notes);
    g_test_add_func("/calib/store/two-writers", test_two_writers);
    g_test_add_func("/calib/store/edited-texts-are-kept", test_edited_text);
    return g_test_run();
}
