/* What a GPU sends in an iteration of real models, as the engine ran it, against volumes that were worked out
 * elsewhere: to the byte. */
#include "config.h"

#include "step-expect.h"

#include "conf/table.h"

#include <string.h>

static void
change_full(PlanSpec *s)
{
    s->recompute = LLM_RECOMPUTE_FULL;
}

static void
change_plain_tp(PlanSpec *s)
{
    s->sequence_parallel = FALSE;
}

static void
change_zero_3(PlanSpec *s)
{
    s->zero = 3;
    s->resident_elements = 0;
}

static void
change_each(PlanSpec *s)
{
    s->reduce = PLAN_REDUCE_EACH;
}

static void
change_keep(PlanSpec *s)
{
    s->reshard_after_forward = FALSE;
}

static void
change_kind_gather(PlanSpec *s)
{
    s->cp_kind = LLM_CP_ALL_GATHER;
}

static void
change_kind_heads(PlanSpec *s)
{
    s->cp_kind = LLM_CP_A2A;
}

static void
change_fp8_dispatch(PlanSpec *s)
{
    s->fp8_dispatch = TRUE;
}

static const struct {
    const char *collective, *group;
    StepKind kind;
    NetOp op;
} words[] = {{"AG", "TP", STEP_TP, NET_ALL_GATHER},    {"RS", "TP", STEP_TP, NET_REDUCE_SCATTER},
             {"AR", "TP", STEP_TP, NET_ALL_REDUCE},    {"P2P", "CP", STEP_CP, NET_SEND_RECV},
             {"AG", "CP", STEP_CP, NET_ALL_GATHER},    {"RS", "CP", STEP_CP, NET_REDUCE_SCATTER},
             {"A2A", "CP", STEP_CP, NET_ALL_TO_ALL},   {"A2A", "EP", STEP_EP, NET_ALL_TO_ALL},
             {"AG", "TPxEP", STEP_EP, NET_ALL_GATHER}, {"AR", "DP", STEP_DP, NET_ALL_REDUCE},
             {"AG", "DP", STEP_DP, NET_ALL_GATHER},    {"RS", "DP", STEP_DP, NET_REDUCE_SCATTER}};

typedef struct {
    const char *name;      /* of the vectors' case */
    const char *leave_out; /* words of operations that this run does not do, between '|' */
    LlmShape (*shape)(void);
    PlanFramework framework;
    gint64 tp, cp, pp, dp, ep, microbatches;
    void (*change)(PlanSpec *s);
} Published;

static gboolean
left_out(const Published *p, const char *operation)
{
    g_auto(GStrv) parts = g_strsplit(p->leave_out, "|", -1);
    for (guint i = 0; parts[i] != NULL; i++)
        if (strstr(operation, parts[i]) != NULL)
            return TRUE;
    return strstr(operation, "pipeline p2p") != NULL; /* compared apart */
}

/* How often a rank does what a row counts once. */
static double
times_of(const char *unit, const Plan *plan, const StepStage *stage, gint64 moe_layers,
         gboolean expert_row)
{
    double m = (double)plan->spec.microbatches;
    double layers = (double)(expert_row ? moe_layers : stage->layers);
    if (g_str_has_prefix(unit, "per layer per microbatch"))
        return layers * m;
    if (g_str_has_prefix(unit, "per layer per iteration"))
        return layers;
    if (g_str_has_prefix(unit, "first stage"))
        return stage->pp_rank == 0 ? m : 0;
    if (g_str_has_prefix(unit, "last stage"))
        return stage->pp_rank == plan->spec.pp - 1 ? m : 0;
    if (g_str_has_prefix(unit, "per microbatch"))
        return m;
    g_assert_true(g_str_has_prefix(unit, "per iteration"));
    return 1;
}

/* The rows of a case, added up; those of data parallelism count parameters of theirs, here of the stage. */
static guint
add_rows(const ConfTable *t, const Published *p, const Plan *plan, const StepStage *stage,
         gint64 moe_layers, Sums *sums)
{
    guint n = 0;
    for (guint i = 0; i < conf_table_n_rows(t); i++) {
        const char *operation = conf_table_text(t, i, 1), *unit = conf_table_text(t, i, 8);
        if (!g_str_equal(conf_table_text(t, i, 0), p->name) || left_out(p, operation))
            continue;
        double bytes;
        g_assert_true(conf_table_double(t, i, 7, &bytes, NULL));
        const char *collective = conf_table_text(t, i, 2), *group = conf_table_text(t, i, 3);
        guint w = 0;
        while (!g_str_equal(words[w].collective, collective) || !g_str_equal(words[w].group, group))
            g_assert_cmpuint(++w, <, G_N_ELEMENTS(words));
        double times = times_of(unit, plan, stage, moe_layers, words[w].kind == STEP_EP);
        if (words[w].kind == STEP_DP)
            times *= (double)stage->parameters / 2204762112.0;
        sums->sent[words[w].kind][words[w].op] += bytes * times;
        n++;
    }
    return n;
}

static LlmShape
shape_llama_70b(void)
{
    LlmShape s = shape_dense();
    s.layers = 80;
    s.hidden = 8192;
    s.heads = 64;
    s.kv_heads = 8;
    s.head_dim = 128;
    s.ffn = 28672;
    s.vocab = 128256;
    s.max_positions = 8192;
    return s;
}

static LlmShape
shape_mixtral(void)
{
    LlmShape s = shape_moe();
    s.layers = 4;
    s.hidden = 4096;
    s.heads = 32;
    s.kv_heads = 8;
    s.head_dim = 128;
    s.expert_ffn = s.ffn = 14336;
    s.vocab = 32000;
    s.max_positions = 4096;
    return s;
}

static LlmShape
shape_deepseek(void)
{
    LlmShape s = shape_moe();
    s.layers = 6;
    s.dense_layers = 3;
    s.hidden = 7168;
    s.heads = s.kv_heads = 128;
    s.q_lora = 1536;
    s.kv_lora = 512;
    s.qk_nope_dim = 128;
    s.qk_rope_dim = 64;
    s.v_dim = 128;
    s.head_dim = 192;
    s.ffn = 18432;
    s.experts = 256;
    s.experts_per_token = 8;
    s.expert_ffn = s.shared_ffn = 2048;
    s.vocab = 129280;
    s.max_positions = 4096;
    return s;
}

#define LLAMA_SP "llama3-70B s8192 b1 t8 cp1 SP"
#define LLAMA_CP "llama3-70B s8192 b1 t4 cp2 SP"
#define LLAMA_CP8 "llama3-70B s8192 b1 t1 cp8 noSP"
#define SHARD "llama3-70B shard 1/(8*4), d=8: "

static const Published published[] = {
    {LLAMA_SP, "full recompute", shape_llama_70b, PLAN_MEGATRON, 8, 1, 4, 1, 1, 4, NULL},
    {LLAMA_SP, "(nothing)", shape_llama_70b, PLAN_MEGATRON, 8, 1, 4, 1, 1, 4, change_full},
    {"llama3-70B s8192 b1 t8 cp1 noSP", "full recompute", shape_llama_70b, PLAN_MEGATRON, 8, 1, 4,
     1, 1, 4, change_plain_tp},
    {LLAMA_CP, "full recompute|CP all_gather|CP a2a", shape_llama_70b, PLAN_MEGATRON, 4, 2, 4, 1, 1,
     2, NULL},
    {LLAMA_CP, "full recompute|CP p2p|CP a2a", shape_llama_70b, PLAN_MEGATRON, 4, 2, 4, 1, 1, 2,
     change_kind_gather},
    {LLAMA_CP, "full recompute|CP p2p|CP all_gather", shape_llama_70b, PLAN_MEGATRON, 4, 2, 4, 1, 1,
     2, change_kind_heads},
    {LLAMA_CP8, "full recompute|CP all_gather|CP a2a", shape_llama_70b, PLAN_MEGATRON, 1, 8, 4, 1,
     1, 2, NULL},
    {LLAMA_CP8, "full recompute|CP p2p|CP a2a", shape_llama_70b, PLAN_MEGATRON, 1, 8, 4, 1, 1, 2,
     change_kind_gather},
    {LLAMA_CP8, "full recompute|CP p2p|CP all_gather", shape_llama_70b, PLAN_MEGATRON, 1, 8, 4, 1,
     1, 2, change_kind_heads},
    {SHARD "DDP (Megatron, fp32 grads)", "(nothing)", shape_llama_70b, PLAN_MEGATRON, 8, 1, 4, 8, 1,
     4, change_zero_0},
    {SHARD "DDP bf16 grads", "(nothing)", shape_llama_70b, PLAN_MEGATRON, 8, 1, 4, 8, 1, 4,
     change_zero_0_bf16},
    {SHARD "Megatron distributed optimizer (fp32 grads, bf16 params)", "(nothing)", shape_llama_70b,
     PLAN_MEGATRON, 8, 1, 4, 8, 1, 4, NULL},
    {SHARD "Megatron distributed optimizer (bf16 grads)", "(nothing)", shape_llama_70b,
     PLAN_MEGATRON, 8, 1, 4, 8, 1, 4, change_bf16},
    {SHARD "ZeRO-1/2 (16-bit)", "(nothing)", shape_llama_70b, PLAN_DEEPSPEED, 8, 1, 4, 8, 1, 4,
     NULL},
    {SHARD "ZeRO-3/FSDP reshard (bf16 params, bf16 reduce)", "(nothing)", shape_llama_70b,
     PLAN_DEEPSPEED, 8, 1, 1, 8, 1, 2, change_zero_3},
    {SHARD "FSDP2/torchtitan (bf16 params, fp32 reduce)", "(nothing)", shape_llama_70b,
     PLAN_TORCHTITAN, 8, 1, 1, 8, 1, 2, change_each},
    {SHARD "FSDP2 reshard_after_forward=False", "(nothing)", shape_llama_70b, PLAN_TORCHTITAN, 8, 1,
     1, 8, 1, 1, change_keep},
    {"mixtral s4096 b1 t1 ep8", "(nothing)", shape_mixtral, PLAN_MEGATRON, 1, 1, 1, 8, 8, 2, NULL},
    {"deepseek-v3 s4096 b1 t1 ep64", "(nothing)", shape_deepseek, PLAN_MEGATRON, 1, 1, 1, 64, 64, 2,
     NULL},
    {"deepseek-v3 s4096 b1 t1 ep64 fp8 dispatch", "(nothing)", shape_deepseek, PLAN_MEGATRON, 1, 1,
     1, 64, 64, 2, change_fp8_dispatch},
};

/* What the vectors leave out of a case and a run has: the final norm's gradients; scales of tokens in 8 bits, an
 * fp32 number for 128 values; and what torchtitan does not gather again for the backward, norm and head. */
static void
add_beside(const Plan *plan, const StepStage *stage, gint64 moe_layers, Sums *sums)
{
    const PlanSpec *p = &plan->spec;
    double h = (double)plan->shape->hidden, m = (double)p->microbatches;
    gboolean last = stage->pp_rank == p->pp - 1;
    if (p->sequence_parallel && last && sums->sent[STEP_TP][NET_ALL_REDUCE] > 0)
        sums->sent[STEP_TP][NET_ALL_REDUCE] += ring(NET_ALL_REDUCE, (double)p->tp, 4 * h);
    if (p->fp8_dispatch) {
        double rows = (double)(p->seq * plan->shape->experts_per_token);
        sums->sent[STEP_EP][NET_ALL_TO_ALL] +=
            ring(NET_ALL_TO_ALL, (double)p->ep, rows * h * 4 / 128) * m * (double)moe_layers;
    }
    if (p->framework == PLAN_TORCHTITAN && p->reshard_after_forward) {
        double head = h + 129024.0 / (double)p->tp * h; /* padded to whole 1024 */
        sums->sent[STEP_DP][NET_ALL_GATHER] -= ring(NET_ALL_GATHER, (double)p->dp, 2 * head) * m;
    }
}

static void
check_published(const Machine *m, const ConfTable *table, const Published *p)
{
    LlmShape shape = p->shape();
    PlanSpec spec = plan_spec_for(p->framework);
    spec.tp = p->tp;
    spec.cp = p->cp;
    spec.pp = p->pp;
    spec.dp = p->dp;
    spec.ep = p->ep;
    spec.microbatches = p->microbatches;
    spec.sequence_parallel = p->tp > 1;
    spec.recompute = LLM_RECOMPUTE_NONE;
    spec.cp_kind = LLM_CP_P2P;
    spec.schedule = NULL;
    if (p->change != NULL)
        p->change(&spec);
    g_autoptr(GError) error = NULL;
    g_autoptr(Plan) plan = NULL;
    g_autoptr(StepResult) r = machine_run(m, &shape, &spec, NULL, &plan, NULL, &error);
    if (r == NULL)
        g_error("%s: %s", p->name, error->message);
    gint64 moe_layers = shape.experts > 0 ? shape.layers - shape.dense_layers : 0;
    for (gint64 rank = 0; rank < p->pp; rank++) {
        const StepStage *stage = &g_array_index(r->stages, StepStage, rank);
        Sums ran = sums_of(stage), expected = {0};
        g_assert_cmpuint(add_rows(table, p, plan, stage, moe_layers, &expected), >, 0);
        add_beside(plan, stage, moe_layers, &expected);
        for (guint kind = 0; kind < STEP_N_KINDS; kind++)
            for (guint op = 0; op < NET_N_OPS; op++)
                if (expected.sent[kind][op] <= 0) /* not this case's subject */
                    ran.sent[kind][op] = 0;
        compare(p->name, rank, &ran, &expected);
    }
}

static void
test_published(void)
{
    const char *data = g_getenv("DTSIM_TEST_DATA");
    g_autofree char *path =
        g_build_filename(data ? data : "tests/data", "step", "comm_volumes.csv", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTable) table = conf_table_load(path, &error);
    g_assert_no_error(error);
    Machine m = machine_new(
        "dgx-h100", (const char *const[]){"gpu.memory=8000GB", "gpu.memory-usable=8000GB", NULL});
    for (guint i = 0; i < G_N_ELEMENTS(published); i++)
        check_published(&m, table, &published[i]);
    machine_clear(&m);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step/published/volumes-to-the-byte", test_published);
    return g_test_run();
}
