/* Experts: how they are cut, how tokens get to them, and how unevenly (SPEC.md 7.6). */
#include "config.h"

#include "plan/resolve.h"

#include <math.h>

#include "sim/random.h"

static gboolean
check_dense(const PlanSpec *spec, const LlmShape *shape, GError **error)
{
    const struct {
        const char *option;
        gboolean given;
    } needs[] = {
        {"ep", spec->ep > 1},
        {"etp", spec->etp > 1},
        {"moe-dispatcher", spec->dispatch != LLM_DISPATCH_ALL_TO_ALL},
        {"moe-capacity-factor", spec->capacity_factor > 0},
        {"moe-pad-to-capacity", spec->pad_to_capacity},
        {"expert-imbalance", spec->expert_imbalance > 0},
        {"expert-histogram", spec->expert_histogram != NULL},
        {"moe-shared-expert-overlap", spec->overlap_shared},
        {"overlap-moe", spec->overlap_moe},
        {"delay-wgrad", spec->delay_wgrad},
        {"fp8-dispatch", spec->fp8_dispatch},
    };
    for (guint i = 0; i < G_N_ELEMENTS(needs); i++)
        if (needs[i].given)
            return plan_refuse(error,
                               "--%s: %s has no experts; leave it out, or choose a model with "
                               "experts (dtsim models lists them)",
                               needs[i].option, shape->name);
    return TRUE;
}

static gboolean
check_degrees(const PlanSpec *spec, const LlmShape *shape, GError **error)
{
    gint64 ranks = spec->tp * spec->cp * spec->dp, cut = spec->ep * spec->etp;
    if (shape->experts % spec->ep != 0) {
        g_autofree char *divisors = plan_list_divisors(shape->experts, 4096);
        return plan_refuse(
            error, "--ep: " PLAN_D " does not divide the " PLAN_D " experts of %s; write one of %s",
            spec->ep, shape->experts, shape->name, divisors);
    }
    if (shape->expert_ffn % spec->etp != 0) {
        g_autofree char *divisors = plan_list_divisors(shape->expert_ffn, 64);
        return plan_refuse(error,
                           "--etp: " PLAN_D " does not divide the width " PLAN_D
                           " of an expert of %s; write one of %s",
                           spec->etp, shape->expert_ffn, shape->name, divisors);
    }
    if (spec->ep > PLAN_MAX_GPUS / spec->etp || ranks % cut != 0)
        return plan_refuse(error,
                           "--ep: ep x etp = " PLAN_D " x " PLAN_D " = " PLAN_D
                           " ranks do not divide the tp x cp x dp = " PLAN_D " x " PLAN_D
                           " x " PLAN_D " = " PLAN_D " ranks of a pipeline stage; %s",
                           spec->ep, spec->etp, cut, spec->tp, spec->cp, spec->dp, ranks,
                           spec->etp > 1 ? "lower --ep, write --etp 1, or use more GPUs"
                                         : "lower --ep or use more GPUs");
    if (spec->framework == PLAN_MEGATRON && spec->tp > 1 && !spec->sequence_parallel)
        return plan_refuse(error,
                           "--no-sequence-parallel: Megatron trains experts with tp " PLAN_D
                           " only with sequence parallelism; leave it out, or write --tp 1",
                           spec->tp);
    return TRUE;
}

static gboolean
check_dispatch(const PlanSpec *spec, const LlmShape *shape, GError **error)
{
    if (!(spec->capacity_factor >= 0))
        return plan_refuse(error,
                           "--moe-capacity-factor: %g is negative; write 1 or more, or 0 for none",
                           spec->capacity_factor);
    if (spec->pad_to_capacity && spec->capacity_factor == 0)
        return plan_refuse(error, "--moe-pad-to-capacity: experts have no capacity to fill; add "
                                  "--moe-capacity-factor 1 or more");
    if (spec->capacity_factor > 0 && spec->dispatch == LLM_DISPATCH_ALL_GATHER)
        return plan_refuse(error,
                           "--moe-capacity-factor: the allgather dispatcher drops no tokens; write "
                           "--moe-dispatcher alltoall");
    if (spec->dispatch == LLM_DISPATCH_FLEX && spec->ep * spec->etp == 1)
        return plan_refuse(error, "--moe-dispatcher: flex exchanges tokens between ranks and --ep "
                                  "is 1; write --ep 2 or more, or --moe-dispatcher alltoall");
    if (spec->overlap_shared && shape->shared_ffn == 0)
        return plan_refuse(error,
                           "--moe-shared-expert-overlap: %s has no shared experts; leave it out",
                           shape->name);
    if (spec->overlap_shared && spec->dispatch != LLM_DISPATCH_ALL_TO_ALL)
        return plan_refuse(error,
                           "--moe-shared-expert-overlap: shared experts run beside the all-to-all "
                           "of the alltoall dispatcher only; write --moe-dispatcher alltoall");
    return TRUE;
}

/* Megatron's conditions for overlap_moe_expert_parallel_comm (SPEC.md 3.15). */
static gboolean
check_overlap(const PlanSpec *spec, GError **error)
{
    if (spec->delay_wgrad && !spec->overlap_moe)
        return plan_refuse(error, "--delay-wgrad: weight gradients are put off behind the "
                                  "exchange of an overlapped pair; add --overlap-moe");
    if (!spec->overlap_moe)
        return TRUE;
    if (spec->ep == 1)
        return plan_refuse(error,
                           "--overlap-moe: there is no all-to-all to hide with --ep 1; write --ep "
                           "2 or more, or leave it out");
    if (spec->dispatch == LLM_DISPATCH_ALL_GATHER)
        return plan_refuse(error, "--overlap-moe: the allgather dispatcher is not interleaved; "
                                  "write --moe-dispatcher alltoall or flex");
    if (spec->recompute == LLM_RECOMPUTE_FULL)
        return plan_refuse(error, "--overlap-moe: a pair runs the parts of whole layers and cannot "
                                  "recompute them; write --recompute none or selective");
    if (spec->overlap_shared)
        return plan_refuse(error, "--overlap-moe: shared experts run in the pair's own order; "
                                  "leave out --moe-shared-expert-overlap");
    if (spec->pp > 1 && (spec->p2p == PLAN_P2P_BLOCKING || spec->p2p == PLAN_P2P_FUSED))
        return plan_refuse(error,
                           "--overlap-moe: messages between stages must run beside the pair, and "
                           "--p2p is %s; write --p2p overlapped",
                           spec->p2p == PLAN_P2P_BLOCKING ? "blocking" : "fused");
    return TRUE;
}

/* Shards smaller than all data-parallel ranks cut experts over shard size x tp / (ep x etp) ranks. Megatron asserts
 * that its partial optimizer instances divide the ranks with the same experts, torchtitan that ep divides those of
 * a shard; elsewhere what does not divide is not cut. */
static gboolean
check_shards(const PlanSpec *spec, GPtrArray *remarks, GError **error)
{
    gint64 all = spec->dp * spec->cp, experts = spec->ep * spec->etp, common = spec->tp;
    if (spec->zero == 0 || spec->shard_size == all || spec->shard_size * spec->tp % experts == 0)
        return TRUE;
    for (gint64 rest = experts; rest != 0;) { /* Euclid's */
        gint64 next = common % rest;
        common = rest;
        rest = next;
    }
    if (spec->framework == PLAN_MEGATRON || spec->framework == PLAN_TORCHTITAN)
        return plan_refuse(
            error,
            "--shard-size: %s cuts experts over shard size x tp / (ep x etp) = " PLAN_D " x " PLAN_D
            " / " PLAN_D " ranks; write a multiple of " PLAN_D ", or lower --ep",
            plan_framework_names[spec->framework], spec->shard_size, spec->tp, experts,
            experts / common);
    plan_remark(remarks,
                "shards of " PLAN_D " ranks are less than the ep x etp = " PLAN_D
                " ranks of a copy of the experts: expert states are not cut",
                spec->shard_size, experts);
    return TRUE;
}

/* --- load -------------------------------------------------------------------------------------- */

/* Tokens of each expert over their mean; NULL: the text is no such list. */
static double *
parse_histogram(const char *text, gint64 experts, GError **error)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    if ((gint64)g_strv_length(words) != experts) {
        plan_refuse(error,
                    "--expert-histogram: %u numbers for " PLAN_D " experts; write one for each",
                    g_strv_length(words), experts);
        return NULL;
    }
    g_autofree double *loads = g_new0(double, experts);
    double sum = 0;
    for (gint64 i = 0; i < experts; i++) {
        char *word = g_strstrip(words[i]), *end = NULL;
        loads[i] = g_ascii_strtod(word, &end);
        if (end == word || *end != '\0' || !(loads[i] >= 0 && loads[i] < 1e15)) {
            plan_refuse(error,
                        "--expert-histogram: '%.20s' (expert " PLAN_D
                        ") is no number of tokens; write 0 to 1e15",
                        word, i);
            return NULL;
        }
        sum += loads[i];
    }
    if (!(sum > 1e-200)) { /* the mean can be divided by */
        plan_refuse(error, "--expert-histogram: no expert has tokens; write numbers above 0");
        return NULL;
    }
    for (gint64 i = 0; i < experts; i++)
        loads[i] *= (double)experts / sum;
    return g_steal_pointer(&loads);
}

/* Normal with mean 1, nothing below 0, scaled so that the mean is 1 again. */
static double *
draw_loads(const PlanSpec *spec, gint64 experts)
{
    double *loads = g_new0(double, experts), sum = 0;
    SimRandom random = sim_random_init((guint64)spec->seed, "expert-load", 0);
    for (gint64 i = 0; i < experts; i++) {
        loads[i] = MAX(1 + spec->expert_imbalance * sim_random_normal(&random), 0);
        sum += loads[i];
    }
    for (gint64 i = 0; i < experts; i++)
        loads[i] = sum > 0 ? loads[i] * (double)experts / sum : 1;
    return loads;
}

double
plan_expert_load(const PlanSpec *spec, const LlmShape *shape)
{
    gint64 each = shape->experts / spec->ep;
    double most = 0;
    if (shape->experts == 0)
        return 1;
    if (spec->pad_to_capacity)
        return 1; /* all experts take their capacity, full or not */
    if (spec->expert_histogram == NULL && spec->expert_imbalance == 0)
        return 1;
    g_autofree double *loads = spec->expert_histogram != NULL
                                   ? parse_histogram(spec->expert_histogram, shape->experts, NULL)
                                   : draw_loads(spec, shape->experts);
    g_assert(loads != NULL); /* plan_resolve_experts has read it */
    for (gint64 r = 0; r < spec->ep; r++) {
        double sum = 0;
        for (gint64 i = r * each; i < (r + 1) * each; i++)
            sum += spec->capacity_factor > 0 ? MIN(loads[i], spec->capacity_factor) : loads[i];
        most = MAX(most, sum / (double)each);
    }
    return most;
}

static gboolean
check_load(const PlanSpec *spec, const LlmShape *shape, GPtrArray *remarks, GError **error)
{
    if (!(spec->expert_imbalance >= 0 && spec->expert_imbalance <= 100))
        return plan_refuse(error,
                           "--expert-imbalance: %g is no standard deviation over the mean; write 0 "
                           "to 100",
                           spec->expert_imbalance);
    if (spec->expert_histogram != NULL && spec->expert_imbalance > 0)
        return plan_refuse(error, "--expert-imbalance: --expert-histogram says how tokens are "
                                  "spread; leave out one of the two");
    if (spec->expert_histogram != NULL) {
        g_autofree double *loads = parse_histogram(spec->expert_histogram, shape->experts, error);
        if (loads == NULL)
            return FALSE;
    }
    double load = plan_expert_load(spec, shape);
    if (spec->expert_histogram != NULL)
        plan_remark(remarks,
                    "the most loaded of " PLAN_D
                    " expert parallel ranks has %.3g times the mean of the tokens (histogram)",
                    spec->ep, load);
    else if (spec->expert_imbalance > 0)
        plan_remark(remarks,
                    "the most loaded of " PLAN_D
                    " expert parallel ranks has %.3g times the mean of the tokens (deviation %g, "
                    "seed " PLAN_D ")",
                    spec->ep, load, spec->expert_imbalance, spec->seed);
    return TRUE;
}

gboolean
plan_resolve_experts(PlanSpec *spec, const LlmShape *shape, GPtrArray *remarks, GError **error)
{
    if (shape->experts == 0) {
        if (!check_dense(spec, shape, error))
            return FALSE;
        spec->etp = 1;
        return TRUE;
    }
    if (spec->etp == 0) /* Megatron's default is tp, the others cut experts by ep alone */
        spec->etp = spec->framework == PLAN_MEGATRON ? spec->tp : 1;
    return check_degrees(spec, shape, error) && check_dispatch(spec, shape, error) &&
           check_overlap(spec, error) && check_shards(spec, remarks, error) &&
           check_load(spec, shape, remarks, error);
}
