/* Chakra execution traces. */
#include "config.h"

#include "cli/calibrate.h"

static gboolean
chakra_read(const char *path, CalibrateImport *import, GPtrArray *traces, GError **error)
{
    CalibrateTrace *trace;
    if (!calibrate_import_chakra(import, path, &trace, error))
        return FALSE;
    if (trace != NULL)
        g_ptr_array_add(traces, trace);
    return TRUE;
}

const CliImport cli_import_chakra = {"chakra",
                                     "Chakra execution traces (.et; gzip); without -o only told of",
                                     TRUE, chakra_read, NULL};
