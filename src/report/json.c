/* The result of a run as JSON, and the same on one line of TSV. Keys are documented in dtsim.1. */
#include "config.h"

#include "report/run.h"

#include "report/advice.h"
#include "report/certainty.h"
#include "report/json_number.h"
#include "report/links.h"
#include "report/model.h"
#include "report/number.h"
#include "report/shapes.h"
#include "report/traffic.h"

#include <math.h>

static const char *const recompute_names[] = {"none", "selective", "full"};
static const char *const p2p_names[] = {"auto",     "ideal",      "async",
                                        "blocking", "overlapped", "fused"};

static double
seconds(gint64 ns)
{
    return (double)ns / 1e9;
}

static void
json_inputs(JsonBuilder *b, const ReportRun *run)
{
    const Plan *plan = run->plan;
    report_json_text(b, "dtsim", PACKAGE_VERSION);
    report_json_object(b, "model");
    report_model_members(b, plan->shape);
    json_builder_end_object(b);
    report_json_object(b, "system");
    report_json_text(b, "name", plan->system->name);
    report_json_text(b, "gpu", plan->system->gpu_name);
    report_json_int(b, "gpus", plan->gpus);
    report_json_int(b, "nodes", plan->nodes);
    report_json_int(b, "gpus_per_node", plan->system->gpus_per_node);
    json_builder_end_object(b);
}

static void
json_plan(JsonBuilder *b, const ReportRun *run)
{
    const PlanSpec *s = &run->plan->spec;
    report_json_object(b, "plan");
    report_json_int(b, "tp", s->tp);
    report_json_int(b, "pp", s->pp);
    report_json_int(b, "dp", s->dp);
    report_json_int(b, "cp", s->cp);
    report_json_int(b, "ep", s->ep);
    report_json_int(b, "vpp", s->vpp);
    report_json_int(b, "microbatches", s->microbatches);
    report_json_int(b, "micro_batch_size", s->micro_batch);
    report_json_int(b, "global_batch_size", s->global_batch);
    report_json_int(b, "seq_length", s->seq);
    report_json_text(b, "rank_order", s->order);
    report_json_text(b, "allocation", s->hostfile != NULL ? "hostfile" : s->allocation);
    report_json_text(b, "schedule", run->schedule->name);
    report_json_int(b, "group", s->group);
    report_json_int(b, "zero", s->zero);
    report_json_text(b, "recompute", recompute_names[s->recompute]);
    report_json_text(b, "attention", s->attention == LLM_ATTENTION_FLASH ? "flash" : "unfused");
    report_json_text(b, "dtype", cluster_dtype_name(s->dtype));
    report_json_text(b, "grad_dtype", s->gradient_fp32 ? "fp32" : cluster_dtype_name(s->dtype));
    report_json_bool(b, "sequence_parallel", s->sequence_parallel);
    report_json_text(b, "p2p", p2p_names[s->p2p]);
    report_json_text(b, "optimizer_barrier", report_barrier_names[s->optimizer_barrier]);
    report_json_text(b, "pipeline_layout", s->layout);
    report_json_bool(b, "overlap_grad_reduce", s->overlap_grad_reduce);
    report_json_bool(b, "overlap_param_gather", s->overlap_param_gather);
    report_json_array(b, "stage_layers");
    for (gint64 i = 0; i < run->plan->n_stages; i++)
        json_builder_add_int_value(b, run->plan->layers[i]);
    json_builder_end_array(b);
    json_builder_end_object(b);
}

static void
json_iteration(JsonBuilder *b, const ReportRun *run)
{
    const StepResult *r = run->result;
    double t = seconds(r->time_ns), gpus = (double)run->plan->gpus;
    double tokens = report_tokens_per_s(run);
    report_json_object(b, "iteration");
    report_json_double(b, "time_s", t);
    report_json_double(b, "tokens_per_s", tokens);
    report_json_double(b, "tokens_per_s_per_gpu", tokens / gpus);
    report_json_double(b, "samples_per_s", (double)run->plan->spec.global_batch / t);
    report_json_double(b, "model_tflops_per_gpu", r->model_flops / t / gpus * 1e-12);
    report_json_double(b, "hardware_tflops_per_gpu", r->hardware_flops / t / gpus * 1e-12);
    report_json_double(b, "mfu", report_mfu(run));
    report_json_double(b, "hfu", report_hfu(run));
    report_json_text(b, "flops_convention", llm_flops_name(run->convention));
    report_certainty_members(b, report_certainty(r));
    report_json_double(b, "slowed_s", seconds(r->slowed_ns));
    report_json_double(b, "delayed_s", seconds(r->delayed_ns));
    json_builder_end_object(b);
}

static void
json_pipeline(JsonBuilder *b, const ReportRun *run)
{
    const StepResult *r = run->result;
    report_json_object(b, "pipeline");
    report_json_double(b, "bubble_fraction", r->bubble_fraction);
    report_json_double(b, "bubble_over_ideal", r->bubble_over_ideal);
    report_json_double(b, "closed_form_bubble_fraction", report_closed_form_bubble(run->schedule));
    report_json_double(b, "makespan_s", seconds(r->makespan_ns));
    report_json_double(b, "max_span_s", seconds(r->max_span_ns));
    report_json_array(b, "per_stage");
    for (guint i = 0; i < r->stages->len; i++) {
        const StepStage *s = &g_array_index(r->stages, StepStage, i);
        report_json_object(b, NULL);
        report_json_int(b, "pp_rank", s->pp_rank);
        report_json_int(b, "layers", s->layers);
        report_json_int(b, "parameters", s->parameters);
        report_json_double(b, "forward_s", seconds(s->forward_ns));
        report_json_double(b, "backward_s", seconds(s->backward_ns));
        report_json_double(b, "start_s", seconds(s->start_ns));
        report_json_double(b, "end_s", seconds(s->end_ns));
        report_json_double(b, "busy_s", seconds(s->busy_ns));
        report_json_double(b, "idle_s", seconds(s->idle_ns));
        report_json_int(b, "peak_microbatches", s->peak_microbatches);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    json_builder_end_object(b);
}

static void
json_by_kind(JsonBuilder *b, const StepStage *stage)
{
    for (guint i = 0; i < STEP_N_MEMORY; i++)
        report_json_int(b, step_memory_names[i], stage->peak[i]);
}

static void
json_memory(JsonBuilder *b, const ReportRun *run)
{
    const StepResult *r = run->result;
    report_json_object(b, "memory");
    report_json_int(b, "peak_bytes", r->memory_peak_bytes);
    report_json_int(b, "limit_bytes", r->memory_limit_bytes);
    report_json_bool(b, "fits", report_fits(r));
    report_json_text(b, "verdict", step_verdict_names[r->verdict]);
    report_json_int(b, "margin_bytes", r->memory_limit_bytes - r->memory_peak_bytes);
    report_json_int(b, "reserved_bytes", r->memory_reserved_bytes);
    report_json_double(b, "fragmentation", run->plan->spec.fragmentation);
    report_json_int(b, "host_bytes", r->host_bytes);
    if (r->host_limit_bytes > 0)
        report_json_int(b, "host_limit_bytes", r->host_limit_bytes);
    else
        report_json_double(b, "host_limit_bytes", NAN);
    report_json_int(b, "nvme_bytes", r->nvme_bytes);
    report_json_int(b, "peak_stage", r->memory_peak_stage);
    report_json_object(b, "by_kind");
    json_by_kind(b, &g_array_index(r->stages, StepStage, r->memory_peak_stage));
    json_builder_end_object(b);
    report_json_array(b, "per_stage");
    for (guint i = 0; i < r->stages->len; i++) {
        const StepStage *s = &g_array_index(r->stages, StepStage, i);
        report_json_object(b, NULL);
        report_json_int(b, "pp_rank", s->pp_rank);
        report_json_int(b, "peak_bytes", s->peak_bytes);
        report_json_int(b, "reserved_bytes", s->reserved_bytes);
        report_json_int(b, "closed_form_bytes", s->closed_form_bytes);
        report_json_double(b, "peak_s", seconds(s->peak_ns));
        report_json_int(b, "peak_microbatches", s->peak_microbatches);
        json_by_kind(b, s);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    json_builder_end_object(b);
}

static void
json_certainty(JsonBuilder *b, const ReportRun *run)
{
    const StepResult *r = run->result;
    report_json_object(b, "breakdown_error_s");
    for (StepKind k = 0; k < STEP_N_KINDS; k++)
        report_json_double(b, step_kind_name(k), seconds(r->breakdown_error_ns[k]));
    json_builder_end_object(b);
    report_worth_members(b, run);
}

static void
json_write(const ReportRun *run, GString *out)
{
    const StepResult *r = run->result;
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    json_inputs(b, run);
    json_plan(b, run);
    json_iteration(b, run);
    json_pipeline(b, run);
    report_json_object(b, "breakdown_s");
    for (StepKind k = 0; k < STEP_N_KINDS; k++)
        report_json_double(b, step_kind_name(k), seconds(r->breakdown_ns[k]));
    json_builder_end_object(b);
    json_certainty(b, run);
    json_memory(b, run);
    report_traffic_member(b, run);
    report_links_member(b, run);
    report_json_object(b, "simulation");
    report_json_int(b, "events", (gint64)r->events);
    report_json_int(b, "ops", (gint64)r->ops);
    report_json_int(b, "ranks", r->ranks);
    report_json_int(b, "ranks_simulated", r->ranks_simulated);
    if (run->wall_s >= 0)
        report_json_double(b, "wall_s", run->wall_s);
    json_builder_end_object(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

const ReportFormat report_json = {"json", json_write};

void
report_memory_json(const ReportRun *run, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    json_inputs(b, run);
    json_plan(b, run);
    json_memory(b, run);
    if (run->advice != NULL)
        report_advice_json(b, run->advice);
    json_builder_end_object(b);
    report_json_print(b, out);
}
