/* What is cut over data-parallel ranks, and whether the framework can (SPEC.md 7.7, 9). */
#include "config.h"

#include "plan/resolve.h"

static gboolean
check_stage(const PlanSpec *spec, GError **error)
{
    if (spec->zero < 0 || spec->zero > 3)
        return plan_refuse(error, "--zero: there is no stage " PLAN_D "; write 0, 1, 2 or 3",
                           spec->zero);
    if (plan_runs_pytorch(spec) && (spec->zero == 1 || spec->zero == 2))
        return plan_refuse(error,
                           "--zero: FSDP cuts parameters, gradients and optimizer states together, "
                           "stage " PLAN_D
                           " does not; write --zero 3 (with --no-reshard-after-forward parameters "
                           "stay gathered until the backward), or --zero 0",
                           spec->zero);
    if (spec->framework == PLAN_NANOTRON && spec->zero > 1)
        return plan_refuse(error,
                           "--zero: nanotron cuts optimizer states only, not stage " PLAN_D
                           "; write --zero 1 or 0, or another --framework",
                           spec->zero);
    if (spec->deepspeed_pipeline && spec->zero > 1)
        return plan_refuse(error,
                           "--zero: DeepSpeed's pipeline accumulates whole gradients and takes "
                           "stages 0 and 1, not " PLAN_D "; write --zero 1, or --pp 1",
                           spec->zero);
    if (spec->zero == 1 && spec->reduce == PLAN_REDUCE_EACH)
        return plan_refuse(error, "--grad-reduce: with --zero 1 gradients accumulate whole and are "
                                  "reduced once; write --grad-reduce last, or --zero 2");
    return TRUE;
}

static gboolean
check_shard(const PlanSpec *spec, GError **error)
{
    gint64 all = spec->dp * spec->cp;
    if (spec->shard_size == 0)
        return TRUE;
    if (spec->zero == 0)
        return plan_refuse(error,
                           "--shard-size: with --zero 0 nothing is cut into shards; leave it out, "
                           "or write --zero 1, 2 or 3");
    if (spec->shard_size < 0 || all % spec->shard_size != 0) {
        g_autofree char *divisors = plan_list_divisors(all, 4096);
        return plan_refuse(error,
                           "--shard-size: " PLAN_D " does not divide the dp x cp = " PLAN_D
                           " x " PLAN_D " = " PLAN_D " data parallel ranks; write one of %s",
                           spec->shard_size, spec->dp, spec->cp, all, divisors);
    }
    return TRUE;
}

static gboolean
check_units(const PlanSpec *spec, GError **error)
{
    const struct {
        const char *name;
        gint64 value;
    } counts[] = {
        {"unit-layers", spec->unit_layers},
        {"prefetch-units", spec->prefetch_units},
        {"prefetch-elements", spec->prefetch_elements},
        {"live-elements", spec->live_elements},
        {"resident-elements", spec->resident_elements},
        {"bucket-size", spec->bucket_elements},
    };
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
        if (counts[i].value < 0)
            return plan_refuse(error, "--%s: " PLAN_D " is negative; write 0 or more",
                               counts[i].name, counts[i].value);
    if (spec->zero == 3 && spec->bucket != PLAN_BUCKET_UNITS)
        return plan_refuse(error,
                           "--bucketing: parameters that are cut (--zero 3) are gathered layer by "
                           "layer; write --bucketing units");
    return TRUE;
}

gboolean
plan_resolve_sharding(PlanSpec *spec, GPtrArray *remarks, GError **error)
{
    if (!check_stage(spec, error) || !check_shard(spec, error) || !check_units(spec, error))
        return FALSE;
    if (spec->zero > 1 && spec->reduce == PLAN_REDUCE_LAST && spec->microbatches > 1)
        plan_remark(remarks, "gradients stay whole on every rank until the last microbatch, and "
                             "are cut then");
    return TRUE;
}
