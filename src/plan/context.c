/* Context parallelism: which exchange can cut this model's attention (SPEC.md 7.5; the conditions are
 * TransformerEngine's). */
#include "config.h"

#include "plan/resolve.h"

/* Ranks among which heads are dealt out. */
static gint64
head_ranks(const PlanSpec *spec)
{
    return spec->cp_kind == LLM_CP_A2A       ? spec->cp
           : spec->cp_kind == LLM_CP_A2A_P2P ? spec->cp_inner
                                             : 1;
}

static gboolean
check_inner(const PlanSpec *spec, GError **error)
{
    if (spec->cp_kind != LLM_CP_A2A_P2P)
        return TRUE;
    if (spec->cp_inner > 1 && spec->cp_inner < spec->cp && spec->cp % spec->cp_inner == 0)
        return TRUE;
    gint64 least = 2;
    while (least * least <= spec->cp && spec->cp % least != 0)
        least++;
    if (least * least > spec->cp) /* no rings of all-to-alls among a prime number of ranks */
        return plan_refuse(error,
                           "--cp-comm-type: a2a+p2p makes rings of all-to-alls and --cp is " PLAN_D
                           "; write --cp-comm-type p2p or a2a, or a --cp that is a product",
                           spec->cp);
    g_autofree char *divisors = plan_list_divisors(spec->cp, spec->cp - 1);
    return plan_refuse(error,
                       "--cp-inner: " PLAN_D " ranks of the all-to-all do not cut --cp " PLAN_D
                       " into rings; write one of %s above 1, or --cp-comm-type p2p",
                       spec->cp_inner, spec->cp, divisors);
}

static gboolean
check_heads(const PlanSpec *spec, const LlmShape *shape, GError **error)
{
    gint64 ranks = head_ranks(spec), heads = shape->heads / spec->tp,
           kv_heads = MAX(shape->kv_heads / spec->tp, 1);
    if (heads % ranks == 0 && kv_heads % ranks == 0)
        return TRUE;
    gboolean queries = heads % ranks != 0;
    return plan_refuse(error,
                       "--cp-comm-type: the all-to-all deals the " PLAN_D
                       " %s heads of a tensor-parallel rank to " PLAN_D
                       " ranks, which do not divide them; write --cp-comm-type p2p or all_gather%s",
                       queries ? heads : kv_heads, queries ? "query" : "key/value", ranks,
                       kv_heads > 1 ? ", or a2a+p2p with a --cp-inner that divides them" : "");
}

static gboolean
has_windows(const PlanSpec *spec, const LlmShape *shape)
{
    return shape->sliding_window > 0 && shape->sliding_window < spec->seq;
}

gboolean
plan_resolve_context(PlanSpec *spec, const LlmShape *shape, GError **error)
{
    if (spec->cp_inner < 0 || spec->cp_inner > PLAN_MAX_GPUS)
        return plan_refuse(error, "--cp-inner: " PLAN_D " is out of range; write 2 to --cp / 2",
                           spec->cp_inner);
    if (spec->cp == 1) {
        spec->cp_inner = 1;
        return TRUE;
    }
    if (spec->attention == LLM_ATTENTION_UNFUSED)
        return plan_refuse(error,
                           "--cp: " PLAN_D
                           " context ranks need FlashAttention, whose parts can be put together, "
                           "and attention is unfused; write --cp 1, or --attention flash%s",
                           spec->cp, " on a GPU that has bf16 units");
    if (spec->cp_kind == LLM_CP_A2A_P2P && spec->cp_inner == 0)
        spec->cp_inner = 2;
    if (!check_inner(spec, error) || !check_heads(spec, shape, error))
        return FALSE;
    if (spec->cp_kind != LLM_CP_A2A_P2P) /* of one kind: all ranks in one group */
        spec->cp_inner = spec->cp_kind == LLM_CP_A2A ? spec->cp : 1;
    if (has_windows(spec, shape) &&
        (spec->cp_kind == LLM_CP_P2P || spec->cp_kind == LLM_CP_A2A_P2P))
        return plan_refuse(error,
                           "--cp-comm-type: a ring does not know the attention window of " PLAN_D
                           " of %s; write --cp-comm-type all_gather or a2a",
                           shape->sliding_window, shape->name);
    return TRUE;
}
