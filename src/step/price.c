/* Costs attached: kernels and collectives become work of the engine, each with a tag that remembers what it
 * is and how its time is known. */
#include "config.h"

#include <string.h>

#include "step/build.h"

static gboolean
same_parts(const StepBuild *b, const StepOp *x, const StepOp *y)
{
    for (guint k = 0; k < x->n_parts && x->n_parts == y->n_parts; k++) {
        const StepPartOfRun *p = &g_array_index(b->run_parts, StepPartOfRun, x->part + k);
        const StepPartOfRun *q = &g_array_index(b->run_parts, StepPartOfRun, y->part + k);
        if (p->tag != q->tag || p->ns != q->ns)
            return FALSE;
    }
    return x->n_parts == y->n_parts;
}

guint32
step_intern_op(StepBuild *b, const StepOp *op)
{
    for (guint i = 0; i < b->ops->len; i++) {
        const StepOp *o = &g_array_index(b->ops, StepOp, i);
        if (o->kind == op->kind && o->basis == op->basis && o->error_frac == op->error_frac &&
            o->pipeline == op->pipeline && o->effect == op->effect && o->transfer == op->transfer &&
            o->spread == op->spread && o->chain == op->chain && o->shape == op->shape &&
            o->shape_calls == op->shape_calls && same_parts(b, o, op) &&
            strcmp(o->name, op->name) == 0)
            return i;
    }
    g_array_append_vals(b->ops, op, 1);
    return b->ops->len - 1;
}

guint32
step_tag(StepBuild *b, const char *name, StepKind kind, CostBasis basis, double error_frac,
         gboolean pipeline)
{
    StepOp op = {.name = name,
                 .kind = kind,
                 .basis = basis,
                 .error_frac = error_frac,
                 .pipeline = !!pipeline};
    return step_intern_op(b, &op);
}

guint32
step_transfer_tag(StepBuild *b, StepOp op, StepTransfer transfer)
{
    for (guint i = 1; i < b->transfers->len && op.transfer == 0; i++) {
        const StepTransfer *x = &g_array_index(b->transfers, StepTransfer, i);
        if (x->op == transfer.op && x->ranks == transfer.ranks && x->bytes == transfer.bytes &&
            x->sent_bytes == transfer.sent_bytes)
            op.transfer = i;
    }
    if (op.transfer == 0) {
        op.transfer = b->transfers->len;
        g_array_append_val(b->transfers, transfer);
    }
    return step_intern_op(b, &op);
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

static guint32
kernel_tag(StepBuild *b, const char *name, StepKind kind, CostTime time, gboolean pipeline,
           guint shape)
{
    StepOp op = {.name = name,
                 .kind = kind,
                 .basis = time.basis,
                 .error_frac = time.error_frac,
                 .pipeline = !!pipeline,
                 .shape = shape};
    return step_intern_op(b, &op);
}

guint
step_add_memory(StepBuild *b, SimTemplate *t, const char *name, StepKind kind,
                CostMemoryKernel kernel, double bytes, gboolean pipeline)
{
    CostTime time = cost_memory(b->cost, kernel, bytes);
    SimWork work = plain_work(time);
    work.kind = step_memory_kind(b, bytes, time.ns);
    guint32 tag =
        kernel_tag(b, name, kind, time, pipeline, step_memory_shape(b, name, kernel, bytes, time));
    return sim_template_add(t, STEP_SLOT_COMPUTE, work, tag);
}

/* A collective's work and tag. Links above NICs and ports see what sharing works with, as these do. */
static SimWork
net_work(NetTime time)
{
    SimWork work = plain_work(time.time);
    work.load[NET_LOAD_NVLINK] = time.nvlink_bytes - time.nvlink_rest_bytes;
    work.load[NET_LOAD_NIC] = time.nic_bytes - time.nic_rest_bytes;
    work.load[NET_LOAD_NVLINK_REST] = time.nvlink_rest_bytes;
    work.load[NET_LOAD_NIC_REST] = time.nic_rest_bytes;
    work.load[NET_LOAD_FABRIC + time.pattern] = work.load[NET_LOAD_NIC];
    work.load[NET_LOAD_NODE + time.pattern] = work.load[NET_LOAD_NVLINK];
    return work;
}

/* Of a group that meets at a port, which engine.c has to know the patterns of. */
static SimWork
port_work(StepBuild *b, guint port, NetTime time)
{
    SimWork work = net_work(time);
    for (guint load = 0; load < NET_N_LOADS; load++)
        if (work.load[load] > 0)
            b->port_loads[port] |= 1u << load;
    return work;
}

static guint32
net_tag(StepBuild *b, const char *name, StepKind kind, NetTime time, gboolean pipeline,
        StepTransfer transfer, guint shape)
{
    StepOp op = {.name = name,
                 .kind = kind,
                 .basis = time.time.basis,
                 .error_frac = time.time.error_frac,
                 .pipeline = !!pipeline,
                 .shape = shape};
    return transfer.ranks > 1 ? step_transfer_tag(b, op, transfer) : step_intern_op(b, &op);
}

guint
step_add_collective(StepBuild *b, SimTemplate *t, const char *name, StepKind kind, guint slot,
                    guint port, NetOp op, NetGroup group, gint64 bytes, gboolean pipeline)
{
    NetTime time = net_collective(b->net, op, group, bytes);
    StepTransfer transfer = {op, group.ranks, (double)bytes,
                             net_ring_bytes(op, group.ranks, (double)bytes)};
    SimWork work = port_work(b, port, time);
    work.kind = step_net_kind(b, kind, op, &group, &time);
    guint shape = step_collective_shape(b, name, kind, op, &group, bytes, time.time);
    guint index =
        sim_template_add(t, slot, work, net_tag(b, name, kind, time, pipeline, transfer, shape));
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

/* Whom the collectives of an op list are with. */
static const struct {
    PlanGroup group;
    guint port;
} groups[LLM_N_GROUPS] = {
    [LLM_GROUP_TP] = {PLAN_GROUP_TP, STEP_PORT_TP},
    [LLM_GROUP_CP] = {PLAN_GROUP_CP, STEP_PORT_CP},
    [LLM_GROUP_CP_INNER] = {PLAN_GROUP_CP_INNER, STEP_PORT_CP_INNER},
    [LLM_GROUP_CP_OUTER] = {PLAN_GROUP_CP_OUTER, STEP_PORT_CP_OUTER},
    [LLM_GROUP_EP] = {PLAN_GROUP_EP, STEP_PORT_EP},
    [LLM_GROUP_ETP] = {PLAN_GROUP_ETP, STEP_PORT_ETP},
};
static const struct {
    guint slot;
    StepKind kind;
} streams[LLM_N_STREAMS] = {
    [LLM_STREAM_COMPUTE] = {STEP_SLOT_COMPUTE, STEP_COMPUTE},
    [LLM_STREAM_TP] = {STEP_SLOT_TP, STEP_TP},
    [LLM_STREAM_CP] = {STEP_SLOT_CP, STEP_CP},
    [LLM_STREAM_EP] = {STEP_SLOT_EP, STEP_EP},
};

guint
step_stream_slot(LlmStream stream)
{
    return streams[stream].slot;
}

/* SMs of DeepEP's kernels when nothing else is said (its first version; deepseek-ai/DeepEP at dd758caf). */
#define EXCHANGE_SMS 24

/* DeepEP's exchange (SPEC.md 7.6). With n ranks on N nodes, R on each, a rank sends one copy of a token for each
 * rank and one for each node that has experts of it, its own included: `bytes` and `node_bytes` in all. Evenly
 * spread, (N-1)/N of node_bytes leave the node, through the NICs of its R ranks; there they arrive at the GPU
 * with the sender's place in its node, which passes copies on. So of all copies those for that place, 1/R,
 * take no NVLink, whichever node they came from: (R-1)/R of bytes go through a rank's port. On one node that
 * is (n-1)/n. */
static NetTime
price_exchange(const StepBuild *b, NetGroup group, double bytes, double node_bytes,
               double *ret_sent)
{
    double per_node = group.ranks_per_node, nodes = group.nodes;
    double nvlink = bytes * (per_node - 1.0) / per_node;
    double network = node_bytes * (nodes - 1.0) / nodes;
    *ret_sent = nvlink + network;
    NetTime time = net_exchange(b->net, group, nvlink, network * per_node / MAX(group.nics, 1u));
    time.channels = EXCHANGE_SMS;
    return time;
}

/* SMs of TransformerEngine's user buffers where a whole collective runs beside a GEMM (SPEC.md 7.4). */
#define USER_BUFFER_SMS 16

/* User buffers of tensor parallelism are written over NVLink by copy engines, without NCCL's protocol
 * (TransformerEngine comm_gemm_overlap userbuffers): the wire's rate and one latency. */
static NetTime
copy_time(const ClusterSystem *system, double bytes)
{
    double ns = 1e9 * bytes / ((double)system->nvlink_Bps * system->nvlink_efficiency) +
                (double)system->nvlink_latency_ns;
    return (NetTime){.time = {ns, COST_MODELLED, 0.1, 0.1},
                     .algorithm = "copy",
                     .protocol = "",
                     .nvlink_bytes = bytes};
}

static void
price_collective(StepBuild *b, const StepClass *class, const LlmOp *op, StepPriced *priced)
{
    NetGroup group = class->group[groups[op->collective.group].group];
    double bytes = (double)op->collective.bytes;
    StepTransfer transfer = {op->collective.op, group.ranks, bytes,
                             net_ring_bytes(op->collective.op, group.ranks, bytes)};
    gboolean copied = op->collective.op == NET_SEND_RECV && op->collective.group == LLM_GROUP_TP &&
                      group.nodes == 1;
    NetTime time = op->collective.node_bytes > 0
                       ? price_exchange(b, group, bytes, (double)op->collective.node_bytes,
                                        &transfer.sent_bytes)
                   : copied
                       ? copy_time(b->plan->system, bytes)
                       : net_collective(b->net, op->collective.op, group, op->collective.bytes);
    priced->port = groups[op->collective.group].port;
    priced->absent = group.ranks == 1;
    if (b->plan->spec.tp_overlap && op->collective.group == LLM_GROUP_TP && !copied)
        time.channels = USER_BUFFER_SMS;
    priced->work = port_work(b, priced->port, time);
    priced->work.kind =
        step_net_kind(b, streams[op->stream].kind, op->collective.op, &group, &time);
    guint shape =
        op->collective.node_bytes > 0 || copied
            ? 0
            : step_collective_shape(b, op->name, streams[op->stream].kind, op->collective.op,
                                    &group, op->collective.bytes, time.time);
    priced->tag = net_tag(b, op->name, streams[op->stream].kind, time, TRUE, transfer, shape);
}

static StepPriced
price(StepBuild *b, const StepClass *class, const LlmOp *op, StepKind compute_kind)
{
    StepPriced priced = {.slot = streams[op->stream].slot,
                         .segment = op->segment,
                         .same_call = op->same_call,
                         .read = -1};
    for (guint w = 0; w < G_N_ELEMENTS(priced.waits); w++)
        priced.waits[w] = op->waits[w];
    if (op->kind == LLM_OP_COLLECTIVE) {
        g_assert(op->stream != LLM_STREAM_COMPUTE);
        price_collective(b, class, op, &priced);
    } else {
        g_assert(op->stream == LLM_STREAM_COMPUTE);
        CostTime time = kernel_time(b, op);
        priced.work = plain_work(time);
        priced.work.kind = step_kernel_kind(b, op, time.ns);
        priced.tag = kernel_tag(b, op->name, compute_kind, time, TRUE, step_op_shape(b, op, time));
    }
    return priced;
}

/* The last op with one of two names in [from, end); -1: none. */
static int
last_named(const GArray *ops, guint from, const char *name, const char *other)
{
    int found = -1;
    for (guint i = from; i < ops->len; i++) {
        const char *at = g_array_index(ops, LlmOp, i).name;
        if (strcmp(at, name) == 0 || strcmp(at, other) == 0)
            found = (int)i;
    }
    return found;
}

/* How many tokens each expert got decides the shape of what follows, unless experts are padded: the host reads it
 * (SPEC.md 7.6). Megatron's dispatchers: all-to-all, when the counts are gathered and before the exchange, which
 * they split; all-gather, when the map of all tokens is there and before they are sorted; without an exchange,
 * before the matrices. DeepEP's kernels tell the host while they run. */
static void
find_reads(const LlmCut *cut, const GArray *ops, GArray *list)
{
    gboolean gathers = cut->dispatch == LLM_DISPATCH_ALL_GATHER;
    gboolean padded = cut->capacity_factor > 0 && cut->pad_to_capacity;
    int top_k = last_named(ops, 0, "top_k", "top_k");
    if (padded || cut->dispatch == LLM_DISPATCH_FLEX || top_k < 0)
        return;
    int read = gathers ? last_named(ops, (guint)top_k, "dispatch", "dispatch_probs")
                       : last_named(ops, (guint)top_k, "expert_counts", "expert_counts");
    int counts = MAX(read, top_k);
    for (guint i = (guint)counts + 1; i < ops->len; i++) {
        const LlmOp *op = &g_array_index(ops, LlmOp, i);
        gboolean exchange =
            op->kind == LLM_OP_COLLECTIVE &&
            (op->collective.group == LLM_GROUP_EP || op->collective.group == LLM_GROUP_ETP);
        if (exchange || strcmp(op->name, "expert_up") == 0 ||
            (gathers && op->stream == LLM_STREAM_COMPUTE)) {
            g_array_index(list, StepPriced, i).read = counts;
            return;
        }
    }
}

const GArray *
step_priced(StepBuild *b, StepClass *class, LlmPiece piece, LlmRecompute recompute, LlmPass pass)
{
    recompute = MIN(recompute, LLM_RECOMPUTE_FULL);
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
    if (pass == LLM_PASS_FORWARD || pass == LLM_PASS_RECOMPUTE)
        find_reads(&cut, ops, list);
    return *place = list;
}

static double
piece_flops(StepBuild *b, StepClass *class, LlmPiece piece, LlmRecompute recompute, LlmPass pass)
{
    step_priced(b, class, piece, recompute, pass);
    return class->flops[piece][MIN(recompute, LLM_RECOMPUTE_FULL)][pass];
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
step_token_flops(StepBuild *b, StepClass *class, ScheduleToken token)
{
    const Plan *plan = b->plan;
    guint stage = token.stage;
    ScheduleKind kind = (ScheduleKind)token.kind;
    gboolean keeps = step_token_keeps(b, token);
    LlmRecompute outer = plan->spec.recompute;
    double sum = 0;
    for (gint64 i = 0; i < plan->layers[stage]; i++)
        sum += piece_token_flops(b, class, plan_layer_piece(plan, stage, i),
                                 keeps ? LLM_RECOMPUTE_NONE : plan_layer_recompute(plan, stage, i),
                                 kind);
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
    SimWork work = net_work(time);
    work.kind = step_net_kind(b, STEP_PP, NET_SEND_RECV, NULL, &time);
    return work;
}
