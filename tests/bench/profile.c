/* How fast a large profile is read: one of some 500 MB of text, with calls, launches, kernels and collectives as
 * PyTorch writes them, made anew in a temporary file; MB of text a second of wall and of CPU time, and peak memory. */
#include "config.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_BYTES (500L * 1000 * 1000)

/* One call, its launch and its kernel; every 16th a collective as well. */
static void
write_call(FILE *file, long i)
{
    static const char kernel[] =
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_"
        "segment_k_off_kernel__5x_cublas";
    fprintf(file,
            "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1166, "
            "\"tid\": 1166,\n    \"ts\": %ld.%03ld, \"dur\": 20.125,\n    \"args\": {\n      "
            "\"External id\": %ld,\"Record function id\": 0, \"Concrete Inputs\": [\"\", \"\"], "
            "\"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\"], \"Input Strides\": [[4096, "
            "1], [1, 4096]], \"Input Dims\": [[%ld, 4096], [4096, 4096]], \"Ev Idx\": %ld\n    }\n"
            "  },\n",
            1740461679470813 + 25 * i, i % 1000, i, 256 * (1 + i % 64), i);
    fprintf(
        file,
        "  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernelExC\", "
        "\"pid\": 1166, \"tid\": 1166,\n    \"ts\": %ld.%03ld, \"dur\": 5.5,\n    \"args\": {\n "
        "     \"External id\": %ld, \"cbid\": 430, \"correlation\": %ld\n    }\n  },\n",
        1740461679470823 + 25 * i, i % 1000, i, i);
    fprintf(
        file,
        "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, \"tid\": 7,\n "
        "   \"ts\": %ld.%03ld, \"dur\": 18.5,\n    \"args\": {\n      \"External id\": %ld, "
        "\"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": %ld, "
        "\"registers per thread\": 168, \"shared memory\": 213248, \"blocks per SM\": "
        "1.939394, \"grid\": [16, 16, 1], \"block\": [384, 1, 1]\n    }\n  },\n",
        kernel, 1740461679471346 + 25 * i, i % 1000, i, i);
    if (i % 16 == 0)
        fprintf(
            file,
            "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": "
            "\"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)\", "
            "\"pid\": 0, \"tid\": 22,\n    \"ts\": %ld.5, \"dur\": 210.25,\n    \"args\": "
            "{\"External id\": %ld, \"stream\": 22, \"correlation\": %ld, \"Collective name\": "
            "\"allreduce\", \"In msg nelems\": %ld, \"Out msg nelems\": %ld, \"Group size\": 8, "
            "\"dtype\": \"BFloat16\", \"Process Group Ranks\": \"[0, 1, 2, 3, 4, 5, 6, 7]\"}\n"
            "  },\n",
            1740461679471400 + 25 * i, i, i, 1024 * (1 + i % 32), 1024 * (1 + i % 32));
}

static long
write_profile(const char *path)
{
    FILE *file = g_fopen(path, "w");
    g_assert_nonnull(file);
    fputs(
        "{\n\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100 80GB "
        "HBM3\"}],\n\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 8},\n"
        "\"traceEvents\": [\n",
        file);
    for (long i = 0; ftell(file) < TEXT_BYTES; i++)
        for (long n = 0; n < 1000; n++)
            write_call(file, 1000 * i + n);
    fputs("  {\"ph\": \"i\", \"name\": \"Record Window End\", \"ts\": 0}\n]}\n", file);
    long bytes = ftell(file);
    g_assert_cmpint(fclose(file), ==, 0);
    return bytes;
}

int
main(void)
{
    g_autofree char *path = NULL;
    int handle = g_file_open_tmp("dtsim-profile-XXXXXX.json", &path, NULL);
    g_assert_cmpint(handle, >=, 0);
    close(handle);
    long bytes = write_profile(path);
    gint64 begin_us = g_get_monotonic_time();
    pid_t child = fork();
    if (child == 0) {
        g_freopen("/dev/null", "w", stdout);
        execlp("dtsim", "dtsim", "calibrate", "import", "kineto", path, (char *)NULL);
        _exit(127);
    }
    struct rusage usage;
    int status;
    g_assert_cmpint(wait4(child, &status, 0, &usage), ==, child);
    double wall_s = 1e-6 * (double)(g_get_monotonic_time() - begin_us);
    double cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    g_unlink(path);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        g_error("dtsim calibrate import kineto: status %d", status);
    printf("profile of %.0f MB: %.2f s wall %.2f s cpu, %.0f MB/s of wall, %.0f MB/s of cpu, peak "
           "%ld MB\n",
           (double)bytes * 1e-6, wall_s, cpu_s, (double)bytes * 1e-6 / wall_s,
           (double)bytes * 1e-6 / cpu_s, usage.ru_maxrss / 1024);
    return 0;
}
