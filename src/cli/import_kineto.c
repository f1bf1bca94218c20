/* Profiles of PyTorch. */
#include "config.h"

#include "cli/calibrate.h"

static gboolean
kineto_read(const char *path, CalibrateImport *import, GPtrArray *traces, GError **error)
{
    CalibrateTrace *trace = calibrate_trace_load(path, error);
    if (trace == NULL)
        return FALSE;
    g_ptr_array_add(traces, trace);
    return import->tells_only || calibrate_import_trace(import, trace, error);
}

const CliImport cli_import_kineto = {
    "kineto", "PyTorch profiles (Chrome traces; gzip); without -o only told of", TRUE, kineto_read,
    NULL};
