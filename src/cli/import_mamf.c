/* What mamf-finder prints. */
#include "config.h"

#include "cli/calibrate.h"
#include "conf/complaint.h"

static gboolean
mamf_read(const char *path, CalibrateImport *import, G_GNUC_UNUSED GPtrArray *traces,
          GError **error)
{
    g_autofree char *text = conf_read_text(path, NULL, error);
    return text != NULL && calibrate_import_mamf(import, path, text, error);
}

const CliImport cli_import_mamf = {"mamf", "rates of matrix products by mamf-finder", FALSE,
                                   mamf_read, NULL};
