/* Nodes from NCCL's XML and from nvidia-smi topo -m: what stands there is understood, and bad files are refused with the
 * line. */
#include "config.h"

#include <string.h>

#include "cluster/error.h"
#include "cluster/topo_node.h"
#include "conf/complaint.h"

static ClusterTopoNode *
load(const char *file)
{
    g_autofree char *path = g_build_filename(g_getenv("DTSIM_TEST_DATA"), "cluster", file, NULL);
    g_autoptr(GError) error = NULL;
    g_autofree char *text = conf_read_text(path, NULL, &error);
    g_assert_no_error(error);
    ClusterTopoNode *node = cluster_topo_parse(file, text, &error);
    g_assert_no_error(error);
    return node;
}

/* What the lines of a system.conf are, and what is taken of a GPU. */
static void
test_files(void)
{
    static const struct {
        const char *file, *product, *set;
        guint gpus, cards, numa;
    } files[] = {
        {"mesh4.xml",
         "V100-SXM2-16GB", /* 5 links of 25 GB/s; the x8 link: 8 x 8 x 128/130 / 8 x 0.8 */
         "node.gpus=4 node.pcie-rate=6.302GBps node.link=mesh "
         "node.mesh=0-1:2 0-2:2 0-3:1 1-2:1 1-3:2 2-3:2 node.nvlink-rate=125GBps nic.count=1 "
         "nic.rate=100Gbps nic.gpudirect=yes",
         4, 2, 2},
        {"switch2.xml", "H100-SXM5-80GB", /* 32 x 16 x 128/130 / 8 x 0.8 */
         "node.gpus=2 node.pcie-rate=50.41GBps node.link=nvswitch node.mesh= "
         "node.nvlink-rate=450GBps nic.count=1 nic.rate=400Gbps nic.gpudirect=no",
         2, 1, 1},
        {"classes.xml", NULL, "node.gpus=2 node.pcie-rate=25.21GBps nic.count=2 nic.gpudirect=yes",
         2, 2, 2},
        {"pcie.xml", NULL,
         "node.gpus=4 node.pcie-rate=12.6GBps node.link=pcie node.mesh= node.nvlink-rate=12.6GBps "
         "node.nvlink-efficiency=1 node.sockets=2 node.pcie-switch-gpus=2 nic.count=1 "
         "nic.rate=56Gbps nic.gpudirect=no",
         4, 1, 2},
        {"islands.xml", NULL,
         "node.gpus=4 node.pcie-rate=25.21GBps node.link=mesh node.mesh=0-1:1 2-3:1", 4, 0, 1},
        {"mesh4.txt", "A100-SXM4-80GB",
         "node.gpus=4 node.pcie-rate=12.6GBps node.link=mesh "
         "node.mesh=0-1:4 0-2:4 0-3:4 1-2:4 1-3:4 2-3:4 node.nvlink-rate=300GBps nic.count=1 "
         "nic.gpudirect=yes",
         4, 1, 4},
        {"switch4.txt",
         "H100-SXM5-80GB", /* 3 x 18 links of a GPU are more than there are: a switch */
         "node.gpus=4 node.pcie-rate=12.6GBps node.link=nvswitch node.mesh= "
         "node.nvlink-rate=450GBps",
         4, 0, 2},
        {"sys.txt", NULL,
         "node.gpus=4 node.pcie-rate=12.6GBps node.link=pcie node.mesh= node.nvlink-rate=12.6GBps "
         "node.nvlink-efficiency=1 node.sockets=2 node.pcie-switch-gpus=0 nic.count=1 "
         "nic.gpudirect=no",
         4, 1, 2},
    };
    g_test_summary("the node of each file, and the lines of a system.conf that say it");
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autoptr(ClusterTopoNode) node = load(files[i].file);
        g_test_message("%s", files[i].file);
        g_assert_cmpuint(node->n_gpus, ==, files[i].gpus);
        g_assert_cmpuint(cluster_topo_n_cards(node), ==, files[i].cards);
        g_assert_cmpuint(node->n_numa, ==, files[i].numa);
        g_assert_cmpstr(cluster_topo_gpu(node).product, ==, files[i].product);
        g_autoptr(ClusterTopoConf) conf = cluster_topo_conf_new(node, NULL);
        g_ptr_array_add(conf->set, NULL);
        g_autofree char *set = g_strjoinv(" ", (char **)conf->set->pdata);
        g_assert_cmpstr(set, ==, files[i].set);
        g_assert_true((conf->refusal != NULL) == g_str_equal(files[i].file, "islands.xml"));
    }
}

static void
test_near(void)
{
    g_test_summary("devices below one switch, over a CPU, on different CPUs");
    g_autoptr(ClusterTopoNode) node = load("mesh4.xml");
    g_assert_cmpint(cluster_topo_near(node, 0, 1), ==, CLUSTER_NEAR_PIX);
    g_assert_cmpint(cluster_topo_near(node, 2, 3), ==, CLUSTER_NEAR_PHB);
    g_assert_cmpint(cluster_topo_near(node, 0, 2), ==, CLUSTER_NEAR_SYS);
    g_assert_cmpint(cluster_topo_near(node, 1, 4), ==, CLUSTER_NEAR_PIX);
    g_assert_cmpint(cluster_topo_near(node, 3, 4), ==, CLUSTER_NEAR_SYS);
    g_assert_cmpint(cluster_topo_near(node, 4, 5), ==, CLUSTER_NEAR_PIX); /* ports of one card */
    g_autoptr(ClusterTopoNode) named = load("sys.txt");
    g_assert_cmpstr(cluster_topo_device(named, 4)->name, ==, "mlx5_7"); /* from the legend */
    g_autoptr(ClusterTopoNode) escaped = load("mesh4.txt");
    g_assert_cmpstr(cluster_topo_device(escaped, 4)->name, ==, "mlx5_0");
    g_assert_cmpint(cluster_topo_near(escaped, 1, 4), ==, CLUSTER_NEAR_PIX);
    g_assert_cmpint(cluster_topo_near(escaped, 0, 4), ==, CLUSTER_NEAR_SYS);
}

#define GPU(id, inner) "<pci busid='" id "' class='0x030200'><gpu sm='80'>" inner "</gpu></pci>\n"
#define LINK(id, count) "<nvlink target='" id "' count='" count "' tclass='0x030200'/>"

static void
test_bad(void)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "node: has no line with GPU0"},
        {"<system>\n<cpu>\n", "node:3: is no XML:"},
        {"<system>\n</cpu>\n", "node:2: is no XML:"},
        {"<graphs version='1'/>", "node:1: begins with <graphs>"},
        {"<system/>", "node: names no GPU"},
        {"<system><cpu>\n<gpu sm='80'/></cpu></system>", "node: names no GPU"},
        {"<system><cpu>\n<pci class='zz'/></cpu></system>", "node:2: class: 'zz' is no number"},
        {"<system><cpu>\n\n<pci link_speed='fast'/></cpu></system>",
         "node:3: link_speed: 'fast' is no speed"},
        {"<system><cpu>\n<pci link_width='x16'/></cpu></system>", "node:2: link_width: 'x16'"},
        {"<system><cpu><nic>\n<net speed='1e5'/></nic></cpu></system>", "node:2: speed: '1e5'"},
        {"<system><cpu>\n" GPU("a", LINK("b", "2")) GPU("b", LINK("a", "1")) "</cpu></system>",
         "node:2: GPU0 and GPU1 have 2 links one way and 1 the other"},
        {"<system><cpu>\n" GPU("a", LINK("b", "2")) GPU("b", "") "</cpu></system>",
         "have 2 links one way and 0 the other"},
        {"<system><cpu>\n" GPU("a", LINK("a", "1")) "</cpu></system>", "node:2: GPU0 has a link"},
        {"<system><cpu>\n" GPU("a", LINK("b", "65")) "</cpu></system>", "node:2: count: '65'"},
        {"\tGPU0\tGPU1\nGPU0\tX\tNV4\n", "node:2: ends before the row of GPU1"},
        {"\tGPU0\tGPU1\nGPU0\tX\nGPU1\tNV4\tX\n", "node:2: GPU0 has 1 of 2 cells"},
        {"\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV2\tX\n", "node:3: GPU1 and GPU0 differ"},
        {"\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tSYS\tX\n", "node:3: GPU1 and GPU0 differ"},
        {"\tGPU0\tGPU1\nGPU0\tX\tNV99\n", "node:2: 'NV99' is no number of NVLinks"},
        {"\tGPU0\tGPU1\nGPU0\tX\tQPI\n", "node:2: 'QPI' is no distance"},
        {"\tGPU0\tGPU1\nGPU0\tSYS\tX\n", "node:2: 'SYS' stands in column GPU0"},
        {"\tGPU0\tGPU1\nGPU1\tX\tSYS\n", "node:2: begins with 'GPU1'; write the row of GPU0"},
        {"\tGPU0\tNIC0\tGPU1\n", "node:1: 'GPU1' stands behind cards"},
    };
    g_test_summary("one line with the place and what to write");
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(cluster_topo_parse("node", bad[i].text, &error));
        g_assert_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE);
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, bad[i].says));
        g_assert_nonnull(strstr(error->message, "write"));
        g_assert_null(strchr(error->message, '\n'));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cluster/topo/files", test_files);
    g_test_add_func("/cluster/topo/near", test_near);
    g_test_add_func("/cluster/topo/bad-lines", test_bad);
    return g_test_run();
}
