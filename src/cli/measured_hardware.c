/* The hardware of a published run, in people's words, as a shipped system with overrides. */
#include "config.h"

#include "cli/measured.h"

#include <math.h>
#include <string.h>

typedef struct {
    const char *all[4]; /* words that the text must have */
    const char *system; /* NULL: refused */
    const char *overrides[4];
    gboolean stand_in;     /* its memory is that of the GPU, its speed is not */
    gint64 gpus_of_domain; /* that NVLink joins; 0: as many as the row has a node */
} Hardware;

/* Of a rack of 72 published runs use 64: their numbers of GPUs are multiples of 64, and not of 72. */
#define OF_RACK 64

/* The first that matches. Memory that a process can allocate: as torch reports the capacity of a GPU (torchtitan's
 * log has 95.0 GiB of an H100 with 96 GB; MI300X 191.7 GiB of 192). */
static const Hardware hardware[] = {
    {{"A100", "80GB", "PCIe", NULL}, "a100-pcie", {"node.sockets=1", NULL}, FALSE, 0},
    {{"PCIe", NULL}, NULL, {NULL}, FALSE, 0},
    {{"PCIE", NULL}, NULL, {NULL}, FALSE, 0},
    {{"H100", "96GB", NULL},
     "dgx-h100",
     {"gpu.memory=96GiB", "gpu.memory-usable=95GiB", NULL},
     TRUE,
     0},
    {{"GB300", "NVL72", NULL},
     "gb200-nvl72",
     {"node.hosts=16", "gpu.memory=288GB", "gpu.memory-usable=276GB", NULL},
     TRUE,
     OF_RACK},
    {{"GB300", NULL},
     "gb200-nvl72",
     {"node.hosts=1", "gpu.memory=288GB", "gpu.memory-usable=276GB", NULL},
     TRUE,
     0},
    {{"B300", NULL}, "dgx-b200", {"gpu.memory=288GB", "gpu.memory-usable=276GB", NULL}, TRUE, 0},
    {{"GB200", "NVL72", NULL}, "gb200-nvl72", {"node.hosts=16", NULL}, FALSE, OF_RACK},
    {{"GB200", NULL}, "gb200-nvl72", {"node.hosts=1", NULL}, FALSE, 0},
    {{"B200", NULL}, "dgx-b200", {NULL}, FALSE, 0},
    {{"H200", NULL}, "dgx-h200", {NULL}, FALSE, 0},
    {{"MI300X", NULL},
     "dgx-h100",
     {"gpu.memory=192GiB", "gpu.memory-usable=191.7GiB", NULL},
     TRUE,
     0},
    {{"A100", "40GB", NULL}, "dgx-a100-40g", {NULL}, FALSE, 0},
    {{"A100", NULL}, "dgx-a100-80g", {NULL}, FALSE, 0},
    {{"H100", "AWS p5", NULL}, "aws-p5", {NULL}, FALSE, 0},
    {{"H100", NULL}, "dgx-h100", {NULL}, FALSE, 0},
    {{"V100", "DGX-2", NULL}, "dgx2-v100-32g", {NULL}, FALSE, 0},
    {{"V100", "16GB", NULL},
     "dgx1-v100-32g",
     {"gpu.memory=16GiB", "gpu.memory-usable=15.7GiB", NULL},
     FALSE,
     0},
    {{"V100", NULL}, "dgx1-v100-32g", {NULL}, FALSE, 0},
};

static const Hardware *
hardware_find(const char *gpu)
{
    for (guint i = 0; i < G_N_ELEMENTS(hardware); i++) {
        gboolean all = TRUE;
        for (guint k = 0; hardware[i].all[k] != NULL; k++)
            all = all && strstr(gpu, hardware[i].all[k]) != NULL;
        if (all)
            return &hardware[i];
    }
    return NULL;
}

/* "200 Gb/s", "100Gb/s", "50 GB/s", "200Gb": bytes per second; 0 when there is no such thing at `p`. */
static gint64
rate_at(const char *p)
{
    char *end = NULL;
    if (!g_ascii_isdigit(*p))
        return 0;
    double value = g_ascii_strtod(p, &end);
    while (*end == ' ')
        end++;
    if (end[0] != 'G' || (end[1] != 'b' && end[1] != 'B') || value > 1e6)
        return 0;
    return (gint64)(value * 1e9 / (end[1] == 'b' ? 8 : 1));
}

/* "8x" and at most a few words before the rate. */
static gboolean
cards_at(const char *p, gint64 *ret_cards, gint64 *ret_rate)
{
    char *end = NULL;
    gint64 n = g_ascii_strtoll(p, &end, 10);
    if (end == p || *end != 'x' || n < 1 || n > 64)
        return FALSE;
    const char *stop = end + 1;
    while (*stop == ' ' || *stop == '-' || g_ascii_isalpha(*stop))
        stop++;
    gint64 rate = rate_at(stop);
    if (rate == 0)
        return FALSE;
    *ret_cards = n;
    *ret_rate = rate;
    return TRUE;
}

/* "measured 16-node all_reduce 23-57 Gb/s": what one collective got of a node's cards, losses and all; the
 * geometric middle of a range. 0: nobody measured. */
static gint64
measured_rate(const char *text)
{
    const char *p = strstr(text, "measured");
    for (; p != NULL && *p != '\0'; p++) {
        if (!g_ascii_isdigit(*p) || g_ascii_isalnum(p[-1]) || p[-1] == '-')
            continue;
        char *end = NULL;
        double low = g_ascii_strtod(p, &end), high = low;
        if (end[0] == '-' && g_ascii_isdigit(end[1])) {
            p = end + 1;
            high = g_ascii_strtod(p, NULL);
        }
        gint64 rate = rate_at(p);
        if (rate > 0 && low > 0)
            return (gint64)((double)rate * sqrt(low / high));
    }
    return 0;
}

gint64
cli_measured_network(const char *text, gint64 gpus_per_node, gint64 *ret_cards)
{
    gint64 cards = 0, rate = 0;
    for (const char *p = text; *p != '\0'; p++) {
        gboolean starts = p == text || !(g_ascii_isalnum(p[-1]) || p[-1] == '.');
        if (starts && cards_at(p, &cards, &rate)) {
            *ret_cards = cards;
            return cards * rate;
        }
    }
    for (const char *p = text; *p != '\0'; p++) {
        rate =
            p == text || !(g_ascii_isalnum(p[-1]) || p[-1] == '.' || p[-1] == '-') ? rate_at(p) : 0;
        if (rate > 0)
            break;
    }
    gboolean per_gpu = strstr(text, "per GPU") != NULL;
    *ret_cards = rate > 0 && per_gpu                       ? gpus_per_node
                 : rate > 0 && strstr(text, "TCP") != NULL ? 1
                                                           : 0;
    return per_gpu ? rate * gpus_per_node : rate;
}

/* The largest number of cards up to `cards` that can be dealt out to the GPUs of a node. */
static gint64
dealt_out(gint64 cards, gint64 gpus)
{
    cards = CLAMP(cards, 1, gpus);
    while (gpus % cards != 0)
        cards--;
    return cards;
}

/* Cards of a node and their rate, where they are not those of `base`. */
static void
add_cards(const char *network, gint64 lanes, gint64 gpus, const ClusterSystem *base,
          GPtrArray *overrides)
{
    gint64 cards, total = cli_measured_network(network, gpus, &cards);
    gint64 measured = lanes * measured_rate(network);
    if (measured > 0 && (total == 0 || measured < total)) {
        total = measured;
        g_ptr_array_add(overrides, g_strdup("nic.efficiency=1"));
    } else if (gpus == base->gpus_per_node && total == base->nic_Bps * base->nics_per_node) {
        return;
    }
    gint64 dealt = dealt_out(cards > 0 ? cards : base->nics_per_node, gpus);
    if (total > 0)
        g_ptr_array_add(overrides,
                        g_strdup_printf("nic.rate=%" G_GINT64_FORMAT "Bps", total / dealt));
    if ((total > 0 || gpus != base->gpus_per_node) && dealt != base->nics_per_node)
        g_ptr_array_add(overrides, g_strdup_printf("nic.count=%" G_GINT64_FORMAT, dealt));
}

char *
cli_measured_hardware(const char *gpu, gint64 gpus_per_node, const char *network, gint64 lanes,
                      char **ret_system, GPtrArray *overrides, gboolean *ret_stand_in)
{
    const Hardware *found = hardware_find(gpu);
    if (found == NULL || found->system == NULL)
        return g_strdup_printf("no system for GPU '%s'", gpu);
    g_autoptr(ClusterSystem) base = cluster_system_load(found->system, NULL, NULL);
    if (base == NULL)
        return g_strdup_printf("system %s is not installed", found->system);
    *ret_system = g_strdup(found->system);
    *ret_stand_in = found->stand_in;
    for (guint i = 0; found->overrides[i] != NULL; i++)
        g_ptr_array_add(overrides, g_strdup(found->overrides[i]));
    gint64 gpus = found->gpus_of_domain > 0 ? found->gpus_of_domain : gpus_per_node;
    if (gpus != base->gpus_per_node)
        g_ptr_array_add(overrides, g_strdup_printf("node.gpus=%" G_GINT64_FORMAT, gpus));
    add_cards(network, lanes, gpus, base, overrides);
    return NULL;
}
