/* Logs of nccl-tests. */
#include "config.h"

#include "cli/calibrate.h"

static gboolean
nccl_tests_read(const char *path, CalibrateImport *import, G_GNUC_UNUSED GPtrArray *traces,
                GError **error)
{
    return calibrate_import_nccl_tests(import, path, error);
}

const CliImport cli_import_nccl_tests = {"nccl-tests",
                                         "logs of nccl-tests, whatever launchers did to them",
                                         FALSE, nccl_tests_read, NULL};
