/* dtsim-calibrate as its users call it: what it says and how it ends. */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calib/command.h"

#include "calib-folder.h"
#include "calib-recorded.h"

static CalibOpened
open_recorded(const CalibLaunch *launch, CalibBackend *ret, CalibError *error)
{
    static Recorded recorded; /* of the child alone */
    (void)launch;
    (void)error;
    recorded = recorded_new(2);
    *ret = recorded_backend(&recorded);
    return CALIB_OPENED;
}

static CalibOpened
open_none(const CalibLaunch *launch, CalibBackend *ret, CalibError *error)
{
    (void)launch;
    (void)ret;
    g_strlcpy(error->text, "no GPU: cudaGetDeviceCount: no device", sizeof error->text);
    return CALIB_NO_GPU;
}

static CalibOpened
open_broken(const CalibLaunch *launch, CalibBackend *ret, CalibError *error)
{
    (void)ret;
    g_snprintf(error->text, sizeof error->text, "rank %d: ncclCommInitRank: unhandled cuda error",
               launch->rank);
    return CALIB_OPEN_FAILED;
}

typedef struct {
    int status;
    char *out, *err;
} Said;

/* `folder` holds what it said; DIR in the line is a folder below it. */
static Said
say(const char *folder, const char *line, CalibOpener opener)
{
    g_autofree char *out = g_build_filename(folder, "out", NULL);
    g_autofree char *err = g_build_filename(folder, "err", NULL);
    pid_t child = fork();
    if (child == 0) {
        char **parts = g_strsplit(line, "DIR", -1);
        g_autofree char *dir = g_build_filename(folder, "system", NULL);
        char **words = g_strsplit(g_strjoinv(dir, parts), " ", -1);
        dup2(open(out, O_CREAT | O_TRUNC | O_WRONLY, 0666), STDOUT_FILENO);
        dup2(open(err, O_CREAT | O_TRUNC | O_WRONLY, 0666), STDERR_FILENO);
        int status = calib_command((int)g_strv_length(words), words, opener);
        fflush(NULL);
        _exit(status);
    }
    int status;
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFEXITED(status));
    return (Said){WEXITSTATUS(status), folder_read(folder, "out", NULL),
                  folder_read(folder, "err", NULL)};
}

static void
said_clear(Said *said)
{
    g_free(said->out);
    g_free(said->err);
}

static void
remove_all(char *folder)
{
    char *inner = g_build_filename(folder, "system", NULL);
    folder_free(inner);
    folder_free(folder);
}

/* One line each on stderr, nothing on stdout, and no folder made. */
static void
test_ends(void)
{
    static const struct {
        const char *line;
        CalibOpener opener;
        int status;
        const char *err;
    } cases[] = {
        {"x -o DIR", open_none, 77, "dtsim-calibrate: no GPU: cudaGetDeviceCount: no device\n"},
        {"x -o DIR", calib_backend_open, 77,
         "dtsim-calibrate: no GPU: built without CUDA; build with --with-cuda=DIR, or make -C calib "
         "-f calib.mk CUDA=DIR\n"},
        {"x -o DIR --rank 2 --world 4 --rendezvous f", open_broken, 1,
         "dtsim-calibrate: rank 2: ncclCommInitRank: unhandled cuda error\n"},
        {"x", open_none, 2, "dtsim-calibrate: -o is missing; write -o DIR, where the tables go\n"},
        {"x -o DIR --shapes nowhere.tsv", open_none, 2,
         "dtsim-calibrate: nowhere.tsv: No such file or directory\n"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *folder = folder_new();
        Said said = say(folder, cases[i].line, cases[i].opener);
        g_assert_cmpint(said.status, ==, cases[i].status);
        g_assert_cmpstr(said.err, ==, cases[i].err);
        g_assert_cmpstr(said.out, ==, "");
        g_assert_false(folder_has(folder, "system"));
        said_clear(&said);
        folder_free(folder);
    }
}

/* The manual page with plain hyphens. */
static char *
manual_text(void)
{
    const char *root = g_getenv("DTSIM_TEST_SOURCE");
    g_autofree char *calib = g_build_filename(root != NULL ? root : ".", "calib", NULL);
    g_autofree char *text = folder_read(calib, "dtsim-calibrate.1", NULL);
    g_assert_nonnull(text);
    char **parts = g_strsplit(text, "\\-", -1);
    char *plain = g_strjoinv("-", parts);
    g_strfreev(parts);
    return plain;
}

/* Each option is in --help and in the manual page. */
static void
test_shown(void)
{
    char *folder = folder_new();
    Said said = say(folder, "x --version", open_none);
    g_assert_cmpint(said.status, ==, 0);
    g_assert_cmpstr(said.out, ==, "dtsim-calibrate " PACKAGE_VERSION "\n");
    said_clear(&said);
    said = say(folder, "x --help", open_none);
    g_assert_cmpint(said.status, ==, 0);
    g_autofree char *manual = manual_text();
    static const char *const options[] = {"--output", "--shapes", "--budget",  "--only",
                                          "--dtypes", "--resume", "--name",    "--dry-run",
                                          "--rank",   "--world",  "--version", "--rendezvous"};
    for (gsize i = 0; i < G_N_ELEMENTS(options); i++) {
        g_assert_nonnull(strstr(said.out, options[i]));
        g_assert_nonnull(strstr(manual, options[i]));
    }
    said_clear(&said);
    folder_free(folder);
}

/* The plan of a machine that is not there, and of one that is. */
static void
test_dry_run(void)
{
    char *folder = folder_new();
    Said said = say(folder, "x --dry-run --only memory,gemm", open_none);
    g_assert_cmpint(said.status, ==, 0);
    g_assert_nonnull(strstr(said.out, "8 x NVIDIA H100 80GB HBM3 (assumed: there is no GPU here)"));
    g_assert_nonnull(strstr(said.out, "\ngemm        coarse "));
    g_assert_null(strstr(said.out, "\noverlap"));
    said_clear(&said);
    said = say(folder, "x -o DIR --dry-run", open_recorded);
    g_assert_cmpint(said.status, ==, 0);
    g_assert_nonnull(strstr(said.out, "machine: 1 node of 2 x NVIDIA H100 80GB HBM3\n"));
    g_assert_false(folder_has(folder, "system"));
    said_clear(&said);
    folder_free(folder);
}

/* A run, the same again without --resume, and with it. */
static void
test_runs(void)
{
    char *folder = folder_new();
    Said said = say(folder, "x -o DIR --only memory --budget 1h --name a-machine", open_recorded);
    g_assert_cmpint(said.status, ==, 0);
    g_assert_cmpstr(said.err, ==, "");
    g_assert_nonnull(strstr(said.out, " rows, "));
    said_clear(&said);
    g_autofree char *inner = g_build_filename(folder, "system", NULL);
    g_autofree char *memory = folder_read(inner, "memory.tsv", NULL);
    g_assert_nonnull(strstr(memory, "\n# system: a-machine\n"));
    g_autofree char *conf = folder_read(inner, "system.conf", NULL);
    g_assert_nonnull(strstr(conf, "\nkernel-floor = 2.25"));
    said = say(folder, "x -o DIR --only attention", open_recorded);
    g_assert_cmpint(said.status, ==, 2);
    g_assert_nonnull(strstr(said.err, "holds memory.tsv already; write --resume"));
    said_clear(&said);
    said = say(folder, "x -o DIR --only attention --resume", open_recorded);
    g_assert_cmpint(said.status, ==, 0);
    said_clear(&said);
    g_autofree char *after = folder_read(inner, "memory.tsv", NULL);
    g_assert_cmpstr(memory, ==, after);
    g_assert_true(folder_has(inner, "attention.tsv"));
    remove_all(folder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/calib/command/how-it-ends", test_ends);
    g_test_add_func("/calib/command/help-and-version", test_shown);
    g_test_add_func("/calib/command/dry-run", test_dry_run);
    g_test_add_func("/calib/command/runs", test_runs);
    return g_test_run();
}
