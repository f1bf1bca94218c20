/* Everything resolved, as a shell command that gives the same result. */
#include "config.h"

#include "cli/inputs.h"

#include <json-glib/json-glib.h>
#include <string.h>

#define G "%" G_GINT64_FORMAT

static void
append(GString *out, const char *option, const char *value)
{
    g_autofree char *quoted = g_shell_quote(value);
    gboolean plain =
        value[strcspn(value, " \t\"'$`\\&|;<>()*?[]{}#~!")] == '\0' && value[0] != '\0';
    g_string_append_printf(out, " \\\n  --%s %s", option, plain ? value : quoted);
}

/* The fewest digits that read back as this number. */
static char *
shortest(double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(text, sizeof text, "%.15g", value);
    if (g_ascii_strtod(text, NULL) != value)
        g_ascii_dtostr(text, sizeof text, value);
    return g_strdup(text);
}

static void
append_layers(GString *out, const Plan *plan)
{
    if (plan->spec.layout != NULL) {
        append(out, "pipeline-layout", plan->spec.layout);
        return;
    }
    g_autoptr(GString) layers = g_string_new(NULL);
    for (gint64 i = 0; i < plan->n_stages; i++)
        g_string_append_printf(layers, "%s" G, i > 0 ? "," : "", plan->layers[i]);
    append(out, "stage-layers", layers->str);
}

/* Said elsewhere, or in other words: the counts of every stage stand for what they follow from. */
static gboolean
is_left_out(const CliOption *option, const PlanSpec *s)
{
    static const char *const elsewhere[] = {"model",
                                            "config",
                                            "system",
                                            "gpu",
                                            "nodes",
                                            "schedule",
                                            "fsdp",
                                            "use-tp-pp-dp-mapping",
                                            "stage-layers",
                                            "pipeline-layout",
                                            "first-stage-layers",
                                            "last-stage-layers",
                                            "account-for-embedding",
                                            "account-for-loss",
                                            NULL};
    static const char *const of_full[] = {"recompute-method", "recompute-layers",
                                          "recompute-microbatches", NULL};
    gboolean of_file =
        s->schedule != NULL && strstr(s->schedule, ".csv") != NULL; /* has its order */
    return g_strv_contains(elsewhere, option->name) ||
           (of_file && strcmp(option->name, "group") == 0) ||
           (s->recompute != LLM_RECOMPUTE_FULL && g_strv_contains(of_full, option->name)) ||
           (s->recompute != LLM_RECOMPUTE_SELECTIVE &&
            strcmp(option->name, "recompute-modules") == 0);
}

static void
append_option(GString *out, const CliInputs *resolved, const CliOption *o)
{
    gpointer field = G_STRUCT_MEMBER_P(resolved, o->offset);
    g_autofree char *number = NULL;
    switch (o->type) {
    case CLI_OPTION_COUNT:
        if (*(gint64 *)field >= o->min) /* 0 of what counts from 1: none */
            g_string_append_printf(out, " \\\n  --%s " G, o->name, *(gint64 *)field);
        break;
    case CLI_OPTION_FLAG:
        g_string_append_printf(out, " \\\n  --%s%s", *(gboolean *)field ? "" : "no-", o->name);
        break;
    case CLI_OPTION_CHOICE:
        append(out, o->name, o->choices[*(guint *)field]);
        break;
    case CLI_OPTION_NUMBER:
        number = shortest(*(double *)field);
        append(out, o->name, number);
        break;
    case CLI_OPTION_TEXT:
        if (*(char **)field != NULL)
            append(out, o->name, *(char **)field);
        break;
    }
}

/* All options of the tables with their resolved values. */
static void
append_plan(GString *out, const CliInputs *in, const Plan *plan, const char *schedule)
{
    const CliOptionTable tables[] = {cli_machine_options(), cli_plan_options(),
                                     cli_sharding_options(), cli_noise_options()};
    g_autofree char *modules = plan_modules_print(plan->spec.recompute_modules);
    CliInputs resolved = *in; /* borrows its texts */
    resolved.spec = plan->spec;
    resolved.gradient = plan->spec.gradient_fp32 ? 0 : 1;
    resolved.dropout = (guint)(plan->spec.dropout + 1);
    resolved.recompute_modules = modules;
    resolved.rank_order = (char *)plan->spec.order;
    resolved.allocation = (char *)plan->spec.allocation;
    append(out, "schedule", schedule);
    append_layers(out, plan);
    for (guint t = 0; t < G_N_ELEMENTS(tables); t++)
        for (guint i = 0; i < tables[t].n; i++)
            if (!is_left_out(&tables[t].options[i], &plan->spec))
                append_option(out, &resolved, &tables[t].options[i]);
}

/* "[section]" and "key = value" lines as --set section.key=value. */
static void
append_system(GString *out, const ClusterSystem *system)
{
    g_autofree char *text = conf_keyfile_print(system->conf);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autofree char *section = g_strdup("");
    for (guint i = 0; lines[i] != NULL; i++) {
        char *line = g_strstrip(lines[i]);
        char *equals = strchr(line, '=');
        if (line[0] == '[') {
            g_free(section);
            section = g_strndup(line + 1, strcspn(line + 1, "]"));
        } else if (line[0] != '#' && equals != NULL) {
            *equals = '\0';
            g_autofree char *set =
                g_strdup_printf("%s.%s=%s", section, g_strstrip(line), g_strstrip(equals + 1));
            append(out, "set", set);
        }
    }
}

static void
append_model(GString *out, const LlmShape *shape)
{
    g_autofree char *text = llm_shape_print(shape);
    g_autoptr(JsonParser) parser = json_parser_new();
    gboolean ok = json_parser_load_from_data(parser, text, -1, NULL);
    g_assert(ok);
    JsonObject *object = json_node_get_object(json_parser_get_root(parser));
    g_autoptr(GList) keys = json_object_get_members(object);
    for (GList *l = keys; l != NULL; l = l->next) {
        JsonNode *value = json_object_get_member(object, l->data);
        if (!JSON_NODE_HOLDS_VALUE(value))
            continue;
        g_autofree char *json = json_node_get_value_type(value) == G_TYPE_DOUBLE
                                    ? shortest(json_node_get_double(value))
                                    : json_to_string(value, FALSE);
        const char *plain =
            json_node_get_value_type(value) == G_TYPE_STRING ? json_node_get_string(value) : json;
        g_autofree char *set = g_strdup_printf("model.%s=%s", (const char *)l->data, plain);
        append(out, "set", set);
    }
}

/* As comments: whose word each option was, where it was a file's. */
static void
append_sayings(GString *out, const CliInputs *in)
{
    for (guint i = 0; in->said != NULL && i < in->said->len; i++) {
        const CliSaying *s = in->said->pdata[i];
        const char *blank = s->value[0] != '\0' ? " " : "";
        if (s->counts)
            g_string_append_printf(out, "# --%s%s%s: %s\n", s->option, blank, s->value, s->place);
        else
            g_string_append_printf(out, "# not --%s%s%s of %s: what was typed decides\n", s->option,
                                   blank, s->value, s->place);
    }
}

char *
cli_inputs_print(const CliInputs *in, const Plan *plan, const char *schedule)
{
    GString *out = g_string_new("# dtsim " PACKAGE_VERSION ": everything resolved; a shell command "
                                "that gives the same result\n");
    append_sayings(out, in);
    g_string_append(out, "dtsim run");
    if (in->model == NULL && in->config_model != NULL)
        append(out, "config",
               in->config); /* for its model: the plan in it is below all that follows */
    else
        append(out, "model", cli_inputs_model_name(in));
    append(out, "system", in->system != NULL ? in->system : CLI_DEFAULT_SYSTEM);
    append_plan(out, in, plan, schedule);
    append_system(out, plan->system);
    append_model(out, plan->shape);
    g_string_append_c(out, '\n');
    return g_string_free(out, FALSE);
}
