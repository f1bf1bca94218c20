/* Systems: every key is read with its unit, values that cannot be are named with what to write
 * instead. */
#include "config.h"

#include "cluster/system.h"

#include "cluster/error.h"
#include "conf/complaint.h"

#include <string.h>

static const char tiny[] =
    "[gpu]\nname = T\npeak-fp32 = 1TFLOPS\npeak-bf16 = 8TFLOPS\nmemory = 10GB\n"
    "memory-usable = 9GB\nmemory-rate = 100GBps\nmemory-efficiency = 90%\nl2 = 1MB\n"
    "sms = 10\nclock = 1GHz\nkernel-floor = 2us\n"
    "[node]\ngpus = 4\nlink = mesh\nnvlink-rate = 50GBps\nnvlink-efficiency = 0.8\n"
    "nvlink-latency = 1us\npcie-rate = 10GBps\n"
    "[nic]\ncount = 2\nrate = 100Gbps\nefficiency = 0.9\nlatency = 5us\n"
    "[fabric]\nkind = fat-tree\noversubscription = 2:1\n"
    "[host]\nlaunch = 4us\nsync = 10us\nfixed-memory = 1GB\n";

static void
test_reads(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ClusterSystem) s = cluster_system_parse("tiny", tiny, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(s->name, ==, "tiny");
    g_assert_cmpstr(s->gpu_name, ==, "T");
    g_assert_cmpint(s->peak_flops[CLUSTER_FP32], ==, G_GINT64_CONSTANT(1000000000000));
    g_assert_cmpint(s->peak_flops[CLUSTER_BF16], ==, G_GINT64_CONSTANT(8000000000000));
    g_assert_cmpint(s->peak_flops[CLUSTER_FP8], ==, 0);
    g_assert_cmpint(s->memory_bytes, ==, G_GINT64_CONSTANT(10000000000));
    g_assert_cmpint(s->memory_usable_bytes, ==, G_GINT64_CONSTANT(9000000000));
    g_assert_cmpint(s->memory_Bps, ==, G_GINT64_CONSTANT(100000000000));
    g_assert_cmpfloat(s->memory_efficiency, ==, 0.9);
    g_assert_cmpint(s->l2_bytes, ==, 1000000);
    g_assert_cmpint(s->n_sms, ==, 10);
    g_assert_cmpint(s->clock_Hz, ==, 1000000000);
    g_assert_cmpint(s->kernel_floor_ns, ==, 2000);
    g_assert_cmpint(s->gpus_per_node, ==, 4);
    g_assert_cmpint(s->link, ==, CLUSTER_LINK_MESH);
    g_assert_cmpint(s->nvlink_Bps, ==, G_GINT64_CONSTANT(50000000000));
    g_assert_cmpfloat(s->nvlink_efficiency, ==, 0.8);
    g_assert_cmpint(s->nvlink_latency_ns, ==, 1000);
    g_assert_cmpint(s->pcie_Bps, ==, G_GINT64_CONSTANT(10000000000));
    g_assert_cmpint(s->nics_per_node, ==, 2);
    g_assert_cmpint(s->nic_Bps, ==, G_GINT64_CONSTANT(12500000000));
    g_assert_cmpfloat(s->nic_efficiency, ==, 0.9);
    g_assert_cmpint(s->nic_latency_ns, ==, 5000);
    g_assert_false(s->rail_optimised);
    g_assert_cmpfloat(s->oversubscription, ==, 2);
    g_assert_cmpint(s->launch_ns, ==, 4000);
    g_assert_cmpint(s->sync_ns, ==, 10000);
    g_assert_cmpint(s->fixed_memory_bytes, ==, 1000000000);
    /* not said: not known, a model's rate, no drives */
    g_assert_cmpint(s->host_memory_bytes, ==, 0);
    g_assert_cmpint(s->host_memory_Bps, ==, G_GINT64_CONSTANT(200000000000));
    g_assert_cmpint(s->nvme_read_Bps + s->nvme_write_Bps, ==, 0);
}

static void
test_host(void)
{
    g_autoptr(GError) error = NULL;
    const char *set[] = {"host.memory=512GB", "host.memory-rate=120GBps", "host.nvme-read=6GBps",
                         "host.nvme-write=4GBps", NULL};
    g_autoptr(ClusterSystem) s = cluster_system_parse("tiny", tiny, set, &error);
    g_assert_no_error(error);
    g_assert_cmpint(s->host_memory_bytes, ==, G_GINT64_CONSTANT(512000000000));
    g_assert_cmpint(s->host_memory_Bps, ==, G_GINT64_CONSTANT(120000000000));
    g_assert_cmpint(s->nvme_read_Bps, ==, G_GINT64_CONSTANT(6000000000));
    g_assert_cmpint(s->nvme_write_Bps, ==, G_GINT64_CONSTANT(4000000000));
    g_autofree char *text = conf_keyfile_print(s->conf);
    g_assert_nonnull(strstr(text, "memory = 512GB\n"));
    g_assert_nonnull(strstr(text, "nvme-write = 4GBps\n"));
    static const struct {
        const char *name;
        gint64 memory_bytes, drives_Bps;
    } shipped[] = {{"dgx-a100-80g", G_GINT64_CONSTANT(2000000000000), 55000000000},
                   {"dgx-h100", G_GINT64_CONSTANT(2000000000000), 55000000000},
                   {"dgx1-v100-32g", G_GINT64_CONSTANT(512000000000), 0}};
    for (guint i = 0; i < G_N_ELEMENTS(shipped); i++) {
        g_autoptr(ClusterSystem) machine = cluster_system_load(shipped[i].name, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpint(machine->host_memory_bytes, ==, shipped[i].memory_bytes);
        g_assert_cmpint(machine->nvme_read_Bps, ==, shipped[i].drives_Bps);
        /* a socket's channels, not a GPU's memory */
        g_assert_cmpint(machine->host_memory_Bps, <, machine->memory_Bps / 4);
    }
}

/* Keys above ports and cards: what they are where nothing is said, and in words of their own. */
static void
test_fabric(void)
{
    g_autoptr(GError) error = NULL;
    const char *set[] = {"nccl.algo=Ring, NVLSTree", "nccl.proto=LL,Simple",
                         "nccl.version=2.18.3",      "gpu.overlap=off",
                         "nic.gpudirect=no",         "nccl.pxn=no",
                         "fabric.spreading=hashed",  NULL};
    g_autoptr(ClusterSystem) s = cluster_system_parse("tiny", tiny, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpint(s->fabric, ==, CLUSTER_FABRIC_FAT_TREE);
    g_assert_cmpint(s->leaf_nodes, ==, 16); /* 32 ports below a leaf switch, 2 cards a node */
    g_assert_cmpint(s->uplinks, ==, 16);    /* at 2:1 */
    g_assert_cmpuint(s->levels, ==, 2);
    g_assert_cmpuint(s->nccl_version, ==, 22700);
    g_assert_cmpint(s->pcie_switch_Bps, ==, s->pcie_Bps);
    g_assert_true(s->pxn && s->gpudirect && !s->sharp && !s->hashed && !s->overlap_off);
    g_assert_true(cluster_list_allows(s->nccl_algo, "pat"));
    g_autoptr(ClusterSystem) narrow = cluster_system_parse("tiny", tiny, set, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(narrow->nccl_version, ==, 21800);
    g_assert_cmpstr(narrow->nccl_algo, ==, "ring,nvlstree");
    g_assert_true(cluster_list_allows(narrow->nccl_algo, "ring"));
    g_assert_false(cluster_list_allows(narrow->nccl_algo, "nvls"));
    g_assert_false(cluster_list_allows(narrow->nccl_algo, "tree"));
    g_assert_true(cluster_list_allows(narrow->nccl_proto, "simple"));
    g_assert_false(cluster_list_allows(narrow->nccl_proto, "ll128"));
    g_assert_true(!narrow->pxn && !narrow->gpudirect && narrow->hashed && narrow->overlap_off);
}

static void
test_override(void)
{
    g_autoptr(GError) error = NULL;
    const char *set[] = {"nic.rate=800Gbps", "fabric.oversubscription=1.5", "gpu.peak-fp8=16TFLOPS",
                         NULL};
    g_autoptr(ClusterSystem) s = cluster_system_parse("tiny", tiny, set, &error);
    g_assert_no_error(error);
    g_assert_cmpint(s->nic_Bps, ==, G_GINT64_CONSTANT(100000000000));
    g_assert_cmpfloat(s->oversubscription, ==, 1.5);
    /* What it prints reads back as the same system. */
    g_autofree char *text = conf_keyfile_print(s->conf);
    g_autoptr(ClusterSystem) again = cluster_system_parse("again", text, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpint(again->nic_Bps, ==, s->nic_Bps);
    g_assert_cmpint(again->peak_flops[CLUSTER_FP8], ==, G_GINT64_CONSTANT(16000000000000));
}

static const struct {
    const char *set;
    const char *message; /* a part of it */
} bad[] = {
    {"nic.speed=1Gbps", "speed"},
    {"nic.rate=1555", "write 1555GBps"},
    {"nic.rate=nanGbps", "nan"},
    {"nic.rate=-1Gbps", "-1"},
    {"nic.rate=0Gbps", "tiny: [nic] rate: must be more than 0; write for example 200Gbps"},
    {"nic.count=3", "tiny: [nic] count: 3 cards cannot be dealt out evenly to 4 GPUs"},
    {"nic.efficiency=0", "tiny: [nic] efficiency: must be more than 0"},
    {"nic.efficiency=1.5", "efficiency"},
    {"gpu.memory-usable=11GB",
     "tiny: [gpu] memory-usable: is more than memory; write at most 10GB"},
    {"host.fixed-memory=9GB", "tiny: [host] fixed-memory: leaves nothing"},
    {"gpu.peak-fp32=0FLOPS", "tiny: [gpu] peak-fp32: must be more than 0"},
    {"fabric.oversubscription=0.5", "tiny: [fabric] oversubscription: '0.5' is not a ratio"},
    {"fabric.oversubscription=2x", "tiny: [fabric] oversubscription: '2x' is not a ratio"},
    {"fabric.oversubscription=nan", "oversubscription: 'nan'"},
    {"host.memory-rate=0GBps", "tiny: [host] memory-rate: must be more than 0"},
    {"host.memory=-1B", "-1"},
    {"host.memory=12", "write 12GB"},
    {"host.nvme-read=5GBps", "tiny: [host] nvme-write: drives are both read and written"},
    {"host.nvme-write=5GBps", "tiny: [host] nvme-read: drives are both read and written"},
    {"node.gpus=2000", "up to 1024"},
    {"node.hosts=3", "tiny: [node] hosts: GPUs cannot be dealt out evenly"},
    {"node.sockets=3", "tiny: [node] sockets: GPUs cannot be dealt out evenly"},
    {"node.pcie-switch-gpus=3", "pcie-switch-gpus: GPUs of a socket cannot be dealt out"},
    {"node.socket-rate=0GBps", "socket-rate: must be more than 0"},
    {"node.mesh=0-1:1", "tiny: [node] mesh: GPU 0 does not reach GPU 2 over one other"},
    {"node.mesh=0-4:1", "'0-4:1' does not name two GPUs of the node"},
    {"node.mesh=0-1:1 1-0:1", "'1-0:1' names a pair a second time"},
    {"node.mesh=0-1:99", "'0-1:99' has no number of links from 1 to 18"},
    {"node.mesh=0=1", "'0=1' is no pair of GPUs"},
    {"fabric.kind=cube", "ideal, rail, fat-tree, dragonfly, torus"},
    {"fabric.kind=ideal", "contradicts kind = ideal"},
    {"fabric.kind=torus", "tiny: [fabric] dimensions: '' is no size of a torus"},
    {"fabric.dimensions=4x4", "belongs to a torus"},
    {"fabric.levels=4", "tiny: [fabric] levels: '4' is not from 2 to 3"},
    {"fabric.spine-oversubscription=2", "needs a third level of switches"},
    {"fabric.rail-optimised=yes", "unknown key; keys are kind, "},
    {"nccl.version=3.1", "tiny: [nccl] version: '3.1' is no version"},
    {"nccl.version=2", "is no version"},
    {"nccl.algo=ring,star", "tiny: [nccl] algo: 'star' is none; write some of ring, tree"},
    {"nccl.proto=LL256", "'ll256' is none; write some of ll, ll128, simple"},
    {"nccl.channels=65", "channels: more than 64"},
    {"gpu.overlap=guessed", "measured, off"},
    {"node.link=token-ring", "nvswitch"},
};

static void
test_complains(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        const char *set[] = {bad[i].set, NULL};
        g_autoptr(ClusterSystem) s = cluster_system_parse("tiny", tiny, set, &error);
        g_assert_null(s);
        g_assert_nonnull(error);
        g_test_message("%s", error->message);
        if (!strstr(error->message, bad[i].message))
            g_error("'%s' does not say '%s'", error->message, bad[i].message);
    }
    g_autoptr(GError) missing = NULL;
    g_assert_null(cluster_system_parse("empty", "[gpu]\nname = x\n", NULL, &missing));
    g_assert_error(missing, CONF_ERROR, CONF_ERROR_MISSING);
}

static void
test_shipped(void)
{
    g_auto(GStrv) names = cluster_system_names();
    g_assert_cmpuint(g_strv_length(names), >=, 16);
    for (guint i = 0; names[i]; i++) {
        if (i)
            g_assert_cmpstr(names[i - 1], <, names[i]);
        g_autoptr(GError) error = NULL;
        g_autoptr(ClusterSystem) s = cluster_system_load(names[i], NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(s->name, ==, names[i]);
        /* The folder itself will do, and so will its system.conf. */
        g_autofree char *path = g_build_filename(s->directory, "system.conf", NULL);
        g_autoptr(ClusterSystem) by_folder = cluster_system_load(s->directory, NULL, &error);
        g_assert_no_error(error);
        g_autoptr(ClusterSystem) by_file = cluster_system_load(path, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(by_folder->name, ==, names[i]);
        g_assert_cmpstr(by_file->name, ==, names[i]);
    }
}

static void
test_unknown(void)
{
    static const struct {
        const char *name, *message;
    } unknown[] = {
        {"dgx-a100", "did you mean 'dgx-a100-40g' or 'dgx-a100-80g'?"},
        {"dgx-h10", "did you mean 'dgx-h100'?"},
        {"cray-1", "one of: a100-pcie, alps-gh200"},
        {"/no/such/folder", "no such folder"},
        {"/", "has no system.conf"},
        {"", "is not known"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(unknown); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(cluster_system_load(unknown[i].name, NULL, &error));
        g_assert_error(error, CLUSTER_ERROR, CLUSTER_ERROR_UNKNOWN);
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, unknown[i].message));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cluster/system/reads-every-key", test_reads);
    g_test_add_func("/cluster/system/host-memory-and-drives", test_host);
    g_test_add_func("/cluster/system/fabric-and-nccl", test_fabric);
    g_test_add_func("/cluster/system/overrides-are-checked-and-print-back", test_override);
    g_test_add_func("/cluster/system/says-what-is-wrong", test_complains);
    g_test_add_func("/cluster/system/ships-machines-in-order", test_shipped);
    g_test_add_func("/cluster/system/unknown-names-get-a-hint", test_unknown);
    return g_test_run();
}
