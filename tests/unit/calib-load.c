/* What the calibrator writes, read by the simulator's own loaders. */
#include "config.h"

#include "cluster/system.h"
#include "cost/kernel.h"
#include "cost/overlap.h"
#include "net/collective.h"
#include "net/rows.h"

#include <signal.h>
#include <unistd.h>

#include "calib/interrupt.h"
#include "calib/session.h"
#include "calib/system.h"

#include "calib-folder.h"
#include "calib-recorded.h"

/* A folder of a run on `gpus` GPUs of `nodes` nodes. */
static char *
folder_of(Recorded *r, unsigned *ret_n)
{
    char *path = folder_new();
    CalibShapes none = {0};
    CalibBackend backend = recorded_backend(r);
    CalibSweepSpec spec = {.machine = &r->machine, .gpu = r->gpu, .named = &none};
    CalibStoreSpec where = {path, "0.1.0", "here", &r->machine, false};
    CalibError error = {{0}};
    CalibStore *store;
    for (int kind = 0; kind < CALIB_N_CASES; kind++)
        spec.kinds[kind] = true;
    spec.dtypes[CALIB_BF16] = spec.dtypes[CALIB_FP8] = spec.dtypes[CALIB_TF32] = true;
    calib_interrupt_watch();
    g_assert_cmpint(calib_store_open(&where, &store, &error), ==, CALIB_STORE_OK);
    CalibSession session = {&backend, &r->machine, calib_plan_new(&spec), store, 40};
    g_assert_cmpint(calib_session_run(&session, &error).end, ==, CALIB_SESSION_BUDGET);
    *ret_n = calib_store_n_rows(store);
    calib_plan_free(session.plan);
    calib_store_free(store);
    return path;
}

static ClusterSystem *
load(const char *path)
{
    GError *error = NULL;
    ClusterSystem *system = cluster_system_load(path, NULL, &error);
    g_assert_no_error(error);
    return system;
}

/* The system is the machine; its efficiencies are those of the recorded copies and collectives. */
static void
test_system(void)
{
    Recorded r = recorded_new(8);
    unsigned n;
    char *path = folder_of(&r, &n);
    g_autoptr(ClusterSystem) s = load(path);
    g_assert_cmpstr(s->gpu_name, ==, "NVIDIA H100 80GB HBM3");
    g_assert_cmpint(s->gpus_per_node, ==, 8);
    g_assert_cmpint(s->link, ==, CLUSTER_LINK_NVSWITCH);
    g_assert_cmpint(s->n_sms, ==, 132);
    /* 132 SMs x 1.83 GHz x 4096 */
    g_assert_cmpfloat(fabs((double)s->peak_flops[CLUSTER_BF16] / 989.4e12 - 1), <, 1e-3);
    g_assert_cmpint(s->memory_bytes, ==, r.machine.memory_bytes);
    g_assert_cmpint(s->nvlink_Bps, ==, 450000000000);
    g_assert_cmpfloat(fabs(s->memory_efficiency - 0.9), <, 0.01);
    g_assert_cmpfloat(fabs(s->nvlink_efficiency - 0.8), <, 0.01);
    g_assert_cmpint(s->kernel_floor_ns, >, 2200);
    g_assert_cmpint(s->kernel_floor_ns, <, 2300);
    g_assert_cmpint(s->sync_ns, >, 7400); /* 9.75 us less the launch */
    g_assert_cmpint(s->sync_ns, <, 7600);
    g_assert_cmpuint(s->nccl_version, ==, 22800);
    g_assert_cmpint(s->fabric, ==, CLUSTER_FABRIC_RAIL);
    g_assert_true(s->gpudirect);
    folder_free(path);
}

/* Every row is read, and look-ups of measured shapes give the measured times. */
static void
test_tables(void)
{
    Recorded r = recorded_new(8);
    unsigned n;
    char *path = folder_of(&r, &n);
    g_autoptr(ClusterSystem) s = load(path);
    GError *error = NULL;
    g_autoptr(CostBook) book = cost_book_load(s, &error);
    g_assert_no_error(error);
    guint n_gemm, n_attention, n_memory;
    cost_book_counts(book, &n_gemm, &n_attention, &n_memory);
    g_assert_cmpuint(n_gemm, >, 300);
    g_assert_cmpuint(n_attention, >, 40);
    g_assert_cmpuint(n_memory, >, 200);
    g_assert_cmpuint(cost_book_overlap_rows(book), >, 20);

    CostGemm gemm = {.dtype = CLUSTER_BF16, .m = 12288, .n = 3072, .k = 12288, .batch = 1};
    CalibCase what = {.kind = CALIB_CASE_GEMM};
    what.gemm = (CalibGemm){CALIB_BF16, CALIB_FORWARD, 12288, 3072, 12288, 1, 1};
    CostTime time = cost_gemm(book, &gemm);
    g_assert_cmpint(time.basis, ==, COST_MEASURED);
    g_assert_cmpfloat(fabs(time.ns / recorded_us(&r, &what, 0) / 1e3 - 1), <, 0.005);

    CostAttention attention = {CLUSTER_BF16, 16, 16, 16, 128, 1024, 1024, TRUE, TRUE, 0};
    what.kind = CALIB_CASE_ATTENTION;
    what.attention = (CalibAttention){CALIB_BF16, 16, 16, 16, 128, 1024, true, true};
    time = cost_attention(book, &attention);
    g_assert_cmpint(time.basis, ==, COST_MEASURED);
    g_assert_cmpfloat(fabs(time.ns / recorded_us(&r, &what, 0) / 1e3 - 1), <, 0.005);

    for (int kernel = 0; kernel < CALIB_N_TABLE_KERNELS; kernel++) {
        what.kind = CALIB_CASE_MEMORY;
        what.memory = (CalibMemory){(CalibKernel)kernel, 1 << 28};
        g_assert_cmpstr(calib_kernel_name((CalibKernel)kernel), ==,
                        cost_memory_kernel_name((CostMemoryKernel)kernel));
        time = cost_memory(book, (CostMemoryKernel)kernel, 1 << 28);
        g_assert_cmpint(time.basis, ==, COST_MEASURED);
        g_assert_cmpfloat(fabs(time.ns / recorded_us(&r, &what, 0) / 1e3 - 1), <, 0.005);
    }
    folder_free(path);
}

/* Collectives over all groups of a node, and over nodes; overlaps of both kinds of traffic. */
static void
test_collectives(void)
{
    Recorded r = recorded_new(4);
    r.machine.nodes = 2;
    unsigned n;
    char *path = folder_of(&r, &n);
    g_autoptr(ClusterSystem) s = load(path);
    GError *error = NULL;
    g_autoptr(NetBook) net = net_book_load(s, &error);
    g_assert_no_error(error);
    g_autofree char *text = folder_read(path, "collective.tsv", NULL);
    g_assert_nonnull(strstr(text, "\nall_reduce\tbf16\t8\t2\t"));
    g_assert_nonnull(strstr(text, "\nall_to_all\tbf16\t4\t1\t"));
    g_autofree char *overlap = folder_read(path, "overlap.tsv", NULL);
    g_assert_nonnull(strstr(overlap, "\ngemm\tnvlink\t16\t"));
    g_assert_nonnull(strstr(overlap, "\nmemory\tnetwork\t16\t"));
    g_assert_nonnull(strstr(overlap, "\ngemm\tcopy\t0\t"));
    g_autoptr(CostBook) book = cost_book_load(s, &error);
    g_assert_no_error(error);
    folder_free(path);
}

/* With nothing measured but the machine's own word, the system loads all the same. */
static void
test_bare(void)
{
    Recorded r = recorded_new(1);
    CalibMachine *m = &r.machine;
    *m = (CalibMachine){.compute_capability = 70, .gpus = 1, .sms = 80, .nodes = 1, .world = 1};
    m->memory_bytes = m->memory_free_bytes = 16000000000;
    for (int gpus = 1; gpus <= 6; gpus++) {
        char *path = folder_new();
        CalibStoreSpec where = {path, "0.1.0", "here", m, false};
        CalibError error = {{0}};
        CalibStore *store;
        m->gpus = gpus;
        m->nics = gpus + 1;
        m->nic_Gbps = gpus % 2 ? 100 : 0;
        m->nvlinks = gpus % 3 ? 0 : 6;
        m->nvlink_GBps = 25;
        m->sockets = gpus % 2 + 1;
        g_assert_cmpint(calib_store_open(&where, &store, &error), ==, CALIB_STORE_OK);
        g_autofree char *text = calib_system_text(m, store);
        g_assert_cmpint(calib_store_write_text(store, "system.conf", text, &error), ==,
                        CALIB_STORE_OK);
        calib_store_free(store);
        g_autoptr(ClusterSystem) s = load(path);
        g_assert_cmpint(s->gpus_per_node, ==, gpus);
        g_assert_cmpint(s->memory_bytes, ==, m->memory_bytes);
        folder_free(path);
    }
}

/* A rack whose hosts NVLink joins is one node; cards are those of all its hosts. */
static void
test_rack(void)
{
    Recorded r = recorded_new(8);
    CalibMachine *m = &r.machine;
    CalibError error = {{0}};
    CalibStore *store;
    char *path = folder_new();
    m->hosts = 2;
    m->nics = 4;
    CalibStoreSpec where = {path, "0.1.0", "here", m, false};
    g_assert_cmpint(calib_store_open(&where, &store, &error), ==, CALIB_STORE_OK);
    g_autofree char *text = calib_system_text(m, store);
    g_assert_cmpint(calib_store_write_text(store, "system.conf", text, &error), ==, CALIB_STORE_OK);
    calib_store_free(store);
    g_autoptr(ClusterSystem) s = load(path);
    g_assert_cmpint(s->gpus_per_node, ==, 8);
    g_assert_nonnull(strstr(text, "\nhosts = 2\n"));
    g_assert_nonnull(strstr(text, "\ncount = 8\n"));
    g_assert_cmpint(s->link, ==, CLUSTER_LINK_NVSWITCH);
    folder_free(path);
}

/* How GPUs meet: as the driver tells, as copies between GPUs show where it tells nothing, and as dtsim can have it. */
static const struct {
    const char *title;
    int capability, gpus, nvlinks;
    double nvlink_GBps;
    bool nvswitch;
    const char *mesh; /* ends and number of each bundle */
    double p2p_GBps;
    ClusterLink link;
    gint64 link_GBps;
    const char *says;
} joints[] = {
    {"switches", 90, 8, 18, 25, true, "", 360, CLUSTER_LINK_NVSWITCH, 450, NULL},
    {"switches whose links' rate is not told", 90, 8, 18, 0, true, "", 360, CLUSTER_LINK_NVSWITCH,
     450, "# data sheet of this generation\nnvlink-rate"},
    {"links whose rate is not told", 80, 4, 12, 0, false, "", 80, CLUSTER_LINK_MESH, 300,
     "mesh stays empty"},
    {"four GPUs, each two joined by four links", 80, 4, 12, 25, false, "014 024 034 124 134 234",
     80, CLUSTER_LINK_MESH, 300, "\nmesh = 0-1:4 0-2:4 0-3:4 1-2:4 1-3:4 2-3:4\n"},
    {"a ring of four reaches all over one between", 70, 4, 4, 25, false, "012 122 232 032", 40,
     CLUSTER_LINK_MESH, 100, "\nmesh = 0-1:2 0-3:2 1-2:2 2-3:2\n"},
    {"bridges join pairs", 80, 4, 12, 25, false, "019 239", 20, CLUSTER_LINK_PCIE, 16,
     "what all do together goes over PCIe: 0-1:9 2-3:9\nlink = pcie\n"},
    {"no NVML, and copies as fast as PCIe", 90, 8, 0, 0, false, "", 50, CLUSTER_LINK_PCIE, 16,
     NULL},
    {"no NVML, and copies that PCIe cannot", 90, 8, 0, 0, false, "", 360, CLUSTER_LINK_NVSWITCH,
     450, "# measured: faster than PCIe, and no driver told of links\nlink = nvswitch\n"},
    {"no NVML, Volta", 70, 8, 0, 0, false, "", 140, CLUSTER_LINK_MESH, 150, "mesh stays empty"},
};

static void
test_joints(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(joints); i++) {
        Recorded r = recorded_new(joints[i].gpus);
        CalibMachine *m = &r.machine;
        CalibError error = {{0}};
        CalibStore *store;
        char *path = folder_new();
        g_test_message("%s", joints[i].title);
        m->compute_capability = joints[i].capability;
        m->nvlinks = joints[i].nvlinks;
        m->nvlink_GBps = joints[i].nvlink_GBps;
        m->nvswitch = joints[i].nvswitch;
        m->pcie_generation = 3;
        g_auto(GStrv) bundles = g_strsplit(joints[i].mesh, " ", -1);
        for (char **b = bundles; *b != NULL && **b != '\0'; b++)
            m->mesh[(*b)[0] - '0'][(*b)[1] - '0'] = m->mesh[(*b)[1] - '0'][(*b)[0] - '0'] =
                (uint8_t)((*b)[2] - '0');
        CalibStoreSpec where = {path, "0.1.0", "here", m, false};
        g_assert_cmpint(calib_store_open(&where, &store, &error), ==, CALIB_STORE_OK);
        CalibRow row = {.us = {1 << 28, NAN, NAN, NAN}, .samples = 9, .steady = true};
        row.what.kind = CALIB_CASE_MEMORY;
        row.what.memory = (CalibMemory){CALIB_P2P, 1 << 28};
        row.us[0] = (1 << 28) / joints[i].p2p_GBps / 1e3;
        g_assert_cmpint(calib_store_add(store, &row, &error), ==, CALIB_STORE_OK);
        g_autofree char *text = calib_system_text(m, store);
        g_assert_cmpint(calib_store_write_text(store, "system.conf", text, &error), ==,
                        CALIB_STORE_OK);
        calib_store_free(store);
        g_autoptr(ClusterSystem) s = load(path);
        g_assert_cmpint(s->link, ==, joints[i].link);
        g_assert_cmpint(s->nvlink_Bps, ==, joints[i].link_GBps * 1000000000);
        if (joints[i].says != NULL)
            g_assert_nonnull(strstr(text, joints[i].says));
        folder_free(path);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/calib/load/system", test_system);
    g_test_add_func("/calib/load/tables", test_tables);
    g_test_add_func("/calib/load/collectives-and-overlaps", test_collectives);
    g_test_add_func("/calib/load/machines-that-say-little", test_bare);
    g_test_add_func("/calib/load/a-rack", test_rack);
    g_test_add_func("/calib/load/how-gpus-meet", test_joints);
    return g_test_run();
}
