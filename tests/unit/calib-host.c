/* Network cards, sockets and memory from a sysfs that the test writes. */
#include "config.h"

#include "calib/host.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

typedef struct {
    char *sys;
} Fixture;

static void
put(const Fixture *f, const char *path, const char *text)
{
    g_autofree char *name = g_build_filename(f->sys, path, NULL);
    g_autofree char *folder = g_path_get_dirname(name);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    g_assert_true(g_file_set_contents(name, text, -1, NULL));
}

static void
put_port(const Fixture *f, const char *card, const char *state, const char *rate)
{
    g_autofree char *a = g_strdup_printf("class/infiniband/%s/ports/1/state", card);
    g_autofree char *b = g_strdup_printf("class/infiniband/%s/ports/1/rate", card);
    put(f, a, state);
    put(f, b, rate);
}

static void
put_interface(const Fixture *f, const char *name, gboolean device, const char *state,
              const char *speed)
{
    g_autofree char *a = g_strdup_printf("class/net/%s/operstate", name);
    g_autofree char *b = g_strdup_printf("class/net/%s/speed", name);
    g_autofree char *c = g_strdup_printf("class/net/%s/device/vendor", name);
    put(f, a, state);
    put(f, b, speed);
    if (device)
        put(f, c, "0x15b3\n");
}

static void
set_up(Fixture *f, gconstpointer data)
{
    (void)data;
    f->sys = g_dir_make_tmp("calib-host-XXXXXX", NULL);
    g_assert_nonnull(f->sys);
}

static void
remove_all(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    for (const char *name; folder && (name = g_dir_read_name(folder));) {
        g_autofree char *entry = g_build_filename(path, name, NULL);
        remove_all(entry);
    }
    g_assert_cmpint(g_remove(path), ==, 0);
}

static void
tear_down(Fixture *f, gconstpointer data)
{
    (void)data;
    remove_all(f->sys);
    g_free(f->sys);
}

static void
test_infiniband(Fixture *f, gconstpointer data)
{
    (void)data;
    put_port(f, "mlx5_0", "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n");
    put_port(f, "mlx5_1", "4: ACTIVE\n", "100 Gb/sec (4X EDR)\n"); /* of its users */
    put_port(f, "mlx5_2", "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n");
    put_port(f, "mlx5_3", "1: DOWN\n", "400 Gb/sec (4X NDR)\n");
    put_interface(f, "eth0", TRUE, "up\n", "800000\n"); /* the same cards again */
    CalibMachine m = {0};
    calib_host_describe(f->sys, &m);
    g_assert_cmpint(m.nics, ==, 2);
    g_assert_cmpfloat(m.nic_Gbps, ==, 400);
}

static void
test_interfaces(Fixture *f, gconstpointer data)
{
    (void)data;
    put_interface(f, "eth0", TRUE, "up\n", "25000\n");
    put_interface(f, "eth1", TRUE, "up\n", "25000\n");
    put_interface(f, "eth2", TRUE, "down\n", "100000\n");
    put_interface(f, "bond0", FALSE, "up\n", "50000\n"); /* of eth0 and eth1 */
    put_interface(f, "eth3", TRUE, "up\n", "-1\n");
    CalibMachine m = {0};
    calib_host_describe(f->sys, &m);
    g_assert_cmpint(m.nics, ==, 2);
    g_assert_cmpfloat(m.nic_Gbps, ==, 25);
}

static void
test_host(Fixture *f, gconstpointer data)
{
    (void)data;
    put(f, "devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
    put(f, "devices/system/cpu/cpu1/topology/physical_package_id", "1\n");
    put(f, "devices/system/cpu/cpu2/topology/physical_package_id", "0\n");
    put(f, "devices/system/cpu/cpufreq/boost", "1\n");
    CalibMachine m = {0};
    calib_host_describe(f->sys, &m);
    g_assert_cmpint(m.sockets, ==, 2);
    g_assert_cmpint(m.nics, ==, 0);
    g_assert_cmpint(m.host_memory_bytes, >, 0);
    g_assert_cmpuint(strlen(m.host), >, 0);
}

static void
test_nothing(Fixture *f, gconstpointer data)
{
    (void)data;
    g_autofree char *none = g_build_filename(f->sys, "none", NULL);
    CalibMachine m = {0};
    calib_host_describe(none, &m);
    g_assert_cmpint(m.nics, ==, 0);
    g_assert_cmpint(m.sockets, ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("a node's cards are the fastest that are up, counted once");
    g_test_add("/calib/host/infiniband", Fixture, NULL, set_up, test_infiniband, tear_down);
    g_test_add("/calib/host/interfaces", Fixture, NULL, set_up, test_interfaces, tear_down);
    g_test_add("/calib/host/sockets-and-memory", Fixture, NULL, set_up, test_host, tear_down);
    g_test_add("/calib/host/nothing-there", Fixture, NULL, set_up, test_nothing, tear_down);
    return g_test_run();
}
