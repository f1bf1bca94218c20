/* GPUs are shared out over processes and nodes; groups have the first of them. */
#include "config.h"

#include "calib/seats.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

/* What each process sees: a host and GPUs by letter; hosts n, m and o are in a rack, q and r in another. */
static void
fill(CalibSeatsHello *all, int world, const char *const *seen, bool rack)
{
    memset(all, 0, (size_t)world * sizeof *all);
    for (int i = 0; i < world; i++) {
        snprintf(all[i].boot, sizeof all[i].boot, "%c", seen[i][0]);
        snprintf(all[i].host, sizeof all[i].host, "host-%c", seen[i][0]);
        if (rack)
            snprintf(all[i].links, sizeof all[i].links, "%s",
                     strchr("nmo", seen[i][0]) != NULL ? "here" : "there");
        all[i].n_gpus = (int)strlen(seen[i] + 1);
        for (int g = 0; g < all[i].n_gpus; g++)
            snprintf(all[i].gpus[g], sizeof all[i].gpus[g], "%c", seen[i][1 + g]);
    }
}

/* Of each process: node, and device:slot of each seat. */
static const struct {
    int world;
    const char *seen[8];
    int nodes, gpus;
    const char *seats[8];
    int hosts; /* of a node; 0: one */
} good[] = {
    {1, {"nABCD"}, 1, 4, {"0 0:0 1:1 2:2 3:3"}, 0},
    {4, {"nABCD", "nABCD", "nABCD", "nABCD"}, 1, 4, {"0 0:0", "0 1:1", "0 2:2", "0 3:3"}, 0},
    {2, {"nABCD", "nABCD"}, 1, 4, {"0 0:0 1:1", "0 2:2 3:3"}, 0},
    {4, {"nA", "nB", "nC", "nD"}, 1, 4, {"0 0:0", "0 0:1", "0 0:2", "0 0:3"}, 0},
    {2, {"nAB", "nCD"}, 1, 4, {"0 0:0 1:1", "0 0:2 1:3"}, 0},
    {2, {"nABCD", "mABCD"}, 2, 4, {"0 0:0 1:1 2:2 3:3", "1 0:0 1:1 2:2 3:3"}, 0},
    /* ranks go round the nodes */
    {4, {"mAB", "nAB", "mAB", "nAB"}, 2, 2, {"0 0:0", "1 0:0", "0 1:1", "1 1:1"}, 0},
    {4, {"mA", "nB", "mB", "nA"}, 2, 2, {"0 0:0", "1 0:0", "0 0:1", "1 0:1"}, 0},
    /* hosts of a rack, whose GPUs have the same addresses: a process each, one a GPU, and two racks */
    {2, {"nAB", "mAB"}, 1, 4, {"0 0:0 1:1", "0 0:2 1:3"}, 2},
    {6,
     {"nAB", "nAB", "mAB", "mAB", "oAB", "oAB"},
     1,
     6,
     {"0 0:0", "0 1:1", "0 0:2", "0 1:3", "0 0:4", "0 1:5"},
     3},
    {4, {"nA", "mA", "nB", "mB"}, 1, 4, {"0 0:0", "0 0:2", "0 0:1", "0 0:3"}, 2},
    {4,
     {"nAB", "qAB", "mAB", "rAB"},
     2,
     4,
     {"0 0:0 1:1", "1 0:0 1:1", "0 0:2 1:3", "1 0:2 1:3"},
     2},
};

static void
test_good(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        CalibSeatsHello all[8];
        fill(all, good[i].world, good[i].seen, good[i].hosts > 1);
        for (int rank = 0; rank < good[i].world; rank++) {
            CalibSeats seats;
            CalibError error = {{0}};
            g_assert_true(calib_seats_find(all, good[i].world, rank, &seats, &error));
            g_assert_cmpint(seats.nodes, ==, good[i].nodes);
            g_assert_cmpint(seats.gpus, ==, good[i].gpus);
            g_assert_cmpint(seats.hosts, ==, MAX(good[i].hosts, 1));
            g_autoptr(GString) text = g_string_new(NULL);
            g_string_printf(text, "%d", seats.node);
            for (int s = 0; s < seats.n; s++) {
                g_assert_cmpint(seats.seats[s].node, ==, seats.node);
                g_string_append_printf(text, " %d:%d", seats.seats[s].device, seats.seats[s].slot);
            }
            g_assert_cmpstr(text->str, ==, good[i].seats[rank]);
        }
    }
}

static const struct {
    int world;
    const char *seen[8], *says;
    bool rack;
} bad[] = {
    {2, {"nAB", "nBC"}, "some of each other's GPUs", false},
    {2, {"nAB", "nBA"}, "some of each other's GPUs", false},
    {3, {"nAB", "nAB", "nC"}, "some of each other's GPUs", false},
    {3, {"nABCD", "nABCD", "nABCD"}, "3 processes on host-n for 4 GPUs", false},
    {4, {"nAB", "nAB", "nAB", "nAB"}, "4 processes on host-n for 2 GPUs", false},
    {2, {"nAB", "mABC"}, "host-n has 2 GPUs, host-m 3", false},
    {3, {"nA", "nB", "mA"}, "host-n has 2 GPUs, host-m 1", false},
    {3, {"nAB", "mAB", "qAB"}, "host-n has 4 GPUs, host-q 2", true},
};

static void
test_bad(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        CalibSeatsHello all[8];
        CalibSeats seats;
        CalibError error = {{0}};
        fill(all, bad[i].world, bad[i].seen, bad[i].rack);
        g_assert_false(calib_seats_find(all, bad[i].world, 0, &seats, &error));
        g_assert_nonnull(strstr(error.text, bad[i].says));
    }
}

/* Rank 0 measures kernels for all: other GPUs are refused by all ranks alike, on its node and on others. */
static void
test_kinds(void)
{
    static const char *const seen[] = {"nA", "nB", "mA", "mB"};
    for (int other = 1; other < 4; other++)
        for (int rank = 0; rank < 4; rank++) {
            CalibSeatsHello all[4];
            CalibSeats seats;
            CalibError error = {{0}};
            fill(all, 4, seen, false);
            for (int i = 0; i < 4; i++)
                snprintf(all[i].kind, sizeof all[i].kind, "H%d00", i == other ? 2 : 1);
            g_assert_false(calib_seats_find(all, 4, rank, &seats, &error));
            g_assert_nonnull(strstr(error.text, "host-n has H100, "));
            g_assert_nonnull(strstr(error.text, " H200; calibrate nodes of one kind"));
        }
}

/* Each GPU of a run has one seat; each group of it has each rank once, on the first GPUs of the first nodes. */
static void
test_groups(void)
{
    for (int turn = 0; turn < 200; turn++) {
        int nodes = g_test_rand_int_range(1, 5), gpus = g_test_rand_int_range(1, 9);
        int used = g_test_rand_int_range(1, nodes + 1), each = g_test_rand_int_range(1, gpus + 1);
        bool seen[64] = {false};
        for (int node = 0; node < nodes; node++)
            for (int slot = 0; slot < gpus; slot++) {
                CalibSeat seat = {.node = node, .slot = slot};
                int rank = calib_seats_rank(&seat, used * each, used);
                g_assert_cmpint(rank >= 0, ==, node < used && slot < each);
                if (rank < 0)
                    continue;
                g_assert_cmpint(rank, <, used * each);
                g_assert_cmpint(rank / each, ==, node);
                g_assert_false(seen[rank]);
                seen[rank] = true;
            }
        for (int rank = 0; rank < used * each; rank++)
            g_assert_true(seen[rank]);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("each GPU has one process, and groups have the first GPUs of the first nodes");
    g_test_add_func("/calib/seats/shared-out", test_good);
    g_test_add_func("/calib/seats/what-is-refused", test_bad);
    g_test_add_func("/calib/seats/kinds", test_kinds);
    g_test_add_func("/calib/seats/groups", test_groups);
    return g_test_run();
}
