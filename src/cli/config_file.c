/* From the file of --config to options below those that were typed. */
#include "config.h"

#include "cli/config_file.h"

#include "cli/case.h"
#include "cli/command.h"
#include "conf/complaint.h"

#include <string.h>

static const CliConfigFormat *const formats[] = {&cli_config_deepspeed, &cli_config_neox,
                                                 &cli_config_nanotron, &cli_config_torchtitan};

void
cli_saying_free(CliSaying *saying)
{
    if (saying == NULL)
        return;
    g_free(saying->option);
    g_free(saying->value);
    g_free(saying->place);
    g_free(saying);
}

/* --- whose file it is --------------------------------------------------------------------------- */

static gboolean
has_mark(const CliConfigFormat *format, const ConfDocument *document)
{
    for (guint i = 0; format->marks[i] != NULL; i++)
        if (json_object_has_member(conf_document_root(document), format->marks[i]))
            return TRUE;
    return FALSE;
}

static const CliConfigFormat *
format_of(const ConfDocument *document, GError **error)
{
    const ConfSyntax *syntax = conf_document_syntax(document);
    g_autoptr(GString) known = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
        if (formats[i]->syntax != syntax)
            continue;
        if (has_mark(formats[i], document))
            return formats[i];
        g_autofree char *marks = g_strjoinv(", ", (char **)formats[i]->marks);
        g_string_append_printf(known, "%s%s (with one of %s)", known->len > 0 ? " or " : "",
                               formats[i]->name, marks);
    }
    gboolean model = json_object_has_member(conf_document_root(document), "model_type");
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: is no configuration in %s of %s%s",
                conf_document_name(document), syntax->name, known->str,
                model ? "; it is a model's: write --model" : "");
    return NULL;
}

/* --- below what was typed ------------------------------------------------------------------------ */

/* What is typed also decides these, so that the file's word on them would contradict it. */
static const struct {
    const char *typed, *said;
} deciders[] = {
    {"gpus", "dp"},
    {"nodes", "dp"},
    {"hostfile", "dp"},
    {"dp", "shard-size"},
    {"zero", "shard-size"},
    {"fsdp", "zero"},
    {"fsdp", "framework"},
    {"global-batch-size", "microbatches"},
    {"microbatches", "global-batch-size"},
    {"vpp", "schedule"},
    {"schedule", "vpp"},
    {"vpp", "stage-layers"},
    {"schedule", "stage-layers"},
    {"first-stage-layers", "stage-layers"},
    {"last-stage-layers", "stage-layers"},
    {"pipeline-layout", "stage-layers"},
    {"recompute", "recompute-method"},
    {"recompute", "recompute-layers"},
    {"recompute", "recompute-modules"},
    {"stage-layers", "account-for-embedding"},
    {"stage-layers", "account-for-loss"},
    {"pipeline-layout", "account-for-embedding"},
    {"pipeline-layout", "account-for-loss"},
};

gboolean
cli_config_is_decided(const CliConfig *c, const char *option)
{
    const char *bare = g_str_has_prefix(option, "no-") ? option + 3 : option;
    if (cli_config_is_typed(c, bare))
        return TRUE;
    for (guint i = 0; i < G_N_ELEMENTS(deciders); i++)
        if (strcmp(deciders[i].said, bare) == 0 && cli_config_is_typed(c, deciders[i].typed))
            return TRUE;
    return FALSE;
}

/* What of the sayings counts is as if it had not been put. */
static void
take_back(CliInputs *in, const GPtrArray *sayings)
{
    for (guint i = 0; i < sayings->len; i++) {
        const CliSaying *s = sayings->pdata[i];
        const char *bare = g_str_has_prefix(s->option, "no-") ? s->option + 3 : s->option;
        if (s->counts)
            cli_inputs_unset(in, bare);
    }
}

static void
forget(CliInputs *in)
{
    if (in->said != NULL)
        take_back(in, in->said);
    g_clear_pointer(&in->said, g_ptr_array_unref);
    g_clear_pointer(&in->config_model, g_free);
    g_clear_pointer(&in->config_name, g_free);
}

/* First all that was typed is looked at, then the file's word is put: one saying must not silence another. */
static gboolean
put(const CliConfig *c, CliInputs *in, GError **error)
{
    for (guint i = 0; i < c->sayings->len; i++) {
        CliSaying *s = c->sayings->pdata[i];
        s->counts = !cli_config_is_decided(c, s->option);
    }
    for (guint i = 0; i < c->sayings->len; i++) {
        const CliSaying *s = c->sayings->pdata[i];
        if (s->counts && !cli_inputs_set(in, s->option, s->value, error)) {
            g_prefix_error(error, "%s: ", s->place);
            take_back(in, c->sayings);
            return FALSE;
        }
    }
    return TRUE;
}

/* "x/20B.yml" is 20B. */
static char *
name_of(const char *path)
{
    char *base = g_path_get_basename(path);
    char *dot = strrchr(base, '.');
    if (dot != NULL && dot > base)
        *dot = '\0';
    return base;
}

static void
keep_model(const CliConfig *c, CliInputs *in)
{
    if (c->model == NULL || in->model != NULL)
        return;
    g_autoptr(JsonNode) root = json_node_init_object(json_node_alloc(), c->model);
    in->config_model = json_to_string(root, FALSE);
    in->config_name = name_of(conf_document_name(c->document));
}

/* GPUs as far as they were typed, or are the system's. */
static void
count_gpus(CliConfig *c, const ClusterSystem *system)
{
    static const char *const ways[] = {"gpus", "nodes", "dp", "hostfile"};
    for (guint i = 0; i < G_N_ELEMENTS(ways); i++)
        c->has_gpus |= cli_config_is_typed(c, ways[i]);
    PlanSpec spec;
    g_autoptr(GError) later = NULL; /* what is wrong with it is told where it is used */
    if (cli_inputs_spec(c->in, system, &spec, &later))
        c->gpus = spec.gpus;
    c->has_gpus |= c->gpus > 0;
}

static gboolean
says(const CliConfig *c, const char *option)
{
    for (guint i = 0; i < c->sayings->len; i++)
        if (strcmp(((const CliSaying *)c->sayings->pdata[i])->option, option) == 0)
            return TRUE;
    return FALSE;
}

static void
add_warning(GPtrArray *warnings, const char *warning)
{
    if (!g_ptr_array_find_with_equal_func(warnings, warning, g_str_equal, NULL))
        g_ptr_array_add(warnings, g_strdup(warning));
}

gboolean
cli_config_put(CliInputs *in, const ClusterSystem *system, const ConfDocument *document,
               GPtrArray *warnings, GError **error)
{
    g_autoptr(GPtrArray) sayings = g_ptr_array_new_with_free_func((GDestroyNotify)cli_saying_free);
    g_autoptr(GPtrArray) own = g_ptr_array_new_with_free_func(g_free);
    CliConfig c = {.document = document,
                   .format = format_of(document, error),
                   .in = in,
                   .sayings = sayings,
                   .warnings = own};
    forget(in);
    if (c.format == NULL)
        return FALSE;
    count_gpus(&c, system);
    const GPtrArray *remarks = conf_document_remarks(document);
    for (guint i = 0; i < remarks->len; i++)
        add_warning(warnings, remarks->pdata[i]);
    gboolean ok = cli_config_read_keys(&c, error) && c.format->read(&c, error);
    if (ok && !c.has_gpus && !says(&c, "dp"))
        cli_config_warn(&c, NULL, "says no number of GPUs; --dp 1 is taken; write --gpus");
    for (guint i = 0; i < own->len; i++)
        add_warning(warnings, own->pdata[i]);
    if (ok)
        ok = put(&c, in, error);
    if (ok) {
        keep_model(&c, in);
        in->said = g_steal_pointer(&sayings);
    }
    g_clear_pointer(&c.model, json_object_unref);
    return ok;
}

void
cli_config_print_warnings(const GPtrArray *warnings)
{
    for (guint i = 0; i < warnings->len; i++)
        g_printerr("dtsim: warning: %s\n", (const char *)warnings->pdata[i]);
}

gboolean
cli_config_apply(CliInputs *in, const ClusterSystem *system, GError **error)
{
    if (in->config == NULL)
        return TRUE;
    g_autoptr(ConfDocument) document = conf_document_load(in->config, error);
    g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
    if (document == NULL || !cli_config_put(in, system, document, warnings, error))
        return FALSE;
    cli_config_print_warnings(warnings);
    return TRUE;
}

void
cli_config_prefix_error(const CliInputs *in, GError **error)
{
    for (guint i = 0; in->said != NULL && i < in->said->len && error != NULL; i++) {
        const CliSaying *s = in->said->pdata[i];
        g_autofree char *option = g_strdup_printf("--%s:", s->option);
        g_autofree char *file = g_strdup_printf("%s:", s->value);
        gboolean of_file =
            strcmp(s->option, "schedule") == 0 && g_str_has_prefix((*error)->message, file);
        if (!s->counts || (!of_file && !g_str_has_prefix((*error)->message, option)))
            continue;
        g_prefix_error(error, "%s: ", s->place);
        return;
    }
}
