/* Graphs of fused attention.
 *
 * cuDNN makes one kernel of exactly these operations (its manual: fused flash attention, forward and backward).
 *
 *   forward    S = scale Q K' (not seen: a very small number), m = max S, e = exp(S - m), l = sum e,
 *              statistics = m + ln l, P = e / l, O = P V
 *   backward   dot = sum dO O, P = exp(scale Q K' - statistics), dV = P' dO, dS = scale P (dO V' - dot),
 *              dK = dS' Q, dQ = dS K, added up in fp32
 *
 * Of grouped queries K and V have fewer heads, and dK and dV are summed over the queries' heads. */
#include "config.h"

#ifdef CALIB_CUDNN

#include "calib/cuda_attention_graph.h"

typedef struct {
    CalibGraph *graph;
    CalibAttention a;
    cudnnDataType_t type;
    CalibFusedSlots *slots;
    CalibTensor scale;
    CalibShape4 scores, queries, keys, each; /* each: one number a query */
} Build;

/* --- tensors ---------------------------------------------------------------------------------- */

static CalibTensor
real(Build *b, CalibFusedTensor slot, cudnnDataType_t type, CalibShape4 shape)
{
    b->slots->slots[b->slots->n++] = slot;
    return calib_graph_tensor(b->graph, type, shape, CALIB_TENSOR_REAL);
}

static CalibTensor
number(Build *b, CalibFusedTensor slot)
{
    b->slots->slots[b->slots->n++] = slot;
    return calib_graph_tensor(b->graph, CUDNN_DATA_FLOAT, calib_shape4(1, 1, 1, 1),
                              CALIB_TENSOR_VALUE);
}

static CalibTensor
between(Build *b, cudnnDataType_t type, CalibShape4 shape)
{
    return calib_graph_tensor(b->graph, type, shape, CALIB_TENSOR_VIRTUAL);
}

/* --- operations ------------------------------------------------------------------------------- */

/* y = x op other; other may be NULL. */
static CalibTensor
apply(Build *b, cudnnPointwiseMode_t mode, CalibTensor x, CalibTensor other, CalibShape4 shape)
{
    CalibTensor y = between(b, CUDNN_DATA_FLOAT, shape);
    calib_graph_pointwise(
        b->graph,
        &(CalibPointwise){
            .mode = mode, .compute = CUDNN_DATA_FLOAT, .x = x, .b = other, .y = y, .axis = -1});
    return y;
}

static void
apply_to(Build *b, cudnnPointwiseMode_t mode, CalibTensor x, CalibTensor other, CalibTensor y)
{
    calib_graph_pointwise(
        b->graph,
        &(CalibPointwise){
            .mode = mode, .compute = CUDNN_DATA_FLOAT, .x = x, .b = other, .y = y, .axis = -1});
}

static CalibTensor
index_of(Build *b, CalibTensor scores, int64_t axis)
{
    CalibTensor y = between(b, CUDNN_DATA_INT32, b->scores);
    calib_graph_pointwise(b->graph, &(CalibPointwise){.mode = CUDNN_POINTWISE_GEN_INDEX,
                                                      .compute = CUDNN_DATA_INT32,
                                                      .x = scores,
                                                      .y = y,
                                                      .axis = axis});
    return y;
}

/* Scores where the query's row is at or below the key's column; else the very small number. */
static CalibTensor
mask(Build *b, CalibTensor scores)
{
    if (!b->a.causal)
        return scores;
    CalibTensor row = index_of(b, scores, 2), column = index_of(b, scores, 3);
    CalibTensor seen = between(b, CUDNN_DATA_BOOLEAN, b->scores);
    calib_graph_pointwise(b->graph, &(CalibPointwise){.mode = CUDNN_POINTWISE_CMP_GE,
                                                      .compute = CUDNN_DATA_BOOLEAN,
                                                      .x = row,
                                                      .b = column,
                                                      .y = seen,
                                                      .axis = -1});
    CalibTensor masked = number(b, CALIB_FUSED_MASKED), y = between(b, CUDNN_DATA_FLOAT, b->scores);
    calib_graph_pointwise(b->graph, &(CalibPointwise){.mode = CUDNN_POINTWISE_BINARY_SELECT,
                                                      .compute = CUDNN_DATA_FLOAT,
                                                      .x = scores,
                                                      .b = masked,
                                                      .t = seen,
                                                      .y = y,
                                                      .axis = -1});
    return y;
}

static CalibTensor
scaled_scores(Build *b, CalibTensor q, CalibTensor k_transposed)
{
    CalibTensor product = between(b, CUDNN_DATA_FLOAT, b->scores);
    calib_graph_multiply(b->graph, q, k_transposed, product);
    b->scale = number(b, CALIB_FUSED_SCALE);
    return apply(b, CUDNN_POINTWISE_MUL, product, b->scale, b->scores);
}

static Build
begin(CalibGraph *graph, const CalibAttention *a, CalibFusedSlots *slots)
{
    slots->n = 0;
    return (Build){.graph = graph,
                   .a = *a,
                   .type = a->dtype == CALIB_FP16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16,
                   .slots = slots,
                   .scores = calib_shape4(a->batch, a->heads, a->seq, a->seq),
                   .queries = calib_shape4(a->batch, a->heads, a->seq, a->head_dim),
                   .keys = calib_shape4(a->batch, a->kv_heads, a->seq, a->head_dim),
                   .each = calib_shape4(a->batch, a->heads, a->seq, 1)};
}

/* --- forward ---------------------------------------------------------------------------------- */

/* P, and the statistics that the backward pass needs. */
static CalibTensor
softmax(Build *b, CalibTensor scores)
{
    CalibTensor most = between(b, CUDNN_DATA_FLOAT, b->each);
    calib_graph_reduce(b->graph, CUDNN_REDUCE_TENSOR_MAX, scores, most);
    CalibTensor lowered = apply(b, CUDNN_POINTWISE_SUB, scores, most, b->scores);
    CalibTensor powers = apply(b, CUDNN_POINTWISE_EXP, lowered, NULL, b->scores);
    CalibTensor sum = between(b, CUDNN_DATA_FLOAT, b->each);
    calib_graph_reduce(b->graph, CUDNN_REDUCE_TENSOR_ADD, powers, sum);
    CalibTensor logarithm = apply(b, CUDNN_POINTWISE_LOG, sum, NULL, b->each);
    CalibTensor statistics = real(b, CALIB_FUSED_STATISTICS, CUDNN_DATA_FLOAT, b->each);
    apply_to(b, CUDNN_POINTWISE_ADD, most, logarithm, statistics);
    CalibTensor probability = between(b, b->type, b->scores);
    apply_to(b, CUDNN_POINTWISE_DIV, powers, sum, probability);
    return probability;
}

void
calib_fused_forward(CalibGraph *graph, const CalibAttention *attention, CalibFusedSlots *ret_slots)
{
    Build b = begin(graph, attention, ret_slots);
    CalibTensor q = real(&b, CALIB_FUSED_Q, b.type, b.queries);
    CalibTensor k = real(&b, CALIB_FUSED_K, b.type, calib_shape4_transposed(b.keys));
    CalibTensor scores = mask(&b, scaled_scores(&b, q, k));
    CalibTensor probability = softmax(&b, scores);
    CalibTensor v = real(&b, CALIB_FUSED_V, b.type, b.keys);
    CalibTensor o = real(&b, CALIB_FUSED_O, b.type, b.queries);
    calib_graph_multiply(graph, probability, v, o);
}

/* --- backward --------------------------------------------------------------------------------- */

static CalibTensor
dot_products(Build *b, CalibTensor d_o)
{
    CalibTensor o = real(b, CALIB_FUSED_O, b->type, b->queries);
    CalibTensor product = apply(b, CUDNN_POINTWISE_MUL, d_o, o, b->queries);
    CalibTensor sum = between(b, CUDNN_DATA_FLOAT, b->each);
    calib_graph_reduce(b->graph, CUDNN_REDUCE_TENSOR_ADD, product, sum);
    CalibTensor dot = real(b, CALIB_FUSED_DOT, CUDNN_DATA_FLOAT, b->each);
    apply_to(b, CUDNN_POINTWISE_MUL, sum, number(b, CALIB_FUSED_ONE), dot);
    return dot;
}

/* result = left' right, summed over the heads that share a key's. */
static void
multiply_transposed(Build *b, CalibTensor left, CalibTensor right, CalibFusedTensor result)
{
    CalibTensor turned = between(b, b->type, calib_shape4_transposed(b->scores));
    calib_graph_reshape(b->graph, left, turned);
    if (b->a.heads == b->a.kv_heads) {
        calib_graph_multiply(b->graph, turned, right, real(b, result, b->type, b->keys));
        return;
    }
    CalibTensor all = between(b, b->type, b->queries);
    calib_graph_multiply(b->graph, turned, right, all);
    calib_graph_reduce(b->graph, CUDNN_REDUCE_TENSOR_ADD, all, real(b, result, b->type, b->keys));
}

static CalibTensor
probabilities(Build *b, CalibTensor q, CalibTensor k_transposed)
{
    CalibTensor scores = scaled_scores(b, q, k_transposed);
    CalibTensor statistics = real(b, CALIB_FUSED_STATISTICS, CUDNN_DATA_FLOAT, b->each);
    CalibTensor lowered = apply(b, CUDNN_POINTWISE_SUB, scores, statistics, b->scores);
    return apply(b, CUDNN_POINTWISE_EXP, mask(b, lowered), NULL, b->scores);
}

void
calib_fused_backward(CalibGraph *graph, const CalibAttention *attention, CalibFusedSlots *ret_slots)
{
    Build b = begin(graph, attention, ret_slots);
    CalibTensor d_o = real(&b, CALIB_FUSED_DO, b.type, b.queries);
    CalibTensor dot = dot_products(&b, d_o);
    CalibTensor q = real(&b, CALIB_FUSED_Q, b.type, b.queries);
    CalibTensor k = real(&b, CALIB_FUSED_K, b.type, calib_shape4_transposed(b.keys));
    CalibTensor probability = probabilities(&b, q, k);
    multiply_transposed(&b, probability, d_o, CALIB_FUSED_DV);
    CalibTensor v = real(&b, CALIB_FUSED_V, b.type, calib_shape4_transposed(b.keys));
    CalibTensor d_p = between(&b, CUDNN_DATA_FLOAT, b.scores);
    calib_graph_multiply(graph, d_o, v, d_p);
    CalibTensor less = apply(&b, CUDNN_POINTWISE_SUB, d_p, dot, b.scores);
    CalibTensor unscaled = apply(&b, CUDNN_POINTWISE_MUL, less, probability, b.scores);
    CalibTensor d_s = apply(&b, CUDNN_POINTWISE_MUL, unscaled, b.scale, b.scores);
    multiply_transposed(&b, d_s, q, CALIB_FUSED_DK);
    CalibTensor k_again = between(&b, b.type, b.keys);
    calib_graph_reshape(graph, k, k_again);
    CalibTensor sums = real(&b, CALIB_FUSED_DQ_SUMS, CUDNN_DATA_FLOAT, b.queries);
    calib_graph_multiply(graph, d_s, k_again, sums);
    apply_to(&b, CUDNN_POINTWISE_IDENTITY, sums, NULL, real(&b, CALIB_FUSED_DQ, b.type, b.queries));
}

int64_t
calib_fused_bytes(const CalibAttention *a, CalibFusedTensor tensor)
{
    int64_t rows = a->batch * a->heads * a->seq;
    switch (tensor) {
    case CALIB_FUSED_Q:
    case CALIB_FUSED_O:
    case CALIB_FUSED_DO:
    case CALIB_FUSED_DQ:
        return rows * a->head_dim * 2;
    case CALIB_FUSED_K:
    case CALIB_FUSED_V:
    case CALIB_FUSED_DK:
    case CALIB_FUSED_DV:
        return a->batch * a->kv_heads * a->seq * a->head_dim * 2;
    case CALIB_FUSED_DQ_SUMS:
        return rows * a->head_dim * 4;
    case CALIB_FUSED_STATISTICS:
    case CALIB_FUSED_DOT:
        return rows * 4;
    default:
        return 0;
    }
}

#endif
