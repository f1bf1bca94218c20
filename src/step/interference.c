/* Kinds of work: kernels and what is sent beside them slow each other on a GPU (cost/overlap.h).
 *
 * The engine knows a few kinds and one speed of each beside each other.  Kernels are of three: GEMMs, attention,
 * and what memory bounds.  Traffic is of one for each purpose (tensor, context, expert, data parallelism, messages,
 * transfers to the host) as long as there are kinds left; a further purpose joins the one whose channels are
 * nearest.  A kind stands for the mean of its ops, weighted by their times: how many SMs and how much of HBM a
 * collective takes, what its kernels lose with those SMs missing.  So what is exact for a shape is known by its
 * share in the model's kernels, and the speeds are those of this plan. */
#include "config.h"

#include "cost/overlap.h"
#include "cost/roofline.h"
#include "step/chain.h"

enum { FIRST_KERNEL = 1, FIRST_TRAFFIC = FIRST_KERNEL + COST_N_WORKS };
#define N_TRAFFICS (SIM_KINDS - FIRST_TRAFFIC)

/* Slowdowns below this disturb nobody: the engine is faster without them. */
#define LEAST_SLOWDOWN 1.001

/* Of the same shape, all in all. */
typedef struct {
    LlmOp op;
    double ns;
} Shape;

typedef struct {
    double ns, hbm_ns; /* sum of times; of times and shares of HBM */
} Kernels;

typedef struct {
    double ns, channels_ns, hbm_ns;
    double kind_ns[COST_N_TRAFFICS];
} Traffic;

struct StepInterference {
    GArray *shapes; /* of Shape: GEMM and attention */
    Kernels kernels[COST_N_WORKS];
    Traffic traffic[N_TRAFFICS];
    guint n_traffics;
    guint kind_of[STEP_N_KINDS]; /* of a purpose; 0: none yet */
};

void
step_interference_init(StepBuild *b)
{
    if (b->plan->system->overlap_off)
        return;
    b->interference = g_new0(StepInterference, 1);
    b->interference->shapes = g_array_new(FALSE, FALSE, sizeof(Shape));
}

void
step_interference_clear(StepBuild *b)
{
    if (b->interference)
        g_array_unref(b->interference->shapes);
    g_clear_pointer(&b->interference, g_free);
}

static guint
add_kernel(StepBuild *b, CostWork work, double bytes, double ns)
{
    Kernels *kernels = &b->interference->kernels[work];
    kernels->ns += ns;
    kernels->hbm_ns += ns * cost_hbm_frac(b->plan->system, bytes, ns);
    return FIRST_KERNEL + work;
}

static gboolean
same_gemm(const CostGemm *x, const CostGemm *y)
{
    return x->dtype == y->dtype && x->m == y->m && x->n == y->n && x->k == y->k &&
           x->batch == y->batch && x->groups == y->groups &&
           x->accumulate_fp32 == y->accumulate_fp32;
}

static gboolean
same_attention(const CostAttention *x, const CostAttention *y)
{
    return x->dtype == y->dtype && x->batch == y->batch && x->heads == y->heads &&
           x->kv_heads == y->kv_heads && x->head_dim == y->head_dim && x->v_dim == y->v_dim &&
           x->seq_q == y->seq_q && x->seq_kv == y->seq_kv && x->causal == y->causal &&
           x->backward == y->backward;
}

static void
add_shape(StepInterference *in, const LlmOp *op, double ns)
{
    for (guint i = 0; i < in->shapes->len; i++) {
        Shape *shape = &g_array_index(in->shapes, Shape, i);
        if (shape->op.kind == op->kind &&
            (op->kind == LLM_OP_GEMM ? same_gemm(&shape->op.gemm, &op->gemm)
                                     : same_attention(&shape->op.attention, &op->attention))) {
            shape->ns += ns;
            return;
        }
    }
    Shape shape = {*op, ns};
    g_array_append_val(in->shapes, shape);
}

guint
step_kernel_kind(StepBuild *b, const LlmOp *op, double ns)
{
    if (!b->interference)
        return 0;
    if (op->kind == LLM_OP_MEMORY)
        return add_kernel(b, COST_WORK_MEMORY, op->memory.bytes, ns);
    add_shape(b->interference, op, ns);
    if (op->kind == LLM_OP_GEMM)
        return add_kernel(b, COST_WORK_GEMM, cost_gemm_bytes(&op->gemm), ns);
    return add_kernel(b, COST_WORK_ATTENTION, cost_attention_bytes(&op->attention), ns);
}

guint
step_memory_kind(StepBuild *b, double bytes, double ns)
{
    return b->interference ? add_kernel(b, COST_WORK_MEMORY, bytes, ns) : 0;
}

static double
mean_channels(const Traffic *t)
{
    return t->ns > 0 ? t->channels_ns / t->ns : 0;
}

static guint
choose_kind(StepInterference *in, double channels)
{
    if (in->n_traffics < N_TRAFFICS)
        return in->n_traffics++;
    guint nearest = 0;
    for (guint i = 1; i < N_TRAFFICS; i++)
        if (ABS(mean_channels(&in->traffic[i]) - channels) <
            ABS(mean_channels(&in->traffic[nearest]) - channels))
            nearest = i;
    return nearest;
}

guint
step_traffic_kind(StepBuild *b, StepKind purpose, CostTraffic traffic, guint channels,
                  double sent_bytes, double ns)
{
    StepInterference *in = b->interference;
    if (!in || !(ns > 0))
        return 0;
    if (in->kind_of[purpose] == 0)
        in->kind_of[purpose] = FIRST_TRAFFIC + choose_kind(in, channels);
    Traffic *t = &in->traffic[in->kind_of[purpose] - FIRST_TRAFFIC];
    t->ns += ns;
    t->kind_ns[traffic] += ns;
    t->channels_ns += ns * channels;
    t->hbm_ns += ns * cost_traffic_hbm_frac(b->plan->system, traffic, sent_bytes, ns);
    return in->kind_of[purpose];
}

guint
step_net_kind(StepBuild *b, StepKind purpose, NetOp op, const NetGroup *group, const NetTime *time)
{
    gboolean message = op == NET_SEND_RECV, one_node = !group || group->nodes == 1;
    if (purpose > STEP_DP || (purpose == STEP_PP && !message))
        purpose = STEP_DP; /* at the end of the iteration, where reductions are */
    CostTraffic traffic = message    ? COST_TRAFFIC_SEND_RECV
                          : one_node ? COST_TRAFFIC_NVLINK
                                     : COST_TRAFFIC_NETWORK;
    if (time->channels == 0)
        traffic = COST_TRAFFIC_COPY;
    double share = one_node ? 1 : (double)group->nics / group->ranks_per_node;
    return step_traffic_kind(b, purpose, traffic, time->channels,
                             time->nvlink_bytes + time->nic_bytes * share, time->time.ns);
}

/* Mean over the kernels of a kind, by their times. */
static double
sm_slowdown(const StepBuild *b, CostWork work, double channels)
{
    const ClusterSystem *system = b->plan->system;
    if (work == COST_WORK_MEMORY)
        return cost_memory_sm_slowdown(system, channels);
    LlmOpKind kind = work == COST_WORK_GEMM ? LLM_OP_GEMM : LLM_OP_ATTENTION;
    double alone_ns = 0, beside_ns = 0;
    for (guint i = 0; i < b->interference->shapes->len; i++) {
        const Shape *shape = &g_array_index(b->interference->shapes, Shape, i);
        if (shape->op.kind != kind)
            continue;
        double slowdown = kind == LLM_OP_GEMM
                              ? cost_gemm_sm_slowdown(system, &shape->op.gemm, channels)
                              : cost_attention_sm_slowdown(system, &shape->op.attention, channels);
        alone_ns += shape->ns;
        beside_ns += shape->ns * slowdown;
    }
    return alone_ns > 0 ? beside_ns / alone_ns : 1;
}

static CostTraffic
main_traffic(const Traffic *t)
{
    CostTraffic most = 0;
    for (guint i = 1; i < COST_N_TRAFFICS; i++)
        if (t->kind_ns[i] > t->kind_ns[most])
            most = (CostTraffic)i;
    return most;
}

typedef struct {
    guint kernel, traffic; /* kinds */
    CostSlowdown slowdown;
} Pair;

/* FALSE: there is none of the one or the other. */
static gboolean
find_pair(const StepBuild *b, CostWork work, guint traffic, Pair *ret)
{
    const Kernels *kernels = &b->interference->kernels[work];
    const Traffic *t = &b->interference->traffic[traffic];
    if (!(kernels->ns > 0) || !(t->ns > 0))
        return FALSE;
    CostBeside beside = {main_traffic(t), mean_channels(t), t->hbm_ns / t->ns};
    CostBusy busy = {work, sm_slowdown(b, work, beside.channels), kernels->hbm_ns / kernels->ns};
    *ret =
        (Pair){FIRST_KERNEL + work, FIRST_TRAFFIC + traffic, cost_slowdown(b->cost, busy, beside)};
    g_debug("kind %u beside %u (%s, %.1f channels, %.3f of HBM): %.3f and %.3f times as long",
            ret->kernel, ret->traffic, cost_traffic_name(beside.kind), beside.channels,
            beside.hbm_frac, ret->slowdown.work, ret->slowdown.traffic);
    return TRUE;
}

StepSpeeds
step_speeds(const StepBuild *b)
{
    StepSpeeds speeds;
    for (guint kind = 0; kind < SIM_KINDS; kind++)
        for (guint beside = 0; beside < SIM_KINDS; beside++)
            speeds.of[kind][beside] = 1;
    for (guint work = 0; b->interference && work < COST_N_WORKS; work++)
        for (guint traffic = 0; traffic < b->interference->n_traffics; traffic++) {
            Pair pair;
            if (!find_pair(b, (CostWork)work, traffic, &pair))
                continue;
            if (pair.slowdown.work > LEAST_SLOWDOWN)
                speeds.of[pair.kernel][pair.traffic] = 1 / pair.slowdown.work;
            if (pair.slowdown.traffic > LEAST_SLOWDOWN)
                speeds.of[pair.traffic][pair.kernel] = 1 / pair.slowdown.traffic;
        }
    return speeds;
}

void
step_set_interference(const StepBuild *b, SimEngine *engine)
{
    if (!b->interference)
        return;
    StepSpeeds speeds = step_speeds(b);
    for (guint kind = 1; kind < SIM_KINDS; kind++)
        for (guint beside = 1; beside < SIM_KINDS; beside++)
            if (speeds.of[kind][beside] < 1)
                sim_engine_set_interference(engine, kind, beside, speeds.of[kind][beside]);
}
