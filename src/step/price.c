/* Costs attached: kernels and collectives become work of the engine, each with a tag that remembers what it
 * is and how its time is known. */
#include "config.h"

#include <string.h>

#include "step/build.h"

guint32
step_tag(StepBuild *b, const char *name, StepKind kind, CostBasis basis, double error_frac,
         gboolean pipeline)
{
    for (guint i = 0; i < b->ops->len; i++) {
        const StepOp *op = &g_array_index(b->ops, StepOp, i);
        if (op->effect == 0 && op->kind == kind && op->basis == basis &&
            op->error_frac == error_frac && op->pipeline == pipeline && strcmp(op->name, name) == 0)
            return i;
    }
    StepOp op = {name, kind, basis, error_frac, pipeline, 0};
    g_array_append_val(b->ops, op);
    return b->ops->len - 1;
}

SimWork
step_work(double ns)
{
    return (SimWork){.duration_ns = MIN(units_round_up_ns(ns), SIM_TIME_LIMIT_NS - 1)};
}

static SimWork
plain_work(CostTime time)
{
    return step_work(time.ns);
}

guint
step_add_memory(StepBuild *b, SimTemplate *t, const char *name, StepKind kind,
                CostMemoryKernel kernel, double bytes, gboolean pipeline)
{
    CostTime time = cost_memory(b->cost, kernel, bytes);
    return sim_template_add(t, STEP_SLOT_COMPUTE, plain_work(time),
                            step_tag(b, name, kind, time.basis, time.error_frac, pipeline));
}

guint
step_add_collective(StepBuild *b, SimTemplate *t, const char *name, StepKind kind, guint slot,
                    guint port, NetOp op, NetGroup group, gint64 bytes, gboolean pipeline)
{
    NetTime time = net_collective(b->net, op, group, bytes);
    SimWork work = plain_work(time.time);
    work.load[NET_LOAD_NVLINK] = time.nvlink_bytes;
    work.load[NET_LOAD_NIC] = time.nic_bytes;
    guint index = sim_template_add(
        t, slot, work, step_tag(b, name, kind, time.time.basis, time.time.error_frac, pipeline));
    sim_template_join(t, index, SIM_JOIN_ALL, port, FALSE);
    return index;
}

static CostTime
kernel_time(const StepBuild *b, const LlmOp *op)
{
    if (op->kind == LLM_OP_GEMM)
        return cost_gemm(b->cost, &op->gemm);
    if (op->kind == LLM_OP_ATTENTION)
        return cost_attention(b->cost, &op->attention);
    return cost_memory(b->cost, op->memory.kernel, op->memory.bytes);
}

static StepPriced
price(StepBuild *b, const StepClass *class, const LlmOp *op, StepKind compute_kind)
{
    StepPriced priced = {.slot = STEP_SLOT_COMPUTE,
                         .waits = {op->waits[0], op->waits[1], op->waits[2]}};
    if (op->kind == LLM_OP_COLLECTIVE) {
        NetTime time = net_collective(b->net, op->collective.op, class->tp, op->collective.bytes);
        priced.slot = STEP_SLOT_TP;
        priced.work = plain_work(time.time);
        priced.work.load[NET_LOAD_NVLINK] = time.nvlink_bytes;
        priced.work.load[NET_LOAD_NIC] = time.nic_bytes;
        priced.tag = step_tag(b, op->name, STEP_TP, time.time.basis, time.time.error_frac, TRUE);
    } else {
        CostTime time = kernel_time(b, op);
        priced.work = plain_work(time);
        priced.tag = step_tag(b, op->name, compute_kind, time.basis, time.error_frac, TRUE);
    }
    return priced;
}

/* The op list of a piece with costs, computed once for each class. */
static const GArray *
priced_piece(StepBuild *b, StepClass *class, LlmPiece piece, LlmRecompute recompute, LlmPass pass)
{
    GArray **place = &class->priced[piece][recompute][pass];
    if (*place)
        return *place;
    LlmCut cut = plan_cut_for(b->plan, recompute);
    g_autoptr(GArray) ops = llm_ops(b->plan->shape, &cut, piece, pass);
    GArray *list = g_array_sized_new(FALSE, FALSE, sizeof(StepPriced), ops->len);
    StepKind kind = pass == LLM_PASS_RECOMPUTE ? STEP_RECOMPUTE : STEP_COMPUTE;
    for (guint i = 0; i < ops->len; i++) {
        const LlmOp *op = &g_array_index(ops, LlmOp, i);
        StepPriced priced = price(b, class, op, kind);
        g_array_append_val(list, priced);
        class->flops[piece][recompute][pass] += op->flops;
    }
    return *place = list;
}

/* First and last compute op of a list; FALSE when it has none. */
static gboolean
find_compute(const GArray *list, guint *ret_first, guint *ret_last)
{
    gboolean any = FALSE;
    for (guint i = 0; i < list->len; i++) {
        if (g_array_index(list, StepPriced, i).slot != STEP_SLOT_COMPUTE)
            continue;
        if (!any)
            *ret_first = i;
        *ret_last = i;
        any = TRUE;
    }
    return any;
}

static void
add_waits(SimTemplate *t, const StepPriced *op, const guint *indices, guint i)
{
    if (op->slot == STEP_SLOT_TP)
        sim_template_join(t, indices[i], SIM_JOIN_ALL, STEP_PORT_TP, FALSE);
    gboolean waits = FALSE;
    for (guint w = 0; w < G_N_ELEMENTS(op->waits); w++)
        if (op->waits[w] >= 0) {
            sim_template_wait_op(t, indices[i], indices[op->waits[w]]);
            waits = TRUE;
        }
    if (!waits && op->slot == STEP_SLOT_TP)
        sim_template_wait_slot(t, indices[i], STEP_SLOT_COMPUTE);
}

/* With a host that waits for each kernel nothing overlaps: launch, run, launch, run. */
static guint
add_piece_blocking(StepBuild *b, SimTemplate *t, const GArray *list)
{
    guint base = sim_template_n_ops(t);
    SimWork launch = step_work((double)b->plan->system->launch_ns);
    for (guint i = 0; i < list->len; i++) {
        const StepPriced *op = &g_array_index(list, StepPriced, i);
        guint host = sim_template_add(t, STEP_SLOT_COMPUTE, launch, b->launch_tag);
        sim_template_wait_slot(t, host, STEP_SLOT_TP);
        guint index = sim_template_add(t, op->slot, op->work, op->tag);
        if (op->slot != STEP_SLOT_TP)
            continue;
        sim_template_join(t, index, SIM_JOIN_ALL, STEP_PORT_TP, FALSE);
        sim_template_wait_slot(t, index, STEP_SLOT_COMPUTE);
    }
    return base;
}

/* The host launches kernels one after the other and runs ahead of the GPU, as far as no synchronise
 * stops it.  A piece starts when the host is done with the one before, and ends not before all of its
 * own kernels are launched: so small kernels take the host's time, large ones their own. */
guint
step_add_piece(StepBuild *b, SimTemplate *t, StepClass *class, LlmPiece piece,
               LlmRecompute recompute, LlmPass pass)
{
    const GArray *list = priced_piece(b, class, piece, recompute, pass);
    if (b->plan->system->launch_blocking)
        return add_piece_blocking(b, t, list);
    guint base = sim_template_n_ops(t), first = 0, last = 0;
    gboolean any = find_compute(list, &first, &last);
    g_autofree guint *indices = g_new(guint, list->len + 1);
    for (guint i = 0; i < list->len; i++) {
        const StepPriced *op = &g_array_index(list, StepPriced, i);
        guint host = 0;
        if (any && i == last) {
            SimWork launches = step_work((double)b->plan->system->launch_ns * list->len);
            host = sim_template_add(t, STEP_SLOT_HOST, launches, b->launch_tag);
        }
        indices[i] = sim_template_add(t, op->slot, op->work, op->tag);
        add_waits(t, op, indices, i);
        if (any && i == last)
            sim_template_wait_op(t, indices[i], host);
        if (any && i == first && first != last)
            sim_template_wait_slot(t, indices[i], STEP_SLOT_HOST);
    }
    return list->len > 0 ? indices[0] : base;
}

static double
piece_flops(StepBuild *b, StepClass *class, LlmPiece piece, LlmRecompute recompute, LlmPass pass)
{
    priced_piece(b, class, piece, recompute, pass);
    return class->flops[piece][recompute][pass];
}

/* Of a piece with what runs again before its backward. */
static double
piece_token_flops(StepBuild *b, StepClass *class, LlmPiece piece, LlmRecompute recompute,
                  ScheduleKind kind)
{
    static const LlmPass pass_of[] = {LLM_PASS_FORWARD, LLM_PASS_BACKWARD, LLM_PASS_INPUT_GRAD,
                                      LLM_PASS_WEIGHT_GRAD};
    double sum = piece_flops(b, class, piece, recompute, pass_of[kind]);
    if (kind == SCHEDULE_B || kind == SCHEDULE_I)
        sum += piece_flops(b, class, piece, recompute, LLM_PASS_RECOMPUTE);
    return sum;
}

double
step_token_flops(StepBuild *b, StepClass *class, guint stage, ScheduleKind kind)
{
    const Plan *plan = b->plan;
    LlmRecompute outer = plan->spec.recompute;
    double sum = 0;
    for (gint64 i = 0; i < plan->layers[stage]; i++)
        sum += piece_token_flops(b, class, plan_layer_piece(plan, stage, i),
                                 plan_layer_recompute(plan, stage, i), kind);
    if (plan_stage_has_embedding(plan, stage))
        sum += piece_token_flops(b, class, LLM_PIECE_EMBEDDING, outer, kind);
    for (gint64 i = 0; i < plan_stage_mtp(plan, stage); i++)
        sum += piece_token_flops(b, class, LLM_PIECE_MTP, outer, kind);
    if (plan_stage_has_head(plan, stage))
        sum += piece_token_flops(b, class, LLM_PIECE_HEAD, outer, kind);
    return sum;
}

SimWork
step_wire_work(StepBuild *b, const StepClass *class, guint replica, guint boundary)
{
    gboolean local =
        g_array_index(class->boundary_local, gboolean, replica * b->schedule->n_stages + boundary);
    gint64 bytes = plan_p2p_bytes(b->plan);
    NetTime time = net_point_to_point(b->net, local, bytes);
    SimWork work = plain_work(time.time);
    work.load[NET_LOAD_NVLINK] = time.nvlink_bytes;
    work.load[NET_LOAD_NIC] = time.nic_bytes;
    return work;
}
