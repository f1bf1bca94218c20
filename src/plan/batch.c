/* Sequence length and batch: global batch = micro-batch x microbatches x dp, exactly. */
#include "config.h"

#include "plan/resolve.h"

#define LIMIT ((gint64)1 << 31) /* of each given count: products of two stay below 2^62 */
#define DEFAULT_SEQUENCE                                                                           \
    8192 /* longest default: longer contexts are fine-tuning, say so yourself */
#define DEFAULT_GLOBAL_BATCH 1536 /* GPT-3 175B: 3.2M tokens of 2048 */

static gboolean
check_range(const PlanSpec *spec, GError **error)
{
    const struct {
        const char *name;
        gint64 value;
    } counts[] = {
        {"micro-batch-size", spec->micro_batch},
        {"global-batch-size", spec->global_batch},
        {"microbatches", spec->microbatches},
        {"seq-length", spec->seq},
        {"group", spec->group},
    };

    for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
        if (counts[i].value < 0 || counts[i].value > LIMIT)
            return plan_refuse(error, "--%s: " PLAN_D " is out of range; write 1 to " PLAN_D,
                               counts[i].name, counts[i].value, LIMIT);
    return TRUE;
}

static gboolean
resolve_sequence(PlanSpec *spec, const LlmShape *shape, GPtrArray *remarks, GError **error)
{
    gint64 local = spec->sequence_parallel ? spec->tp : 1;
    /* causal load balance gives a rank two pieces of the sequence, one from each end */
    gint64 cut = spec->cp * (spec->cp > 1 && local % 2 != 0 ? 2 * local : local);

    if (spec->seq == 0) {
        spec->seq = shape->max_positions > 0 ? MIN(shape->max_positions, DEFAULT_SEQUENCE) : 2048;
        if (spec->seq != shape->max_positions)
            plan_remark(remarks,
                        "the sequence length was chosen: " PLAN_D " (the model allows " PLAN_D ")",
                        spec->seq, shape->max_positions);
    }
    if (shape->position == LLM_POSITION_LEARNED && spec->seq > shape->max_positions)
        return plan_refuse(error,
                           "--seq-length: " PLAN_D
                           " tokens need as many learned positions and %s has " PLAN_D
                           "; write at most that, or --set model.max_position_embeddings=" PLAN_D,
                           spec->seq, shape->name, shape->max_positions, spec->seq);
    if (shape->max_positions > 0 && spec->seq > shape->max_positions)
        plan_remark(remarks,
                    "a sequence of " PLAN_D " is longer than the " PLAN_D " the model was made for",
                    spec->seq, shape->max_positions);
    if (spec->seq % cut != 0) {
        gint64 below = spec->seq / cut * cut;
        g_autofree char *nearest = below > 0
                                       ? g_strdup_printf(PLAN_D " or " PLAN_D, below, below + cut)
                                       : g_strdup_printf(PLAN_D, cut);
        return plan_refuse(
            error, "--seq-length: " PLAN_D " is not a multiple of %s = " PLAN_D "; write %s%s",
            spec->seq,
            spec->cp > 1 ? "two pieces for each context rank and its tp" : "tp (sequence parallel)",
            cut, nearest, spec->sequence_parallel ? ", or --no-sequence-parallel" : "");
    }
    return TRUE;
}

/* The smallest multiple of `unit` that is at least `value`. */
static gint64
round_up(gint64 value, gint64 unit)
{
    return (value + unit - 1) / unit * unit;
}

static gboolean
resolve_microbatches(PlanSpec *spec, GPtrArray *remarks, GError **error)
{
    gint64 replica_step = spec->micro_batch * spec->dp; /* 2^31 * 2^22 */

    if (replica_step > LIMIT ||
        (spec->microbatches > 0 && spec->microbatches > LIMIT / replica_step))
        return plan_refuse(error,
                           "--micro-batch-size: " PLAN_D " sequences x " PLAN_D
                           " replicas x " PLAN_D " microbatches are more than " PLAN_D
                           " sequences; lower one",
                           spec->micro_batch, spec->dp, MAX(spec->microbatches, 1), LIMIT);
    if (spec->micro_batch > LIMIT / spec->seq)
        return plan_refuse(error,
                           "--micro-batch-size: " PLAN_D " sequences of " PLAN_D
                           " tokens are more than " PLAN_D " tokens; lower it or --seq-length",
                           spec->micro_batch, spec->seq, LIMIT);
    if (spec->global_batch == 0 && spec->microbatches == 0) {
        gint64 unit = replica_step * (spec->vpp > 1 ? spec->group : 1);
        spec->global_batch = round_up(DEFAULT_GLOBAL_BATCH, unit);
        if (spec->global_batch > LIMIT)
            return plan_refuse(error,
                               "--group: groups of " PLAN_D
                               " microbatches make a batch of more than " PLAN_D
                               " sequences; lower --group",
                               spec->group, LIMIT);
        plan_remark(remarks, "the global batch was chosen: " PLAN_D " sequences",
                    spec->global_batch);
    }
    if (spec->global_batch == 0)
        spec->global_batch = replica_step * spec->microbatches;
    if (spec->global_batch % replica_step != 0) {
        gint64 below = spec->global_batch / replica_step * replica_step;
        g_autofree char *nearest =
            below > 0
                ? g_strdup_printf(PLAN_D " or " PLAN_D, below, below + replica_step)
                : g_strdup_printf(PLAN_D ", fewer replicas or a smaller micro-batch", replica_step);
        return plan_refuse(error,
                           "--global-batch-size: " PLAN_D
                           " is not a multiple of micro-batch x dp = " PLAN_D " x " PLAN_D
                           " = " PLAN_D "; write %s",
                           spec->global_batch, spec->micro_batch, spec->dp, replica_step, nearest);
    }
    if (spec->microbatches == 0)
        spec->microbatches = spec->global_batch / replica_step;
    if (spec->microbatches * replica_step != spec->global_batch)
        return plan_refuse(error,
                           "--microbatches: micro-batch x microbatches x dp = " PLAN_D " x " PLAN_D
                           " x " PLAN_D " = " PLAN_D " and --global-batch-size is " PLAN_D
                           " (" PLAN_D " microbatches); leave out one of the two",
                           spec->micro_batch, spec->microbatches, spec->dp,
                           spec->microbatches * replica_step, spec->global_batch,
                           spec->global_batch / replica_step);
    return TRUE;
}

gboolean
plan_resolve_batch(PlanSpec *spec, const LlmShape *shape, GPtrArray *remarks, GError **error)
{
    if (!check_range(spec, error))
        return FALSE;
    if (spec->micro_batch == 0)
        spec->micro_batch = 1;
    if (spec->group == 0)
        spec->group = spec->pp;
    return resolve_sequence(spec, shape, remarks, error) &&
           resolve_microbatches(spec, remarks, error);
}
