/* collective.tsv from any bytes: sweeps or an error, never both. */
#include "config.h"

#include "net/rows.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ClusterSystem system = {.gpu_name = (char *)"H100",
                            .gpus_per_node = 8,
                            .nvlink_Bps = 450000000000,
                            .nvlink_efficiency = 0.8,
                            .nvlink_latency_ns = 2000,
                            .nics_per_node = 8,
                            .nic_Bps = 50000000000,
                            .nic_efficiency = 0.9,
                            .nic_latency_ns = 20000,
                            .oversubscription = 1.0,
                            .gpudirect = TRUE,
                            .pxn = TRUE};
    NetFabric fabric = net_fabric_of(&system, NULL);
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) sweeps = net_rows_parse("fuzz.tsv", text, &fabric, NULL, &error);
    g_assert_true((sweeps == NULL) == (error != NULL));
    return 0;
}
