/* A fit to a directory: constants that its tables were made of come back in spite of noise and outliers; keys; what is
 * written and what stays. */
#include "config.h"

#include "calibrate/error.h"
#include "calibrate/fit.h"
#include "cluster/system.h"
#include "conf/complaint.h"
#include "cost/roofline.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static const char conf[] =
    "# a machine for tests\n"
    "[gpu]\nname = T\npeak-fp32 = 1TFLOPS\npeak-bf16 = 10TFLOPS\nmemory = 10GB\n"
    "memory-usable = 9GB\nmemory-rate = 100GBps # nominal\nmemory-efficiency = 0.9\nl2 = 1MB\nsms = 10\n"
    "clock = 1GHz\nkernel-floor = 3us\n"
    "[node]\ngpus = 8\nlink = nvswitch\nnvlink-rate = 50GBps\nnvlink-efficiency = 0.7   # a guess\n"
    "nvlink-latency = 1us\npcie-rate = 10GBps\n"
    "[nic]\ncount = 8\nrate = 100Gbps\nefficiency = 0.9\n"
    "[fabric]\nkind = fat-tree\n"
    "[host]\nlaunch = 4us\nsync = 10us\nfixed-memory = 1GB\n"
    "[nic]\n  latency=8us\n";

typedef struct {
    char *folder;
    ClusterSystem *system;
} Room;

static char *
path_in(const Room *room, const char *name)
{
    return g_build_filename(room->folder, name, NULL);
}

static void
write_in(const Room *room, const char *name, const char *text)
{
    g_autofree char *path = path_in(room, name);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void
set_up(Room *room, gconstpointer data G_GNUC_UNUSED)
{
    GError *error = NULL;
    room->folder = g_dir_make_tmp("dtsim-XXXXXX", NULL);
    write_in(room, "system.conf", conf);
    room->system = cluster_system_load(room->folder, NULL, &error);
    g_assert_no_error(error);
}

static void
tear_down(Room *room, gconstpointer data G_GNUC_UNUSED)
{
    static const char *const names[] = {"system.conf", "gemm.tsv",       "attention.tsv",
                                        "memory.tsv",  "collective.tsv", "overlap.tsv"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = path_in(room, names[i]);
        g_unlink(path);
    }
    g_rmdir(room->folder);
    g_free(room->folder);
    cluster_system_free(room->system);
}

/* The i-th measured time in us: noise of 2 %, one in seven an outlier. */
static double
measured(guint i, double us)
{
    double noisy = us * g_test_rand_double_range(0.98, 1.02);
    return i % 7 == 3 ? noisy * g_test_rand_double_range(1.4, 3) : noisy;
}

static void
append_row(GString *text, const char *head, double us)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(text, "%s\t%s\n", head,
                           g_ascii_formatd(number, sizeof number, "%.6g", us));
}

/* 4 us + roofline / 0.7; attention 10 us + roofline / 0.55. */
static void
write_gemm(const Room *room)
{
    g_autoptr(GString) text = g_string_new("# made up\ndtype\tm\tn\tk\tbatch\tpass\ttime_us\n");
    for (guint i = 0; i < 120; i++) {
        CostGemm g = {.dtype = CLUSTER_BF16, .batch = 1};
        g.m = (gint64)1 << g_test_rand_int_range(6, 13);
        g.n = 128 * g_test_rand_int_range(1, 40);
        g.k = 128 * g_test_rand_int_range(1, 40);
        g_autofree char *head = g_strdup_printf("bf16\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT
                                                "\t%" G_GINT64_FORMAT "\t1\tforward",
                                                g.m, g.n, g.k);
        append_row(text, head,
                   measured(i, 4 + cost_gemm_roofline_ns(room->system, &g) / 1e3 / 0.7));
    }
    write_in(room, "gemm.tsv", text->str);
}

static void
write_attention(const Room *room)
{
    g_autoptr(GString) text = g_string_new(
        "# made up\ndtype\tbatch\theads\tkv_heads\thead_dim\tseq\tcausal\tbackward_us\tforward_us\n");
    for (guint i = 0; i < 60; i++) {
        gint64 seq = (gint64)128 << g_test_rand_int_range(0, 7);
        CostAttention a = {.dtype = CLUSTER_BF16,
                           .batch = 1 + (gint64)(i % 4),
                           .heads = 16,
                           .kv_heads = 16,
                           .head_dim = 128,
                           .seq_q = seq,
                           .seq_kv = seq,
                           .causal = TRUE};
        g_autofree char *head =
            g_strdup_printf("bf16\t%u\t16\t16\t128\t%" G_GINT64_FORMAT "\t1\t-", 1 + i % 4, seq);
        append_row(text, head,
                   measured(i, 10 + cost_attention_roofline_ns(room->system, &a) / 1e3 / 0.55));
    }
    write_in(room, "attention.tsv", text->str);
}

/* Copies 2 us + bytes / 85 GB/s, twice as fast where the cache holds them; norms 2 us + bytes / 60 GB/s. */
static void
write_memory(const Room *room)
{
    g_autoptr(GString) text = g_string_new("# made up\nkernel\tbytes\ttime_us\n");
    for (guint i = 0; i < 70; i++) {
        gint64 bytes = (gint64)(512 * pow(2, (i % 35) / 2.0));
        double rate = i % 2 == 0 ? 85e3 : 60e3; /* bytes a us */
        if (bytes > 50000 && bytes < 2100000)
            rate *= 2;
        g_autofree char *head =
            g_strdup_printf("%s\t%" G_GINT64_FORMAT, i % 2 == 0 ? "copy" : "norm", bytes);
        append_row(text, head, measured(i, 2 + (double)bytes / rate));
    }
    for (guint i = 0; i < 8; i++) {
        g_autofree char *head = g_strdup_printf("copy\t%u", 16000000u << i);
        append_row(text, head, measured(i, 2 + (double)(16000000u << i) / 85e3));
    }
    write_in(room, "memory.tsv", text->str);
}

/* Messages 6 us + bytes / 11 GB/s; rings of a node 10 us + sent / 41 GB/s, filling 0.1. */
static void
write_collective(const Room *room)
{
    g_autoptr(GString) text = g_string_new("# made up\nop\tdtype\tranks\tnodes\tbytes\ttime_us\n");
    for (guint i = 0; i < 48; i++) {
        gint64 bytes = (gint64)(1024 * pow(2, i / 2.0));
        g_autofree char *message =
            g_strdup_printf("send_recv\tbf16\t2\t2\t%" G_GINT64_FORMAT, bytes);
        append_row(text, message, measured(i, 6 + (double)bytes / 11e3));
        double wire = (double)bytes * 7 / 8 / 41e3;
        for (guint op = 0; op < 2; op++) {
            g_autofree char *ring =
                g_strdup_printf("%s\tbf16\t8\t1\t%" G_GINT64_FORMAT,
                                op == 0 ? "all_gather" : "reduce_scatter", bytes * 32);
            double x = wire * 32;
            append_row(text, ring, measured(i + op, 10 + x + 2 * sqrt(0.1 * 10 * x)));
        }
    }
    write_in(room, "collective.tsv", text->str);
}

static const CalibrateConstant *
find(const CalibrateFit *fit, const char *of, const char *name)
{
    for (guint i = 0; i < fit->models->len; i++) {
        const CalibrateModel *m = &g_array_index(fit->models, CalibrateModel, i);
        for (guint c = 0; c < m->n_constants; c++)
            if (strcmp(m->of, of) == 0 && strcmp(m->constants[c].name, name) == 0)
                return &m->constants[c];
    }
    g_error("%s has no %s", of, name);
}

static const CalibrateKey *
find_key(const CalibrateFit *fit, const char *key)
{
    for (guint i = 0; i < fit->keys->len; i++) {
        const CalibrateKey *k = &g_array_index(fit->keys, CalibrateKey, i);
        if (strcmp(k->key, key) == 0)
            return k;
    }
    return NULL;
}

static double
key_value(const CalibrateFit *fit, const char *key)
{
    const CalibrateKey *k = find_key(fit, key);
    g_assert_nonnull(k);
    g_assert_null(k->refused);
    return g_ascii_strtod(k->text, NULL);
}

static CalibrateFit *
fit_of(const Room *room)
{
    GError *error = NULL;
    CalibrateFit *fit = calibrate_fit(room->system, 2, &error);
    g_assert_no_error(error);
    return fit;
}

static void
test_constants(Room *room, gconstpointer data G_GNUC_UNUSED)
{
    static const struct {
        const char *of, *name;
        double value, tolerance_frac;
    } expected[] = {
        {"bf16 forward", "efficiency", 0.7, 0.02},
        {"bf16 forward", "launch", 4, 0.25},
        {"forward, causal", "efficiency", 0.55, 0.03},
        {"forward, causal", "launch", 10, 0.2},
        {"copy", "rate", 85, 0.02},
        {"copy", "launch", 2, 0.02},
        {"norm", "launch", 2, 0.02},
        {"smallest", "floor", 2.05, 0.05},
        {"send_recv, 2 ranks, 2 nodes", "rate", 11, 0.03},
        {"rings, 8 ranks, 1 node", "latency", 10, 0.06},
        {"rings, 8 ranks, 1 node", "rate", 41, 0.03},
    };
    write_gemm(room);
    write_attention(room);
    write_memory(room);
    write_collective(room);
    g_autoptr(CalibrateFit) fit = fit_of(room);
    for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
        const CalibrateConstant *c = find(fit, expected[i].of, expected[i].name);
        g_test_message("%s %s: %g +- %g", expected[i].of, c->name, c->value, c->error);
        g_assert_cmpfloat_with_epsilon(c->value, expected[i].value,
                                       expected[i].tolerance_frac * expected[i].value);
    }
    /* What the model says of them is of the same form: its pipelines fill, too. */
    g_assert_cmpfloat(find(fit, "rings, 8 ranks, 1 node", "fill")->today, >, 0.05);
    g_assert_cmpfloat_with_epsilon(key_value(fit, "memory-efficiency"), 0.85, 0.02);
    g_assert_cmpfloat_with_epsilon(key_value(fit, "nvlink-efficiency"), 0.82, 0.03);
    g_assert_cmpfloat_with_epsilon(key_value(fit, "latency"), 6, 0.2);
    g_assert_cmpfloat_with_epsilon(key_value(fit, "kernel-floor"), 2.05, 0.1);
    g_assert_null(find_key(fit, "efficiency")); /* nothing was measured over nodes but messages */
    g_assert_cmpuint(fit->held_out->len, ==, 4);
    g_assert_cmpuint(fit->notes->len, ==, 1);
    g_assert_cmpstr(fit->notes->pdata[0], ==, "no overlap.tsv");
}

/* Of system.conf only values change; a second fit writes the same; what is missing is added to its section. */
static void
test_write(Room *room, gconstpointer data G_GNUC_UNUSED)
{
    GError *error = NULL;
    guint n = 0;
    write_memory(room);
    write_collective(room);
    g_autoptr(CalibrateFit) fit = fit_of(room);
    g_autofree char *path = path_in(room, "system.conf");
    g_assert_true(calibrate_fit_write(fit, path, &n, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(n, ==, 4);
    g_autofree char *once = conf_read_text(path, NULL, NULL);
    g_assert_nonnull(strstr(once, "# a machine for tests\n[gpu]\n"));
    g_assert_nonnull(strstr(once, "memory-rate = 100GBps # nominal\n"));
    g_assert_nonnull(strstr(once, " # a guess\n"));
    g_assert_null(strstr(once, "nvlink-efficiency = 0.7 "));
    g_assert_nonnull(strstr(once, "  latency = "));
    g_assert_nonnull(strstr(once, "# fitted to memory.tsv: copy, "));
    g_autoptr(ClusterSystem) system = cluster_system_load(room->folder, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat_with_epsilon(system->memory_efficiency, 0.85, 0.02);
    g_assert_cmpint(system->nic_latency_ns, >, 5500);
    g_autoptr(CalibrateFit) second = calibrate_fit(system, 2, &error);
    g_assert_true(calibrate_fit_write(second, path, &n, &error));
    g_autofree char *twice = conf_read_text(path, NULL, NULL);
    g_assert_cmpstr(twice, ==, once);
    g_autofree char *added = calibrate_fit_conf(fit, "[gpu]\nname = T\n\n[host]\nlaunch = 1us\n");
    g_assert_true(g_str_has_prefix(added, "[gpu]\nname = T\n"));
    g_assert_nonnull(strstr(added, "\n[node]\nnvlink-efficiency = "));
    g_assert_nonnull(strstr(added, "\nlaunch = 1us\n"));
    g_assert_true(strstr(added, "kernel-floor") < strstr(added, "[host]"));
    /* Lines that end in CR LF still all do. */
    g_auto(GStrv) lines = g_strsplit(added, "\n", -1);
    g_autofree char *dos = g_strjoinv("\r\n", lines);
    g_autofree char *dos_again = calibrate_fit_conf(fit, dos);
    g_assert_cmpstr(dos_again, ==, dos);
    g_autofree char *dos_added =
        calibrate_fit_conf(fit, "[gpu]\r\nname = T\r\n\r\n[host]\r\nlaunch = 1us\r\n");
    g_assert_cmpstr(dos_added, ==, dos);
}

/* One row, a rate above the nominal one, rows that end early: told of, and not written. */
static void
test_refused(Room *room, gconstpointer data G_GNUC_UNUSED)
{
    static const struct {
        const char *rows, *refused;
    } cases[] = {
        {"copy\t8000000\t100\n", "1 row is too few"},
        {"copy\t8000000\t40\ncopy\t16000000\t80\ncopy\t32000000\t160\n",
         "above 1: is the nominal rate right?"},
        {"copy\t8000000\t100\ncopy\t16000000\t900\ncopy\t32000000\t300\ncopy\t64000000\t9000\n",
         "rows do not settle it"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strconcat("kernel\tbytes\ttime_us\n", cases[i].rows, NULL);
        write_in(room, "memory.tsv", text);
        g_autoptr(CalibrateFit) fit = fit_of(room);
        const CalibrateKey *key = find_key(fit, "memory-efficiency");
        g_assert_nonnull(key);
        g_assert_cmpstr(key->refused, ==, cases[i].refused);
        g_autofree char *changed = calibrate_fit_conf(fit, conf);
        g_assert_cmpstr(changed, ==, conf);
    }
}

static void
test_bad(Room *room, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(GError) none = NULL;
    g_assert_null(calibrate_fit(room->system, 2, &none));
    g_assert_error(none, CALIBRATE_ERROR, CALIBRATE_ERROR_EMPTY);
    static const char *const names[] = {"gemm.tsv", "attention.tsv", "memory.tsv", "collective.tsv",
                                        "overlap.tsv"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(GError) error = NULL;
        write_in(room, names[i], "what\tis\tthis\n1\t2\t3\n");
        g_assert_null(calibrate_fit(room->system, 2, &error));
        g_assert_nonnull(error);
        g_assert_nonnull(strstr(error->message, names[i]));
        g_autofree char *path = path_in(room, names[i]);
        g_unlink(path);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary(
        "Constants that tables were made of come back, and keys that take them are written.");
#define ADD(name, test) g_test_add("/calibrate/fit/" name, Room, NULL, set_up, test, tear_down)
    ADD("constants-come-back", test_constants);
    ADD("only-values-of-system-conf-change", test_write);
    ADD("what-rows-do-not-say-is-not-written", test_refused);
    ADD("bad-tables", test_bad);
    return g_test_run();
}
