/* Measurements of other programs become rows. */
#pragma once

#include "calibrate/tables.h"
#include "calibrate/trace.h"

/* What comes in, and what the user says of it where files do not. */
typedef struct {
    int op;              /* NetOp of logs that do not say; -1 */
    gint64 ranks, nodes; /* of logs that do not say; 0 */
    gint64 per_node;     /* GPUs of a node, to count nodes by; 0 */
    const char *dtype;   /* of files that do not say; NULL */
    gboolean mixes;      /* machines may differ */
    gboolean tells_only; /* profiles are to be told of; nobody wants rows */

    CalibrateRows *rows;
    GPtrArray *notes;   /* of char*: "FILE:LINE: ..." what was left out or taken for granted */
    GPtrArray *sources; /* of char*: one a file: name, date, what made it, versions */
    char *gpu;          /* that the files or the user name; NULL */
    char *gpu_source;   /* which of them */
} CalibrateImport;
void calibrate_import_init(CalibrateImport *import);
void calibrate_import_clear(CalibrateImport *import);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CalibrateImport, calibrate_import_clear)

void calibrate_import_note(CalibrateImport *import, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* `about` follows the file's name and date. */
void calibrate_import_source(CalibrateImport *import, const char *path, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
/* `name` NULL: `source` does not say. Another GPU than before is an error, unless they may mix. */
gboolean calibrate_import_gpu(CalibrateImport *import, const char *source, const char *name,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A log that gives no row is an error. */
gboolean calibrate_import_nccl_tests(CalibrateImport *import, const char *path,
                                     GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* GEMMs, attention and kernels bound by memory that ran alone and whose shapes are known; collectives of known size,
 * the least of their times, since the others waited; all kernels by name. None of these is no error. */
gboolean calibrate_import_trace(CalibrateImport *import, const CalibrateTrace *trace,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* As of a profile. *ret_trace is NULL for what macOS leaves beside files, which is noted and left out; else the caller
 * frees it. */
gboolean calibrate_import_chakra(CalibrateImport *import, const char *path,
                                 CalibrateTrace **ret_trace,
                                 GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* What mamf-finder of https://github.com/stas00/ml-engineering prints. */
gboolean calibrate_import_mamf(CalibrateImport *import, const char *name, const char *text,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* A table with this program's names of columns; times and sizes may have their unit in the name: time_ms, bytes_MiB. */
gboolean calibrate_import_tsv(CalibrateImport *import, const char *name, const char *text,
                              char separator, GError **error) G_GNUC_WARN_UNUSED_RESULT;
