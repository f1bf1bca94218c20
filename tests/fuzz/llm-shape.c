/* A config.json of any bytes: an error or a shape whose print reads back as the same, and whose arithmetic is
 * defined: parameters, FLOPs, and the pieces of a rank. */
#include "config.h"

#include "llm/shape.h"

#include "llm/flops.h"
#include "llm/ops.h"
#include "llm/parameters.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_arithmetic(const LlmShape *shape)
{
    g_assert(llm_shape_check(shape, NULL));
    LlmParameters p = llm_parameters(shape);
    g_assert(p.total > 0 && p.active > 0 && p.active <= p.total);
    for (guint c = 0; c < LLM_FLOPS_N; c++)
        g_assert(llm_flops_per_token(shape, shape->max_positions, (LlmFlopsConvention)c) > 0);
    const LlmCut whole = {.tp = 1}, cut = {.tp = 3, .ep = 5, .etp = 2};
    gint64 n_moe = llm_shape_moe_layers(shape);
    for (gint64 piece = 0; piece < LLM_N_PIECES; piece++) {
        gboolean has_experts = piece == LLM_PIECE_MOE || piece == LLM_PIECE_MOE_WINDOW;
        if ((has_experts && n_moe == 0) || (piece == LLM_PIECE_MTP && shape->mtp_layers == 0))
            continue;
        LlmPieceParameters all = llm_piece_parameters(shape, &whole, (LlmPiece)piece);
        LlmPieceParameters rank = llm_piece_parameters(shape, &cut, (LlmPiece)piece);
        gint64 replicated = llm_piece_replicated(shape, &cut, (LlmPiece)piece);
        g_assert(rank.dense <= all.dense && rank.expert <= all.expert && replicated <= rank.dense);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(LlmShape) shape = llm_shape_parse("fuzz.json", text, &error);
    g_assert((shape == NULL) == (error != NULL));
    if (shape != NULL) {
        check_arithmetic(shape);
        g_autofree char *printed = llm_shape_print(shape);
        g_autoptr(LlmShape) again = llm_shape_parse("fuzz.json", printed, NULL);
        g_assert(again != NULL);
        LlmShape flat = *shape;
        flat.name = again->name;
        flat.family = again->family;
        g_assert(memcmp(&flat, again, sizeof flat) == 0);
    }
    return 0;
}
