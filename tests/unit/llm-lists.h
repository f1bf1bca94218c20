/* What the tests of op lists share: a list as text, its sums, and what holds of every list. */
#pragma once

#include "llm/ops.h"

/* "name" of each op, with "<i" when it waits for op i; the order on the page is the order of
 * launch. */
static inline char *
text_of(const GArray *ops)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < ops->len; i++) {
        const LlmOp *op = &g_array_index(ops, LlmOp, i);
        g_string_append_printf(text, "%s%s", i > 0 ? " " : "", op->name);
        if (op->waits[0] >= 0) {
            g_string_append_printf(text, "<%d", op->waits[0]);
        }
    }
    return g_string_free(text, FALSE);
}

static inline void
assert_list(const LlmShape *shape, const LlmCut *cut, LlmPiece piece, LlmPass pass,
            const char *expected)
{
    g_autoptr(GArray) ops = llm_ops(shape, cut, piece, pass);
    g_autofree char *text = text_of(ops);
    g_assert_cmpstr(text, ==, expected);
}

static inline gboolean
has_piece(const LlmShape *shape, LlmPiece piece)
{
    return shape->experts > 0 || (piece != LLM_PIECE_MOE && piece != LLM_PIECE_MOE_WINDOW);
}

static inline gboolean
is_collective(const LlmOp *op)
{
    return op->kind == LLM_OP_COLLECTIVE;
}

/* Collectives that are known to be complete when op `index` has started, once what it waits for is. */
static inline void
mark_waited(const GArray *ops, int index, gboolean *waited)
{
    const LlmOp *op = &g_array_index(ops, LlmOp, index);
    if (waited[index]) {
        return;
    }
    waited[index] = TRUE;
    for (guint w = 0; w < G_N_ELEMENTS(op->waits); w++) {
        if (op->waits[w] >= 0) {
            mark_waited(ops, op->waits[w], waited);
        }
    }
    for (int i = index - 1; i >= 0; i--) { /* those of its stream before it */
        if (g_array_index(ops, LlmOp, i).stream == op->stream) {
            mark_waited(ops, i, waited);
            return;
        }
    }
}

static inline guint
n_compute_before(const GArray *ops, guint index)
{
    guint n = 0;
    for (guint i = 0; i < index; i++) {
        n += g_array_index(ops, LlmOp, i).stream == LLM_STREAM_COMPUTE;
    }
    return n;
}

static inline void
check_op(const GArray *ops, guint i, LlmPass pass)
{
    const LlmOp *op = &g_array_index(ops, LlmOp, i);
    gboolean waits = FALSE;
    g_assert_true(is_collective(op) == (op->stream != LLM_STREAM_COMPUTE));
    for (guint w = 0; w < G_N_ELEMENTS(op->waits); w++) {
        g_assert_cmpint(op->waits[w], <, (int)i);
        if (op->waits[w] >= 0) {
            g_assert_cmpint(op->stream, !=, g_array_index(ops, LlmOp, op->waits[w]).stream);
            waits = TRUE;
        }
    }
    if (is_collective(op)) {
        g_assert_cmpint(op->collective.bytes, >, 0);
        gboolean early = pass == LLM_PASS_RECOMPUTE && n_compute_before(ops, i) == 0;
        g_assert_true(waits || early || (i == 0 && pass == LLM_PASS_WEIGHT_GRAD));
    } else {
        g_assert_true(op->kind != LLM_OP_MEMORY || op->memory.bytes > 0);
        g_assert_true((op->flops > 0) == (op->kind != LLM_OP_MEMORY));
    }
}

static inline void
check_waits(const GArray *ops, LlmPass pass)
{
    if (ops->len == 0) {
        return;
    }
    g_autofree gboolean *waited = g_new0(gboolean, ops->len);
    for (guint i = 0; i < ops->len; i++) {
        check_op(ops, i, pass);
    }
    g_assert_false(is_collective(&g_array_index(ops, LlmOp, ops->len - 1)));
    g_assert_true(pass == LLM_PASS_WEIGHT_GRAD || pass == LLM_PASS_RECOMPUTE ||
                  !is_collective(&g_array_index(ops, LlmOp, 0)));
    mark_waited(ops, (int)ops->len - 1, waited);
    for (guint i = 0; i < ops->len; i++) {
        g_assert_true(waited[i]);
    }
}

typedef struct {
    double matrix_flops; /* GEMMs with weights */
    double core_flops;   /* attention core */
    double memory_bytes, collective_bytes;
    guint n;
} Sums;

static inline Sums
sums_of(const LlmShape *shape, const LlmCut *cut, LlmPiece piece, LlmPass pass)
{
    g_autoptr(GArray) ops = llm_ops(shape, cut, piece, pass);
    Sums sums = {.n = ops->len};
    for (guint i = 0; i < ops->len; i++) {
        const LlmOp *op = &g_array_index(ops, LlmOp, i);
        gboolean core = op->kind == LLM_OP_ATTENTION || g_str_has_prefix(op->name, "scores") ||
                        g_str_has_prefix(op->name, "values");
        *(core ? &sums.core_flops : &sums.matrix_flops) += op->flops;
        sums.memory_bytes += op->kind == LLM_OP_MEMORY ? op->memory.bytes : 0;
        sums.collective_bytes += is_collective(op) ? (double)op->collective.bytes : 0;
    }
    return sums;
}

static inline double
memory_bytes(const GArray *ops, const char *pattern)
{
    double bytes = 0;
    for (guint i = 0; i < ops->len; i++) {
        const LlmOp *op = &g_array_index(ops, LlmOp, i);
        if (op->kind == LLM_OP_MEMORY && g_pattern_match_simple(pattern, op->name)) {
            bytes += op->memory.bytes;
        }
    }
    return bytes;
}
