/* The tables of options of model, system and plan: they drive parsing, help, sweeps and --show-config. */
#pragma once

#include <glib.h>

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

typedef struct {
    const CliOption *options;
    guint n;
} CliOptionTable;

/* Model and machine; degrees, batch, pipeline and kernels; how states, experts and context are cut, recomputed
 * and put aside. */
CliOptionTable cli_machine_options(void);
CliOptionTable cli_plan_options(void);
CliOptionTable cli_sharding_options(void);
CliOptionTable cli_noise_options(void); /* what is wrong with the machine */
/* NULL: there is none. */
const CliOption *cli_option_find(const char *name);

#define CLI_COUNT(name, field, min, max, what)                                                     \
    {                                                                                              \
        name, CLI_OPTION_COUNT, offsetof(CliInputs, field), min, max, NULL, "N", what              \
    }
#define CLI_NUMBER(name, field, argument, what)                                                    \
    {                                                                                              \
        name, CLI_OPTION_NUMBER, offsetof(CliInputs, field), 0, 0, NULL, argument, what            \
    }
#define CLI_FLAG(name, field, what)                                                                \
    {                                                                                              \
        name, CLI_OPTION_FLAG, offsetof(CliInputs, field), 0, 1, NULL, NULL, what                  \
    }
#define CLI_CHOICE(name, field, choices, argument, what)                                           \
    {                                                                                              \
        name, CLI_OPTION_CHOICE, offsetof(CliInputs, field), 0, 0, choices, argument, what         \
    }
#define CLI_TEXT(name, field, argument, what)                                                      \
    {                                                                                              \
        name, CLI_OPTION_TEXT, offsetof(CliInputs, field), 0, 0, NULL, argument, what              \
    }
#define CLI_MANY G_MAXINT32
