/* The order in which ranks are dealt out over the axes of the grid: Megatron's "tp-cp-ep-dp-pp", the first
 * fastest. Axes of one rank may be left out.
 *
 * Megatron has two grids, one with cp and without ep, one of experts with ep and without cp. Where pp is not the
 * last axis both must have the same pipelines, and it wants as many data-parallel ranks in both: so that
 * ep x etp = tp x cp. */
#include "config.h"

#include <string.h>

#include "plan/resolve.h"

#define DEFAULT_ORDER "tp-cp-ep-dp-pp"

static const char *const axis_names[] = {
    [PLAN_AXIS_TP] = "tp", [PLAN_AXIS_CP] = "cp", [PLAN_AXIS_EP] = "ep",
    [PLAN_AXIS_DP] = "dp", [PLAN_AXIS_PP] = "pp", [PLAN_N_AXES] = NULL};

static guint
axis_of(const char *name, gsize length)
{
    for (guint axis = 0; axis < PLAN_N_AXES; axis++)
        if (length == 2 && g_ascii_strncasecmp(name, axis_names[axis], 2) == 0)
            return axis;
    return PLAN_N_AXES;
}

void
plan_order_axes(const char *order, guint ret_axes[PLAN_N_AXES])
{
    const char *at = order != NULL ? order : DEFAULT_ORDER;

    for (guint i = 0; i < PLAN_N_AXES; i++, at += 3)
        ret_axes[i] = axis_of(at, 2);
}

/* With axes that are not named at its end. */
static gboolean
complete_order(PlanSpec *spec, const char *given, GError **error)
{
    const gint64 size[] = {
        [PLAN_AXIS_TP] = spec->tp, [PLAN_AXIS_CP] = spec->cp, [PLAN_AXIS_EP] = spec->ep,
        [PLAN_AXIS_DP] = spec->dp, [PLAN_AXIS_PP] = spec->pp,
    };
    gboolean is_named[PLAN_N_AXES] = {FALSE};
    g_auto(GStrv) names = g_strsplit(given, "-", -1);
    g_autoptr(GString) order = g_string_new(NULL);

    for (guint i = 0; names[i] != NULL; i++) {
        guint axis = axis_of(names[i], strlen(names[i]));
        if (axis == PLAN_N_AXES || is_named[axis])
            return plan_refuse(error, "--rank-order: '%s' in '%s' is %s; write %s in any order",
                               names[i], given, axis == PLAN_N_AXES ? "no axis" : "there twice",
                               DEFAULT_ORDER);
        is_named[axis] = TRUE;
        g_string_append_printf(order, "%s%s", i > 0 ? "-" : "", axis_names[axis]);
    }
    for (guint axis = 0; axis < PLAN_N_AXES; axis++) {
        if (!is_named[axis] && size[axis] != 1)
            return plan_refuse(error,
                               "--rank-order: '%s' does not say where %s is, of " PLAN_D
                               " ranks; write %s in any order",
                               given, axis_names[axis], size[axis], DEFAULT_ORDER);
        if (!is_named[axis])
            g_string_append_printf(order, "-%s", axis_names[axis]);
    }
    spec->order = g_intern_string(order->str);
    return TRUE;
}

gboolean
plan_resolve_order(PlanSpec *spec, const LlmShape *shape, GPtrArray *remarks, GError **error)
{
    if (!complete_order(spec, spec->order != NULL ? spec->order : DEFAULT_ORDER, error))
        return FALSE;
    guint axes[PLAN_N_AXES];
    plan_order_axes(spec->order, axes);
    if (axes[PLAN_N_AXES - 1] == PLAN_AXIS_PP || spec->pp == 1)
        return TRUE;
    if (shape->experts == 0) {
        if (spec->cp > 1 && spec->framework == PLAN_MEGATRON)
            plan_remark(remarks,
                        "Megatron-LM runs --rank-order %s only with --cp 1: its groups of "
                        "experts, of which this model has none, would have other pipelines",
                        spec->order);
        return TRUE;
    }
    if (spec->ep * spec->etp == spec->tp * spec->cp)
        return TRUE;
    return plan_refuse(error,
                       "--rank-order: with pp before other axes experts must be cut over as many "
                       "ranks as the rest, and ep x etp = " PLAN_D " x " PLAN_D
                       " is not tp x cp = " PLAN_D " x " PLAN_D
                       "; write pp last, or another --ep or --etp",
                       spec->ep, spec->etp, spec->tp, spec->cp);
}
