/* --config: the plan, and where it has one the model, that stands in a framework's own configuration file. A reader
 * turns the file into options of this program with their places; what was typed stands above them. */
#pragma once

#include "cli/inputs.h"
#include "cluster/system.h"
#include "conf/document.h"

/* What a key of the file is to its reader. */
typedef enum {
    CLI_KEY_COUNT,  /* a whole number: the option */
    CLI_KEY_FLAG,   /* true or false: the option, or its --no- */
    CLI_KEY_NUMBER, /* a decimal number: the option */
    CLI_KEY_READ,   /* the reader's own code has it */
    CLI_KEY_UNSAID, /* bears on time or memory, and no option says it: warned of */
} CliKeyKind;

typedef struct {
    const char *path; /* "parallelism.tp" */
    CliKeyKind kind;
    const char *
        option; /* without dashes; of a key that is READ, what a user types in its place, or NULL */
    const char
        *what; /* UNSAID: the reason. Else what is taken where the value is "auto"; NULL: silent */
} CliConfigKey;

/* Where a key stood in files of an earlier version of the framework; several lines where it moved more than once. */
typedef struct {
    const char *path, *older;
} CliOlderKey;

typedef struct CliConfigFormat CliConfigFormat;

/* A file under reading. */
typedef struct {
    const ConfDocument *document;
    const CliConfigFormat *format;
    const CliInputs *in; /* what was typed */
    gboolean has_gpus;   /* their number, or dp, was typed or is the system's */
    gint64 gpus;         /* 0: not known */
    GPtrArray *sayings;  /* of CliSaying* */
    GPtrArray *warnings; /* of char* */
    JsonObject *model;   /* keys of a config.json; NULL: the file has no model */
} CliConfig;

/* A variant: a file, a const struct, a line in the list of config_file.c. */
struct CliConfigFormat {
    const char *name;
    const ConfSyntax *syntax;
    const char *marks[8];     /* keys of the root, one of which must be there; NULL-terminated */
    const CliConfigKey *keys; /* ends with a path of NULL */
    const CliOlderKey *older; /* likewise; NULL: nothing has moved */
    gboolean dashes;          /* a key may be written with - for _ */
    gboolean autos;           /* "auto" stands for a value that is given elsewhere */
    gboolean (*read)(CliConfig *c, GError **error);
};
extern const CliConfigFormat cli_config_deepspeed, cli_config_neox, cli_config_nanotron,
    cli_config_torchtitan;

/* Reads the file of --config, if one was given, and puts what it says below what was typed. Warnings go to standard
 * error. The system says how many GPUs --nodes are. */
gboolean cli_config_apply(CliInputs *in, const ClusterSystem *system,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The same of a file that was read. Sentences of warning, each with its place, are added to `warnings` (of char*) where
 * they do not stand there. At a point of a sweep, whose values are set, what the file said at another is taken back
 * first. */
gboolean cli_config_put(CliInputs *in, const ClusterSystem *system, const ConfDocument *document,
                        GPtrArray *warnings, GError **error) G_GNUC_WARN_UNUSED_RESULT;

void cli_config_print_warnings(const GPtrArray *warnings);

/* A complaint of an option ("--tp: ...") or of a schedule's file that a file said: its place is put before. */
void cli_config_prefix_error(const CliInputs *in, GError **error);

/* --- for readers: single keys -------------------------------------------------------------------- */

/* NULL: absent, null, or "auto" where the format has that. */
JsonNode *cli_config_find(const CliConfig *c, const char *path);
gboolean cli_config_is_open(const CliConfig *c, const char *path); /* "auto", where that is one */
gboolean cli_config_is_null(const CliConfig *c, const char *path);
/* *ret is left alone when the key is not there. A count, to CLI_MANY; and of elements, from 0 to 2^53, also as 1e9. */
gboolean cli_config_count(const CliConfig *c, const char *path, gint64 least, gint64 *ret,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean cli_config_elements(const CliConfig *c, const char *path, gint64 *ret,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean cli_config_flag(const CliConfig *c, const char *path, gboolean *ret,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean cli_config_number(const CliConfig *c, const char *path, double *ret,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Borrowed. */
gboolean cli_config_text(const CliConfig *c, const char *path, const char **ret,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* One of `words` (NULL-terminated), each of which stands for the text at the same place in `meanings`. A format that
 * grows: an unknown word is an error. */
gboolean cli_config_word(const CliConfig *c, const char *path, const char *const *words,
                         const char *const *meanings, const char **ret,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Is the word in a list of words, whole or behind the last dot of one? */
gboolean cli_config_holds(const CliConfig *c, const char *path, const char *word, gboolean *ret,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The file says an option. `path`: NULL where its format implies it; absent keys give the file alone as the place. */
void cli_config_say(CliConfig *c, const char *path, const char *option, const char *value);
void cli_config_say_count(CliConfig *c, const char *path, const char *option, gint64 value);
void cli_config_say_flag(CliConfig *c, const char *path, const char *option, gboolean value);
/* As cli_config_word has it; nothing where the key is not there. */
gboolean cli_config_say_word(CliConfig *c, const char *path, const char *option,
                             const char *const *words, const char *const *meanings,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
void cli_config_warn(CliConfig *c, const char *path, const char *format, ...) G_GNUC_PRINTF(3, 4);
gboolean cli_config_refuse(const CliConfig *c, const char *path, GError **error, const char *format,
                           ...) G_GNUC_PRINTF(4, 5);
/* All that the table of the format decides: plain options, values that are "auto", keys that nothing says, keys that
 * look like a slip of the pen. */
gboolean cli_config_read_keys(CliConfig *c, GError **error) G_GNUC_WARN_UNUSED_RESULT;

gboolean cli_config_is_typed(const CliConfig *c, const char *option);
/* Is an option's value decided by what was typed, itself or another? */
gboolean cli_config_is_decided(const CliConfig *c, const char *option);
/* A count as it was typed, else as the file has it. */
gint64 cli_config_effective(const CliConfig *c, const char *option, gint64 of_file);
/* Replicas: typed, or of the GPUs; 0: not known. */
gint64 cli_config_replicas(const CliConfig *c, gint64 tp, gint64 pp, gint64 cp);

/* The model that was typed, or that ships under that name, or is the file's as far as it was read, with what --set
 * says of it. NULL: there is none, or it cannot be read, which is told when it is loaded. */
LlmShape *cli_config_shape(const CliConfig *c, const char *name);
/* A key of the model's config.json. Takes the value. */
void cli_config_model(CliConfig *c, const char *key, JsonNode *value);
void cli_config_model_count(CliConfig *c, const char *key, gint64 value);
void cli_config_model_flag(CliConfig *c, const char *key, gboolean value);

/* --- for readers of DeepSpeed's keys ------------------------------------------------------------- */

#define CLI_UNSAID(path, usual, what)                                                              \
    {                                                                                              \
        path, CLI_KEY_UNSAID, usual, what                                                          \
    }
#define CLI_READ(path)                                                                             \
    {                                                                                              \
        path, CLI_KEY_READ, NULL, NULL                                                             \
    }

/* Of the section zero_optimization, and the batch. */
#define CLI_DEEPSPEED_KEYS                                                                         \
    CLI_READ("train_batch_size"), CLI_READ("train_micro_batch_size_per_gpu"),                      \
        CLI_READ("gradient_accumulation_steps"),                                                   \
        {"gradient_clipping", CLI_KEY_READ, "clip", "1.0 is taken"},                               \
        {"zero_optimization.stage", CLI_KEY_READ, "zero", "0 is taken"},                           \
        CLI_READ("zero_optimization.cpu_offload"),                                                 \
        CLI_READ("zero_optimization.offload_optimizer.device"),                                    \
        CLI_READ("zero_optimization.offload_param.device"),                                        \
        {"zero_optimization.offload_optimizer.ratio", CLI_KEY_NUMBER, "offload-fraction", NULL},   \
        {"zero_optimization.overlap_comm", CLI_KEY_FLAG, "overlap-grad-reduce", NULL},             \
        {"zero_optimization.reduce_bucket_size", CLI_KEY_COUNT, "bucket-size", NULL},              \
        {"zero_optimization.stage3_prefetch_bucket_size", CLI_KEY_COUNT, "prefetch-elements",      \
         NULL},                                                                                    \
        {"zero_optimization.stage3_param_persistence_threshold", CLI_KEY_COUNT,                    \
         "resident-elements", NULL},                                                               \
        {"zero_optimization.stage3_max_live_parameters", CLI_KEY_READ, "live-elements",            \
         "DeepSpeed's 1e9 is taken"},                                                              \
        CLI_READ("zero_optimization.max_live_parameters"),                                         \
        CLI_READ("zero_optimization.sub_group_size"),                                              \
        CLI_READ("zero_optimization.mics_shard_size"),                                             \
        CLI_UNSAID("zero_optimization.reduce_scatter", "true",                                     \
                   "gradients of stages 1 and 2 are reduced and scattered"),                       \
        CLI_UNSAID("zero_optimization.zero_quantized_weights", NULL,                               \
                   "weights are gathered in 16 bits"),                                             \
        CLI_UNSAID("zero_optimization.zero_quantized_gradients", NULL,                             \
                   "gradients are reduced in the dtype of --grad-dtype"),                          \
        CLI_UNSAID("zero_optimization.zero_hpz_partition_size", "1",                               \
                   "there is no second copy of the weights in the node"),                          \
        CLI_READ("fp16.enabled"), CLI_READ("optimizer.type")

/* Stage, offload and what else the section holds. *ret_stage: as it was typed, else of the file. */
gboolean cli_config_read_zero(CliConfig *c, gint64 *ret_stage,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Any of global batch, microbatch and accumulation follows from the others and the replicas. */
gboolean cli_config_read_batch(CliConfig *c, gint64 tp, gint64 pp, gint64 cp,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean cli_config_read_optimizer(CliConfig *c, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Neither fp16 nor bf16 is enabled. */
void cli_config_warn_of_fp32(CliConfig *c);
/* The norm; `fallback` where the file says nothing, none where it says null. */
gboolean cli_config_read_clip(CliConfig *c, const char *path, double fallback,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
