/* The result in a few sentences: what costs most besides computing, and what would change it. */
#include "config.h"

#include "report/section.h"

#include "report/number.h"

#include <math.h>

#define WORTH_SAYING 0.01 /* of the time */

static double
share_of(const StepResult *r, StepKind kind)
{
    return r->time_ns > 0 ? (double)r->breakdown_ns[kind] / (double)r->time_ns : 0;
}

/* (P-1)/(V M): idle over busy of equal stages under 1F1B and its interleaved form. */
static void
append_bubble(const ReportRun *run, GString *out)
{
    const PlanSpec *s = &run->plan->spec;
    const StepResult *r = run->result;
    if (s->pp < 2 || r->bubble_over_ideal < WORTH_SAYING)
        return;
    g_autoptr(GString) text = g_string_new(NULL);
    double closed = report_closed_form_bubble(run->schedule);
    g_string_append_printf(text, "Pipeline ranks idle for %s of their busy time",
                           report_percent(r->bubble_over_ideal).text);
    if (!isnan(closed)) {
        double over_ideal = closed / (1 - closed);
        gboolean as_1f1b =
            fabs(over_ideal - (double)(s->pp - 1) / (double)(s->vpp * s->microbatches)) < 1e-9;
        g_string_append_printf(text, "; with equal stages and free transfers it would be %s",
                               report_percent(over_ideal).text);
        if (as_1f1b)
            g_string_append_printf(text, " = (pp - 1)/%s = %" G_GINT64_FORMAT "/%" G_GINT64_FORMAT,
                                   s->vpp > 1 ? "(vpp x microbatches)" : "microbatches", s->pp - 1,
                                   s->vpp * s->microbatches);
        if (r->bubble_over_ideal > over_ideal + 0.02)
            g_string_append(text, ", the rest being unequal stages and transfers");
        if (as_1f1b)
            g_string_append(text, ". Twice the microbatches would halve that part");
    }
    g_string_append_c(text, '.');
    report_paragraph(out, "  ", text->str);
}

typedef struct {
    StepKind kind;
    const char *what, *change;
} Exposure;

static const Exposure exposures[] = {
    {STEP_TP, "Tensor-parallel collectives that nothing hides",
     "they lie between the GEMMs of every layer, and a smaller tp, inside one node, shortens them"},
    {STEP_CP, "Context-parallel transfers that nothing hides",
     "a smaller cp or longer sequences per rank hide more of them"},
    {STEP_EP, "Tokens on their way to experts and back that nothing hides",
     "an ep inside one node shortens it"},
    {STEP_PP, "Pipeline transfers that nothing hides", "fewer stages or chunks mean fewer of them"},
    {STEP_DP, "Gradient and weight exchange that nothing hides",
     "more microbatches spread it over more work"},
    {STEP_RECOMPUTE, "Computing activations again", "less recompute saves it where memory allows"},
    {STEP_OPTIMIZER, "The optimizer", "a larger dp divides more of it under --zero 1"},
    {STEP_HOST, "Waiting for the host to launch kernels",
     "larger microbatches make kernels longer than their launch"},
};

/* Sharding that moves weights or gradients with each microbatch is not spread by more of them. */
static const char *
change_of(const PlanSpec *s, const Exposure *exposure)
{
    gboolean gathered = s->zero == 3 && s->reshard_after_forward;
    if (exposure->kind != STEP_DP || s->microbatches < 2 ||
        (!gathered && (s->zero < 2 || s->reduce != PLAN_REDUCE_EACH)))
        return exposure->change;
    return gathered
               ? "it comes with each microbatch: larger and fewer ones, or shards within a node "
                 "(--shard-size), make it less"
               : "it comes with each microbatch: larger and fewer ones make it less";
}

/* What to write, where an option that helps is off. */
static const char *
option_of(const PlanSpec *s, StepKind kind)
{
    if (kind == STEP_DP && s->zero >= 2 && s->reduce == PLAN_REDUCE_EACH && s->microbatches > 1)
        return ", and --grad-reduce last sums gradients once, where memory allows";
    if (kind == STEP_EP && !s->overlap_moe)
        return ", and --overlap-moe with a schedule of pairs (interleaved_ep_overlap, dualpipev) "
               "hides it";
    if (kind == STEP_EP && s->dispatch != LLM_DISPATCH_FLEX)
        return ", and --moe-dispatcher flex sends a token once to a node";
    if (kind == STEP_DP && !s->overlap_grad_reduce)
        return ", and --overlap-grad-reduce hides it";
    if (kind == STEP_OPTIMIZER && s->zero == 0)
        return ", so write --zero 1";
    if (kind == STEP_PP && s->vpp > 1 && s->p2p != PLAN_P2P_OVERLAPPED)
        return ", and --p2p overlapped hides them";
    return "";
}

/* The largest of the costs besides computing, if it is worth a sentence. */
static void
append_largest(const ReportRun *run, GString *out)
{
    const Exposure *worst = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(exposures); i++)
        if (worst == NULL ||
            share_of(run->result, exposures[i].kind) > share_of(run->result, worst->kind))
            worst = &exposures[i];
    double share = share_of(run->result, worst->kind);
    if (share < WORTH_SAYING)
        return;
    g_autofree char *text = g_strdup_printf(
        "%s: %s of the iteration; %s%s.", worst->what, report_percent(share).text,
        change_of(&run->plan->spec, worst), option_of(&run->plan->spec, worst->kind));
    report_paragraph(out, "  ", text);
}

/* What kernels and traffic do to each other. */
static void
append_interference(const ReportRun *run, GString *out)
{
    const StepResult *r = run->result;
    double slowed = r->time_ns > 0 ? (double)r->slowed_ns / (double)r->time_ns : 0;
    double delayed = r->time_ns > 0 ? (double)r->delayed_ns / (double)r->time_ns : 0;
    if (run->plan->system->overlap_off || slowed + delayed < WORTH_SAYING)
        return;
    g_autofree char *share = g_strdup(report_percent(slowed).text);
    g_autofree char *text = g_strdup_printf(
        "Kernels on the critical path take longer for what is sent beside them, %s of the "
        "iteration, and what is sent there for kernels and shared links, %s; "
        "--set gpu.overlap=off shows the iteration without the former.",
        share, report_percent(delayed).text);
    report_paragraph(out, "  ", text);
}

static void
append_memory_reason(const ReportRun *run, GString *out)
{
    const StepResult *r = run->result;
    if (r->memory_peak_bytes <= r->memory_limit_bytes)
        return;
    const StepStage *worst = &g_array_index(r->stages, StepStage, r->memory_peak_stage);
    guint most = 0;
    for (guint i = 1; i < STEP_N_MEMORY; i++)
        if (worst->peak[i] > worst->peak[most])
            most = i;
    const PlanSpec *s = &run->plan->spec;
    gboolean replicas = s->dp * s->cp > 1;
    const char *const remedies[STEP_N_MEMORY] = {
        replicas && s->zero < 3 ? "a larger tp or pp, or --zero 3, divides them"
                                : "a larger tp or pp divides them",
        replicas && s->zero < 2 ? "a larger tp or pp, or --zero 2, divides them"
                                : "a larger tp or pp, or --grad-dtype model, makes them smaller",
        replicas && s->zero == 0 ? "the distributed optimizer (--zero 1) divides it"
                                 : "a larger dp divides it under --zero 1, and --offload-optimizer "
                                   "cpu takes it off the GPU",
        s->recompute == LLM_RECOMPUTE_FULL
            ? "a smaller microbatch, a larger tp or --cp makes them smaller"
            : "more recompute (--recompute full) or a smaller microbatch makes them smaller",
        "a smaller microbatch, a larger tp or --fused-loss makes them smaller",
        "gathering fewer layers as one, or dropping them after the forward, makes them smaller",
        "a smaller microbatch or a larger tp makes it smaller",
        "a smaller microbatch makes them smaller",
        "it does not depend on the plan"};
    g_autofree char *text = g_strdup_printf(
        "It does not fit: the largest part on pipeline rank %" G_GINT64_FORMAT " is %s, %s of %s; "
        "%s.",
        worst->pp_rank, step_memory_names[most], report_gb((double)worst->peak[most]).text,
        report_gb((double)r->memory_peak_bytes).text, remedies[most]);
    report_paragraph(out, "  ", text);
}

void
report_append_reasons(const ReportRun *run, GString *out)
{
    gsize before = out->len;
    append_bubble(run, out);
    append_largest(run, out);
    append_interference(run, out);
    append_memory_reason(run, out);
    if (out->len == before)
        report_paragraph(out, "  ",
                         "The iteration is bound by computing: nothing else takes 1 % of it.");
}
