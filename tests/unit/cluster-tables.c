/* Tables: a system's own, another's by [tables]; who names one that is not there is told. */
#include "config.h"

#include "cluster/tables.h"

#include <glib/gstdio.h>
#include <string.h>

/* Every table of every shipped system is there, and of a machine with the same GPU or its die. */
static void
test_shipped(void)
{
    g_auto(GStrv) names = cluster_system_names();
    for (guint i = 0; names[i]; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(ClusterSystem) s = cluster_system_load(names[i], NULL, &error);
        g_assert_no_error(error);
        for (guint t = 0; t < CLUSTER_N_TABLES; t++) {
            g_autofree char *own = cluster_table_path(s, (ClusterTable)t);
            g_autoptr(ClusterSystem) lender = cluster_table_lender(s, (ClusterTable)t, &error);
            g_assert_no_error(error);
            if (!lender)
                continue;
            g_assert_cmpstr(lender->name, !=, s->name);
            g_assert_cmpint(lender->n_sms, ==, s->n_sms);
            /* of the tables of kernels there is one, of collectives what a network adds */
            if (t != CLUSTER_TABLE_COLLECTIVE)
                g_assert_null(own);
            else
                g_assert_cmpint(lender->nvlink_Bps, ==, s->nvlink_Bps);
        }
    }
}

static void
test_unknown(void)
{
    static const struct {
        const char *set, *message;
    } bad[] = {
        {"tables.overlap=dgx-b200",
         "dgx-h100: [tables] overlap: 'dgx-b200' has no overlap.tsv; write a system that has one, or nothing"},
        {"tables.overlap=dgx-h10", "dgx-h100: [tables] overlap: system 'dgx-h10' is not known"},
        /* one step: what a system lends is its own */
        {"tables.overlap=aws-p5", "'aws-p5' has no overlap.tsv"},
        {"tables.overlap=./nowhere", "nowhere': no such folder"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        const char *set[] = {bad[i].set, NULL};
        g_autoptr(GError) error = NULL, complaint = NULL;
        g_autoptr(ClusterSystem) s = cluster_system_load("dgx-h100", set, &error);
        g_assert_no_error(error);
        g_assert_null(cluster_table_lender(s, CLUSTER_TABLE_OVERLAP, &complaint));
        g_assert_nonnull(complaint);
        if (!strstr(complaint->message, bad[i].message))
            g_error("'%s' does not say '%s'", complaint->message, bad[i].message);
    }
}

/* A folder is seen from the one whose system.conf names it, wherever dtsim runs. */
static void
test_relative(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("dtsim-tables-XXXXXX", &error);
    g_assert_no_error(error);
    const char *set[] = {"tables.memory=../theirs", NULL};
    const char *names[] = {"mine", "theirs"};
    for (guint i = 0; i < 2; i++) {
        g_autoptr(ClusterSystem) s = cluster_system_load("dgx-h100", i == 0 ? set : NULL, &error);
        g_assert_no_error(error);
        g_autofree char *place = g_build_filename(folder, names[i], NULL);
        g_autofree char *path = g_build_filename(place, "system.conf", NULL);
        g_autofree char *text = conf_keyfile_print(s->conf);
        g_assert_cmpint(g_mkdir(place, 0700), ==, 0);
        g_assert_true(g_file_set_contents(path, text, -1, &error));
    }
    g_autofree char *table = g_build_filename(folder, "theirs", "memory.tsv", NULL);
    g_assert_true(g_file_set_contents(table, "kernel\tbytes\ttime_us\n", -1, &error));
    g_autofree char *mine = g_build_filename(folder, "mine", NULL);
    g_autoptr(ClusterSystem) s = cluster_system_load(mine, NULL, &error);
    g_assert_no_error(error);
    g_autoptr(ClusterSystem) lender = cluster_table_lender(s, CLUSTER_TABLE_MEMORY, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(lender->name, ==, "theirs");
    g_assert_null(cluster_table_lender(s, CLUSTER_TABLE_GEMM, &error));
    g_assert_no_error(error);
    g_remove(table);
    for (guint i = 0; i < 2; i++) {
        g_autofree char *place = g_build_filename(folder, names[i], NULL);
        g_autofree char *path = g_build_filename(place, "system.conf", NULL);
        g_remove(path);
        g_rmdir(place);
    }
    g_rmdir(folder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cluster/tables/shipped", test_shipped);
    g_test_add_func("/cluster/tables/unknown", test_unknown);
    g_test_add_func("/cluster/tables/relative", test_relative);
    return g_test_run();
}
