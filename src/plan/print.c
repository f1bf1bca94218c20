/* The resolved plan as text, in the words of the command line. */
#include "config.h"

#include "plan/plan.h"

static const char *const recomputes[] = {"none", "selective", "full"};
static const char *const attentions[] = {"flash", "unfused"};
static const char *const barriers[] = {"global", "none", "post-validation"};
static const char *const p2ps[] = {"auto", "ideal", "async", "blocking", "overlapped", "fused"};

static void
print_count(GString *text, const char *name, gint64 value)
{
    g_string_append_printf(text, "%s = %" G_GINT64_FORMAT "\n", name, value);
}

static void
print_word(GString *text, const char *name, const char *value)
{
    g_string_append_printf(text, "%s = %s\n", name, value);
}

static void
print_flag(GString *text, const char *name, gboolean value)
{
    print_word(text, name, value ? "true" : "false");
}

static void
print_layers(GString *text, const Plan *plan)
{
    g_string_append(text, "stage-layers = ");
    for (gint64 s = 0; s < plan->n_stages; s++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, s > 0 ? "," : "", plan->layers[s]);
    g_string_append_c(text, '\n');
}

char *
plan_print(const Plan *plan)
{
    const PlanSpec *s = &plan->spec;
    GString *text = g_string_new(NULL);
    char clip[G_ASCII_DTOSTR_BUF_SIZE];

    print_word(text, "model", plan->shape->name);
    print_word(text, "system", plan->system->name);
    print_count(text, "gpus", plan->gpus);
    print_count(text, "tp", s->tp);
    print_count(text, "pp", s->pp);
    print_count(text, "dp", s->dp);
    print_count(text, "cp", s->cp);
    print_count(text, "ep", s->ep);
    print_count(text, "vpp", s->vpp);
    print_layers(text, plan);
    print_count(text, "seq-length", s->seq);
    print_count(text, "micro-batch-size", s->micro_batch);
    print_count(text, "global-batch-size", s->global_batch);
    print_count(text, "microbatches", s->microbatches);
    print_word(text, "schedule", s->schedule);
    print_count(text, "group", s->group);
    print_flag(text, "sequence-parallel", s->sequence_parallel);
    print_count(text, "zero", s->zero);
    print_word(text, "recompute", recomputes[s->recompute]);
    print_word(text, "attention", attentions[s->attention]);
    print_word(text, "dtype", cluster_dtype_name(s->dtype));
    print_word(text, "grad-dtype", s->gradient_fp32 ? "fp32" : "model");
    print_flag(text, "gradient-accumulation-fusion", s->gradient_fusion);
    print_word(text, "optimizer-barrier", barriers[s->optimizer_barrier]);
    print_word(text, "dropout", s->dropout != 0 ? "on" : "off");
    print_word(text, "p2p", p2ps[s->p2p]);
    print_flag(text, "p2p-sync", s->p2p_sync);
    print_flag(text, "scatter-gather", s->scatter_gather);
    print_flag(text, "overlap-grad-reduce", s->overlap_grad_reduce);
    print_flag(text, "overlap-param-gather", s->overlap_param_gather);
    print_flag(text, "align-grad-reduce", s->align_grad_reduce);
    print_count(text, "bucket-size", s->bucket_elements);
    print_word(text, "clip", g_ascii_formatd(clip, sizeof clip, "%g", s->clip));
    print_flag(text, "deepspeed-pipeline", s->deepspeed_pipeline);
    for (guint i = 0; i < plan->remarks->len; i++)
        g_string_append_printf(text, "# %s\n", (const char *)plan->remarks->pdata[i]);
    return g_string_free(text, FALSE);
}
