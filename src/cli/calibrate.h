/* The words of `dtsim calibrate`, and the sources of `dtsim calibrate import`: each one file, one line here and one
 * in its list. */
#pragma once

#include "calibrate/import.h"
#include "cli/command.h"

/* argv[0] of a word is "calibrate WORD". */
extern const CliCommand cli_calibrate_import;
extern const CliCommand cli_calibrate_fit, cli_calibrate_plot, cli_calibrate_check,
    cli_calibrate_diff;

/* Of kinds that are no rows of a system directory. */
typedef struct {
    const CalibrateImport *import; /* what the user says of the files */
    const char *output, *format;   /* -o, NULL without; --format */
} CliImportWish;

/* A kind of file that is imported. */
typedef struct {
    const char *name;    /* "kineto" */
    const char *summary; /* one line */
    gboolean reports;    /* without -o it prints what is in the files */
    /* `traces` takes profiles for the report. */
    gboolean (*read)(const char *path, CalibrateImport *import, GPtrArray *traces, GError **error);
    /* Instead: all files become something else than rows of a system directory. */
    gboolean (*run)(const CliImportWish *wish, char **files, int n_files, GError **error);
} CliImport;

extern const CliImport cli_import_chakra, cli_import_kineto, cli_import_mamf,
    cli_import_megatron_log, cli_import_nccl_tests, cli_import_tsv;
