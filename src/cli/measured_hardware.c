/* The hardware of a published run, in people's words, as a shipped system with overrides. */
#include "config.h"

#include "cli/measured.h"

#include <math.h>
#include <string.h>

typedef struct {
    const char *all[3]; /* words that the text must have */
    const char *system; /* NULL: refused */
    const char *overrides[4];
    gboolean stand_in; /* its memory is that of the GPU, its speed is not */
} Hardware;

/* The first that matches. Memory that a process can allocate: as torch reports the capacity of a GPU (torchtitan's
 * log has 95.0 GiB of an H100 with 96 GB; GB200 184 GiB, B200 178 GiB, MI300X 191.7 GiB of 192). */
static const Hardware hardware[] = {
    {{"PCIe", NULL}, NULL, {NULL}, FALSE},
    {{"PCIE", NULL}, NULL, {NULL}, FALSE},
    {{"H100", "96GB", NULL},
     "dgx-h100",
     {"gpu.memory=96GiB", "gpu.memory-usable=95GiB", NULL},
     TRUE},
    {{"GB300", NULL}, "dgx-h100", {"gpu.memory=288GB", "gpu.memory-usable=276GB", NULL}, TRUE},
    {{"B300", NULL}, "dgx-h100", {"gpu.memory=288GB", "gpu.memory-usable=276GB", NULL}, TRUE},
    {{"GB200", NULL}, "dgx-h100", {"gpu.memory=186GiB", "gpu.memory-usable=184GiB", NULL}, TRUE},
    {{"B200", NULL}, "dgx-h100", {"gpu.memory=180GiB", "gpu.memory-usable=178GiB", NULL}, TRUE},
    {{"MI300X", NULL}, "dgx-h100", {"gpu.memory=192GiB", "gpu.memory-usable=191.7GiB", NULL}, TRUE},
    {{"A100", "40GB", NULL},
     "dgx-a100-80g",
     {"gpu.memory=40GiB", "gpu.memory-usable=39.4GiB", "gpu.memory-rate=1555GBps", NULL},
     FALSE},
    {{"A100", NULL}, "dgx-a100-80g", {NULL}, FALSE},
    {{"H100", NULL}, "dgx-h100", {NULL}, FALSE},
    {{"V100", "16GB", NULL},
     "dgx1-v100-32g",
     {"gpu.memory=16GiB", "gpu.memory-usable=15.7GiB", NULL},
     FALSE},
    {{"V100", NULL}, "dgx1-v100-32g", {NULL}, FALSE},
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

char *
cli_measured_hardware(const char *gpu, gint64 gpus_per_node, const char *network, gint64 lanes,
                      char **ret_system, GPtrArray *overrides, gboolean *ret_stand_in)
{
    const Hardware *found = hardware_find(gpu);
    if (found == NULL || found->system == NULL)
        return g_strdup_printf("no system for GPU '%s'", gpu);
    *ret_system = g_strdup(found->system);
    *ret_stand_in = found->stand_in;
    for (guint i = 0; found->overrides[i] != NULL; i++)
        g_ptr_array_add(overrides, g_strdup(found->overrides[i]));
    gboolean v100 = strstr(gpu, "V100") != NULL;
    gint64 usual_cards = v100 ? 4 : 8, cards;
    if (gpus_per_node != 8)
        g_ptr_array_add(overrides, g_strdup_printf("node.gpus=%" G_GINT64_FORMAT, gpus_per_node));
    if (gpus_per_node > 8) /* only the DGX-2 has more, behind switches */
        g_ptr_array_add(overrides, g_strdup("node.link=nvswitch"));
    gint64 total = cli_measured_network(network, gpus_per_node, &cards);
    gint64 measured = lanes * measured_rate(network);
    if (measured > 0 && (total == 0 || measured < total)) {
        total = measured;
        g_ptr_array_add(overrides, g_strdup("nic.efficiency=1"));
    }
    gint64 dealt = dealt_out(cards > 0 ? cards : usual_cards, gpus_per_node);
    if (total > 0)
        g_ptr_array_add(overrides,
                        g_strdup_printf("nic.rate=%" G_GINT64_FORMAT "Bps", total / dealt));
    if (dealt != usual_cards || gpus_per_node != 8)
        g_ptr_array_add(overrides, g_strdup_printf("nic.count=%" G_GINT64_FORMAT, dealt));
    return NULL;
}
