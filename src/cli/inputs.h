/* What the user says about model, system and plan: one table of options drives parsing, help, the axes of
 * a sweep and --show-config. */
#pragma once

#include "llm/flops.h"
#include "plan/plan.h"

#define CLI_DEFAULT_MODEL "gpt3-175b"
#define CLI_DEFAULT_SYSTEM "dgx-a100-80g"

typedef enum {
    CLI_OPTION_COUNT,
    CLI_OPTION_FLAG,
    CLI_OPTION_CHOICE,
    CLI_OPTION_TEXT,
    CLI_OPTION_NUMBER
} CliOptionType;

typedef struct {
    const char *name; /* without the dashes */
    CliOptionType type;
    gsize offset;    /* in CliInputs: gint64, gboolean, guint (of a choice), char*, double */
    gint64 min, max; /* of a count */
    const char *const *choices;
    const char *argument; /* "N"; NULL for flags */
    const char *what;
} CliOption;

/* One axis of a sweep. */
typedef struct {
    const CliOption *option;
    GArray *values;   /* of gint64, owned */
    GPtrArray *names; /* of char*: what the values 0, 1, ... stand for; NULL: they are numbers */
} CliAxis;

typedef struct {
    PlanSpec spec; /* texts in it are owned by the fields below */
    char *model, *system, *schedule, *placement, *stage_layers, *layout; /* NULL: not given */
    gint64 nodes;                                                        /* 0: not given */
    guint recompute, attention, dtype, gradient, dropout, p2p, barrier, flops,
        ranks;       /* index in choices */
    GPtrArray *sets; /* of char*, "section.key=value" */
    GArray *given;   /* of const CliOption*, in the order given, each once */
    GPtrArray *axes; /* of CliAxis*; NULL: ranges are refused */
} CliInputs;

CliInputs *cli_inputs_new(void);
void cli_inputs_free(CliInputs *in);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CliInputs, cli_inputs_free)

/* Options "Model and system" and "Plan" for cli_arguments_parse; they fill `in`. */
GOptionGroup *cli_inputs_machine_group(CliInputs *in);
GOptionGroup *cli_inputs_plan_group(CliInputs *in);

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
/* The part of it that is choices: " --recompute full ..." */
void cli_inputs_print_choices(const CliInputs *in, const PlanSpec *resolved, GString *out);
