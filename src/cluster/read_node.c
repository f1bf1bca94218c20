/* [node] above the ports of the GPUs: hosts, mesh, PCIe switches, sockets. */
#include "config.h"

#include "cluster/read.h"

#include "cluster/error.h"
#include "cluster/mesh.h"

static gboolean
complain(const char *where, const char *key, const char *what, GError **error)
{
    g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE, "%s: [node] %s: %s", where, key, what);
    return FALSE;
}

static gboolean
read_mesh(ClusterSystem *s, const char *where, GError **error)
{
    s->mesh = g_strdup(conf_keyfile_text(s->conf, "node", "mesh"));
    if (s->link != CLUSTER_LINK_MESH)
        return *s->mesh == '\0' ||
               complain(where, "mesh", "the GPUs meet otherwise; write link = mesh", error);
    GError *cause = NULL;
    g_autofree guint8 *links = cluster_mesh_parse(s->mesh, (guint)s->gpus_per_node, &cause);
    if (links == NULL) {
        g_propagate_prefixed_error(error, cause, "%s: [node] mesh: ", where);
        return FALSE;
    }
    return TRUE;
}

static gboolean
read_pcie(ClusterSystem *s, const char *where, GError **error)
{
    s->sockets = conf_keyfile_quantity(s->conf, "node", "sockets");
    s->socket_Bps = conf_keyfile_quantity(s->conf, "node", "socket-rate");
    s->pcie_switch_gpus = conf_keyfile_quantity(s->conf, "node", "pcie-switch-gpus");
    s->pcie_switch_Bps = conf_keyfile_quantity(s->conf, "node", "pcie-switch-rate");
    if (s->sockets < 1 || s->gpus_per_node % s->sockets)
        return complain(where, "sockets",
                        "GPUs cannot be dealt out evenly to them; write a divisor of gpus", error);
    gint64 of_socket = s->gpus_per_node / s->sockets;
    if (s->pcie_switch_gpus == 0)
        s->pcie_switch_gpus = of_socket;
    if (of_socket % s->pcie_switch_gpus)
        return complain(where, "pcie-switch-gpus",
                        "GPUs of a socket cannot be dealt out evenly to its switches; write a "
                        "divisor of gpus / sockets",
                        error);
    if (s->pcie_switch_Bps == 0)
        s->pcie_switch_Bps = s->pcie_Bps;
    return s->socket_Bps > 0 ||
           complain(where, "socket-rate", "must be more than 0; write for example 16GBps", error);
}

gboolean
cluster_read_node(ClusterSystem *s, const char *where, GError **error)
{
    if (s->hosts < 1 || s->gpus_per_node % s->hosts)
        return complain(where, "hosts",
                        "GPUs cannot be dealt out evenly to them; write a divisor of gpus", error);
    return read_mesh(s, where, error) && read_pcie(s, where, error);
}
