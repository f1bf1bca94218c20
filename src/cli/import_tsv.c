/* Tables of anyone. */
#include "config.h"

#include "cli/calibrate.h"
#include "conf/complaint.h"

static gboolean
tsv_read(const char *path, CalibrateImport *import, G_GNUC_UNUSED GPtrArray *traces, GError **error)
{
    g_autofree char *text = conf_read_text(path, NULL, error);
    char separator = g_str_has_suffix(path, ".csv") ? ',' : '\t';
    return text != NULL && calibrate_import_tsv(import, path, text, separator, error);
}

const CliImport cli_import_tsv = {
    "tsv", "tables (TSV, CSV) with dtsim's columns; units as in time_ms, bytes_MiB", FALSE,
    tsv_read, NULL};
