/* Machines in one line: what each word sets, and what is said of words that are none. */
#include "config.h"

#include "cluster/description.h"
#include "cluster/topology.h"

#include <string.h>

static ClusterSystem *
load(const char *text)
{
    g_autoptr(GError) error = NULL;
    ClusterSystem *s = cluster_system_load(text, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(s->name, ==, text);
    g_autoptr(ClusterTopology) t = cluster_topology_new(s, s->described_nodes, &error);
    g_assert_no_error(error);
    return s;
}

static const struct {
    const char *text, *gpu;
    guint nodes;
    gint64 gpus, nics, nic_Gbps;
    ClusterLink link;
    ClusterFabric fabric;
    double oversubscription;
    gint64 leaf_nodes;
} machines[] = {
    {"64 nodes x 8 h100, rail 8x400Gbps, spine 2:1", "H100-SXM5-80GB", 64, 8, 8, 400,
     CLUSTER_LINK_NVSWITCH, CLUSTER_FABRIC_RAIL, 2, 32},
    {"64 nodes x 8 h100, rail 400Gbps", "H100-SXM5-80GB", 64, 8, 8, 400, CLUSTER_LINK_NVSWITCH,
     CLUSTER_FABRIC_RAIL, 1, 32},
    {"16 nodes x 4 a100, fat-tree 2x200Gbps, 3:1 leaf 8 nodes", "A100-SXM4-80GB", 16, 4, 2, 200,
     CLUSTER_LINK_NVSWITCH, CLUSTER_FABRIC_FAT_TREE, 3, 8},
    {"18 x 4 gb200 nvl72", "GB200", 1, 72, 72, 400, CLUSTER_LINK_NVSWITCH, CLUSTER_FABRIC_RAIL, 1,
     32},
    {"36 x 4 gb200 nvl72 4x400Gbps fat-tree", "GB200", 2, 72, 72, 400, CLUSTER_LINK_NVSWITCH,
     CLUSTER_FABRIC_FAT_TREE, 1, 1},
    {"8 nodes x 8 v100 mesh, 1x100Gbps", "V100-SXM2-32GB", 8, 8, 1, 100, CLUSTER_LINK_MESH,
     CLUSTER_FABRIC_RAIL, 1, 18},
    {"64x8 H100 torus 4x4x4", "H100-SXM5-80GB", 64, 8, 8, 400, CLUSTER_LINK_NVSWITCH,
     CLUSTER_FABRIC_TORUS, 1, 4},
    {"24 hosts x8 h200 dragonfly leaf 2 pod 4 routers 3 groups", "H200-SXM5-141GB", 24, 8, 8, 400,
     CLUSTER_LINK_NVSWITCH, CLUSTER_FABRIC_DRAGONFLY, 1, 2},
    {"2 x 8 l40s 2 sockets switch 2 gpus ideal", "L40S", 2, 8, 4, 400, CLUSTER_LINK_PCIE,
     CLUSTER_FABRIC_IDEAL, 1, 8},
    {"5 x 1 a100-pcie", "A100-PCIe-80GB", 5, 1, 1, 200, CLUSTER_LINK_PCIE, CLUSTER_FABRIC_FAT_TREE,
     1, 32},
    {"8 hosts x 4 gb200", "GB200", 8, 4, 4, 400, CLUSTER_LINK_NVSWITCH, CLUSTER_FABRIC_RAIL, 1, 32},
    {"8 x 4 gh200", "GH200-96GB", 8, 4, 4, 200, CLUSTER_LINK_MESH, CLUSTER_FABRIC_DRAGONFLY, 1, 16},
};

static void
test_reads(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(machines); i++) {
        g_autoptr(ClusterSystem) s = load(machines[i].text);
        g_assert_cmpstr(s->gpu_name, ==, machines[i].gpu);
        g_assert_cmpuint(s->described_nodes, ==, machines[i].nodes);
        g_assert_cmpint(s->gpus_per_node, ==, machines[i].gpus);
        g_assert_cmpint(s->nics_per_node, ==, machines[i].nics);
        g_assert_cmpint(s->nic_Bps, ==, machines[i].nic_Gbps * 125000000);
        g_assert_cmpint(s->link, ==, machines[i].link);
        g_assert_cmpint(s->fabric, ==, machines[i].fabric);
        g_assert_cmpfloat(s->oversubscription, ==, machines[i].oversubscription);
        g_assert_cmpint(s->leaf_nodes, ==, machines[i].leaf_nodes);
    }
}

/* A rack's memory is that of its 18 hosts; its own override comes last. */
static void
test_hosts_and_overrides(void)
{
    g_autoptr(GError) error = NULL;
    const char *set[] = {"host.memory=1TB", "fabric.oversubscription=4", NULL};
    g_autoptr(ClusterSystem) s = cluster_system_load("18 x 4 gb200 nvl72 2:1", set, &error);
    g_assert_no_error(error);
    g_assert_cmpint(s->hosts, ==, 18);
    g_assert_cmpint(s->host_memory_bytes, ==, 18 * G_GINT64_CONSTANT(1000000000000));
    g_assert_cmpfloat(s->oversubscription, ==, 4);
    g_autoptr(ClusterSystem) three = load("64 x 8 h100 hashed 16 uplinks core 3:1 pod 2 leaves");
    g_assert_cmpuint(three->levels, ==, 3);
    g_assert_cmpfloat(three->spine_oversubscription, ==, 3);
    g_assert_true(three->hashed);
    g_assert_cmpint(three->uplinks, ==, 16);
    g_autoptr(ClusterSystem) groups = load("64 x 8 h100 core 2:1 dragonfly pod 2 leaf 2");
    g_assert_cmpuint(groups->levels, ==, 2); /* a dragonfly has none to count */
    g_assert_cmpfloat(groups->spine_oversubscription, ==, 2);
    g_autoptr(ClusterSystem) again =
        load("64 x 8 h100 rail 400Gbps, RAIL 8x400Gbps, spine 2:1 2:1");
    g_assert_cmpfloat(again->oversubscription, ==, 2); /* the same twice contradicts nothing */
}

/* What differs from the base follows the table; the base's tables stay in force. */
static void
test_base(void)
{
    g_autoptr(ClusterSystem) plain = load("4 x 8 h100");
    g_autoptr(GError) error = NULL;
    g_autoptr(ClusterSystem) shipped = cluster_system_load("dgx-h100", NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(plain->directory, ==, shipped->directory);
    g_autofree char *a = conf_keyfile_print(plain->conf), *b = conf_keyfile_print(shipped->conf);
    g_assert_cmpstr(a, ==, b);
    g_assert_cmpuint(shipped->described_nodes, ==, 0);
}

static const struct {
    const char *text, *message;
} bad[] = {
    {"8 nodes", "write for example '64 nodes x 8 h100"},
    {"0 x 8 h100", "'0' is no number of nodes"},
    {"8 x 9999 h100", "'9999' is no number of GPUs of a node; write one from 1 to 1024"},
    {"8 x 8 zx80", "'zx80' is no GPU; write one of a100, "},
    {"8 x 8 h100 banana", "'banana' is no word of a description"},
    {"8 x 8 h100, rail 8x400", "'400' has no unit; write 400GBps"},
    {"8 x 8 h100, spine 2", "'2' is no ratio; write for example 2:1 after 'spine'"},
    {"8 x 8 h100, 7", "7 of what?"},
    {"8 x 8 h100 nvl72", "write for example '18 x 4 gb200 nvl72'"},
    {"8 x 8 h100 torus", "': a torus needs the nodes of each dimension; write torus 4x4x4"},
    {"8 x 8 h100 torus 4x", "write torus 4x4x4"},
    {"8 x 8 h100 torus rail", "write torus 4x4x4"},
    {"8 x 8 h100 3x400Gbps", "3 cards cannot be dealt out evenly"},
    {"8 x 8 h100 ideal 2:1", "contradicts kind = ideal"},
    {"8 x 8 h100, rail fat-tree dragonfly", "fabric.kind=fat-tree contradicts fabric.kind=rail"},
    {"8 x 8 h100, rail 400Gbps 200Gbps", "nic.rate=200Gbps contradicts nic.rate=400Gbps"},
    {"8 x 8 h100, 8x400Gbps 4x400Gbps", "nic.count=4 contradicts nic.count=8"},
    {"36 x 4 gb200 nvl72 nvl36", "node.hosts=9 contradicts node.hosts=18"},
    {"8 x 8 h100, 2:1 spine 4:1", "oversubscription=4:1 contradicts fabric.oversubscription=2:1"},
    {"8 x 8 h100, 2 levels core 2:1", "fabric.levels=3 contradicts fabric.levels=2"},
    {"8 x 8 h100, mesh pcie", "node.link=pcie contradicts node.link=mesh"},
    {"8 x 8 h100, rail, 9 groups", "[fabric] groups: '9' belongs to a dragonfly; write"},
    {"8 x 8 h100, rail, pod 3", "[fabric] pod-leaves: '3' needs a third level of switches"},
    {"8 x 8 h100, ideal, pod 3", "[fabric] pod-leaves: '3' needs"},
    {"8 x 8 h100, rail, 16 uplinks", "[fabric] uplinks: '16' counts for"},
    {"8 x 8 h100, dragonfly, 16 uplinks hashed", "[fabric] uplinks: '16' counts for"},
    {"8 x 8 h100, torus 2x4, 3 levels", "[fabric] levels: '3' belongs to"},
    {"8 x 8 h100, dragonfly, 3 levels", "[fabric] levels: '3' belongs to"},
    {"8 x 8 h100, torus 2x4, leaf 2 nodes", "leave 'leaf' out"},
};

static void
test_complains(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(ClusterSystem) s = cluster_system_load(bad[i].text, NULL, &error);
        g_assert_null(s);
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, bad[i].message));
        g_assert_true(g_str_has_prefix(error->message, "system '"));
        g_assert_null(strchr(error->message, '\n'));
    }
}

static void
test_is_description(void)
{
    static const char *const yes[] = {"64x8 h100", "64x8", "1 x 8 a100", "8 nodes"};
    static const char *const no[] = {"dgx-h100", "./64x8", "/tmp/a b", "", "dgx1-v100-32g", "x8"};
    for (guint i = 0; i < G_N_ELEMENTS(yes); i++)
        g_assert_true(cluster_is_description(yes[i]));
    for (guint i = 0; i < G_N_ELEMENTS(no); i++)
        g_assert_false(cluster_is_description(no[i]));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("A line names a machine; a word that is none is named.");
    g_test_add_func("/cluster/description/reads-each-word", test_reads);
    g_test_add_func("/cluster/description/hosts-and-overrides", test_hosts_and_overrides);
    g_test_add_func("/cluster/description/begins-from-the-shipped-system", test_base);
    g_test_add_func("/cluster/description/complains-of-words", test_complains);
    g_test_add_func("/cluster/description/is-told-from-a-name", test_is_description);
    return g_test_run();
}
