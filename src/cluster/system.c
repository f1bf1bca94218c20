/* Loads a system directory's system.conf by one table of keys (keys.c), and checks that the values fit
 * together. */
#include "config.h"

#include "cluster/system.h"

#include "cluster/description.h"
#include "cluster/error.h"
#include "cluster/read.h"
#include "cluster/shipped.h"

G_DEFINE_QUARK(cluster_error_quark, cluster_error)

static void
read_gpu(ClusterSystem *s)
{
    static const char *const peaks[CLUSTER_N_DTYPES] = {
        [CLUSTER_FP32] = "peak-fp32", [CLUSTER_TF32] = "peak-tf32", [CLUSTER_FP16] = "peak-fp16",
        [CLUSTER_BF16] = "peak-bf16", [CLUSTER_FP8] = "peak-fp8",
    };
    s->gpu_name = g_strdup(conf_keyfile_text(s->conf, "gpu", "name"));
    for (guint i = 0; i < CLUSTER_N_DTYPES; i++)
        s->peak_flops[i] = conf_keyfile_quantity(s->conf, "gpu", peaks[i]);
    s->memory_bytes = conf_keyfile_quantity(s->conf, "gpu", "memory");
    s->memory_usable_bytes = conf_keyfile_quantity(s->conf, "gpu", "memory-usable");
    s->memory_Bps = conf_keyfile_quantity(s->conf, "gpu", "memory-rate");
    s->memory_efficiency = conf_keyfile_fraction(s->conf, "gpu", "memory-efficiency");
    s->l2_bytes = conf_keyfile_quantity(s->conf, "gpu", "l2");
    s->n_sms = conf_keyfile_quantity(s->conf, "gpu", "sms");
    s->clock_Hz = conf_keyfile_quantity(s->conf, "gpu", "clock");
    s->overlap_off = conf_keyfile_choice(s->conf, "gpu", "overlap") == 1;
    s->kernel_floor_ns = conf_keyfile_quantity(s->conf, "gpu", "kernel-floor");
}

/* What each of the node's hosts has, for the node. */
static gint64
quantity_of_hosts(const ClusterSystem *s, const char *key)
{
    gint64 value = conf_keyfile_quantity(s->conf, "host", key);
    return value > G_MAXINT64 / MAX(s->hosts, 1) ? G_MAXINT64 : value * s->hosts;
}

static void
read_host(ClusterSystem *s)
{
    s->launch_ns = conf_keyfile_quantity(s->conf, "host", "launch");
    s->launch_blocking = conf_keyfile_bool(s->conf, "host", "launch-blocking");
    s->sync_ns = conf_keyfile_quantity(s->conf, "host", "sync");
    s->fixed_memory_bytes = conf_keyfile_quantity(s->conf, "host", "fixed-memory");
    s->host_memory_bytes = quantity_of_hosts(s, "memory");
    s->host_memory_Bps = quantity_of_hosts(s, "memory-rate");
    s->nvme_read_Bps = quantity_of_hosts(s, "nvme-read");
    s->nvme_write_Bps = quantity_of_hosts(s, "nvme-write");
}

static void
read_links(ClusterSystem *s)
{
    s->hosts = conf_keyfile_quantity(s->conf, "node", "hosts");
    s->gpus_per_node = conf_keyfile_quantity(s->conf, "node", "gpus");
    s->link = (ClusterLink)conf_keyfile_choice(s->conf, "node", "link");
    s->nvlink_Bps = conf_keyfile_quantity(s->conf, "node", "nvlink-rate");
    s->nvlink_efficiency = conf_keyfile_fraction(s->conf, "node", "nvlink-efficiency");
    s->nvlink_latency_ns = conf_keyfile_quantity(s->conf, "node", "nvlink-latency");
    s->pcie_Bps = conf_keyfile_quantity(s->conf, "node", "pcie-rate");
    s->nics_per_node = conf_keyfile_quantity(s->conf, "nic", "count");
    s->nic_Bps = conf_keyfile_quantity(s->conf, "nic", "rate");
    s->nic_efficiency = conf_keyfile_fraction(s->conf, "nic", "efficiency");
    s->nic_latency_ns = conf_keyfile_quantity(s->conf, "nic", "latency");
    s->gpudirect = conf_keyfile_bool(s->conf, "nic", "gpudirect");
}

/* What must be more than zero for any time to be finite. Written as text here, so that the
 * complaint names the key. */
static const struct {
    const char *section, *key, *example;
} positive[] = {
    {"gpu", "peak-fp32", "19.5TFLOPS"},
    {"gpu", "memory", "80GB"},
    {"gpu", "memory-usable", "79GB"},
    {"gpu", "memory-rate", "2039GBps"},
    {"gpu", "sms", "108"},
    {"gpu", "clock", "1410MHz"},
    {"gpu", "kernel-floor", "2us"},
    {"node", "gpus", "8"},
    {"node", "nvlink-rate", "300GBps"},
    {"node", "pcie-rate", "25GBps"},
    {"nic", "count", "8"},
    {"nic", "rate", "200Gbps"},
    {"host", "memory-rate", "200GBps"},
};

static const struct {
    const char *section, *key;
} positive_fractions[] = {
    {"gpu", "memory-efficiency"}, {"node", "nvlink-efficiency"}, {"nic", "efficiency"}};

static gboolean
check_positive(const ClusterSystem *s, const char *path, GError **error)
{
    for (guint i = 0; i < G_N_ELEMENTS(positive); i++)
        if (conf_keyfile_quantity(s->conf, positive[i].section, positive[i].key) <= 0) {
            g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                        "%s: [%s] %s: must be more than 0; write for example %s", path,
                        positive[i].section, positive[i].key, positive[i].example);
            return FALSE;
        }
    for (guint i = 0; i < G_N_ELEMENTS(positive_fractions); i++) {
        const char *section = positive_fractions[i].section, *key = positive_fractions[i].key;
        if (conf_keyfile_fraction(s->conf, section, key) <= 0) {
            g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                        "%s: [%s] %s: must be more than 0; write for example 0.9", path, section,
                        key);
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean
check_counts(const ClusterSystem *s, const char *path, GError **error)
{
    if (s->gpus_per_node > 1024 || s->nics_per_node > 1024 || s->n_sms > 4096) {
        g_set_error(
            error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
            "%s: [node] gpus and [nic] count go up to 1024 and [gpu] sms up to 4096; write what a "
            "node has",
            path);
        return FALSE;
    }
    if (s->nics_per_node % s->gpus_per_node && s->gpus_per_node % s->nics_per_node) {
        g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                    "%s: [nic] count: %" G_GINT64_FORMAT
                    " cards cannot be dealt out evenly to %" G_GINT64_FORMAT
                    " GPUs; write a divisor or a multiple of [node] gpus",
                    path, s->nics_per_node, s->gpus_per_node);
        return FALSE;
    }
    return TRUE;
}

static gboolean
check_memory(const ClusterSystem *s, const char *path, GError **error)
{
    if (s->memory_usable_bytes > s->memory_bytes) {
        g_autofree char *all = units_format_exact(UNITS_BYTES, s->memory_bytes);
        g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                    "%s: [gpu] memory-usable: is more than memory; write at most %s", path, all);
        return FALSE;
    }
    if (s->fixed_memory_bytes >= s->memory_usable_bytes) {
        g_set_error(
            error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
            "%s: [host] fixed-memory: leaves nothing of [gpu] memory-usable; write for example 2GB",
            path);
        return FALSE;
    }
    return TRUE;
}

/* State that is written must be read again. */
static gboolean
check_drives(const ClusterSystem *s, const char *path, GError **error)
{
    if ((s->nvme_read_Bps > 0) == (s->nvme_write_Bps > 0))
        return TRUE;
    const char *lacks = s->nvme_read_Bps > 0 ? "nvme-write" : "nvme-read";
    g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                "%s: [host] %s: drives are both read and written; write for example 10GBps", path,
                lacks);
    return FALSE;
}

static char *
summarise(const ClusterSystem *s)
{
    g_autofree char *link = units_format(UNITS_RATE, s->nvlink_Bps, 4);
    g_autofree char *nic = units_format(UNITS_RATE, s->nic_Bps, 4);
    return g_strdup_printf(
        "%" G_GINT64_FORMAT " x %s a node, %s %s; %" G_GINT64_FORMAT " x %s to the network",
        s->gpus_per_node, s->gpu_name, cluster_link_name(s->link), link, s->nics_per_node, nic);
}

/* Takes `conf`; `where` is the place in messages. */
static ClusterSystem *
system_new(ConfKeyfile *conf, const char *where, const char *const *overrides, GError **error)
{
    g_autoptr(ClusterSystem) s = g_new0(ClusterSystem, 1);
    s->conf = conf;
    for (guint i = 0; overrides && overrides[i]; i++)
        if (!conf_keyfile_set(s->conf, overrides[i], error))
            return NULL;
    read_gpu(s);
    read_links(s);
    read_host(s);
    if (!check_positive(s, where, error) || !check_counts(s, where, error) ||
        !check_memory(s, where, error) || !check_drives(s, where, error) ||
        !cluster_read_node(s, where, error) || !cluster_read_fabric(s, where, error) ||
        !cluster_read_nccl(s, where, error))
        return NULL;
    s->summary = summarise(s);
    return g_steal_pointer(&s);
}

static ClusterSystem *
load_directory(const char *directory, const char *const *overrides, GError **error)
{
    g_autofree char *path = g_build_filename(directory, "system.conf", NULL);
    ConfKeyfile *conf = conf_keyfile_load(path, cluster_system_keys(), error);
    ClusterSystem *s = conf ? system_new(conf, path, overrides, error) : NULL;
    if (!s)
        return NULL;
    g_autofree char *absolute = g_canonicalize_filename(directory, NULL);
    s->name = g_path_get_basename(absolute);
    s->directory = g_strdup(directory);
    return s;
}

ClusterSystem *
cluster_system_parse(const char *name, const char *text, const char *const *overrides,
                     GError **error)
{
    ConfKeyfile *conf = conf_keyfile_parse(name, text, cluster_system_keys(), error);
    ClusterSystem *s = conf ? system_new(conf, name, overrides, error) : NULL;
    if (!s)
        return NULL;
    s->name = g_strdup(name);
    s->directory = g_strdup("");
    return s;
}

/* Over PCIe GPUs reach each other at what the host link achieves. */
static void
add_pcie_rate(const char *directory, GPtrArray *set)
{
    if (!g_ptr_array_find_with_equal_func(set, "node.link=pcie", g_str_equal, NULL))
        return;
    g_autoptr(ClusterSystem) base = load_directory(directory, NULL, NULL);
    g_autofree char *rate = base ? units_format_exact(UNITS_RATE, base->pcie_Bps) : NULL;
    if (rate == NULL)
        return;
    g_ptr_array_add(set, g_strdup_printf("node.nvlink-rate=%s", rate));
    g_ptr_array_add(set, g_strdup("node.nvlink-efficiency=1"));
}

static ClusterSystem *
load_description(const char *text, const char *const *overrides, GError **error)
{
    g_autoptr(ClusterDescription) described = cluster_description_parse(text, error);
    g_autofree char *directory = described ? cluster_shipped_find(described->base, error) : NULL;
    if (!directory)
        return NULL;
    g_autoptr(GPtrArray) set = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; described->set[i]; i++)
        g_ptr_array_add(set, g_strdup(described->set[i]));
    add_pcie_rate(directory, set);
    for (guint i = 0; overrides && overrides[i]; i++)
        g_ptr_array_add(set, g_strdup(overrides[i]));
    g_ptr_array_add(set, NULL);
    ClusterSystem *s = load_directory(directory, (const char *const *)set->pdata, error);
    if (!s) {
        g_prefix_error(error, "system '%s': ", text);
        return NULL;
    }
    g_free(s->name);
    s->name = g_strdup(text);
    s->described_nodes = described->n_nodes;
    return s;
}

ClusterSystem *
cluster_system_load(const char *name_or_directory, const char *const *overrides, GError **error)
{
    if (cluster_is_description(name_or_directory) && !cluster_shipped_is_folder(name_or_directory))
        return load_description(name_or_directory, overrides, error);
    g_autofree char *directory = cluster_shipped_find(name_or_directory, error);
    return directory ? load_directory(directory, overrides, error) : NULL;
}

void
cluster_system_free(ClusterSystem *s)
{
    if (!s)
        return;
    g_free(s->name);
    g_free(s->directory);
    g_free(s->summary);
    g_free(s->gpu_name);
    g_free(s->mesh);
    g_free(s->nccl_algo);
    g_free(s->nccl_proto);
    conf_keyfile_free(s->conf);
    g_free(s);
}
