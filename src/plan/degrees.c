/* How many ways is each axis cut, over how many GPUs; can the model and the machine be cut so. */
#include "config.h"

#include "plan/resolve.h"

static gboolean
check_positive(const PlanSpec *spec, GError **error)
{
    const struct {
        const char *name;
        gint64 value, least;
    } counts[] = {
        {"tp", spec->tp, 1},   {"pp", spec->pp, 1}, {"cp", spec->cp, 1},     {"ep", spec->ep, 1},
        {"vpp", spec->vpp, 1}, {"dp", spec->dp, 0}, {"gpus", spec->gpus, 0}, {"etp", spec->etp, 0},
    };

    for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
        if (counts[i].value < counts[i].least || counts[i].value > PLAN_MAX_GPUS)
            return plan_refuse(error, "--%s: " PLAN_D " is out of range; write 1 to %d",
                               counts[i].name, counts[i].value, PLAN_MAX_GPUS);
    if (spec->vpp > 1 && spec->pp == 1)
        return plan_refuse(error,
                           "--vpp: " PLAN_D
                           " chunks need a pipeline and --pp is 1; write --vpp 1, or "
                           "--pp 2 or more",
                           spec->vpp);
    return TRUE;
}

/* "1, 2, 4": what divides n, up to the limit. */
char *
plan_list_divisors(gint64 n, gint64 limit)
{
    GString *text = g_string_new(NULL);

    for (gint64 d = 1; d <= MIN(n, limit); d++)
        if (n % d == 0)
            g_string_append_printf(text, "%s" PLAN_D, text->len > 0 ? ", " : "", d);
    return g_string_free(text, FALSE);
}

/* Fills the one of dp and gpus that is 0, or checks that they agree. */
static gboolean
resolve_gpus(PlanSpec *spec, GError **error)
{
    gint64 model = spec->tp * spec->pp; /* each at most 2^22 */

    if (model <= PLAN_MAX_GPUS)
        model *= spec->cp;
    if (model > PLAN_MAX_GPUS || model * MAX(spec->dp, 1) > PLAN_MAX_GPUS)
        return plan_refuse(error,
                           "--tp " PLAN_D " x --pp " PLAN_D " x --cp " PLAN_D " x --dp " PLAN_D
                           " are more than %d GPUs; lower one",
                           spec->tp, spec->pp, spec->cp, MAX(spec->dp, 1), PLAN_MAX_GPUS);
    if (spec->gpus == 0) {
        spec->dp = MAX(spec->dp, 1);
        spec->gpus = model * spec->dp;
        return TRUE;
    }
    if (spec->dp == 0 && spec->gpus % model != 0) {
        g_autofree char *divisors = plan_list_divisors(spec->gpus, 4096);
        gint64 below = spec->gpus / model * model;
        g_autofree char *nearest = below > 0
                                       ? g_strdup_printf(PLAN_D " or " PLAN_D, below, below + model)
                                       : g_strdup_printf(PLAN_D, model);
        return plan_refuse(error,
                           "--gpus: " PLAN_D " GPUs are not a multiple of tp x pp x cp = " PLAN_D
                           " x " PLAN_D " x " PLAN_D " = " PLAN_D
                           "; use %s GPUs, or make tp x pp x cp one "
                           "of %s",
                           spec->gpus, spec->tp, spec->pp, spec->cp, model, nearest, divisors);
    }
    if (spec->dp == 0)
        spec->dp = spec->gpus / model;
    if (model * spec->dp != spec->gpus)
        return plan_refuse(error,
                           "--dp: tp x pp x cp x dp = " PLAN_D " x " PLAN_D " x " PLAN_D
                           " x " PLAN_D " = " PLAN_D " and --gpus is " PLAN_D
                           "; leave out --dp or --gpus",
                           spec->tp, spec->pp, spec->cp, spec->dp, model * spec->dp, spec->gpus);
    return TRUE;
}

/* Heads and the feed-forward width are cut evenly; key/value heads are cut, or whole heads
 * repeated. */
static gboolean
tp_is_legal(const LlmShape *shape, gint64 tp)
{
    return shape->heads % tp == 0 && shape->ffn % tp == 0 &&
           (shape->kv_heads % tp == 0 || tp % shape->kv_heads == 0);
}

static char *
list_legal_tp(const LlmShape *shape)
{
    GString *text = g_string_new(NULL);

    for (gint64 tp = 1; tp <= MIN(shape->heads, 256); tp++)
        if (tp_is_legal(shape, tp))
            g_string_append_printf(text, "%s" PLAN_D, text->len > 0 ? ", " : "", tp);
    return g_string_free(text, FALSE);
}

static gboolean
check_tp(const PlanSpec *spec, const LlmShape *shape, GError **error)
{
    gint64 tp = spec->tp;
    g_autofree char *why = NULL;

    if (tp_is_legal(shape, tp))
        return TRUE;
    if (shape->heads % tp != 0)
        why = g_strdup_printf("does not divide the " PLAN_D " attention heads", shape->heads);
    else if (shape->ffn % tp != 0)
        why = g_strdup_printf("does not divide the feed-forward width " PLAN_D, shape->ffn);
    else
        why = g_strdup_printf("neither divides the " PLAN_D
                              " key/value heads nor is a multiple of them",
                              shape->kv_heads);
    g_autofree char *legal = list_legal_tp(shape);
    return plan_refuse(error, "--tp: " PLAN_D " %s of %s; write one of %s", tp, why, shape->name,
                       legal);
}

static gboolean
check_dtype(const PlanSpec *spec, const ClusterSystem *system, GError **error)
{
    static const ClusterDtype order[] = {CLUSTER_BF16, CLUSTER_FP16, CLUSTER_TF32, CLUSTER_FP32};

    if (system->peak_flops[spec->dtype] > 0)
        return TRUE;
    for (guint i = 0; i < G_N_ELEMENTS(order); i++)
        if (system->peak_flops[order[i]] > 0)
            return plan_refuse(error, "--dtype: %s has no %s units; write --dtype %s",
                               system->gpu_name, cluster_dtype_name(spec->dtype),
                               cluster_dtype_name(order[i]));
    return plan_refuse(error,
                       "--dtype: %s has no %s units and no others; give gpu.peak_%s in system %s",
                       system->gpu_name, cluster_dtype_name(spec->dtype),
                       cluster_dtype_name(spec->dtype), system->name);
}

static void
remark_on_nodes(const PlanSpec *spec, const LlmShape *shape,
                const ClusterSystem *system G_GNUC_UNUSED, GPtrArray *remarks)
{
    if (spec->tp > shape->kv_heads)
        plan_remark(remarks,
                    "each of the " PLAN_D " key/value heads is repeated on " PLAN_D
                    " tensor parallel ranks",
                    shape->kv_heads, spec->tp / shape->kv_heads);
}

gboolean
plan_resolve_degrees(PlanSpec *spec, const LlmShape *shape, const ClusterSystem *system,
                     GPtrArray *remarks, GError **error)
{
    if (!check_positive(spec, error) || !resolve_gpus(spec, error) ||
        !check_tp(spec, shape, error) || !check_dtype(spec, system, error))
        return FALSE;
    if (spec->tp == 1)
        spec->sequence_parallel = FALSE; /* it cuts by tp: nothing to cut */
    remark_on_nodes(spec, shape, system, remarks);
    return TRUE;
}
