/* A layer's experts, in the order in which Megatron-LM's token dispatchers launch it.
 *
 * Forward:  router softmax top-k [counts] permute | dispatch | sort up activation down unsort | combine |
 *           unpermute
 * Backward: the same from the end; of each matrix the input gradient, then the weight gradient.
 *
 * Volumes of one rank, n_loc tokens, k experts a token, D bytes an element, e ranks (SPEC.md 7.6):
 *   all-to-all  n_loc k h D each way, n_loc k 4 of probabilities; e E 8 of token counts unless padded, over
 *               etp too
 *   all-gather  e n_loc h D, and the reduce-scatter of as much
 *   flex        a token once to each rank (and node) with one of its experts: of `parts` ranks or nodes
 *               parts (1 - C(E - E/parts, k) / C(E, k)) are expected, routing being uniform; with routing
 *               limited to L of G groups E and parts are L/G of that (DeepSeek-V3: 4 of 8 nodes, 3.6 copies)
 * The most loaded rank receives `expert_load` times that, and a collective takes as long as it does. */
#include "config.h"

#include "llm/emit.h"

static const LlmLinear router = {"router", "router_dgrad", "router_wgrad"};
static const LlmLinear expert_up = {"expert_up", "expert_up_dgrad", "expert_up_wgrad"};
static const LlmLinear expert_down = {"expert_down", "expert_down_dgrad", "expert_down_wgrad"};

static double
row_pass(const LlmEmit *e, double passes, gint64 rows, double element)
{
    return passes * (double)rows * (double)e->shape->hidden * element;
}

/* Bytes of an element on its way to its expert; in 8 bits there is an fp32 scale for each 128 of them. */
static const double scale_bytes = 4.0 / 128.0;

static double
travel_element(const LlmEmit *e)
{
    return e->cut->fp8_dispatch ? 1.0 : e->element;
}

/* Copies of a token when it goes once to each of `parts` with one of its experts. Where routing is limited to
 * some groups of experts, and parts do not span groups, only the parts of those groups count. */
static double
expected_copies(const LlmEmit *e, gint64 parts)
{
    const LlmShape *shape = e->shape;
    double experts = (double)shape->experts, reached = (double)parts, none = 1.0;
    if (shape->route_groups > 0 && parts % shape->route_groups == 0) {
        double share = (double)shape->route_limit / (double)shape->route_groups;
        experts *= share;
        reached *= share;
    }
    double others = experts - experts / reached;
    for (gint64 i = 0; i < shape->experts_per_token; i++) {
        none *= MAX(others - (double)i, 0.0) / (experts - (double)i);
    }
    return reached * (1.0 - none);
}

double
llm_emit_arrived(const LlmEmit *e)
{
    double tokens = (double)e->local_tokens, load = MAX(e->cut->expert_load, 1.0);
    gint64 ep = llm_group_size(e->cut, LLM_GROUP_EP);
    switch (e->cut->dispatch) {
    case LLM_DISPATCH_ALL_GATHER:
        return (double)ep * tokens;
    case LLM_DISPATCH_FLEX:
        return tokens * load * expected_copies(e, ep);
    case LLM_DISPATCH_ALL_TO_ALL:
        break;
    }
    return (double)e->received;
}

/* --- exchanges ------------------------------------------------------------------------------ */

/* Tokens to their experts, or back. */
static int
emit_tokens(LlmEmit *e, const char *name, gboolean back, double element)
{
    double width = (double)e->shape->hidden * element;
    double tokens = (double)e->local_tokens;
    gint64 ep = llm_group_size(e->cut, LLM_GROUP_EP);
    double load = e->cut->expert_load > 1.0 ? e->cut->expert_load : 1.0;
    switch (e->cut->dispatch) {
    case LLM_DISPATCH_ALL_GATHER:
        return llm_emit_exchange(e, name, back ? NET_REDUCE_SCATTER : NET_ALL_GATHER, LLM_GROUP_EP,
                                 (double)ep * tokens * width, e->last_compute);
    case LLM_DISPATCH_FLEX: {
        double bytes = tokens * width * load;
        int sent = llm_emit_exchange(e, name, NET_ALL_TO_ALL, LLM_GROUP_EP,
                                     bytes * expected_copies(e, ep), e->last_compute);
        if (sent >= 0) {
            gint64 nodes = CLAMP(e->cut->ep_nodes, 1, ep);
            g_array_index(e->ops, LlmOp, sent).collective.node_bytes =
                (gint64)(bytes * expected_copies(e, nodes));
        }
        return sent;
    }
    case LLM_DISPATCH_ALL_TO_ALL:
        break;
    }
    return llm_emit_exchange(e, name, NET_ALL_TO_ALL, LLM_GROUP_EP,
                             (double)MAX(e->sent, e->received) * width, e->last_compute);
}

/* Probabilities go with the tokens: 4 bytes a copy, or with the all-gather those of all experts and a byte
 * that says which are chosen. DeepEP's kernels carry them along. */
static int
emit_probabilities(LlmEmit *e, const char *name, gboolean back)
{
    gint64 ep = llm_group_size(e->cut, LLM_GROUP_EP);
    if (e->cut->dispatch == LLM_DISPATCH_FLEX) {
        return -1;
    }
    if (e->cut->dispatch == LLM_DISPATCH_ALL_GATHER) {
        double each = (double)e->local_tokens * (double)e->shape->experts * (back ? 4.0 : 5.0);
        return llm_emit_exchange(e, name, back ? NET_REDUCE_SCATTER : NET_ALL_GATHER, LLM_GROUP_EP,
                                 (double)ep * each, e->last_compute);
    }
    return llm_emit_exchange(e, name, NET_ALL_TO_ALL, LLM_GROUP_EP,
                             4.0 * (double)MAX(e->sent, e->received), e->last_compute);
}

/* Experts cut by etp see the rows of all their ranks; their partial sums are scattered back. */
static void
emit_expert_tp(LlmEmit *e, gboolean gather, gboolean probabilities, double element)
{
    gint64 etp = llm_group_size(e->cut, LLM_GROUP_ETP);
    double rows = (double)e->received;
    if (e->cut->dispatch == LLM_DISPATCH_ALL_GATHER) {
        rows = (double)llm_group_size(e->cut, LLM_GROUP_EP) * (double)e->local_tokens;
    }
    NetOp op = gather ? NET_ALL_GATHER : NET_REDUCE_SCATTER;
    double bytes = (double)etp * rows * (double)e->shape->hidden * element;
    const char *name = gather ? "expert_gather" : "expert_scatter";
    llm_emit_join(e, llm_emit_exchange(e, name, op, LLM_GROUP_ETP, bytes, e->last_compute));
    if (probabilities) {
        name = gather ? "expert_gather_probs" : "expert_scatter_probs";
        llm_emit_join(e, llm_emit_exchange(e, name, op, LLM_GROUP_ETP, (double)etp * rows * 4.0,
                                           e->last_compute));
    }
}

/* --- forward -------------------------------------------------------------------------------- */

static gboolean
is_plain(const LlmEmit *e)
{
    return e->cut->dispatch == LLM_DISPATCH_ALL_TO_ALL;
}

/* After an all-to-all rows lie by source, then expert: they are sorted unless there is one expert. After the
 * others the copies are made here. */
gboolean
llm_emit_sorts(const LlmEmit *e)
{
    return !is_plain(e) || e->local_experts > 1;
}

/* How many tokens go to each expert, 8 bytes an expert, from all ranks of the group of etp x ep (Megatron's
 * tp_ep_group): once round the ranks of each of the two moves as many bytes as one gather over both. */
static void
emit_counts(LlmEmit *e)
{
    LlmSegment here = e->segment;
    double each = 8.0 * (double)e->shape->experts;
    double etp = (double)llm_group_size(e->cut, LLM_GROUP_ETP);
    double ep = (double)llm_group_size(e->cut, LLM_GROUP_EP);
    e->segment = LLM_SEGMENT_DISPATCH;
    int within = llm_emit_exchange(e, "expert_counts", NET_ALL_GATHER, LLM_GROUP_ETP, etp * each,
                                   e->last_compute);
    llm_emit_exchange(e, "expert_counts", NET_ALL_GATHER, LLM_GROUP_EP, ep * etp * each,
                      within >= 0 ? within : e->last_compute);
    e->segment = here;
}

/* The scores' matrix is 16-bit, as Megatron has it without --moe-router-dtype; what follows is in fp32: softmax or
 * sigmoid over all experts, then the choice and a map of it. */
static void
emit_router(LlmEmit *e)
{
    double scores = (double)e->local_tokens * (double)e->shape->experts;
    ClusterDtype matrices = e->matrices;
    e->matrices = llm_core_dtype(e->cut);
    llm_emit_plain_forward(e, &router, e->shape->hidden, e->shape->experts);
    e->matrices = matrices;
    llm_emit_memory(e, "router_softmax", COST_SOFTMAX, scores * (e->element + 4.0));
    llm_emit_memory(e, "top_k", COST_REDUCE, scores * 9.0);
    gboolean padded = e->cut->capacity_factor > 0 && e->cut->pad_to_capacity;
    if (!padded && e->cut->dispatch != LLM_DISPATCH_ALL_GATHER) {
        emit_counts(e);
    }
}

static int
emit_dispatch(LlmEmit *e)
{
    gboolean travels = e->cut->fp8_dispatch && llm_group_size(e->cut, LLM_GROUP_EP) > 1;
    if (travels) {
        llm_emit_memory(e, "dispatch_cast", COST_CAST,
                        row_pass(e, 1, e->local_tokens, e->element + 1.0));
    }
    if (is_plain(e)) {
        llm_emit_memory(e, "permute", COST_PERMUTE, row_pass(e, 2, e->sent, travel_element(e)));
    }
    e->segment = LLM_SEGMENT_DISPATCH;
    /* DeepEP's kernels carry the scales with the tokens. */
    gboolean carried = travels && e->cut->dispatch == LLM_DISPATCH_FLEX;
    int sent = emit_tokens(e, "dispatch", FALSE, travel_element(e) + (carried ? scale_bytes : 0.0));
    if (travels && !carried) {
        emit_tokens(e, "dispatch_scales", FALSE, scale_bytes);
    }
    emit_probabilities(e, "dispatch_probs", FALSE);
    return sent < 0 ? -1 : (int)e->ops->len - 1; /* the last of them */
}

void
llm_emit_expert_activation(LlmEmit *e)
{
    llm_emit_activated(e, "expert_activation", (double)e->rows * (double)e->expert_ffn);
}

static void
emit_routed_forward(LlmEmit *e)
{
    gint64 hidden = e->shape->hidden;
    gboolean arrived = e->cut->fp8_dispatch && llm_group_size(e->cut, LLM_GROUP_EP) > 1;
    emit_expert_tp(e, TRUE, TRUE, arrived ? travel_element(e) : e->element);
    if (llm_emit_sorts(e)) {
        llm_emit_memory(e, "expert_sort", COST_PERMUTE, row_pass(e, 2, e->rows, travel_element(e)));
    }
    if (arrived && e->matrices != CLUSTER_FP8) {
        llm_emit_memory(e, "dispatch_uncast", COST_CAST, row_pass(e, 1, e->rows, e->element + 1.0));
    }
    llm_emit_grouped_forward(e, &expert_up, hidden, e->expert_up, arrived);
    llm_emit_expert_activation(e);
    llm_emit_grouped_forward(e, &expert_down, e->expert_ffn, hidden, FALSE);
    if (llm_emit_sorts(e)) {
        llm_emit_memory(e, "expert_unsort", COST_PERMUTE, row_pass(e, 2, e->rows, e->element));
    }
    emit_expert_tp(e, FALSE, FALSE, e->element);
}

/* Shared experts run with the routed ones, or their first half beside the dispatch and their second beside
 * the combine. */
void
llm_emit_experts_forward(LlmEmit *e)
{
    gboolean shared = e->shape->shared_ffn > 0;
    gboolean overlap = shared && e->cut->overlap_shared;
    emit_router(e);
    int sent = emit_dispatch(e);
    e->segment = LLM_SEGMENT_EXPERTS;
    if (overlap) {
        llm_emit_shared_forward(e, TRUE, FALSE);
    }
    llm_emit_join(e, sent);
    if (shared && !overlap) {
        llm_emit_shared_forward(e, TRUE, TRUE);
    }
    emit_routed_forward(e);
    e->segment = LLM_SEGMENT_COMBINE;
    int back = emit_tokens(e, "combine", TRUE, e->element);
    e->segment = LLM_SEGMENT_EXPERTS;
    if (overlap) {
        llm_emit_shared_forward(e, FALSE, TRUE);
    }
    llm_emit_join(e, back);
    e->segment = LLM_SEGMENT_POST;
    if (is_plain(e)) {
        llm_emit_memory(e, "unpermute", COST_PERMUTE, row_pass(e, 2, e->sent, e->element));
    }
    if (shared) {
        llm_emit_memory(e, "shared_add", COST_ADD, row_pass(e, 3, e->local_tokens, e->element));
    }
}

/* --- backward ------------------------------------------------------------------------------- */

static void
emit_routed_backward(LlmEmit *e)
{
    gint64 hidden = e->shape->hidden;
    if (e->input_grad) {
        emit_expert_tp(e, TRUE, FALSE, e->element);
        if (llm_emit_sorts(e)) {
            llm_emit_memory(e, "expert_unsort_backward", COST_PERMUTE,
                            row_pass(e, 2, e->rows, e->element));
        }
    }
    llm_emit_grouped_backward(e, &expert_down, e->expert_ffn, hidden);
    if (e->input_grad) {
        llm_emit_activated_backward(e, "expert_activation_backward",
                                    (double)e->rows * (double)e->expert_ffn);
    }
    llm_emit_grouped_backward(e, &expert_up, hidden, e->expert_up);
    if (e->input_grad) {
        if (llm_emit_sorts(e)) {
            llm_emit_memory(e, "expert_sort_backward", COST_PERMUTE,
                            row_pass(e, 2, e->rows, e->element));
        }
        emit_expert_tp(e, FALSE, TRUE, e->element);
    }
}

static void
emit_router_backward(LlmEmit *e)
{
    double scores = (double)e->local_tokens * (double)e->shape->experts;
    if (e->input_grad) {
        if (is_plain(e)) {
            llm_emit_memory(e, "permute_backward", COST_PERMUTE,
                            row_pass(e, 2, e->sent, e->element));
        }
        llm_emit_memory(e, "router_softmax_backward", COST_SOFTMAX_BACKWARD,
                        scores * (e->element + 12.0));
    }
    ClusterDtype matrices = e->matrices;
    e->matrices = llm_core_dtype(e->cut);
    llm_emit_plain_backward(e, &router, e->shape->hidden, e->shape->experts);
    e->matrices = matrices;
    if (e->input_grad) {
        double branches = e->shape->shared_ffn > 0 ? 2.0 : 1.0; /* beside the first */
        llm_emit_memory(e, "branch_grad_add", COST_ADD,
                        branches * row_pass(e, 3, e->local_tokens, e->element));
    }
}

/* The exchange of gradients, which compute has not waited for yet. */
static int
emit_gradients_back(LlmEmit *e)
{
    if (!e->input_grad) {
        return -1;
    }
    LlmSegment here = e->segment;
    e->segment = LLM_SEGMENT_DISPATCH;
    int sent = emit_tokens(e, "dispatch_grad", TRUE, e->element);
    emit_probabilities(e, "dispatch_probs_grad", TRUE);
    e->segment = here;
    return sent < 0 ? -1 : (int)e->ops->len - 1; /* the last of them */
}

void
llm_emit_experts_backward(LlmEmit *e)
{
    gboolean shared = e->shape->shared_ffn > 0;
    gboolean overlap = shared && e->cut->overlap_shared;
    int arrived = -1;
    if (e->input_grad) {
        if (is_plain(e)) {
            llm_emit_memory(e, "unpermute_backward", COST_PERMUTE,
                            row_pass(e, 2, e->sent, e->element));
        }
        e->segment = LLM_SEGMENT_COMBINE;
        arrived = emit_tokens(e, "combine_grad", FALSE, e->element);
    }
    e->segment = LLM_SEGMENT_EXPERTS;
    if (overlap) {
        llm_emit_shared_backward(e, TRUE, FALSE);
    }
    llm_emit_join(e, arrived);
    if (shared && !overlap) {
        llm_emit_shared_backward(e, TRUE, TRUE);
    }
    emit_routed_backward(e);
    int sent = emit_gradients_back(e);
    if (overlap) {
        llm_emit_shared_backward(e, FALSE, TRUE);
    }
    llm_emit_join(e, sent);
    e->segment = LLM_SEGMENT_ATTENTION;
    emit_router_backward(e);
}
