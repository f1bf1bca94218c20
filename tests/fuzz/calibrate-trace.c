/* Profiles from any bytes: a trace or an error, never both; its kernels in order, its unions within its span, its rows
 * such that the tables take them. */
#include "config.h"

#include "calibrate/merge.h"
#include "calibrate/profile.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_profile(const CalibrateTrace *trace)
{
    CalibrateProfile p = calibrate_profile(trace);
    g_assert_cmpint(p.busy_ns, <=, p.span_ns);
    g_assert_cmpint(p.compute_ns, <=, p.busy_ns);
    g_assert_cmpint(p.nccl_ns, <=, p.communication_ns);
    g_assert_cmpint(p.exposed_ns, >=, 0);
    g_assert_cmpint(p.exposed_ns, <=, p.communication_ns);
    g_autoptr(GArray) names = calibrate_groups_by_name(trace);
    g_autoptr(GArray) operations = calibrate_groups_by_operation(trace);
    g_assert_cmpuint(names->len, <=, trace->kernels->len);
    g_assert_cmpuint(operations->len, <=, trace->kernels->len);
    for (guint i = 1; i < trace->kernels->len; i++)
        g_assert_cmpint(g_array_index(trace->kernels, CalibrateKernel, i - 1).begin_ns, <=,
                        g_array_index(trace->kernels, CalibrateKernel, i).begin_ns);
}

/* Every cell of every row is what its column holds. */
static void
check_rows(const CalibrateTrace *trace)
{
    g_auto(CalibrateImport) import;
    calibrate_import_init(&import);
    import.per_node = 8;
    if (!calibrate_import_trace(&import, trace, NULL))
        return;
    for (guint id = 0; id < CALIBRATE_N_TABLES; id++) {
        const CalibrateTable *table = calibrate_table(id);
        g_autoptr(GArray) rows = calibrate_rows_merged(import.rows, id);
        for (guint i = 0; i < rows->len; i++) {
            g_auto(GStrv) keys = g_strsplit(g_array_index(rows, CalibrateRow, i).key, "\t", -1);
            g_assert_cmpuint(g_strv_length(keys), ==, table->n_keys);
            for (guint k = 0; k < table->n_keys; k++) {
                g_autofree char *fault = calibrate_cell_fault(table->columns[k].type, keys[k]);
                g_assert_cmpstr(fault, ==, NULL);
            }
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CalibrateTrace) trace =
        calibrate_trace_parse("fuzz.json", (const char *)data, size, &error);
    g_assert_true((trace == NULL) == (error != NULL));
    if (trace == NULL)
        return 0;
    check_profile(trace);
    check_rows(trace);
    return 0;
}
