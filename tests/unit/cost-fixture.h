/* Small machines for the tests of the layer cost. */
#pragma once

#include "cost/kernel.h"

#include <string.h>

/* 10 SMs of 1 Tflop/s (bf16; fp32 a tenth), 100 GB/s of HBM of which a copy gets 90; no kernel
 * under 2 us. */
static inline ClusterSystem *
cost_fixture_system(const char *set)
{
    static const char text[] =
        "[gpu]\nname = T\npeak-fp32 = 1TFLOPS\npeak-bf16 = 10TFLOPS\npeak-fp16 = 10TFLOPS\nmemory = 10GB\n"
        "memory-usable = 9GB\nmemory-rate = 100GBps\nmemory-efficiency = 0.9\nl2 = 1MB\nsms = 10\n"
        "clock = 1GHz\nkernel-floor = 2us\n"
        "[node]\ngpus = 8\nlink = nvswitch\nnvlink-rate = 50GBps\nnvlink-efficiency = 0.8\n"
        "nvlink-latency = 1us\npcie-rate = 10GBps\n"
        "[nic]\ncount = 8\nrate = 100Gbps\nefficiency = 0.9\nlatency = 5us\n"
        "[fabric]\nkind = fat-tree\noversubscription = 1\n"
        "[host]\nlaunch = 4us\nsync = 10us\nfixed-memory = 1GB\n";
    const char *sets[] = {set, NULL};
    g_autoptr(GError) error = NULL;
    ClusterSystem *system = cluster_system_parse("tiny", text, sets, &error);
    g_assert_no_error(error);
    return system;
}

static inline ClusterSystem *
cost_fixture_shipped(const char *name)
{
    g_autoptr(GError) error = NULL;
    ClusterSystem *system = cluster_system_load(name, NULL, &error);
    g_assert_no_error(error);
    return system;
}

static inline CostBook *
cost_fixture_book(const ClusterSystem *system)
{
    g_autoptr(GError) error = NULL;
    CostBook *book = cost_book_load(system, &error);
    g_assert_no_error(error);
    return book;
}
