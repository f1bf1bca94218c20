/* What the user says about model, system and plan. */
#pragma once

#include "cli/options.h"
#include "llm/flops.h"
#include "plan/plan.h"
#include "step/noise.h"

#define CLI_DEFAULT_MODEL "gpt3-175b"
#define CLI_DEFAULT_SYSTEM "dgx-a100-80g"

/* One axis of a sweep. */
typedef struct {
    const CliOption *option;
    GArray *values;   /* of gint64, owned */
    GPtrArray *names; /* of char*: what the values 0, 1, ... stand for; NULL: they are numbers */
} CliAxis;

/* What a framework's configuration file says: an option below what was typed. */
typedef struct {
    char *option, *value; /* without dashes, "no-x" where a flag is off; "" of flags */
    char *place;          /* "FILE:12: a.b"; the file alone where its format implies it */
    gboolean counts;      /* FALSE: what was typed decides it */
} CliSaying;
void cli_saying_free(CliSaying *saying);

typedef struct {
    PlanSpec
        spec; /* what was given, over Megatron's defaults; texts in it are owned by the fields below */
    char *model, *system, *gpu, *schedule, *placement, *stage_layers, *layout; /* NULL: not given */
    char *recompute_modules, *recompute_stages, *expert_histogram;
    char *rank_order, *allocation, *hostfile;
    char *background;    /* NULL: nothing */
    char *hostfile_text; /* of that file, read when it was given */
    char *config; /* a framework's file, NULL: none; what it says is put by cli_config_apply */
    char *config_model,
        *config_name; /* of its model: a config.json, and a name; NULL: it has none */
    GPtrArray *said;  /* of CliSaying*, in the order of the reader; NULL: no file */
    gint64 nodes;     /* 0: not given */
    gboolean fsdp, tp_pp_dp;
    guint gradient, dropout, flops, ranks;            /* index in choices */
    char *gpu_spread, *jitter, *slow, *flap, *daemon; /* NULL: not given */
    gint64 sample;                                    /* 0: not given */
    guint detail;                                     /* auto, op, segment */
    StepNoise *noise;                                 /* of the six before, but seed and sample */
    GPtrArray *sets;                                  /* of char*, "section.key=value" */
    GArray *given;   /* of const CliOption*, in the order given, each once */
    GPtrArray *axes; /* of CliAxis*; NULL: ranges are refused */
} CliInputs;

CliInputs *cli_inputs_new(void);
void cli_inputs_free(CliInputs *in);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CliInputs, cli_inputs_free)

/* Options "Model and system" and "Plan" for cli_arguments_parse; they fill `in`. */
GOptionGroup *cli_inputs_machine_group(CliInputs *in);
GOptionGroup *cli_inputs_plan_group(CliInputs *in);

/* The spec of what was given, over the defaults of the framework that was named: the order of the options does
 * not matter. Schedule and nodes are not looked at. */
gboolean cli_inputs_plan(const CliInputs *in, PlanSpec *ret_spec,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* As if --OPTION had been typed with that value; `option` as "tp" or "no-fsdp", `value` "" of flags. */
gboolean cli_inputs_set(CliInputs *in, const char *option, const char *value,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* As if it had not been typed. Not of those that put what they say elsewhere, too: gpu, hostfile, noise. */
void cli_inputs_unset(CliInputs *in, const char *option);
/* The model that was typed, or is the file's, or is taken when none is. */
const char *cli_inputs_model_name(const CliInputs *in);
gboolean cli_inputs_is_given(const CliInputs *in, const char *name);
gboolean cli_inputs_is_axis(const CliInputs *in, const char *name);
/* Sets an axis to its i-th value as if that had been given: the points of a sweep. */
void cli_inputs_set_point(CliInputs *in, const CliAxis *axis, guint i);
/* "1..64", "1..64:2" (step), "1..64*2" (factor) or "1,2,4,8"; also lists of these. Of
 * --schedule, a list of names. */
CliAxis *cli_axis_parse(const CliOption *option, const char *text, GError **error);
void cli_axis_free(CliAxis *axis);

/* All of it resolved, as a shell command that gives the same result. Caller frees. */
char *cli_inputs_print(const CliInputs *in, const Plan *plan, const char *schedule);
