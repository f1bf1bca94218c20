/* Options of model, system and plan as they are given. */
#include "config.h"

#include "cli/inputs.h"

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/noise.h"
#include "cluster/description.h"
#include "conf/complaint.h"

#include <string.h>

CliInputs *
cli_inputs_new(void)
{
    CliInputs *in = g_new0(CliInputs, 1);
    in->spec = plan_spec_default();
    in->gradient = in->spec.gradient_fp32 ? 0 : 1;
    in->dropout = (guint)(in->spec.dropout + 1);
    in->noise = step_noise_new();
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
    g_free(in->config);
    g_free(in->config_model);
    g_free(in->config_name);
    g_clear_pointer(&in->said, g_ptr_array_unref);
    g_free(in->system);
    g_free(in->gpu);
    g_free(in->schedule);
    g_free(in->placement);
    g_free(in->stage_layers);
    g_free(in->layout);
    g_free(in->recompute_modules);
    g_free(in->recompute_stages);
    g_free(in->expert_histogram);
    g_free(in->rank_order);
    g_free(in->allocation);
    g_free(in->background);
    g_free(in->hostfile);
    g_free(in->hostfile_text);
    g_free(in->gpu_spread);
    g_free(in->jitter);
    g_free(in->slow);
    g_free(in->flap);
    g_free(in->daemon);
    step_noise_free(in->noise);
    g_clear_pointer(&in->sets, g_ptr_array_unref);
    g_clear_pointer(&in->given, g_array_unref);
    g_clear_pointer(&in->axes, g_ptr_array_unref);
    g_free(in);
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

/* Of an option that may be repeated: behind what was said before. */
static void
text_add(CliInputs *in, const CliOption *option, const char *text)
{
    const char *before = G_STRUCT_MEMBER(char *, in, option->offset);
    g_autofree char *both = before != NULL && cli_noise_is_repeatable(option)
                                ? g_strconcat(before, ",", text, NULL)
                                : g_strdup(text);
    text_store(in, option, both);
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

/* --gpu stands for its system and for what differs from that, which --set may change in turn. */
static gboolean
gpu_set(CliInputs *in, const CliOption *option, const char *text, GError **error)
{
    const ClusterDescribedGpu *gpu = cluster_described_gpu_find(text);
    if (gpu == NULL) {
        g_autofree char *names = cluster_described_gpu_names();
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--gpu: '%s' is none; write one of %s", text,
                    names);
        return FALSE;
    }
    if (in->gpu != NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--gpu: %s and %s; write one of the two",
                    in->gpu, text);
        return FALSE;
    }
    for (guint i = 0; gpu->set[i] != NULL; i++)
        g_ptr_array_insert(in->sets, (int)i, g_strdup(gpu->set[i]));
    text_store(in, option, text);
    in->system = g_strdup(gpu->base);
    return TRUE;
}

static gboolean
is_one_machine(const CliInputs *in, const char *name, GError **error)
{
    const char *other = strcmp(name, "gpu") == 0 ? "system" : "gpu";
    if (!cli_inputs_is_given(in, other))
        return TRUE;
    g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                        "--gpu: it names the system, and so does --system; write one of the two");
    return FALSE;
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
    if (strcmp(option->name, "hostfile") == 0) {
        g_autofree char *content = conf_read_text(text, NULL, error);
        if (content == NULL)
            return FALSE;
        g_free(in->hostfile_text);
        in->hostfile_text = g_steal_pointer(&content);
    }
    gboolean gpu = strcmp(option->name, "gpu") == 0;
    if ((gpu || strcmp(option->name, "system") == 0) && !is_one_machine(in, option->name, error))
        return FALSE;
    if (gpu)
        return gpu_set(in, option, text, error);
    if (!cli_noise_set(in, option, text, error))
        return FALSE;
    text_add(in, option, text);
    return TRUE;
}

/* GOptionArgFunc of all options here; `name` has its dashes. */
static gboolean
option_set(const char *name, const char *text, gpointer user, GError **error)
{
    CliInputs *in = user;
    const char *bare = name + strspn(name, "-");
    if (strcmp(bare, "set") == 0)
        return cli_parse_set(name, text, in->sets, error);
    if (strcmp(bare, "nccl") == 0) {
        g_ptr_array_add(in->sets, g_strdup_printf("nccl.version=%s", text));
        return TRUE;
    }
    gboolean no = g_str_has_prefix(bare, "no-");
    const CliOption *option = cli_option_find(no ? bare + 3 : bare);
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

gboolean
cli_inputs_set(CliInputs *in, const char *option, const char *value, GError **error)
{
    g_autofree char *name = g_strconcat("--", option, NULL);
    return option_set(name, value, in, error);
}

void
cli_inputs_unset(CliInputs *in, const char *name)
{
    const CliOption *option = cli_option_find(name);
    g_autoptr(CliInputs) fresh = cli_inputs_new();
    gpointer field = G_STRUCT_MEMBER_P(in, option->offset);
    gconstpointer before = G_STRUCT_MEMBER_P(fresh, option->offset);
    switch (option->type) {
    case CLI_OPTION_COUNT:
        *(gint64 *)field = *(const gint64 *)before;
        break;
    case CLI_OPTION_FLAG:
        *(gboolean *)field = *(const gboolean *)before;
        break;
    case CLI_OPTION_CHOICE:
        *(guint *)field = *(const guint *)before;
        break;
    case CLI_OPTION_NUMBER:
        *(double *)field = *(const double *)before;
        break;
    case CLI_OPTION_TEXT:
        g_clear_pointer((char **)field, g_free);
        break;
    }
    for (guint i = 0; i < in->given->len; i++)
        if (g_array_index(in->given, const CliOption *, i) == option)
            g_array_remove_index(in->given, i--);
}

const char *
cli_inputs_model_name(const CliInputs *in)
{
    return in->model != NULL         ? in->model
           : in->config_name != NULL ? in->config_name
                                     : CLI_DEFAULT_MODEL;
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

static void
add_entries(GOptionGroup *group, CliOptionTable table)
{
    for (guint i = 0; i < table.n; i++) {
        const CliOption *o = &table.options[i];
        gboolean flag = o->type == CLI_OPTION_FLAG;
        GOptionEntry entries[3] = {entry_of(o->name, o->argument, o->what,
                                            flag ? G_OPTION_FLAG_NO_ARG : G_OPTION_FLAG_FILENAME)};
        /* The group keeps a copy of the entry, not of its name. */
        if (flag)
            entries[1] = entry_of(intern_no(o->name), NULL, "... or not", G_OPTION_FLAG_NO_ARG);
        g_option_group_add_entries(group, entries);
    }
}

static GOptionGroup *
group_of(CliInputs *in, const char *name, const char *title)
{
    g_autofree char *show = g_strdup_printf("Show the options of %s", name);
    return g_option_group_new(name, title, show, in, NULL);
}

GOptionGroup *
cli_inputs_machine_group(CliInputs *in)
{
    GOptionGroup *group = group_of(in, "machine", "Model and system:");
    add_entries(group, cli_machine_options());
    add_entries(group, cli_noise_options());
    GOptionEntry set[2] = {entry_of("set", "SECTION.KEY=VALUE",
                                    "Override a key of the system, or of the model as model.KEY",
                                    G_OPTION_FLAG_FILENAME)};
    g_option_group_add_entries(group, set);
    GOptionEntry nccl[2] = {
        entry_of("nccl", "VERSION", "Of NCCL, whose choices are followed (--set nccl.version)", 0)};
    g_option_group_add_entries(group, nccl);
    return group;
}

GOptionGroup *
cli_inputs_plan_group(CliInputs *in)
{
    GOptionGroup *group = group_of(in, "plan", "Plan:");
    add_entries(group, cli_plan_options());
    add_entries(group, cli_sharding_options());
    return group;
}

/* --- what was given, over the framework's defaults ------------------------------------------------ */

/* The part of the spec that an option writes; 0: it writes elsewhere. */
static gsize
size_in_spec(const CliOption *option)
{
    gsize begin = G_STRUCT_OFFSET(CliInputs, spec);
    if (option->offset < begin || option->offset >= begin + sizeof(PlanSpec))
        return 0;
    switch (option->type) {
    case CLI_OPTION_COUNT:
        return sizeof(gint64);
    case CLI_OPTION_FLAG:
        return sizeof(gboolean);
    case CLI_OPTION_CHOICE:
        return sizeof(guint);
    case CLI_OPTION_NUMBER:
        return sizeof(double);
    case CLI_OPTION_TEXT:
        break;
    }
    return 0;
}

static gboolean
framework_of(const CliInputs *in, PlanFramework *ret_framework, GError **error)
{
    gboolean named = cli_inputs_is_given(in, "framework");
    *ret_framework = in->fsdp && !named ? PLAN_FSDP : in->spec.framework;
    if (!in->fsdp || !cli_inputs_is_given(in, "zero") || in->spec.zero == 3)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "--fsdp: it is ZeRO stage 3, and --zero is %" G_GINT64_FORMAT
                "; write one of the two",
                in->spec.zero);
    return FALSE;
}

gboolean
cli_inputs_plan(const CliInputs *in, PlanSpec *ret_spec, GError **error)
{
    PlanFramework framework;
    if (!framework_of(in, &framework, error))
        return FALSE;
    PlanSpec spec = plan_spec_for(framework);
    if (in->fsdp)
        spec.zero = 3;
    for (guint i = 0; i < in->given->len; i++) {
        const CliOption *o = g_array_index(in->given, const CliOption *, i);
        gsize size = size_in_spec(o);
        if (size > 0)
            memcpy(G_STRUCT_MEMBER_P(&spec, o->offset - G_STRUCT_OFFSET(CliInputs, spec)),
                   G_STRUCT_MEMBER_P(in, o->offset), size);
    }
    spec.framework = framework;
    if (cli_inputs_is_given(in, "grad-dtype"))
        spec.gradient_fp32 = in->gradient == 0;
    else if (spec.dtype == CLUSTER_FP16 && framework == PLAN_MEGATRON)
        spec.gradient_fp32 =
            FALSE; /* accumulate_allreduce_grads_in_fp32 turns itself on for bf16 alone */
    if (cli_inputs_is_given(in, "dropout"))
        spec.dropout = (int)in->dropout - 1;
    if (in->recompute_modules != NULL) {
        if (!plan_modules_parse(in->recompute_modules, &spec.recompute_modules, error))
            return FALSE;
        if (spec.recompute != LLM_RECOMPUTE_SELECTIVE) {
            g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                                "--recompute-modules: only selective recompute has modules; write "
                                "--recompute selective");
            return FALSE;
        }
    }
    spec.stage_layers = in->stage_layers;
    spec.layout = in->layout;
    spec.recompute_stages = in->recompute_stages;
    spec.expert_histogram = in->expert_histogram;
    spec.allocation = in->allocation;
    spec.hostfile = in->hostfile_text;
    spec.hostfile_name = in->hostfile;
    spec.order = in->rank_order;
    if (in->tp_pp_dp && in->rank_order != NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--use-tp-pp-dp-mapping: it is --rank-order tp-cp-ep-pp-dp, and --rank-order "
                    "is %s; write one of the two",
                    in->rank_order);
        return FALSE;
    }
    if (in->tp_pp_dp)
        spec.order = "tp-cp-ep-pp-dp";
    *ret_spec = spec;
    return TRUE;
}
