/* dtsim topology: the links of a machine, or a node from NCCL's or nvidia-smi's file as a system.conf. */
#include "config.h"

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/format.h"
#include "cli/output.h"
#include "cluster/description.h"
#include "conf/complaint.h"
#include "report/topology.h"

#include <string.h>

#define DEFAULT_SYSTEM "dgx-a100-80g"
#define MAX_NODES (1 << 16)

typedef struct {
    CliFormat format;
    char *system;
    gint64 nodes;
    GPtrArray *sets; /* of char* */
} Wish;

static gboolean
nodes_set(const char *name, const char *text, gpointer user, GError **error)
{
    return cli_parse_count(name, text, 1, MAX_NODES, &((Wish *)user)->nodes, error);
}

static gboolean
set_set(const char *name, const char *text, gpointer user, GError **error)
{
    return cli_parse_set(name, text, ((Wish *)user)->sets, error);
}

static GOptionGroup *
topology_group(Wish *w)
{
    const GOptionEntry entries[] = {
        {"system", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_FILENAME, &w->system,
         "Machine (default: " DEFAULT_SYSTEM "; of a file: that with such GPUs)", "NAME|DIR"},
        {"nodes", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_CALLBACK,
         (gpointer)(GOptionArgFunc)nodes_set,
         "How many of its nodes (default: those described, or 1)", "N"},
        {"set", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_CALLBACK, (gpointer)(GOptionArgFunc)set_set,
         "Override a key of the system", "SECTION.KEY=VALUE"},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    GOptionGroup *group =
        g_option_group_new("topology", "Topology:", "Show the options of topology", w, NULL);
    g_option_group_add_entries(group, entries);
    return group;
}

static gboolean
run_machine(const Wish *w, GError **error)
{
    g_ptr_array_add(w->sets, NULL);
    g_autoptr(ClusterSystem) system = cluster_system_load(
        w->system != NULL ? w->system : DEFAULT_SYSTEM, (const char *const *)w->sets->pdata, error);
    if (system == NULL)
        return FALSE;
    if (w->nodes > 0 && system->described_nodes > 0 && w->nodes != system->described_nodes) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--nodes: '%s' says %u; leave --nodes out, or change the description",
                    w->system, system->described_nodes);
        return FALSE;
    }
    guint nodes = w->nodes > 0 ? (guint)w->nodes : MAX(system->described_nodes, 1);
    g_autoptr(ClusterTopology) topology = cluster_topology_new(system, nodes, error);
    if (topology == NULL)
        return FALSE;
    g_autoptr(GString) out = g_string_new(NULL);
    report_topology(topology, cli_format_name(&w->format), out);
    return cli_output_write(w->format.output, out, error);
}

static gboolean
is_set(const GPtrArray *set, const ConfKey *key)
{
    g_autofree char *name = g_strdup_printf("%s.%s=", key->section, key->key);
    for (guint i = 0; i < set->len; i++)
        if (g_str_has_prefix(set->pdata[i], name))
            return TRUE;
    return FALSE;
}

/* No base: the keys that a system.conf must have and nothing says. */
static gboolean
complain_of_keys(const char *file, const GPtrArray *set, GError **error)
{
    g_autoptr(GString) missing = g_string_new(NULL);
    const char *section = "";
    for (const ConfKey *key = cluster_system_keys(); key->section != NULL; key++) {
        if (key->fallback != NULL || is_set(set, key))
            continue;
        if (strcmp(section, key->section) != 0)
            g_string_append_printf(missing, "%s[%s] ", missing->len > 0 ? "; " : "", key->section);
        else
            g_string_append(missing, ", ");
        section = key->section;
        g_string_append(missing, key->key);
    }
    g_set_error(
        error, CLI_ERROR, CLI_ERROR_USAGE,
        "%s: no shipped system has such GPUs, so these keys are missing: %s; write --system "
        "NAME of one that is like it",
        file, missing->str);
    return FALSE;
}

/* A complete system.conf: the base's with what the file says and what the user sets. */
static gboolean
write_conf(const Wish *w, const char *file, const char *base, const char *const *gpu_set,
           const ClusterTopoConf *conf, GError **error)
{
    g_autoptr(GPtrArray) set = g_ptr_array_new();
    for (guint i = 0; gpu_set != NULL && gpu_set[i] != NULL; i++)
        g_ptr_array_add(set, (gpointer)gpu_set[i]);
    g_ptr_array_add(set, (gpointer) "node.hosts=1"); /* the base may be a rack of them */
    for (guint i = 0; i < conf->set->len; i++)
        g_ptr_array_add(set, conf->set->pdata[i]);
    for (guint i = 0; i < w->sets->len; i++)
        g_ptr_array_add(set, w->sets->pdata[i]);
    if (conf->refusal != NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: %s; leave -o out", file, conf->refusal);
        return FALSE;
    }
    if (base == NULL)
        return complain_of_keys(file, set, error);
    g_ptr_array_add(set, NULL);
    g_autoptr(ClusterSystem) system =
        cluster_system_load(base, (const char *const *)set->pdata, error);
    if (system == NULL) {
        g_prefix_error(error, "%s: ", file);
        return FALSE;
    }
    g_autofree char *text = conf_keyfile_print(system->conf), *name = g_path_get_basename(file);
    g_strdelimit(name, "\r\n", ' ');
    g_autoptr(GString) out = g_string_new(NULL);
    g_string_append_printf(out, "# The node of %s; all that it does not say is of %s.\n", name,
                           base);
    for (guint i = 0; i < conf->notes->len; i++)
        g_string_append_printf(out, "# %s\n", (const char *)conf->notes->pdata[i]);
    g_string_append_printf(out, "\n%s", text);
    return cli_output_write(w->format.output, out, error);
}

static gboolean
check_wish(const Wish *w, GError **error)
{
    g_autofree char *name = w->format.output != NULL ? g_path_get_basename(w->format.output) : NULL;
    if (w->nodes > 0)
        g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                            "--nodes: a file is of one node; leave it out");
    else if (w->sets->len > 0 && name == NULL)
        g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                            "--set: changes what -o writes, and nothing is written; add -o "
                            "mine/system.conf, or leave it out");
    else if (name != NULL && strcmp(name, "system.conf") != 0 && strcmp(w->format.output, "-") != 0)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--output: --system reads no file of the name '%s'; write for example -o "
                    "mine/system.conf",
                    name);
    else
        return TRUE;
    return FALSE;
}

static gboolean
run_file(const Wish *w, const char *file, GError **error)
{
    if (!check_wish(w, error))
        return FALSE;
    g_autofree char *text = conf_read_text(file, NULL, error);
    g_autoptr(ClusterTopoNode) node = text != NULL ? cluster_topo_parse(file, text, error) : NULL;
    if (node == NULL)
        return FALSE;
    const char *word = cluster_topo_gpu(node).word, *base = w->system;
    const ClusterDescribedGpu *gpu =
        base == NULL && word != NULL ? cluster_described_gpu_find(word) : NULL;
    if (gpu != NULL)
        base = gpu->base;
    g_autoptr(ClusterSystem) system =
        base != NULL ? cluster_system_load(base, gpu != NULL ? gpu->set : NULL, error) : NULL;
    if (base != NULL && system == NULL)
        return FALSE;
    g_autoptr(ClusterTopoConf) conf = cluster_topo_conf_new(node, system);
    if (w->format.output != NULL &&
        !write_conf(w, file, base, gpu != NULL ? gpu->set : NULL, conf, error))
        return FALSE;
    if (w->format.output != NULL && strcmp(w->format.output, "-") == 0)
        return TRUE;
    const ReportTopoNode report = {file, node, conf, base};
    g_autoptr(GString) out = g_string_new(NULL);
    report_topology_node(&report, cli_format_name(&w->format), out);
    return cli_output_write(NULL, out, error);
}

static int
topology_run(int argc, char **argv, GError **error)
{
    Wish w = {.sets = g_ptr_array_new_with_free_func(g_free)};
    CliArguments arguments = {
        "topology",
        "[FILE] [OPTION...]",
        "The links of a machine; or of a FILE (XML of NCCL_TOPO_DUMP_FILE, or what nvidia-smi\n"
        "topo -m prints) the node, as lines of a system.conf; with -o as a complete one.",
        1,
        {cli_format_group(&w.format), topology_group(&w)}};
    gboolean helped = FALSE;
    gboolean ok = cli_arguments_parse(&arguments, &argc, &argv, &helped, error) &&
                  (helped || (argc > 1 ? run_file(&w, argv[1], error) : run_machine(&w, error)));
    g_ptr_array_unref(w.sets);
    g_free(w.system);
    cli_format_clear(&w.format);
    return ok ? CLI_DONE : CLI_USAGE;
}

const CliCommand cli_topology = {"topology", "the links of a machine; a node from NCCL's file",
                                 topology_run};
