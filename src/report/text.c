/* The page that `dtsim run` prints: what was simulated, the result, where the time goes, and why. */
#include "config.h"

#include "report/run.h"

#include "report/links.h"
#include "report/number.h"
#include "report/section.h"
#include "report/shapes.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

#define G "%" G_GINT64_FORMAT

static const char *const recompute_names[] = {"none", "selective", "full"};

static void
append_model(const ReportRun *run, GString *out)
{
    const LlmShape *m = run->plan->shape;
    LlmParameters p = llm_parameters(m);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "%s: %s parameters; " G " layers, hidden " G ", " G " heads",
                           m->name, report_big((double)p.total).text, m->layers, m->hidden,
                           m->heads);
    if (m->kv_heads != m->heads)
        g_string_append_printf(text, " (" G " kv)", m->kv_heads);
    g_string_append_printf(text, ", ffn " G "%s, vocabulary " G, m->ffn, m->gated ? " gated" : "",
                           m->vocab);
    if (m->experts > 0)
        g_string_append_printf(text, "; " G " experts of " G ", " G " a token", m->experts,
                               m->expert_ffn, m->experts_per_token);
    if (m->shared_ffn > 0)
        g_string_append_printf(text, ", shared " G, m->shared_ffn);
    report_paragraph(out, "  model      ", text->str);
}

static void
append_system(const ReportRun *run, GString *out)
{
    const ClusterSystem *s = run->plan->system;
    g_string_append_printf(out, "  system     %s: " G " x %s in " G " node%s of " G "\n", s->name,
                           run->plan->gpus, s->gpu_name, run->plan->nodes,
                           run->plan->nodes == 1 ? "" : "s", s->gpus_per_node);
}

static void
append_plan(const ReportRun *run, GString *out)
{
    const PlanSpec *s = &run->plan->spec;
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "tp " G ", pp " G ", dp " G ", cp " G, s->tp, s->pp, s->dp, s->cp);
    if (s->ep > 1)
        g_string_append_printf(text, ", ep " G, s->ep);
    g_string_append_printf(text, ", vpp " G "; schedule %s; %s; ZeRO " G "%s", s->vpp,
                           run->schedule->name,
                           s->sequence_parallel ? "sequence parallel" : "no sequence parallel",
                           s->zero, s->zero == 1 ? " (distributed optimizer)" : "");
    if (s->optimizer_barrier != PLAN_BARRIER_GLOBAL)
        g_string_append_printf(text, "; optimizer barrier %s",
                               report_barrier_names[s->optimizer_barrier]);
    report_paragraph(out, "  plan       ", text->str);
    g_string_append_printf(out,
                           "  batch      " G " sequence%s of " G " tokens; " G " microbatch%s of " G
                           " on each of " G " replica%s\n",
                           s->global_batch, s->global_batch == 1 ? "" : "s", s->seq,
                           s->microbatches, s->microbatches == 1 ? "" : "es", s->micro_batch, s->dp,
                           s->dp == 1 ? "" : "s");
    g_string_append_printf(
        out, "  numerics   %s, gradients %s; %s attention; recompute %s; dropout %s\n",
        cluster_dtype_name(s->dtype), s->gradient_fp32 ? "fp32" : cluster_dtype_name(s->dtype),
        s->attention == LLM_ATTENTION_FLASH ? "flash" : "unfused", recompute_names[s->recompute],
        run->plan->cut.dropout ? "on" : "off");
    if (run->defaults != NULL && run->defaults[0] != '\0')
        report_paragraph(out, "  defaults   ", run->defaults);
    for (guint i = 0; i < run->plan->remarks->len; i++)
        report_paragraph(out, "  note       ", run->plan->remarks->pdata[i]);
}

static void
append_result(const ReportRun *run, GString *out)
{
    const StepResult *r = run->result;
    const Plan *plan = run->plan;
    double t = (double)r->time_ns * 1e-9, tokens = report_tokens_per_s(run);
    double gpus = (double)plan->gpus;
    const char *dtype = cluster_dtype_name(plan->spec.dtype);
    g_string_append_printf(out, "  iteration       %s +- %s (one sigma)\n", report_time(t).text,
                           report_time((double)r->error_ns * 1e-9).text);
    g_string_append_printf(out, "  throughput      %s tokens/s; %s tokens/s/GPU; %s sequences/s\n",
                           report_grouped(tokens).text, report_grouped(tokens / gpus).text,
                           report_plain((double)plan->spec.global_batch / t, 4).text);
    g_string_append_printf(
        out, "  model FLOP/s    %s TFLOP/s/GPU; MFU %s (%s convention, %s TFLOP/s %s peak)\n",
        report_fixed(r->model_flops / t / gpus * 1e-12, 1).text,
        report_percent(report_mfu(run)).text, llm_flops_name(run->convention),
        report_plain((double)plan->system->peak_flops[plan->spec.dtype] * 1e-12, 4).text, dtype);
    g_string_append_printf(out, "  hardware FLOP/s %s TFLOP/s/GPU; HFU %s (recompute counted)\n",
                           report_fixed(r->hardware_flops / t / gpus * 1e-12, 1).text,
                           report_percent(report_hfu(run)).text);
}

static void
append_breakdown(const ReportRun *run, GString *out)
{
    const StepResult *r = run->result;
    g_autoptr(ReportTable) table = report_table_new("lrrl", NULL);
    for (StepKind k = 0; k < STEP_N_KINDS; k++) {
        gint64 ns = r->breakdown_ns[k];
        double share = r->time_ns > 0 ? (double)ns / (double)r->time_ns : 0;
        if (ns == 0)
            continue;
        g_autofree char *bar = g_strnfill((gsize)lround(CLAMP(share, 0, 1) * 50), '#');
        g_autofree char *name = g_strdelimit(g_strdup(step_kind_name(k)), "_", ' ');
        report_table_cell(table, "%s", name);
        report_table_cell(table, "%s", report_time((double)ns * 1e-9).text);
        report_table_cell(table, "%s", report_percent(share).text);
        report_table_cell(table, "%s", bar);
    }
    report_table_print(table, 2, out);
}

/* Errors that show beside the time's own. */
static void
append_errors(const StepResult *r, GString *out)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (StepKind k = 0; k < STEP_N_KINDS; k++) {
        g_autofree char *name = g_strdelimit(g_strdup(step_kind_name(k)), "_", ' ');
        if (r->breakdown_error_ns[k] * 100 < r->error_ns || r->breakdown_error_ns[k] == 0)
            continue;
        g_string_append_printf(text, "%s%s +- %s", text->len > 0 ? ", " : "", name,
                               report_time((double)r->breakdown_error_ns[k] * 1e-9).text);
    }
    if (text->len > 0)
        report_paragraph(out, "  error of each part         ", text->str);
}

static void
append_basis(const ReportRun *run, GString *out)
{
    const StepResult *r = run->result;
    g_string_append_printf(
        out, "  measured on this hardware  %6s of the compute and communication time\n",
        report_percent(r->share[COST_MEASURED]).text);
    g_string_append_printf(out, "  interpolated between these %6s\n",
                           report_percent(r->share[COST_INTERPOLATED]).text);
    g_string_append_printf(out, "  modelled                   %6s\n",
                           report_percent(r->share[COST_MODELLED]).text);
    append_errors(r, out);
    report_append_unmeasured(r, out);
    g_string_append_printf(out, "  simulated                  %s events, %s ops, %u of %u ranks\n",
                           report_grouped((double)r->events).text,
                           report_grouped((double)r->ops).text, r->ranks_simulated, r->ranks);
}

static void
text_write(const ReportRun *run, GString *out)
{
    g_string_append(out, "What was simulated\n");
    append_model(run, out);
    append_system(run, out);
    append_plan(run, out);
    g_string_append(out, "\nResult\n");
    append_result(run, out);
    g_string_append(out, "\nWhere the time goes (critical path)\n");
    append_breakdown(run, out);
    g_string_append(out, "\nPipeline\n");
    report_append_pipeline(run, out);
    g_string_append(out, "\nMemory of one GPU (worst stage)\n");
    report_append_memory(run, out);
    report_append_links(run, out);
    g_string_append(out, "\nWhat this rests on\n");
    append_basis(run, out);
    g_string_append(out, "\nWhy\n");
    report_append_reasons(run, out);
}

const ReportFormat report_text = {"text", text_write};
