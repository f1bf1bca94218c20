/* Topologies: routes are shortest and come down where they went up; everyone to everyone in closed form is the sum of
 * its routes; thousands of nodes cost no memory. */
#include "config.h"

#include "cluster-machine.h"

#include <math.h>
#include <string.h>

static const char *const machines[] = {
    "fabric.kind=rail fabric.leaf-nodes=3",
    "fabric.kind=rail fabric.leaf-nodes=2 fabric.levels=3 fabric.pod-leaves=3",
    "fabric.kind=fat-tree fabric.leaf-nodes=4 fabric.oversubscription=3",
    "fabric.kind=fat-tree fabric.leaf-nodes=1 fabric.levels=3 fabric.pod-leaves=5 nic.count=2",
    "fabric.kind=dragonfly fabric.leaf-nodes=2 fabric.pod-leaves=4",
    "fabric.kind=dragonfly fabric.leaf-nodes=1 fabric.pod-leaves=7 fabric.groups=6 nic.count=4",
    "fabric.kind=torus fabric.dimensions=4x3x4",
    "fabric.kind=torus fabric.dimensions=9x5 nic.count=1",
    "fabric.kind=ideal",
    "node.link=pcie node.sockets=2 node.pcie-switch-gpus=2 nic.count=2 fabric.kind=rail "
    "fabric.leaf-nodes=5",
    "node.link=pcie node.sockets=4 nic.count=1 fabric.kind=fat-tree fabric.leaf-nodes=5",
    "node.link=mesh fabric.kind=ideal",
};
#define NODES 40

static double
total(const ClusterTopology *t, const ClusterHop *hops, guint n, ClusterTopoKind kind)
{
    double sum = 0;
    for (guint i = 0; i < n; i++)
        if (cluster_topology_link(t, hops[i].link).kind == kind)
            sum += hops[i].share;
    return sum;
}

/* Two switches of one level, two of the next: whatever the way, and no link twice at full share. */
static void
test_routes(void)
{
    for (guint m = 0; m < G_N_ELEMENTS(machines); m++) {
        g_autoptr(ClusterSystem) s = machine(machines[m]);
        g_autoptr(ClusterTopology) t = topology_of(s, NODES);
        guint slots = NODES * 8;
        for (guint i = 0; i < 2000; i++) {
            guint from = (guint)g_test_rand_int_range(0, (int)slots);
            guint to = (guint)g_test_rand_int_range(0, (int)slots);
            if (from == to)
                continue;
            ClusterHop hops[CLUSTER_MAX_HOPS];
            guint n = cluster_topology_route(t, from, cluster_nic_of(s, from), to,
                                             cluster_nic_of(s, to), 0, hops);
            for (guint h = 0; h < n; h++) {
                g_assert_cmpuint(hops[h].link, <, cluster_topology_n_links(t));
                g_assert_cmpfloat(cluster_topology_link(t, hops[h].link).Bps, >, 0);
                for (guint k = 0; k < h; k++)
                    g_assert_true(hops[h].link != hops[k].link || hops[h].share < 1);
            }
            double leaf = total(t, hops, n, CLUSTER_TOPO_LEAF);
            double spine = total(t, hops, n, CLUSTER_TOPO_SPINE);
            double global = total(t, hops, n, CLUSTER_TOPO_GLOBAL);
            guint distance =
                cluster_topology_distance(t, cluster_node_of(s, from), cluster_node_of(s, to));
            if (s->fabric == CLUSTER_FABRIC_FAT_TREE) {
                g_assert_cmpfloat(leaf, ==, distance > 0 ? 2 : 0);
                g_assert_cmpfloat(spine, ==, distance > 1 ? 2 : 0);
            } else if (s->fabric == CLUSTER_FABRIC_DRAGONFLY) {
                g_assert_cmpfloat(leaf, <=, 2 + 1e-9);
                g_assert_cmpfloat_with_epsilon(global, distance > 1 ? 1 : 0, 1e-9);
            }
        }
    }
}

/* Steps round a ring of `size`. */
static guint
apart(guint a, guint b, guint size)
{
    guint up = (a + size - b) % size;
    return MIN(up, size - up);
}

static void
test_torus_is_shortest(void)
{
    g_autoptr(ClusterSystem) s = machine("fabric.kind=torus fabric.dimensions=4x3x5 nic.count=1");
    g_autoptr(ClusterTopology) t = topology_of(s, 60);
    for (guint a = 0; a < 60; a++)
        for (guint b = 0; b < 60; b++) {
            if (a == b)
                continue;
            ClusterHop hops[CLUSTER_MAX_HOPS];
            guint n = cluster_topology_route(t, a * 8, 0, b * 8, 0, 0, hops);
            g_assert_cmpuint(n, ==,
                             apart(a % 4, b % 4, 4) + apart(a / 4 % 3, b / 4 % 3, 3) +
                                 apart(a / 12, b / 12, 5));
        }
    /* first along x, then y, then z */
    ClusterHop hops[CLUSTER_MAX_HOPS];
    guint n = cluster_topology_route(t, 0, 0, (1 + 4 + 12) * 8, 0, 0, hops);
    static const char *const ways[] = {"router of node 0, dimension 0, up",
                                       "router of node 1, dimension 1, up",
                                       "router of node 5, dimension 2, up"};
    g_assert_cmpuint(n, ==, 3);
    for (guint i = 0; i < n; i++) {
        g_autofree char *name = cluster_topology_link_name(t, hops[i].link);
        g_assert_cmpstr(name, ==, ways[i]);
    }
}

/* The slow twin: the routes of all pairs. */
static void
add_pairs(const ClusterTopology *t, const ClusterEnd *ends, guint n, double *load)
{
    const ClusterSystem *s = cluster_topology_system(t);
    for (guint i = 0; i < n; i++)
        for (guint j = 0; j < n; j++) {
            if (cluster_node_of(s, ends[i].slot) == cluster_node_of(s, ends[j].slot))
                continue;
            ClusterHop hops[CLUSTER_MAX_HOPS];
            guint n_hops = cluster_topology_route(t, ends[i].slot, ends[i].nic, ends[j].slot,
                                                  ends[j].nic, 0, hops);
            for (guint h = 0; h < n_hops; h++)
                load[hops[h].link] += hops[h].share * ends[i].weight * ends[j].weight;
        }
}

static void
check_spread(const char *keys, gboolean all)
{
    g_autoptr(ClusterSystem) s = machine(keys);
    g_autoptr(ClusterTopology) t = topology_of(s, NODES);
    guint n = 0, n_links = cluster_topology_n_links(t);
    ClusterEnd ends[NODES * 8];
    for (guint slot = 0; slot < NODES * 8; slot++)
        if (all || g_test_rand_int_range(0, 3) == 0)
            ends[n++] = (ClusterEnd){slot, cluster_nic_of(s, slot),
                                     all ? 1 : g_test_rand_double_range(0.5, 2)};
    g_autofree double *load = g_new0(double, n_links + 1), *twin = g_new0(double, n_links + 1);
    cluster_topology_spread(t, ends, n, load);
    add_pairs(t, ends, n, twin);
    for (guint i = 0; i < n_links; i++)
        g_assert_cmpfloat_with_epsilon(load[i], twin[i], 1e-9 * (1 + twin[i]));
}

static void
test_spread_is_all_routes(void)
{
    for (guint m = 0; m < G_N_ELEMENTS(machines); m++) {
        check_spread(machines[m], TRUE);
        check_spread(machines[m], FALSE);
    }
    check_spread("fabric.kind=rail fabric.leaf-nodes=4 fabric.spreading=hashed", TRUE);
}

/* 32 cards to 32 cards of another leaf, over 16 uplinks: 64 of the 1024 flows each, give or take. */
static void
test_hashes(void)
{
    g_autoptr(ClusterSystem) s =
        machine("fabric.kind=fat-tree fabric.leaf-nodes=4 fabric.uplinks=16 "
                "fabric.spreading=hashed");
    g_autoptr(ClusterTopology) t = topology_of(s, 8);
    g_assert_cmpuint(cluster_topology_n_links(t), ==, 2 * 16 * 2);
    double load[64] = {0}, of_flow[64] = {0};
    for (guint a = 0; a < 32; a++)
        for (guint b = 32; b < 64; b++) {
            ClusterHop hops[CLUSTER_MAX_HOPS], again[CLUSTER_MAX_HOPS];
            g_assert_cmpuint(cluster_topology_route(t, a, a % 8, b, b % 8, 0, hops), ==, 2);
            g_assert_cmpuint(cluster_topology_route(t, a, a % 8, b, b % 8, 0, again), ==, 2);
            g_assert_cmpuint(hops[0].link, ==, again[0].link);
            g_assert_cmpuint(hops[1].link, ==, again[1].link);
            load[hops[0].link]++;
            load[hops[1].link]++;
            /* it comes down by the uplink of the same number */
            g_assert_cmpuint(hops[1].link - hops[0].link, ==, 2 * 16 + 1);
        }
    for (guint i = 0; i < 16; i++) {
        g_assert_cmpfloat(load[2 * i], >, 64 - 5 * 8);
        g_assert_cmpfloat(load[2 * i], <, 64 + 5 * 8);
        g_assert_cmpfloat(load[2 * i + 1], ==, 0);
    }
    /* flows of one pair part */
    guint used = 0;
    for (guint64 flow = 0; flow < 64; flow++) {
        ClusterHop hops[CLUSTER_MAX_HOPS];
        cluster_topology_route(t, 0, 0, 32, 0, flow, hops);
        used += of_flow[hops[0].link]++ == 0;
    }
    g_assert_cmpuint(used, >, 10);
}

/* Rates: what is below over the oversubscription; a bundle is the sum of its cables. */
static void
test_rates(void)
{
    g_autoptr(ClusterSystem) s =
        machine("fabric.kind=fat-tree fabric.leaf-nodes=4 fabric.pod-leaves=2 fabric.levels=3 "
                "fabric.oversubscription=2 fabric.spine-oversubscription=3:1");
    g_autoptr(ClusterTopology) t = topology_of(s, 16);
    double card = (double)s->nic_Bps * s->nic_efficiency;
    g_assert_cmpuint(cluster_topology_n_links(t), ==, 2 * (4 + 2));
    g_assert_cmpfloat_with_epsilon(cluster_topology_link(t, 0).Bps, 4 * 8 * card / 2, 1);
    g_assert_cmpfloat_with_epsilon(cluster_topology_link(t, 8).Bps, 2 * 4 * 8 * card / 2 / 3, 1);
    g_autofree char *leaf = cluster_topology_link_name(t, 3);
    g_autofree char *spine = cluster_topology_link_name(t, 10);
    g_assert_cmpstr(leaf, ==, "leaf 1, down");
    g_assert_cmpstr(spine, ==, "spine of pod 1, up");
}

static void
test_rails(void)
{
    g_autoptr(ClusterSystem) s = machine("fabric.kind=rail fabric.leaf-nodes=4");
    g_autoptr(ClusterTopology) t = topology_of(s, 8);
    ClusterHop hops[CLUSTER_MAX_HOPS];
    g_assert_cmpuint(cluster_topology_route(t, 3, 3, 8 + 3, 3, 0, hops), ==, 0); /* one leaf */
    g_assert_cmpuint(cluster_topology_route(t, 3, 3, 8 + 4, 4, 0, hops), ==, 2); /* other rail */
    g_assert_cmpuint(cluster_topology_route(t, 3, 4, 8 + 4, 4, 0, hops), ==, 0); /* relayed */
    g_assert_cmpuint(cluster_topology_route(t, 3, 3, 32 + 3, 3, 0, hops), ==, 2);
    g_autofree char *up = cluster_topology_link_name(t, hops[0].link);
    g_autofree char *down = cluster_topology_link_name(t, hops[1].link);
    g_assert_cmpstr(up, ==, "leaf 0 of rail 3, up");
    g_assert_cmpstr(down, ==, "leaf 1 of rail 3, down");
    g_assert_cmpuint(cluster_topology_distance(t, 0, 3), ==, 0);
    g_assert_cmpuint(cluster_topology_distance(t, 0, 4), ==, 1);
}

static void
test_pcie(void)
{
    g_autoptr(ClusterSystem) s = machine("node.link=pcie node.sockets=2 node.pcie-switch-gpus=2 "
                                         "node.socket-rate=20GBps nic.count=1 fabric.kind=ideal");
    g_autoptr(ClusterTopology) t = topology_of(s, 2);
    ClusterHop hops[CLUSTER_MAX_HOPS];
    g_assert_cmpuint(cluster_topology_route(t, 0, 0, 1, 0, 0, hops), ==, 0);
    g_assert_cmpuint(cluster_topology_route(t, 1, 0, 2, 0, 0, hops), ==, 2);
    g_assert_cmpuint(cluster_topology_route(t, 11, 0, 12, 0, 0, hops), ==, 3);
    static const char *const names[] = {"node 1: PCIe switch 1, up", "node 1: socket 0 to socket 1",
                                        "node 1: PCIe switch 2, down"};
    for (guint i = 0; i < 3; i++) {
        g_autofree char *name = cluster_topology_link_name(t, hops[i].link);
        g_assert_cmpstr(name, ==, names[i]);
    }
    g_assert_cmpfloat(cluster_topology_link(t, hops[1].link).Bps, ==, 20e9);
    /* from GPU 7 to the one card, which is below the switch of GPU 0, and on the other node from there to GPU 1 */
    g_assert_cmpuint(cluster_topology_route(t, 7, 0, 9, 0, 0, hops), ==, 3);
    g_assert_cmpuint(cluster_topology_n_reach(t, 7, 0), ==, 3);
}

static void
test_mesh(void)
{
    g_autoptr(ClusterSystem) s =
        machine("node.link=mesh node.nvlink-rate=150GBps fabric.kind=ideal");
    g_autoptr(ClusterTopology) t = topology_of(s, 1);
    double one = 25e9 * s->nvlink_efficiency;
    ClusterHop hops[CLUSTER_MAX_HOPS];
    for (guint i = 0; i < 8; i++) {
        double sum = 0;
        for (guint j = 0; j < 8; j++)
            if (i != j && cluster_topology_route(t, i, 0, j, 0, 0, hops) == 1)
                sum += cluster_topology_link(t, hops[0].link).Bps;
        g_assert_cmpfloat_with_epsilon(sum, 6 * one, 1); /* all links of a V100 */
    }
    /* 0 and 5 meet at 4 (double link to 0) or 1 (double link to 5): widest both ways 1 */
    g_assert_cmpuint(cluster_topology_route(t, 0, 0, 5, 0, 0, hops), ==, 2);
}

static void
test_refuses(void)
{
    static const struct {
        const char *keys, *message;
    } bad[] = {{"fabric.kind=torus fabric.dimensions=2x2", "too small"},
               {"fabric.kind=torus fabric.dimensions=1000", "too long"},
               {"fabric.kind=dragonfly fabric.groups=1 fabric.pod-leaves=2 fabric.leaf-nodes=2",
                "does not hold 8 nodes"}};
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(ClusterSystem) s = machine(bad[i].keys);
        g_assert_null(cluster_topology_new(s, 8, &error));
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, bad[i].message));
    }
}

/* 16,384 GPUs: links follow from the sizes, and a route from the numbers alone. */
static void
test_large(void)
{
    g_autoptr(ClusterSystem) s = machine("fabric.kind=rail");
    g_autoptr(ClusterTopology) t = topology_of(s, 2048);
    g_assert_cmpuint(cluster_topology_n_links(t), ==, 2048 / 32 * 8 * 2);
    ClusterHop hops[CLUSTER_MAX_HOPS];
    g_assert_cmpuint(cluster_topology_route(t, 0, 0, 16376, 0, 0, hops), ==, 2);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("A route goes up as far as it must and down again; sums of routes have closed "
                   "forms.");
    g_test_add_func("/cluster/topology/routes-come-down-where-they-go-up", test_routes);
    g_test_add_func("/cluster/topology/a-torus-goes-the-shortest-way", test_torus_is_shortest);
    g_test_add_func("/cluster/topology/everyone-to-everyone-is-all-routes",
                    test_spread_is_all_routes);
    g_test_add_func("/cluster/topology/hashes-spread-and-repeat", test_hashes);
    g_test_add_func("/cluster/topology/rates-follow-oversubscription", test_rates);
    g_test_add_func("/cluster/topology/rails-keep-to-their-leaf", test_rails);
    g_test_add_func("/cluster/topology/pcie-crosses-switches-and-sockets", test_pcie);
    g_test_add_func("/cluster/topology/a-mesh-has-six-links-a-gpu", test_mesh);
    g_test_add_func("/cluster/topology/refuses-what-does-not-hold-the-nodes", test_refuses);
    g_test_add_func("/cluster/topology/thousands-of-nodes", test_large);
    return g_test_run();
}
