/* Whole runs on a recorded machine: to their end, killed anywhere, interrupted, out of disk, out of ranks. */
#include "config.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calib/interrupt.h"
#include "calib/session.h"

#include "calib-folder.h"
#include "calib-recorded.h"

static const char *const tables[] = {"gemm",       "grouped",   "memory", "device",
                                     "collective", "attention", "overlap"};

typedef struct {
    Recorded recorded;
    CalibShapes named;
    const char *path;
    unsigned kinds; /* bits */
    double budget_s;
    bool resume;
    CalibError error;
    unsigned n_rows; /* known at the end */
} Try;

enum { GEMM = 1 << CALIB_CASE_GEMM, ALL = (1 << CALIB_N_CASES) - 1 };

static Try
try_of(const char *path, unsigned kinds)
{
    return (Try){.recorded = recorded_new(2), .path = path, .kinds = kinds, .budget_s = 1e9};
}

static CalibSessionResult
go(Try *t)
{
    Recorded *r = &t->recorded;
    CalibBackend backend = recorded_backend(r);
    CalibSweepSpec spec = {.machine = &r->machine, .gpu = r->gpu, .named = &t->named};
    CalibStoreSpec where = {t->path, "0.1.0", "here", &r->machine, t->resume};
    CalibStore *store;
    for (int kind = 0; kind < CALIB_N_CASES; kind++)
        spec.kinds[kind] = t->kinds >> kind & 1;
    spec.dtypes[CALIB_BF16] = true;
    calib_interrupt_watch();
    g_assert_cmpint(calib_store_open(&where, &store, &t->error), ==, CALIB_STORE_OK);
    CalibSession session = {&backend, &r->machine, calib_plan_new(&spec), store, t->budget_s};
    CalibSessionResult result = calib_session_run(&session, &t->error);
    t->n_rows = calib_store_n_rows(store);
    calib_plan_free(session.plan);
    calib_store_free(store);
    return result;
}

/* In a process of its own, which may come to a bad end; its exit status. */
static int
go_apart(Try *t, rlim_t most_bytes)
{
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {most_bytes, most_bytes};
        if (most_bytes > 0)
            setrlimit(RLIMIT_FSIZE, &limit);
        _exit((int)go(t).end);
    }
    int status;
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* All that a folder holds, without dates. */
static char *
contents(const char *path)
{
    GString *all = g_string_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++) {
        g_autofree char *name = g_strdup_printf("%s.tsv", tables[i]);
        g_autofree char *text = folder_read(path, name, "# date");
        g_string_append_printf(all, "%s\n%s", name, text != NULL ? text : "none\n");
    }
    g_autofree char *conf = folder_read(path, "system.conf", "# date");
    g_string_append(all, conf != NULL ? conf : "no system.conf\n");
    return g_string_free(all, FALSE);
}

static gboolean
has_parts(const char *path)
{
    gboolean has = FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++) {
        g_autofree char *name = g_strdup_printf("%s.tsv.part", tables[i]);
        has = has || folder_has(path, name);
    }
    return has;
}

/* Everything but GEMMs, whose refinement has no end to speak of. */
static char *
whole_run(unsigned *ret_n)
{
    char *path = folder_new();
    Try t = try_of(path, ALL & ~GEMM);
    g_assert_cmpint(go(&t).end, ==, CALIB_SESSION_DONE);
    g_assert_false(has_parts(path));
    *ret_n = t.n_rows;
    char *text = contents(path);
    folder_free(path);
    return text;
}

/* Killed in any run, and the file cut off anywhere near its end, as often as it takes: what comes out in the end is the
 * same to the last byte as without, and nothing is measured twice that was kept. */
static void
test_killed_anywhere(void)
{
    unsigned n_rows;
    g_autofree char *expected = whole_run(&n_rows);
    g_assert_cmpuint(n_rows, >, 400);
    for (int times = 0; times < 3; times++) {
        char *path = folder_new();
        Try t = try_of(path, ALL & ~GEMM);
        int end = 99;
        for (int kills = 0; end == 99; kills++) {
            t.resume = kills > 0;
            t.recorded = recorded_new(2);
            t.recorded.exit_at = (unsigned)g_test_rand_int_range(1, kills > 8 ? 1 << 20 : 900);
            end = go_apart(&t, 0);
            const char *table = tables[g_test_rand_int_range(0, G_N_ELEMENTS(tables))];
            g_autofree char *name = g_strdup_printf("%s/%s.tsv.part", path, table);
            GStatBuf about;
            if (end == 99 && g_stat(name, &about) == 0)
                g_assert_cmpint(
                    truncate(name, MAX(0, about.st_size - g_test_rand_int_range(0, 300))), ==, 0);
        }
        g_assert_cmpint(end, ==, CALIB_SESSION_DONE);
        g_autofree char *text = contents(path);
        g_assert_cmpstr(text, ==, expected);
        folder_free(path);
    }
}

static int
compare_lines(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *
sorted_rows(const char *path)
{
    g_autofree char *text = folder_read(path, "gemm.tsv.part", "#");
    char **lines = g_strsplit(text, "\n", -1);
    GPtrArray *sorted = g_ptr_array_new();
    for (char **line = lines; *line != NULL; line++)
        g_ptr_array_add(sorted, *line);
    g_ptr_array_sort(sorted, compare_lines);
    g_ptr_array_add(sorted, NULL);
    char *joined = g_strjoinv("\n", (char **)sorted->pdata);
    g_ptr_array_unref(sorted);
    g_strfreev(lines);
    return joined;
}

/* Refinement goes on from an interrupted run as it would have gone on without: the same rows after as many. */
static void
test_refinement_resumes(void)
{
    char *one = folder_new(), *two = folder_new();
    Try whole = try_of(one, GEMM), first = try_of(two, GEMM);
    whole.recorded.raise = first.recorded.raise = SIGINT;
    whole.recorded.raise_at = 1400; /* of two for each row: grid and a part of refinement */
    g_assert_cmpint(go(&whole).end, ==, CALIB_SESSION_INTERRUPTED);
    first.recorded.raise_at = 1000;
    g_assert_cmpint(go(&first).end, ==, CALIB_SESSION_INTERRUPTED);
    Try second = try_of(two, GEMM);
    second.resume = true;
    second.recorded.raise = SIGTERM;
    second.recorded.raise_at = 2 * (whole.n_rows - first.n_rows);
    g_assert_cmpint(go(&second).end, ==, CALIB_SESSION_INTERRUPTED);
    g_assert_cmpuint(second.n_rows, ==, whole.n_rows);
    g_autofree char *rows = sorted_rows(one), *others = sorted_rows(two);
    g_assert_cmpstr(rows, ==, others);
    folder_free(one);
    folder_free(two);
}

/* The budget ends a run within a case's time; its tables are whole, and more time adds to them. */
static void
test_budget(void)
{
    char *path = folder_new();
    Try t = try_of(path, ALL);
    t.budget_s = 20;
    CalibSessionResult result = go(&t);
    g_assert_cmpint(result.end, ==, CALIB_SESSION_BUDGET);
    g_assert_cmpfloat(result.seconds, >=, 20);
    g_assert_cmpfloat(result.seconds, <, 21);
    g_assert_false(has_parts(path));
    g_assert_true(folder_has(path, "system.conf"));
    unsigned before = t.n_rows;
    t.resume = true;
    result = go(&t);
    g_assert_cmpuint(t.n_rows, ==, before + result.n_measured);
    g_assert_cmpuint(result.n_measured, >, 100);
    folder_free(path);
}

/* Ctrl-C: the rows are in .part files, and the tables appear once it was gone on with. */
static void
test_interrupted(void)
{
    char *path = folder_new();
    Try t = try_of(path, ALL & ~GEMM);
    t.recorded.raise = SIGINT;
    t.recorded.raise_at = 300;
    g_assert_cmpint(go(&t).end, ==, CALIB_SESSION_INTERRUPTED);
    g_assert_true(has_parts(path));
    g_assert_false(folder_has(path, "system.conf"));
    unsigned kept = t.n_rows;
    g_assert_cmpuint(kept, >, 50);
    Try again = try_of(path, ALL & ~GEMM);
    again.resume = true;
    CalibSessionResult result = go(&again);
    g_assert_cmpint(result.end, ==, CALIB_SESSION_DONE);
    g_assert_cmpuint(result.n_measured, ==, again.n_rows - kept);
    unsigned n_rows;
    g_autofree char *expected = whole_run(&n_rows), *text = contents(path);
    g_assert_cmpstr(text, ==, expected);
    folder_free(path);
}

static void
test_lost_rank(void)
{
    char *path = folder_new();
    Try t = try_of(path, ALL & ~GEMM);
    t.recorded.fail_at = 500;
    g_assert_cmpint(go(&t).end, ==, CALIB_SESSION_FAILED);
    g_assert_cmpstr(t.error.text, ==, "recorded.c:1: ncclAllReduce: rank 3 is lost");
    g_assert_true(has_parts(path));
    g_assert_cmpuint(t.n_rows, >, 100);
    folder_free(path);
}

/* On a disk that is full after so many bytes of a file: refused with what to do, and completed later. */
static void
test_full_disk(void)
{
    unsigned n_rows;
    g_autofree char *expected = whole_run(&n_rows);
    for (rlim_t most = 300; most < 12000; most = most * 3) {
        char *path = folder_new();
        Try t = try_of(path, ALL & ~GEMM);
        g_assert_cmpint(go_apart(&t, most), ==, CALIB_SESSION_FAILED);
        g_assert_false(folder_has(path, "collective.tsv"));
        t.resume = true;
        g_assert_cmpint(go_apart(&t, 0), ==, CALIB_SESSION_DONE);
        g_autofree char *text = contents(path);
        g_assert_cmpstr(text, ==, expected);
        folder_free(path);
    }
}

/* What this machine cannot do is left out with its reason, and does not end the run. */
static void
test_left_out(void)
{
    char *path = folder_new();
    Try t = try_of(path, GEMM);
    char shapes[] = "gemm fp8 forward 4096 4096 4096 1 1\ngemm bf16 forward 4096 4096 4096 1 1\n";
    g_assert_true(calib_shapes_parse("s", shapes, &t.named, &t.error));
    t.recorded.gpu.peak_flops[CALIB_FP8] = 0;
    t.budget_s = 2;
    CalibSessionResult result = go(&t);
    g_assert_cmpint(result.end, ==, CALIB_SESSION_BUDGET);
    g_assert_cmpuint(result.n_left_out, ==, 1);
    g_autofree char *text = folder_read(path, "gemm.tsv", NULL);
    g_assert_nonnull(strstr(text, "# left out: 1, the first gemm fp8 forward 4096 x 4096 x 4096: "
                                  "this GPU has no fp8\n"));
    g_assert_nonnull(strstr(text, "\nbf16\t4096\t4096\t4096\t1\t"));
    calib_shapes_clear(&t.named);
    folder_free(path);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/calib/session/killed-anywhere", test_killed_anywhere);
    g_test_add_func("/calib/session/refinement-resumes", test_refinement_resumes);
    g_test_add_func("/calib/session/budget", test_budget);
    g_test_add_func("/calib/session/interrupted", test_interrupted);
    g_test_add_func("/calib/session/lost-rank", test_lost_rank);
    g_test_add_func("/calib/session/full-disk", test_full_disk);
    g_test_add_func("/calib/session/what-cannot-be-done-is-left-out", test_left_out);
    return g_test_run();
}
