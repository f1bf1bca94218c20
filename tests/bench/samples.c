/* How long many samples take, and every rank with one slow GPU: wall and CPU seconds, peak memory of the process. */
#include "config.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* CPU seconds and MB of all children so far; the latter is the largest child's. */
static double
children(long *ret_mb)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    *ret_mb = usage.ru_maxrss / 1024;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void
bench(const char *what, const char *arguments)
{
    g_autofree char *command = g_strdup_printf("dtsim run %s --output /dev/null", arguments);
    long mb;
    double before_s = children(&mb);
    gint64 begin_us = g_get_monotonic_time();
    int status = system(command);
    double wall_s = 1e-6 * (double)(g_get_monotonic_time() - begin_us);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) /* 1: does not fit */
        g_error("%s: status %d", command, status);
    double cpu_s = children(&mb) - before_s;
    printf("%-52s %7.2f s wall %7.2f s CPU, peak so far %5ld MB\n", what, wall_s, cpu_s, mb);
    fflush(stdout);
}

int
main(void)
{
    bench("GPT-3 175B on 1024 GPUs, 200 samples",
          "--tp 8 --pp 8 --dp 16 --microbatches 96 --gpu-spread 2% --jitter 1% --samples 200");
    bench("the same without interference",
          "--tp 8 --pp 8 --dp 16 --microbatches 96 --gpu-spread 2% --jitter 1% --samples 200 "
          "--set gpu.overlap=off");
    bench("one of them, every rank",
          "--tp 8 --pp 8 --dp 16 --microbatches 96 --gpu-spread 2% --jitter 1% --ranks all");
    bench("Llama 3 405B on 16384 GPUs, one slow, split classes",
          "--model llama3-405b --system dgx-h100 --tp 8 --pp 16 --dp 128 --microbatches 16 "
          "--stage-layers 7,8,8,8,8,8,8,8,8,8,8,8,8,8,8,7 --slow gpu:1234=1.3");
    bench("the same, every rank",
          "--model llama3-405b --system dgx-h100 --tp 8 --pp 16 --dp 128 --microbatches 16 "
          "--stage-layers 7,8,8,8,8,8,8,8,8,8,8,8,8,8,8,7 --slow gpu:1234=1.3 --ranks all");
    return 0;
}
