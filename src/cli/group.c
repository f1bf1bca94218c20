/* From counts of GPUs and nodes to slots, and to the group as far as time is concerned. */
#include "config.h"

#include "cli/group.h"

#include "cli/arguments.h"
#include "cli/command.h"
#include "net/routes.h"

#include <string.h>

static gboolean
check(gint64 gpus, gint64 nodes, const ClusterSystem *system, const CliGroupWish *wish,
      GError **error)
{
    gint64 per_node = system->gpus_per_node, described = system->described_nodes;
    if (nodes > gpus) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--nodes: %" G_GINT64_FORMAT " nodes are more than %" G_GINT64_FORMAT
                    " GPUs; write --nodes %" G_GINT64_FORMAT " or fewer",
                    nodes, gpus, gpus);
        return FALSE;
    }
    if (described > 0 && nodes > described) {
        g_set_error(
            error, CLI_ERROR, CLI_ERROR_USAGE,
            "system '%s': %u nodes, and %" G_GINT64_FORMAT " GPUs on %" G_GINT64_FORMAT
            " nodes are asked for; write that many nodes or more in --system, or fewer GPUs",
            system->name, system->described_nodes, gpus, nodes);
        return FALSE;
    }
    if ((gpus + nodes - 1) / nodes > per_node) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--gpus: %" G_GINT64_FORMAT " do not find room on %" G_GINT64_FORMAT
                    " nodes of %" G_GINT64_FORMAT " GPUs; write --nodes %" G_GINT64_FORMAT
                    " or more, or leave --nodes out",
                    wish->gpus, nodes, per_node, (gpus + per_node - 1) / per_node);
        return FALSE;
    }
    return TRUE;
}

gboolean
cli_group_place(const CliGroupWish *wish, const ClusterSystem *system, NetGroup *ret_group,
                GError **error)
{
    gint64 per_node = system->gpus_per_node;
    gint64 nodes = wish->nodes > 0 ? wish->nodes : (wish->gpus + per_node - 1) / per_node;
    if (nodes == 0)
        nodes = MAX(system->described_nodes, 1);
    gint64 gpus = wish->gpus > 0 ? wish->gpus : nodes * per_node;
    if (!check(gpus, nodes, system, wish, error))
        return FALSE;
    g_autofree guint *slots = g_new(guint, gpus);
    guint n = 0;
    for (gint64 node = 0; node < nodes; node++) {
        gint64 filled = MIN(per_node, gpus - node * per_node);
        gint64 here = wish->nodes > 0 ? gpus / nodes + (node < gpus % nodes) : filled;
        for (gint64 local = 0; local < here; local++)
            slots[n++] = (guint)(node * per_node + local);
    }
    g_assert(n == gpus);
    guint of_fabric = MAX((guint)nodes, system->described_nodes);
    g_autoptr(ClusterTopology) topology = cluster_topology_new(system, of_fabric, error);
    if (topology == NULL)
        return FALSE;
    *ret_group = net_group_on(topology, slots, n);
    return TRUE;
}

gboolean
cli_op_parse(const char *text, int *ret_op, GError **error)
{
    static const char *const names[] = {
        "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv", NULL};
    static const char *const bare[] = {"allreduce", "allgather", "reducescatter",
                                       "alltoall",  "broadcast", "sendrecv"};
    g_autoptr(GString) letters = g_string_new(NULL);
    const char *end = g_str_has_suffix(text, "_perf") ? text + strlen(text) - 5 : NULL;
    for (const char *p = text; *p != '\0' && p != end; p++)
        if (*p != '_' && *p != '-')
            g_string_append_c(letters, g_ascii_tolower(*p));
    for (guint i = 0; i < G_N_ELEMENTS(bare); i++) {
        if (strcmp(bare[i], letters->str) == 0) {
            *ret_op = (int)i;
            return TRUE;
        }
    }
    guint index;
    return cli_parse_choice("collective", text, names, &index, error);
}
