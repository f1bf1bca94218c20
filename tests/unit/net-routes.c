/* What groups put on links: closed forms, brute force over flows, conservation. */
#include "config.h"

#include "cluster-machine.h"
#include "net/routes.h"

#include <math.h>

#define GPUS 8

/* GPUs 0..per_node-1 of each node in the order of `nodes`, as ranks of one group. */
static guint *
group_of(const guint *nodes, guint n_nodes, guint per_node)
{
    guint *slots = g_new(guint, n_nodes * per_node);
    for (guint i = 0; i < n_nodes; i++)
        for (guint k = 0; k < per_node; k++)
            slots[i * per_node + k] = nodes[i] * GPUS + k;
    return slots;
}

static void
first_nodes(guint *nodes, guint n)
{
    for (guint i = 0; i < n; i++)
        nodes[i] = i;
}

static double
weight_of(const GArray *loads, guint link)
{
    for (guint i = 0; i < loads->len; i++)
        if (g_array_index(loads, NetLinkLoad, i).link == link)
            return g_array_index(loads, NetLinkLoad, i).weight;
    return 0;
}

static void
shuffle(guint *a, guint n)
{
    for (guint i = n; i > 1; i--) {
        guint j = (guint)g_test_rand_int_range(0, (int)i), x = a[i - 1];
        a[i - 1] = a[j];
        a[j] = x;
    }
}

/* A ring over nodes in order crosses each leaf once: what one node's cards send goes up, and as much comes down. */
static void
test_ring_crosses_once(void)
{
    static const struct {
        const char *keys;
        guint links;
        double weight;
    } cases[] = {{"fabric.kind=rail fabric.leaf-nodes=4", 4 * 8 * 2, 1},
                 {"fabric.kind=fat-tree fabric.leaf-nodes=4", 4 * 2, 8}};
    for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
        g_autoptr(ClusterSystem) s = machine(cases[c].keys);
        g_autoptr(ClusterTopology) t = topology_of(s, 16);
        guint nodes[16];
        first_nodes(nodes, 16);
        g_autofree guint *slots = group_of(nodes, 16, GPUS);
        g_autoptr(GArray) loads = net_routes(t, slots, 16 * GPUS, NET_PATTERN_RING, TRUE);
        g_assert_cmpuint(loads->len, ==, cases[c].links);
        for (guint i = 0; i < loads->len; i++)
            g_assert_cmpfloat_with_epsilon(g_array_index(loads, NetLinkLoad, i).weight,
                                           cases[c].weight, 1e-12);
    }
}

/* Any order of nodes: up the leaf of each node whose next is on another leaf. */
static void
test_ring_in_any_order(void)
{
    g_autoptr(ClusterSystem) s = machine("fabric.kind=fat-tree fabric.leaf-nodes=5");
    g_autoptr(ClusterTopology) t = topology_of(s, 30);
    for (guint round = 0; round < 50; round++) {
        guint nodes[30], n = (guint)g_test_rand_int_range(2, 31);
        first_nodes(nodes, 30);
        shuffle(nodes, 30);
        g_autofree guint *slots = group_of(nodes, n, GPUS);
        g_autoptr(GArray) loads = net_routes(t, slots, n * GPUS, NET_PATTERN_RING, TRUE);
        double up[6] = {0}, down[6] = {0};
        for (guint i = 0; i < n; i++) {
            guint leaf = nodes[i] / 5, next = nodes[(i + 1) % n] / 5;
            up[leaf] += leaf != next ? GPUS : 0;
            down[next] += leaf != next ? GPUS : 0;
        }
        for (guint leaf = 0; leaf < 6; leaf++) {
            g_assert_cmpfloat_with_epsilon(weight_of(loads, 2 * leaf), up[leaf], 1e-9);
            g_assert_cmpfloat_with_epsilon(weight_of(loads, 2 * leaf + 1), down[leaf], 1e-9);
        }
    }
}

/* Each node on its own leaf: of the 2 (N - 1) S that N nodes send over both trees, half up and half down each edge, a
 * card sends one byte on average; no node has more than three edges in one tree and one in the other (of an odd
 * number perhaps two). */
static void
test_tree_edges(void)
{
    g_autoptr(ClusterSystem) s = machine("fabric.kind=rail fabric.leaf-nodes=1");
    for (guint n = 2; n <= 33; n++) {
        g_autoptr(ClusterTopology) t = topology_of(s, n);
        guint nodes[33];
        first_nodes(nodes, n);
        g_autofree guint *slots = group_of(nodes, n, GPUS);
        g_autoptr(GArray) loads = net_routes(t, slots, n * GPUS, NET_PATTERN_TREE, TRUE);
        double sum = 0, edge = n / (4.0 * (n - 1));
        for (guint i = 0; i < n; i++) {
            double up = weight_of(loads, 2 * i * 8), edges = up / edge;
            sum += up;
            g_assert_cmpfloat_with_epsilon(up, weight_of(loads, 2 * i * 8 + 1), 1e-9);
            g_assert_cmpfloat_with_epsilon(edges, round(edges), 1e-9);
            g_assert_cmpfloat(edges, <=, n % 2 == 0 ? 4 : 5);
            g_assert_cmpfloat(edges, >=, 2);
        }
        g_assert_cmpfloat_with_epsilon(sum, n, 1e-9);
        g_assert_cmpfloat_with_epsilon(sum / edge, 4 * (n - 1), 1e-9); /* 2 trees, both ways */
    }
}

/* m members on a leaf, N in all: m x (N - m) / (N - 1) goes up. */
static void
test_pairs_cut(void)
{
    g_autoptr(ClusterSystem) s = machine("fabric.kind=rail fabric.leaf-nodes=6");
    g_autoptr(ClusterTopology) t = topology_of(s, 48);
    for (guint round = 0; round < 20; round++) {
        guint nodes[48], n = (guint)g_test_rand_int_range(2, 49), below[8] = {0};
        first_nodes(nodes, 48);
        shuffle(nodes, 48);
        for (guint i = 0; i < n; i++)
            below[nodes[i] / 6]++;
        g_autofree guint *slots = group_of(nodes, n, GPUS);
        g_autoptr(GArray) loads = net_routes(t, slots, n * GPUS, NET_PATTERN_PAIRS, TRUE);
        for (guint leaf = 0; leaf < 8; leaf++)
            for (guint rail = 0; rail < 8; rail++)
                for (guint way = 0; way < 2; way++)
                    g_assert_cmpfloat_with_epsilon(
                        weight_of(loads, 2 * (leaf * 8 + rail) + way),
                        below[leaf] * (double)(n - below[leaf]) / (n - 1), 1e-9);
    }
}

/* On one leaf of eight rails, seven of eight peers on another node are on another rail. */
static void
test_cross_changes_rails(void)
{
    g_autoptr(ClusterSystem) s = machine("fabric.kind=rail fabric.leaf-nodes=16");
    g_autoptr(ClusterTopology) t = topology_of(s, 16);
    guint nodes[16];
    first_nodes(nodes, 16);
    g_autofree guint *slots = group_of(nodes, 16, GPUS);
    g_autoptr(GArray) loads = net_routes(t, slots, 16 * GPUS, NET_PATTERN_CROSS, TRUE);
    g_assert_cmpuint(loads->len, ==, 16);
    for (guint i = 0; i < loads->len; i++)
        g_assert_cmpfloat_with_epsilon(g_array_index(loads, NetLinkLoad, i).weight, 16 * 7 / 8.0,
                                       1e-9);
}

/* 4:1 slows exactly what crosses it, and that by four. */
static void
test_oversubscription(void)
{
    g_autoptr(ClusterSystem) s =
        machine("fabric.kind=fat-tree fabric.leaf-nodes=4 fabric.oversubscription=4");
    g_autoptr(ClusterTopology) t = topology_of(s, 8);
    guint all[8] = {0, 4, 1, 5, 2, 6, 3, 7};
    g_autofree guint *crossing = group_of(all, 8, GPUS);
    guint near[4] = {0, 1, 2, 3};
    g_autofree guint *inside = group_of(near, 4, GPUS);
    NetGroup far = net_group_on(t, crossing, 8 * GPUS), close = net_group_on(t, inside, 4 * GPUS);
    /* the ring's nodes alternate between leaves: all eight edges cross */
    g_assert_cmpfloat_with_epsilon(far.fabric[NET_PATTERN_RING], 4, 1e-9);
    g_assert_cmpfloat_with_epsilon(far.fabric[NET_PATTERN_PAIRS], 4 * 4.0 / 7, 1e-9);
    for (guint p = 0; p < NET_N_PATTERNS; p++)
        g_assert_cmpfloat(close.fabric[p], ==, 0);
}

/* What goes up comes down, under any placement and pattern, members uneven or not. */
static void
test_conservation(void)
{
    static const char *const machines[] = {
        "fabric.kind=rail fabric.leaf-nodes=3 fabric.levels=3 fabric.pod-leaves=2",
        "fabric.kind=fat-tree fabric.leaf-nodes=3 fabric.spreading=hashed nic.count=4",
        "fabric.kind=rail fabric.leaf-nodes=2 nic.count=16"};
    for (guint round = 0; round < 60; round++) {
        g_autoptr(ClusterSystem) s = machine(machines[round % 3]);
        g_autoptr(ClusterTopology) t = topology_of(s, 12);
        guint slots[96], n = (guint)g_test_rand_int_range(2, 97);
        first_nodes(slots, 96);
        shuffle(slots, 96);
        for (guint p = 0; p < NET_N_PATTERNS; p++) {
            g_autoptr(GArray) loads = net_routes(t, slots, n, (NetPattern)p, TRUE);
            double up[CLUSTER_TOPO_N_KINDS] = {0}, down[CLUSTER_TOPO_N_KINDS] = {0};
            for (guint i = 0; i < loads->len; i++) {
                NetLinkLoad one = g_array_index(loads, NetLinkLoad, i);
                double *sum = one.link % 2 == 0 ? up : down;
                sum[cluster_topology_link(t, one.link).kind] += one.weight;
                if (i > 0)
                    g_assert_cmpuint(g_array_index(loads, NetLinkLoad, i - 1).link, <, one.link);
            }
            for (guint k = 0; k < CLUSTER_TOPO_N_KINDS; k++)
                g_assert_cmpfloat_with_epsilon(up[k], down[k], 1e-9 * (1 + up[k]));
        }
    }
}

/* Seven GPUs of one node and eight of another: seven rails carry the ring, and the eighth card rests. */
static void
test_uneven(void)
{
    g_autoptr(ClusterSystem) s = machine("fabric.kind=rail fabric.leaf-nodes=1");
    g_autoptr(ClusterTopology) t = topology_of(s, 2);
    guint slots[15];
    for (guint i = 0; i < 15; i++)
        slots[i] = i < 7 ? i : i + 1;
    g_autoptr(GArray) loads = net_routes(t, slots, 15, NET_PATTERN_RING, TRUE);
    g_assert_cmpuint(loads->len, ==, 7 * 4);
    for (guint i = 0; i < loads->len; i++)
        g_assert_cmpfloat_with_epsilon(g_array_index(loads, NetLinkLoad, i).weight, 1, 1e-9);
    NetGroup group = net_group_on(t, slots, 15);
    g_assert_cmpuint(group.nodes, ==, 2);
}

/* Links of a V100 that rings of the first k GPUs use both ways: 1, 2, 4, 2, 4, 6 of 6 for 2, 3, 4, 6, 7 and 8. */
static void
test_mesh_rings(void)
{
    static const double links[] = {0, 0, 1, 2, 4, 0, 2, 4, 6};
    g_autoptr(ClusterSystem) s = machine("node.link=mesh fabric.kind=ideal");
    g_autoptr(ClusterTopology) t = topology_of(s, 1);
    guint slots[8];
    first_nodes(slots, 8);
    for (guint k = 2; k <= 8; k++) {
        NetGroup group = net_group_on(t, slots, k);
        if (links[k] > 0)
            g_assert_cmpfloat_with_epsilon(group.node[NET_PATTERN_RING], 6 / links[k], 1e-9);
        g_assert_cmpfloat(group.node[NET_PATTERN_RING], >=, 1 - 1e-9);
    }
}

/* Rings by place cross each switch once, whatever the order of ranks. */
static void
test_pcie_ring(void)
{
    g_autoptr(ClusterSystem) s = machine("node.link=pcie node.sockets=2 node.pcie-switch-gpus=2 "
                                         "fabric.kind=ideal");
    g_autoptr(ClusterTopology) t = topology_of(s, 1);
    guint slots[8];
    first_nodes(slots, 8);
    shuffle(slots, 8);
    g_autoptr(GArray) loads = net_routes(t, slots, 8, NET_PATTERN_RING, FALSE);
    g_assert_cmpuint(loads->len, ==, 4 * 2 + 2);
    for (guint i = 0; i < loads->len; i++)
        g_assert_cmpfloat(g_array_index(loads, NetLinkLoad, i).weight, ==, 1);
    /* each to each: two of a switch send to six others, of seven */
    g_autoptr(GArray) pairs = net_routes(t, slots, 8, NET_PATTERN_PAIRS, FALSE);
    g_assert_cmpfloat_with_epsilon(weight_of(pairs, 0), 2 * 6 / 7.0, 1e-9);
    g_assert_cmpfloat_with_epsilon(weight_of(pairs, 8), 4 * 4 / 7.0, 1e-9); /* sockets */
}

static void
test_messages(void)
{
    g_autoptr(ClusterSystem) s = machine("fabric.kind=rail fabric.leaf-nodes=2");
    g_autoptr(ClusterSystem) bare = machine("fabric.kind=rail fabric.leaf-nodes=2 nccl.pxn=no");
    static const struct {
        gboolean pxn;
        guint from, to, links;
    } cases[] = {{TRUE, 0, 1, 0},  {TRUE, 0, 8, 0},  {TRUE, 0, 9, 0},
                 {FALSE, 0, 9, 2}, {TRUE, 0, 16, 2}, {TRUE, 0, 17, 2}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(ClusterTopology) t = topology_of(cases[i].pxn ? s : bare, 4);
        g_autoptr(GArray) loads = net_message_route(t, cases[i].from, cases[i].to);
        g_assert_cmpuint(loads->len, ==, cases[i].links);
        for (guint k = 0; k < loads->len; k++)
            g_assert_cmpfloat(g_array_index(loads, NetLinkLoad, k).weight, ==, 1);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("Weights on links follow from who sends to whom.");
    g_test_add_func("/net/routes/a-ring-crosses-each-leaf-once", test_ring_crosses_once);
    g_test_add_func("/net/routes/a-ring-in-any-order-is-its-flows", test_ring_in_any_order);
    g_test_add_func("/net/routes/trees-have-n-less-one-edges", test_tree_edges);
    g_test_add_func("/net/routes/all-to-all-crosses-a-cut-evenly", test_pairs_cut);
    g_test_add_func("/net/routes/without-relays-rails-meet-on-the-spine", test_cross_changes_rails);
    g_test_add_func("/net/routes/oversubscription-slows-what-crosses-it", test_oversubscription);
    g_test_add_func("/net/routes/what-goes-up-comes-down", test_conservation);
    g_test_add_func("/net/routes/uneven-nodes-use-common-rails", test_uneven);
    g_test_add_func("/net/routes/rings-follow-the-mesh", test_mesh_rings);
    g_test_add_func("/net/routes/rings-cross-each-pcie-switch-once", test_pcie_ring);
    g_test_add_func("/net/routes/messages-go-by-rail", test_messages);
    return g_test_run();
}
