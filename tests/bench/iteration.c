/* How long the program takes, whole runs as a user types them: wall and CPU seconds and peak memory of the
 * process, simulated ops a second. */
#include "config.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs `dtsim ARGUMENTS --format json` and gives its output; usage is of this child alone. */
static char *
run(const char *arguments, struct rusage *ret_usage, double *ret_wall_s)
{
    g_autofree char *command = g_strdup_printf("exec dtsim %s --format json", arguments);
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    gint64 begin_us = g_get_monotonic_time();
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    GString *text = g_string_new(NULL);
    char buffer[4096];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        g_string_append_len(text, buffer, n);
    close(ends[0]);
    int status;
    g_assert_cmpint(wait4(child, &status, 0, ret_usage), ==, child);
    *ret_wall_s = 1e-6 * (double)(g_get_monotonic_time() - begin_us);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
        g_error("dtsim %s: status %d", arguments, status);
    return g_string_free(text, FALSE);
}

static double
number_after(const char *text, const char *key)
{
    const char *at = g_strrstr(text, key);
    const char *colon = at ? strchr(at, ':') : NULL;
    return colon ? g_ascii_strtod(colon + 1, NULL) : 0;
}

static void
bench(const char *what, const char *arguments)
{
    struct rusage usage;
    double wall_s;
    g_autofree char *text = run(arguments, &usage, &wall_s);
    double cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    double ops = number_after(text, "\"ops\"");
    printf("%-46s %7.3f s wall %7.3f s cpu %5ld MB %10.0f ops %6.2f Mops/s of cpu\n", what, wall_s,
           cpu_s, usage.ru_maxrss / 1024, ops, 1e-6 * ops / cpu_s);
    fflush(stdout);
}

int
main(void)
{
    bench("GPT-3 175B TP8 PP4 DP4 (128 GPUs)", "--tp 8 --pp 4 --dp 4");
    bench("GPT-3 175B TP8 PP8 DP16 M=96 (1024 GPUs)", "--tp 8 --pp 8 --dp 16 --microbatches 96");
    bench("the same, interleaved V=3",
          "--tp 8 --pp 8 --dp 16 --microbatches 96 --vpp 3 --schedule interleaved");
    bench("the same, every rank", "--tp 8 --pp 8 --dp 16 --microbatches 96 --ranks all");
    bench("Llama 3 405B TP8 PP16 DP128 M=32 (16384 GPUs)",
          "--model llama3-405b --system dgx-h100 --tp 8 --pp 16 --dp 128 --microbatches 32 "
          "--stage-layers 7,8,8,8,8,8,8,8,8,8,8,8,8,8,8,7");
    bench("the same, M=16, racks of 2, pods of 192 racks, 7:1",
          "--model llama3-405b --system dgx-h100 --tp 8 --pp 16 --dp 128 --microbatches 16 "
          "--stage-layers 7,8,8,8,8,8,8,8,8,8,8,8,8,8,8,7 --set fabric.kind=fat-tree "
          "--set fabric.levels=3 --set fabric.leaf-nodes=2 --set fabric.pod-leaves=192 "
          "--set fabric.spine-oversubscription=7:1");
    return 0;
}
