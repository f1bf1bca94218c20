/* Logs of Megatron from any bytes: iterations or an error, never both; a time between the least and the most; cells of a
 * table for every column, or an error. */
#include "config.h"

#include "cli/measured_megatron.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_steady(const CalibrateSteady *steady, guint lines)
{
    guint n = 0;
    for (guint i = 0; i < CALIBRATE_N_VERDICTS; i++)
        n += steady->n[i];
    g_assert_cmpuint(n, ==, lines);
    g_assert_cmpuint(steady->n[CALIBRATE_STEADY], >, 0);
    g_assert_cmpfloat(steady->low_s, >, 0);
    g_assert_cmpfloat(steady->low_s, <=, steady->s);
    g_assert_cmpfloat(steady->s, <=, steady->high_s);
    g_assert_cmpfloat(steady->spread_frac, >=, 0);
}

static void
check_cells(const CalibrateTraining *run, const CalibrateSteady *steady)
{
    const CliMegatronWish wish = {"fuzz", "A100", 8};
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) cells = cli_megatron_cells("fuzz.log", run, &wish, &error);
    g_assert_true((cells == NULL) == (error != NULL));
    if (cells == NULL)
        return;
    cli_megatron_measure(cells, run, steady);
    g_assert_cmpuint(g_strv_length(cells), ==, cli_megatron_n_columns());
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CalibrateMegatronLog) log =
        calibrate_megatron_log_parse("fuzz.log", (const char *)data, size, &error);
    g_assert_true((log == NULL) == (error != NULL));
    for (guint i = 0; log != NULL && i < log->runs->len; i++) {
        const CalibrateTraining *run = log->runs->pdata[i];
        CalibrateSteady steady = calibrate_steady(run->iterations);
        check_steady(&steady, run->iterations->len);
        check_cells(run, &steady);
    }
    return 0;
}
