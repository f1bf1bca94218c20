/* overlap.tsv from arbitrary bytes: an error iff it failed; whatever loads gives finite slowdowns of at least 1. */
#include "config.h"

#include "cost/book.h"

#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ClusterSystem machine = {
    .memory_Bps = 100000000000,
    .memory_efficiency = 0.9,
    .n_sms = 10,
    .gpus_per_node = 8,
    .nvlink_Bps = 50000000000,
    .nvlink_efficiency = 0.8,
    .nics_per_node = 4,
    .nic_Bps = 12500000000,
    .nic_efficiency = 0.9,
};

static void
ask(CostOverlapTable *table)
{
    CostBook book = {
        .system = &machine, .measured = {[CLUSTER_TABLE_OVERLAP] = &machine}, .overlap = table};
    for (guint work = 0; work < COST_N_WORKS; work++)
        for (guint traffic = 0; traffic < COST_N_TRAFFICS; traffic++)
            for (double channels = 0; channels < 12; channels += 1.5) {
                CostBusy busy = {(CostWork)work, cost_memory_sm_slowdown(&machine, channels), 0.5};
                CostBeside beside = {(CostTraffic)traffic, channels, 0.25};
                CostSlowdown slowdown = cost_slowdown(&book, busy, beside);
                g_assert_true(isfinite(slowdown.work) && slowdown.work >= 1);
                g_assert_true(isfinite(slowdown.traffic) && slowdown.traffic >= 1);
            }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTable) rows = conf_table_parse("fuzz", text, '\t', &error);
    if (!rows)
        return 0;
    g_autoptr(CostOverlapTable) table = cost_overlap_table_new(&machine, rows, &error);
    g_assert_true((table == NULL) == (error != NULL));
    if (table)
        ask(table);
    return 0;
}
