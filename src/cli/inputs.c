/* The table of model, system and plan options. */
#include "config.h"

#include "cli/inputs.h"

#include "cli/arguments.h"
#include "cli/command.h"
#include "report/run.h"

#include <stddef.h>
#include <string.h>

#define COUNT(name, field, min, max, what)                                                         \
    {                                                                                              \
        name, CLI_OPTION_COUNT, offsetof(CliInputs, field), min, max, NULL, "N", what              \
    }
#define FLAG(name, field, what)                                                                    \
    {                                                                                              \
        name, CLI_OPTION_FLAG, offsetof(CliInputs, field), 0, 1, NULL, NULL, what                  \
    }
#define CHOICE(name, field, choices, argument, what)                                               \
    {                                                                                              \
        name, CLI_OPTION_CHOICE, offsetof(CliInputs, field), 0, 0, choices, argument, what         \
    }
#define TEXT(name, field, argument, what)                                                          \
    {                                                                                              \
        name, CLI_OPTION_TEXT, offsetof(CliInputs, field), 0, 0, NULL, argument, what              \
    }
#define MANY G_MAXINT32

static const char *const recomputes[] = {"none", "selective", "full", NULL};
static const char *const attentions[] = {"flash", "unfused", NULL};
static const char *const dtypes[] = {"fp32", "tf32", "fp16", "bf16", "fp8", NULL};
static const char *const gradients[] = {"fp32", "model", NULL};
static const char *const p2ps[] = {"auto",       "ideal", "async", "blocking",
                                   "overlapped", "fused", NULL};
static const char *const dropouts[] = {"auto", "off", "on", NULL};
static const char *const rank_choices[] = {"symmetric", "all", NULL};
static const char *const conventions[] = {"megatron", "sc21",        "korthikanti", "torchtitan",
                                          "palm",     "llm-foundry", "nanotron",    NULL};

static const CliOption machine_options[] = {
    TEXT("model", model, "NAME|FILE", "Shipped model or a config.json (default: gpt3-175b)"),
    TEXT("system", system, "NAME|DIR", "Shipped system or a directory (default: dgx-a100-80g)"),
    COUNT("gpus", spec.gpus, 1, MANY, "GPUs in all; gives dp"),
    COUNT("nodes", nodes, 1, MANY, "Nodes in all, instead of --gpus"),
    CHOICE("flops", flops, conventions, "HOW", "FLOPs convention of MFU (default: megatron)"),
    CHOICE("ranks", ranks, rank_choices, "WHICH", "symmetric: one of each kind; or all"),
};

static const CliOption plan_options[] = {
    COUNT("tp", spec.tp, 1, MANY, "Tensor parallel ranks"),
    COUNT("pp", spec.pp, 1, MANY, "Pipeline parallel ranks"),
    COUNT("dp", spec.dp, 1, MANY, "Data parallel replicas"),
    COUNT("cp", spec.cp, 1, MANY, "Context parallel ranks"),
    COUNT("ep", spec.ep, 1, MANY, "Expert parallel ranks"),
    COUNT("vpp", spec.vpp, 1, MANY, "Model chunks per pipeline rank"),
    COUNT("micro-batch-size", spec.micro_batch, 1, MANY, "Sequences of one microbatch"),
    COUNT("global-batch-size", spec.global_batch, 1, MANY, "Sequences of one iteration"),
    COUNT("microbatches", spec.microbatches, 1, MANY, "Microbatches per replica"),
    COUNT("seq-length", spec.seq, 1, MANY, "Tokens of one sequence"),
    TEXT("schedule", schedule, "NAME|FILE",
         "Pipeline schedule ('dtsim schedules' lists them), or .csv"),
    TEXT("placement", placement, "WHERE",
         "Of a .csv's stages: loop, v, bidirectional, or ranks 0,1,1,0"),
    COUNT("group", spec.group, 1, MANY, "Microbatch group of interleaved schedules (default: pp)"),
    COUNT("zero", spec.zero, 0, 3, "0, or 1: distributed optimizer"),
    FLAG("sequence-parallel", spec.sequence_parallel,
         "Sequence parallel regions between TP blocks"),
    CHOICE("recompute", recompute, recomputes, "WHAT", "none, selective or full"),
    CHOICE("attention", attention, attentions, "KIND", "flash or unfused"),
    CHOICE("dtype", dtype, dtypes, "TYPE", "fp32, tf32, fp16, bf16 or fp8"),
    CHOICE("grad-dtype", gradient, gradients, "TYPE", "Gradients in fp32, or as the model"),
    COUNT("first-stage-layers", spec.first_stage_layers, 1, MANY, "Layers of the first stage"),
    COUNT("last-stage-layers", spec.last_stage_layers, 1, MANY, "Layers of the last stage"),
    TEXT("stage-layers", stage_layers, "N,N,...", "Layers of every stage, in order"),
    TEXT("pipeline-layout", layout, "LAYOUT", "Megatron's layout, as E,t*3|t*4|t*4|t*3,L"),
    FLAG("account-for-embedding", spec.account_for_embedding, "Count the embedding as a layer"),
    FLAG("account-for-loss", spec.account_for_loss, "Count the loss as a layer"),
    CHOICE("p2p", p2p, p2ps, "MODEL", "auto ideal async blocking overlapped fused"),
    FLAG("p2p-sync", spec.p2p_sync, "Synchronise the device after each blocking exchange"),
    FLAG("scatter-gather", spec.scatter_gather, "Cut pipeline messages by tp, gather in the node"),
    FLAG("deepspeed-pipeline", spec.deepspeed_pipeline, "DeepSpeed's pipeline engine"),
    CHOICE("dropout", dropout, dropouts, "WHEN", "auto (as the model says), on or off"),
    COUNT("bucket-size", spec.bucket_elements, 1, G_MAXINT64, "Elements of a gradient bucket"),
    {"clip", CLI_OPTION_NUMBER, offsetof(CliInputs, spec.clip), 0, 0, NULL, "NORM",
     "Gradient clipping norm; 0: none (default: 1)"},
    CHOICE("optimizer-barrier", barrier, report_barrier_names, "WHAT",
           "What the optimizer waits for: global, none or post-validation"),
    FLAG("overlap-grad-reduce", spec.overlap_grad_reduce, "Reduce gradients beside the backward"),
    FLAG("overlap-param-gather", spec.overlap_param_gather, "Gather weights beside the forward"),
    FLAG("align-grad-reduce", spec.align_grad_reduce,
         "Start reductions at the same time on stages"),
};

CliInputs *
cli_inputs_new(void)
{
    CliInputs *in = g_new0(CliInputs, 1);
    in->spec = plan_spec_default();
    in->recompute = in->spec.recompute;
    in->attention = in->spec.attention;
    in->dtype = in->spec.dtype;
    in->gradient = in->spec.gradient_fp32 ? 0 : 1;
    in->p2p = in->spec.p2p;
    in->barrier = in->spec.optimizer_barrier;
    in->dropout = (guint)(in->spec.dropout + 1);
    in->sets = g_ptr_array_new_with_free_func(g_free);
    in->given = g_array_new(FALSE, FALSE, sizeof(const CliOption *));
    return in;
}

void
cli_inputs_free(CliInputs *in)
{
    if (in == NULL)
        return;
    g_free(in->model);
    g_free(in->system);
    g_free(in->schedule);
    g_free(in->placement);
    g_free(in->stage_layers);
    g_free(in->layout);
    g_clear_pointer(&in->sets, g_ptr_array_unref);
    g_clear_pointer(&in->given, g_array_unref);
    g_clear_pointer(&in->axes, g_ptr_array_unref);
    g_free(in);
}

static const CliOption *
option_find(const char *name)
{
    for (guint i = 0; i < G_N_ELEMENTS(machine_options); i++)
        if (strcmp(machine_options[i].name, name) == 0)
            return &machine_options[i];
    for (guint i = 0; i < G_N_ELEMENTS(plan_options); i++)
        if (strcmp(plan_options[i].name, name) == 0)
            return &plan_options[i];
    return NULL;
}

gboolean
cli_inputs_is_given(const CliInputs *in, const char *name)
{
    for (guint i = 0; i < in->given->len; i++)
        if (strcmp(g_array_index(in->given, const CliOption *, i)->name, name) == 0)
            return TRUE;
    return FALSE;
}

gboolean
cli_inputs_is_axis(const CliInputs *in, const char *name)
{
    for (guint i = 0; in->axes != NULL && i < in->axes->len; i++)
        if (strcmp(((CliAxis *)in->axes->pdata[i])->option->name, name) == 0)
            return TRUE;
    return FALSE;
}

static void
remember(CliInputs *in, const CliOption *option)
{
    if (!cli_inputs_is_given(in, option->name))
        g_array_append_val(in->given, option);
}

static void
count_store(CliInputs *in, const CliOption *option, gint64 value)
{
    *(gint64 *)G_STRUCT_MEMBER_P(in, option->offset) = value;
    remember(in, option);
}

static void
text_store(CliInputs *in, const CliOption *option, const char *text)
{
    char **field = &G_STRUCT_MEMBER(char *, in, option->offset);
    g_free(*field);
    *field = g_strdup(text);
    remember(in, option);
}

void
cli_inputs_set_point(CliInputs *in, const CliAxis *axis, guint i)
{
    gint64 value = g_array_index(axis->values, gint64, i);
    if (axis->names != NULL)
        text_store(in, axis->option, axis->names->pdata[value]);
    else
        count_store(in, axis->option, value);
}

/* An axis replaces what the option said before. */
static gboolean
axis_add(CliInputs *in, const CliOption *option, const char *text, GError **error)
{
    CliAxis *axis = cli_axis_parse(option, text, error);
    if (axis == NULL)
        return FALSE;
    for (guint i = 0; i < in->axes->len; i++) {
        if (((CliAxis *)in->axes->pdata[i])->option == option) {
            g_ptr_array_remove_index(in->axes, i);
            break;
        }
    }
    g_ptr_array_add(in->axes, axis);
    return TRUE;
}

static gboolean
count_set(CliInputs *in, const CliOption *option, const char *name, const char *text,
          GError **error)
{
    gboolean range = strchr(text, ',') != NULL || strstr(text, "..") != NULL;
    if (range && in->axes != NULL)
        return axis_add(in, option, text, error);
    gint64 value;
    if (!cli_parse_count(name, text, option->min, option->max, &value, error))
        return FALSE;
    count_store(in, option, value);
    return TRUE;
}

static gboolean
text_set(CliInputs *in, const CliOption *option, const char *name, const char *text, GError **error)
{
    if (text[0] == '\0') {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: is empty; write %s %s", name, name,
                    option->argument);
        return FALSE;
    }
    if (in->axes != NULL && strcmp(option->name, "schedule") == 0 && strchr(text, ',') != NULL)
        return axis_add(in, option, text, error);
    text_store(in, option, text);
    return TRUE;
}

static gboolean
set_add(CliInputs *in, const char *name, const char *text, GError **error)
{
    const char *equals = strchr(text, '=');
    const char *dot = strchr(text, '.');
    if (equals == NULL || dot == NULL || dot > equals || dot == text || dot + 1 == equals) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: '%s' is not SECTION.KEY=VALUE; write for example %s gpu.memory=40GB", name,
                    text, name);
        return FALSE;
    }
    g_ptr_array_add(in->sets, g_strdup(text));
    return TRUE;
}

/* GOptionArgFunc of all options here; `name` has its dashes. */
static gboolean
option_set(const char *name, const char *text, gpointer user, GError **error)
{
    CliInputs *in = user;
    const char *bare = name + strspn(name, "-");
    if (strcmp(bare, "set") == 0)
        return set_add(in, name, text, error);
    gboolean no = g_str_has_prefix(bare, "no-");
    const CliOption *option = option_find(no ? bare + 3 : bare);
    g_assert(option != NULL);
    gboolean ok = TRUE;
    switch (option->type) {
    case CLI_OPTION_COUNT:
        return count_set(in, option, name, text, error);
    case CLI_OPTION_FLAG:
        G_STRUCT_MEMBER(gboolean, in, option->offset) = !no;
        break;
    case CLI_OPTION_CHOICE:
        ok = cli_parse_choice(name, text, option->choices,
                              &G_STRUCT_MEMBER(guint, in, option->offset), error);
        break;
    case CLI_OPTION_NUMBER:
        ok = cli_parse_number(name, text, &G_STRUCT_MEMBER(double, in, option->offset), error);
        break;
    case CLI_OPTION_TEXT:
        ok = text_set(in, option, name, text, error);
        break;
    }
    if (ok)
        remember(in, option);
    return ok;
}

static GOptionEntry
entry_of(const char *name, const char *argument, const char *what, int flags)
{
    return (GOptionEntry){name,
                          0,
                          flags | G_OPTION_FLAG_NOALIAS,
                          G_OPTION_ARG_CALLBACK,
                          (gpointer)(GOptionArgFunc)option_set,
                          what,
                          argument};
}

static const char *
intern_no(const char *name)
{
    g_autofree char *no = g_strdup_printf("no-%s", name);
    return g_intern_string(no);
}

static GOptionGroup *
group_of(CliInputs *in, const char *name, const char *title, const CliOption *options, guint n)
{
    g_autofree char *show = g_strdup_printf("Show the options of %s", name);
    GOptionGroup *group = g_option_group_new(name, title, show, in, NULL);
    for (guint i = 0; i < n; i++) {
        gboolean flag = options[i].type == CLI_OPTION_FLAG;
        GOptionEntry entries[3] = {entry_of(options[i].name, options[i].argument, options[i].what,
                                            flag ? G_OPTION_FLAG_NO_ARG : G_OPTION_FLAG_FILENAME)};
        /* The group keeps a copy of the entry, not of its name. */
        if (flag)
            entries[1] =
                entry_of(intern_no(options[i].name), NULL, "... or not", G_OPTION_FLAG_NO_ARG);
        g_option_group_add_entries(group, entries);
    }
    return group;
}

GOptionGroup *
cli_inputs_machine_group(CliInputs *in)
{
    GOptionGroup *group = group_of(in, "machine", "Model and system:", machine_options,
                                   G_N_ELEMENTS(machine_options));
    GOptionEntry set[2] = {entry_of("set", "SECTION.KEY=VALUE",
                                    "Override a key of the system, or of the model as model.KEY",
                                    G_OPTION_FLAG_FILENAME)};
    g_option_group_add_entries(group, set);
    return group;
}

GOptionGroup *
cli_inputs_plan_group(CliInputs *in)
{
    return group_of(in, "plan", "Plan:", plan_options, G_N_ELEMENTS(plan_options));
}

void
cli_inputs_print_choices(const CliInputs *in, const PlanSpec *resolved, GString *out)
{
    g_string_append_printf(out, " \\\n  --flops %s --ranks %s", conventions[in->flops],
                           rank_choices[in->ranks]);
    g_string_append_printf(out, " \\\n  --recompute %s --attention %s --p2p %s",
                           recomputes[resolved->recompute], attentions[resolved->attention],
                           p2ps[resolved->p2p]);
    g_string_append_printf(out, " \\\n  --optimizer-barrier %s",
                           report_barrier_names[resolved->optimizer_barrier]);
    g_string_append_printf(out, " \\\n  --dtype %s --grad-dtype %s --dropout %s",
                           dtypes[resolved->dtype], gradients[resolved->gradient_fp32 ? 0 : 1],
                           dropouts[resolved->dropout + 1]);
}
