/* Reads what others put on the links. */
#include "config.h"

#include <string.h>

#include "step/background.h"

#include "plan/plan.h"

static const char *const names[STEP_N_LINKS] = {
    [STEP_LINK_NVLINK] = "nvlink",
    [STEP_LINK_NIC] = "nic",
    [STEP_LINK_PCIE] = "pcie",
    [STEP_LINK_ABOVE + CLUSTER_TOPO_MESH] = "mesh",
    [STEP_LINK_ABOVE + CLUSTER_TOPO_PCIE_SWITCH] = "pcie-switch",
    [STEP_LINK_ABOVE + CLUSTER_TOPO_SOCKET] = "socket",
    [STEP_LINK_ABOVE + CLUSTER_TOPO_LEAF] = "leaf",
    [STEP_LINK_ABOVE + CLUSTER_TOPO_SPINE] = "spine",
    [STEP_LINK_ABOVE + CLUSTER_TOPO_GLOBAL] = "global",
};

static gboolean
complain(const char *part, const char *fault, GError **error)
{
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_VALUE, "--background: '%s' %s", part, fault);
    return FALSE;
}

/* "30%" */
static gboolean
read_share(const char *text, double *ret)
{
    char *end;
    *ret = g_ascii_strtod(text, &end) / 100;
    return g_ascii_isdigit(text[0]) && strcmp(end, "%") == 0 && *ret >= 0 && *ret <= 1;
}

static gboolean
read_part(const char *part, StepBackground *background, gboolean *seen, GError **error)
{
    const char *equals = strchr(part, '=');
    double share;
    if (equals == NULL)
        return complain(part, "has no share; write for example nic=30%", error);
    for (guint kind = 0; kind < STEP_N_LINKS; kind++) {
        if (strlen(names[kind]) != (gsize)(equals - part) ||
            strncmp(part, names[kind], (gsize)(equals - part)) != 0)
            continue;
        if (!read_share(equals + 1, &share))
            return complain(part, "is no share of a link; write 0% to 100%, as nic=30%", error);
        if (seen[kind])
            return complain(part, "is there twice; write each kind of link once", error);
        seen[kind] = TRUE;
        background->share[kind] = share;
        return TRUE;
    }
    return complain(part,
                    "is no kind of link; write nvlink, nic, pcie, mesh, pcie-switch, socket, leaf, "
                    "spine or global and a share, as spine=50%",
                    error);
}

gboolean
step_background_parse(const char *text, StepBackground *ret, GError **error)
{
    StepBackground background = {0};
    gboolean seen[STEP_N_LINKS] = {FALSE};
    g_auto(GStrv) parts = g_strsplit(text != NULL ? text : "", ",", -1);
    for (guint i = 0; parts[i] != NULL; i++)
        if (!read_part(parts[i], &background, seen, error))
            return FALSE;
    *ret = background;
    return TRUE;
}
