/* Which stage holds how many transformer layers. Layers are never lost or invented: the counts
 * always add to the model's, or the plan is refused.
 *
 * Stage s = c P + r (rank r, chunk c). By default each stage has L / (P V). --account-for-embedding
 * and --account-for-loss count the embedding and the loss as a layer each: (L + 1 + 1) / (P V), one
 * transformer layer less on the first and the last stage. --first-stage-layers and
 * --last-stage-layers are of a pipeline rank, dealt evenly to its chunks; the ranks between share
 * the rest evenly (SPEC.md 6.2). */
#include "config.h"

#include "plan/resolve.h"

static gint64
sum_of(const gint64 *counts, gint64 n)
{
    gint64 sum = 0;

    for (gint64 i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

/* "3,3,2,2": an even split with the rest on the first stages, for advice. */
static char *
suggest_split(gint64 layers, gint64 stages)
{
    GString *text = g_string_new(NULL);

    for (gint64 s = 0; s < stages; s++)
        g_string_append_printf(text, "%s" PLAN_D, s > 0 ? "," : "",
                               layers / stages + (s < layers % stages));
    return g_string_free(text, FALSE);
}

static char *
suggest(const PlanSpec *spec, gint64 layers)
{
    gint64 stages = spec->pp * spec->vpp;
    GString *text = g_string_new(NULL);

    if ((layers + 2) % stages == 0)
        g_string_append_printf(text,
                               "--account-for-embedding --account-for-loss (" PLAN_D
                               " + 2 over " PLAN_D " is " PLAN_D "), ",
                               layers, stages, (layers + 2) / stages);
    g_string_append(text, "another --pp, --first-stage-layers and --last-stage-layers");
    if (stages <= 32 && layers >= stages) {
        g_autofree char *split = suggest_split(layers, stages);
        g_string_append_printf(text, ", or --stage-layers %s", split);
    }
    return g_string_free(text, FALSE);
}

static gboolean
fill_even(const PlanSpec *spec, gint64 layers, gint64 *ret, GError **error)
{
    gint64 stages = spec->pp * spec->vpp;
    gint64 first = spec->account_for_embedding ? 1 : 0, last = spec->account_for_loss ? 1 : 0;
    gint64 counted = layers + first + last;

    if (counted % stages != 0) {
        g_autofree char *advice = suggest(spec, layers);
        return plan_refuse(error,
                           "--pp: " PLAN_D " layers%s do not divide over " PLAN_D
                           " stages (pp x vpp = " PLAN_D " x " PLAN_D "); use %s",
                           counted, first + last > 0 ? " (embedding or loss included)" : "", stages,
                           spec->pp, spec->vpp, advice);
    }
    for (gint64 s = 0; s < stages; s++)
        ret[s] = counted / stages;
    ret[0] -= first;
    ret[stages - 1] -= last;
    return TRUE;
}

/* Layers of the first and the last rank as given, the others even. */
static gboolean
fill_ends(const PlanSpec *spec, gint64 layers, gint64 *ret, GError **error)
{
    gint64 first = spec->first_stage_layers, last = spec->last_stage_layers;
    gint64 middle = spec->pp - (first > 0) - (last > 0), rest = layers - first - last;

    if (spec->account_for_embedding || spec->account_for_loss)
        return plan_refuse(
            error,
            "--first-stage-layers, --last-stage-layers: the counts are given, so "
            "embedding and loss cannot be counted too; leave out --account-for-embedding and "
            "--account-for-loss");
    if (first < 0 || last < 0 || first > layers || last > layers || rest < 0)
        return plan_refuse(error,
                           "--first-stage-layers " PLAN_D ", --last-stage-layers " PLAN_D
                           ": the model "
                           "has " PLAN_D " layers; write counts that leave some",
                           first, last, layers);
    if (spec->pp == 1 && MAX(first, last) != layers)
        return plan_refuse(error,
                           "--%s-stage-layers: the one stage would hold " PLAN_D " of " PLAN_D
                           " layers and the others would be lost; leave it out or raise --pp",
                           first > 0 ? "first" : "last", MAX(first, last), layers);
    if (spec->pp > 1 && middle == 0 && rest != 0)
        return plan_refuse(error,
                           "--first-stage-layers " PLAN_D " and --last-stage-layers " PLAN_D
                           " are " PLAN_D " of " PLAN_D
                           " layers and there is no stage between; make them add up",
                           first, last, first + last, layers);
    if (middle > 0 && (rest == 0 || rest % middle != 0))
        return plan_refuse(error,
                           "--first-stage-layers " PLAN_D ", --last-stage-layers " PLAN_D
                           " leave " PLAN_D " of " PLAN_D
                           " layers, which do not divide over the other " PLAN_D " ranks; "
                           "change one of them, or use --stage-layers",
                           first, last, rest, layers, middle);
    for (gint64 r = 0; r < spec->pp; r++) {
        gint64 on_rank = r == 0 && first > 0             ? first
                         : r == spec->pp - 1 && last > 0 ? last
                                                         : rest / middle;
        if (on_rank % spec->vpp != 0)
            return plan_refuse(error,
                               "--vpp: the " PLAN_D " layers of rank " PLAN_D
                               " do not divide over " PLAN_D
                               " chunks; change the counts, or use --stage-layers",
                               on_rank, r, spec->vpp);
        for (gint64 c = 0; c < spec->vpp; c++)
            ret[c * spec->pp + r] = on_rank / spec->vpp;
    }
    return TRUE;
}

/* "23,24,24,25". */
static gboolean
fill_list(const PlanSpec *spec, gint64 layers, gint64 *ret, GError **error)
{
    gint64 stages = spec->pp * spec->vpp;
    g_auto(GStrv) words = g_strsplit(spec->stage_layers, ",", -1);

    if (spec->first_stage_layers != 0 || spec->last_stage_layers != 0 ||
        spec->account_for_embedding || spec->account_for_loss)
        return plan_refuse(error,
                           "--stage-layers: it says all; leave out --first-stage-layers, "
                           "--last-stage-layers, --account-for-embedding and --account-for-loss");
    if ((gint64)g_strv_length(words) != stages)
        return plan_refuse(error,
                           "--stage-layers: %u counts for " PLAN_D " stages (pp x vpp = " PLAN_D
                           " x " PLAN_D "); write one for each",
                           g_strv_length(words), stages, spec->pp, spec->vpp);
    for (gint64 s = 0; s < stages; s++) {
        guint64 value;
        if (!g_ascii_string_to_unsigned(g_strstrip(words[s]), 10, 0, (guint64)layers, &value, NULL))
            return plan_refuse(error,
                               "--stage-layers: '%.20s' (stage " PLAN_D
                               ") is not a number of layers; "
                               "write 0 to " PLAN_D,
                               words[s], s, layers);
        ret[s] = (gint64)value;
        if (value == 0 && s > 0 && s < stages - 1)
            return plan_refuse(error,
                               "--stage-layers: stage " PLAN_D " has no layers; only the first "
                               "(embedding) and the last (head) may be without",
                               s);
    }
    if (sum_of(ret, stages) != layers)
        return plan_refuse(error,
                           "--stage-layers: the counts add to " PLAN_D " and the model has " PLAN_D
                           " layers; change them by " PLAN_D,
                           sum_of(ret, stages), layers, layers - sum_of(ret, stages));
    return TRUE;
}

gint64 *
plan_resolve_layers(const PlanSpec *spec, const LlmShape *shape, GError **error)
{
    gint64 stages = spec->pp * spec->vpp;
    gboolean ok;

    if (stages > G_MAXUINT16) {
        plan_refuse(error,
                    "--vpp: " PLAN_D " ranks of " PLAN_D
                    " chunks are more than %u stages; lower one",
                    spec->pp, spec->vpp, G_MAXUINT16);
        return NULL;
    }
    g_autofree gint64 *counts = g_new0(gint64, stages);
    if (spec->layout != NULL &&
        (spec->stage_layers != NULL || spec->first_stage_layers != 0 ||
         spec->last_stage_layers != 0 || spec->account_for_embedding || spec->account_for_loss)) {
        plan_refuse(error, "--pipeline-layout: it says all; leave out --stage-layers, "
                           "--first-stage-layers, --last-stage-layers, --account-for-embedding and "
                           "--account-for-loss");
        return NULL;
    }
    if (spec->layout != NULL)
        ok = plan_fill_layout(spec, shape->layers, counts, error);
    else if (spec->stage_layers != NULL)
        ok = fill_list(spec, shape->layers, counts, error);
    else if (spec->first_stage_layers != 0 || spec->last_stage_layers != 0)
        ok = fill_ends(spec, shape->layers, counts, error);
    else
        ok = fill_even(spec, shape->layers, counts, error);
    if (!ok)
        return NULL;
    g_assert(sum_of(counts, stages) == shape->layers);
    return g_steal_pointer(&counts);
}
