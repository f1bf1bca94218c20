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

static void
append_count(GString *out, const char *option, gint64 value)
{
    g_string_append_printf(out, " \\\n  --%s " G, option, value);
}

static void
append_flag(GString *out, const char *option, gboolean value)
{
    g_string_append_printf(out, " \\\n  --%s%s", value ? "" : "no-", option);
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

static void
append_plan(GString *out, const CliInputs *in, const Plan *plan, const char *schedule)
{
    const PlanSpec *s = &plan->spec;
    append_count(out, "gpus", plan->gpus);
    append_count(out, "tp", s->tp);
    append_count(out, "pp", s->pp);
    append_count(out, "dp", s->dp);
    append_count(out, "cp", s->cp);
    append_count(out, "ep", s->ep);
    append_count(out, "vpp", s->vpp);
    append_count(out, "micro-batch-size", s->micro_batch);
    append_count(out, "global-batch-size", s->global_batch);
    append_count(out, "microbatches", s->microbatches);
    append_count(out, "seq-length", s->seq);
    append(out, "schedule", schedule);
    if (in->placement != NULL)
        append(out, "placement", in->placement);
    if (s->group > 0)
        append_count(out, "group", s->group);
    append_count(out, "zero", s->zero);
    if (s->bucket_elements > 0)
        append_count(out, "bucket-size", s->bucket_elements);
    char clip[G_ASCII_DTOSTR_BUF_SIZE];
    append(out, "clip", g_ascii_dtostr(clip, sizeof clip, s->clip));
    append_layers(out, plan);
    cli_inputs_print_choices(in, s, out);
    append_flag(out, "sequence-parallel", s->sequence_parallel);
    append_flag(out, "p2p-sync", s->p2p_sync);
    append_flag(out, "scatter-gather", s->scatter_gather);
    append_flag(out, "deepspeed-pipeline", s->deepspeed_pipeline);
    append_flag(out, "overlap-grad-reduce", s->overlap_grad_reduce);
    append_flag(out, "overlap-param-gather", s->overlap_param_gather);
    append_flag(out, "align-grad-reduce", s->align_grad_reduce);
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

char *
cli_inputs_print(const CliInputs *in, const Plan *plan, const char *schedule)
{
    GString *out = g_string_new("# dtsim " PACKAGE_VERSION ": everything resolved; a shell command "
                                "that gives the same result\ndtsim run");
    append(out, "model", in->model != NULL ? in->model : CLI_DEFAULT_MODEL);
    append(out, "system", in->system != NULL ? in->system : CLI_DEFAULT_SYSTEM);
    append_plan(out, in, plan, schedule);
    append_system(out, plan->system);
    append_model(out, plan->shape);
    g_string_append_c(out, '\n');
    return g_string_free(out, FALSE);
}
