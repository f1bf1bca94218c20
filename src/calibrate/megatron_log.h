/* Logs of training by Megatron-LM and what was made of it (Megatron-DeepSpeed, GPT-NeoX's kin, Megatron-Core's trainer):
 * the dump of arguments at the start, and a line for each iteration or each --log-interval of them.
 *
 * Lines of all versions since 2020: "iteration 1/ 1000 | ... | elapsed time per iteration (ms): 155483.8 | ...", with time
 * in ms or s, with a date before it or none, with TFLOPs by either of their names or none. Launchers' labels do not
 * matter: the first rank writes the arguments and the last one the iterations. */
#pragma once

#include <glib.h>

typedef struct {
    guint line;  /* in the file */
    guint start; /* of which start of training: a restart begins anew */
    gint64 iteration;
    double s;             /* of one iteration, mean since the line before */
    gint64 global_batch;  /* -1: it does not say */
    gint64 skipped;       /* of these iterations, by the loss scaler, or NaN; 0 */
    double tflops;        /* per GPU, as printed; NAN */
    gboolean after_pause; /* an evaluation or a checkpoint was between the line before and this */
    guint verdict;        /* CalibrateSteadyVerdict, of calibrate_steady */
} CalibrateIteration;

/* From one dump of arguments to the next. */
typedef struct {
    guint line;            /* of the dump; 0: there is none */
    GHashTable *arguments; /* text -> text; looked up only */
    GArray *iterations;    /* of CalibrateIteration, in order of line */
    gint64 vocab;          /* before padding; 0: it does not say */
    double reserved_bytes; /* the most that a rank's allocator held; 0: it does not say */
    GHashTable *ranks;     /* that said so; a set of their numbers */
    gboolean deepspeed;    /* its engine wrote lines, too */
} CalibrateTraining;

typedef struct {
    char *name;
    GPtrArray *runs;  /* of CalibrateTraining, at least one, each with iterations */
    GPtrArray *notes; /* of char*: "FILE:LINE: ..." */
} CalibrateMegatronLog;

/* A text without a line of an iteration is an error. */
CalibrateMegatronLog *calibrate_megatron_log_load(const char *path, GError **error);
CalibrateMegatronLog *calibrate_megatron_log_parse(const char *name, const char *text, gsize n,
                                                   GError **error);
void calibrate_megatron_log_free(CalibrateMegatronLog *log);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CalibrateMegatronLog, calibrate_megatron_log_free)

/* The value of an argument; "" where the dump has none, or None. */
const char *calibrate_training_argument(const CalibrateTraining *run, const char *name);
