/* The result of a run as one head line and one row, tab separated. */
#include "config.h"

#include "report/run.h"

#include "report/certainty.h"
#include "report/number.h"

#define G "%" G_GINT64_FORMAT

static void
tsv_write(const ReportRun *run, GString *out)
{
    const PlanSpec *s = &run->plan->spec;
    const StepResult *r = run->result;
    double t = (double)r->time_ns / 1e9, gpus = (double)run->plan->gpus;
    g_string_append(out, "model\tsystem\tgpus\ttp\tpp\tdp\tcp\tep\tvpp\tmicrobatches\t"
                         "micro_batch_size\tglobal_batch_size\tseq_length\tschedule\ttime_s\t"
                         "time_error_s\ttokens_per_s\ttokens_per_s_per_gpu\tmodel_tflops_per_gpu\t"
                         "mfu\thfu\tbubble_fraction\tbubble_over_ideal");
    for (StepKind k = 0; k < STEP_N_KINDS; k++)
        g_string_append_printf(out, "\t%s_s", step_kind_name(k));
    g_string_append_printf(out, "\tpeak_bytes\tlimit_bytes\tfits%s\n", report_share_columns);
    g_string_append_printf(out,
                           "%s\t%s\t" G "\t" G "\t" G "\t" G "\t" G "\t" G "\t" G "\t" G "\t" G
                           "\t" G "\t" G "\t%s",
                           run->plan->shape->name, run->plan->system->name, run->plan->gpus, s->tp,
                           s->pp, s->dp, s->cp, s->ep, s->vpp, s->microbatches, s->micro_batch,
                           s->global_batch, s->seq, run->schedule->name);
    double tokens = report_tokens_per_s(run);
    const double values[] = {t,
                             (double)r->error_ns / 1e9,
                             tokens,
                             tokens / gpus,
                             r->model_flops / t / gpus * 1e-12,
                             report_mfu(run),
                             report_hfu(run),
                             r->bubble_fraction,
                             r->bubble_over_ideal};
    for (guint i = 0; i < G_N_ELEMENTS(values); i++)
        g_string_append_printf(out, "\t%s", report_plain(values[i], 9).text);
    for (StepKind k = 0; k < STEP_N_KINDS; k++)
        g_string_append_printf(out, "\t%s", report_plain((double)r->breakdown_ns[k] / 1e9, 9).text);
    g_string_append_printf(out, "\t" G "\t" G "\t%d", r->memory_peak_bytes, r->memory_limit_bytes,
                           report_fits(r) ? 1 : 0);
    report_share_fields(report_certainty(r), out);
    g_string_append_c(out, '\n');
}

const ReportFormat report_tsv = {"tsv", tsv_write};

void
report_memory_tsv(const ReportRun *run, GString *out)
{
    const GArray *stages = run->result->stages;
    g_string_append(out, "pp_rank\tpeak_microbatches");
    for (guint i = 0; i < STEP_N_MEMORY; i++)
        g_string_append_printf(out, "\t%s_bytes", step_memory_names[i]);
    g_string_append(out, "\tpeak_bytes\treserved_bytes\tlimit_bytes\tfits\n");
    for (guint i = 0; i < stages->len; i++) {
        const StepStage *s = &g_array_index(stages, StepStage, i);
        g_string_append_printf(out, G "\t%u", s->pp_rank, s->peak_microbatches);
        for (guint k = 0; k < STEP_N_MEMORY; k++)
            g_string_append_printf(out, "\t" G, s->peak[k]);
        gint64 limit = run->result->memory_limit_bytes;
        g_string_append_printf(out, "\t" G "\t" G "\t" G "\t%d\n", s->peak_bytes, s->reserved_bytes,
                               limit, s->peak_bytes <= limit ? 1 : 0);
    }
}
