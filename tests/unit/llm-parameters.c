/* Parameters: published totals of the shipped models, and shares under tensor parallelism. */
#include "config.h"

#include "llm/parameters.h"

#include "llm-fixture.h"

static void
test_published_totals(void)
{
    g_test_summary("the totals are those of the published weights, to the parameter");
    static const struct {
        const char *name;
        gint64 total;
    } models[] = {
        {"gpt2-xl", 1557611200},       {"llama2-7b", 6738415616},     {"llama2-13b", 13015864320},
        {"llama2-70b", 68976648192},   {"llama3-8b", 8030261248},     {"llama3-70b", 70553706496},
        {"llama3-405b", 405853388800}, {"mistral-7b", 7241732096},    {"qwen2.5-7b", 7615616512},
        {"qwen2.5-72b", 72706203648},  {"qwen3-32b", 32762123264},    {"bloom-176b", 176247271424},
        {"gemma-2-9b", 9241705984},    {"gpt-neox-20b", 20554567680},
    };
    for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autoptr(LlmShape) shape = shipped(models[i].name);
        LlmParameters p = llm_parameters(shape);
        g_test_message("%s", models[i].name);
        g_assert_cmpint(p.total, ==, models[i].total);
        g_assert_cmpint(p.active, ==, p.total);
        g_assert_cmpint(p.total, ==,
                        p.embedding + p.position + p.embedding_norm + shape->layers * p.layer +
                            p.final_norm + p.head);
    }
}

static void
test_published_totals_with_experts(void)
{
    g_test_summary("totals as the weights that were published, active ones as they are published");
    static const struct {
        const char *name;
        gint64 total;
        double published; /* active, in billions */
        double rounding;
        gboolean without_embedding;
    } models[] = {
        {"mixtral-8x7b", 46702792704, 12.9, 0.05, FALSE},
        {"mixtral-8x22b", 140620634112, 39, 0.5, FALSE},
        {"qwen3-30b-a3b", 30532122624, 3.35, 0.05, FALSE},
        {"qwen3-235b-a22b", 235093634560, 22, 0.5, FALSE},
        {"deepseek-v2-lite", 15706484224, 2.4, 0.06, TRUE},
        {"deepseek-v2", 235741434880, 21, 0.5, FALSE},
        {"deepseek-v3", 671026419200, 37, 0.6, FALSE},
        {"kimi-k2", 1026408232448, 32, 1.0, FALSE},
        {"gpt-oss-20b", 20914757184, 3.61, 0.005, TRUE},
        {"gpt-oss-120b", 116829156672, 5.13, 0.005, TRUE},
        {"llama-4-scout", 107769861120, 17, 0.5, FALSE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autoptr(LlmShape) s = shipped(models[i].name);
        LlmParameters p = llm_parameters(s);
        g_test_message("%s", models[i].name);
        g_assert_cmpint(p.total, ==, models[i].total);
        gint64 active = p.active - (models[i].without_embedding ? p.embedding : 0);
        g_assert_cmpfloat_with_epsilon((double)active / 1e9, models[i].published,
                                       models[i].rounding);
        gint64 moe = 0;
        for (gint64 l = 0; l < s->layers; l++) {
            moe += llm_shape_is_moe(s, l);
        }
        g_assert_cmpint(moe, ==, llm_shape_moe_layers(s));
        g_assert_cmpint(p.total, ==,
                        p.embedding + (s->layers - moe) * p.layer + moe * p.moe_layer +
                            p.final_norm + p.head);
    }
}

static void
test_by_hand(void)
{
    g_test_summary("a layer of each kind, counted by hand, and a prediction module");
    /* h 10, a 4, latents 6 (q) and 5 (kv), head parts 3 and 2, values 7; 8 experts of 12, shared 24,
     * dense 20. Attention: 10*6 + 6 + 6*4*(3+2) + 10*(5+2) + 5 + 5*4*(3+7) + 4*7*10 = 741. */
    LlmShape s = {.layers = 6,
                  .hidden = 10,
                  .heads = 4,
                  .kv_heads = 4,
                  .head_dim = 5,
                  .ffn = 20,
                  .vocab = 50,
                  .gated = TRUE,
                  .final_norm = TRUE,
                  .norm = LLM_NORM_RMS,
                  .experts = 8,
                  .experts_per_token = 2,
                  .expert_ffn = 12,
                  .shared_ffn = 24,
                  .dense_layers = 1,
                  .moe_every = 2,
                  .router_bias = TRUE,
                  .q_lora = 6,
                  .kv_lora = 5,
                  .qk_nope_dim = 3,
                  .qk_rope_dim = 2,
                  .v_dim = 7,
                  .mtp_layers = 1};
    LlmParameters p = llm_parameters(&s);
    gint64 attention = 741, norms = 2 * 10, expert = 3 * 10 * 12;
    g_assert_cmpint(p.layer, ==, attention + norms + 3 * 10 * 20);
    g_assert_cmpint(p.layer_matrices, ==, attention - 6 - 5 + 3 * 10 * 20);
    g_assert_cmpint(p.router, ==, 8 * 10 + 8);
    g_assert_cmpint(p.moe_layer, ==, attention + norms + 88 + 3 * 10 * 24 + 8 * expert);
    g_assert_cmpint(p.moe_layer_matrices, ==, attention - 11 + 3 * 10 * 24 + 8 * expert);
    /* Layers 1, 3 and 5 have experts; so has the module, whose layer is like the last. */
    g_assert_cmpint(llm_shape_moe_layers(&s), ==, 3);
    g_assert_cmpint(p.mtp, ==, 2 * 10 * 10 + 3 * 10 + p.moe_layer);
    g_assert_cmpint(p.total, ==, 2 * 500 + 3 * p.layer + 3 * p.moe_layer + 10);
    g_assert_cmpint(p.active, ==, p.total - 3 * 6 * expert);
    /* On 2 ranks: 2 of 4 heads, the down-projections, latents' norms and router whole. */
    LlmCut cut = cut_of(&s, 2, TRUE, 8);
    cut.ep = 4;
    cut.etp = 2;
    gint64 whole = 60 + 6 + 70 + 5 + norms + 88;
    LlmPieceParameters rank = llm_piece_parameters(&s, &cut, LLM_PIECE_MOE);
    g_assert_cmpint(rank.dense, ==, whole + 60 + 100 + 140 + 3 * 10 * 12);
    g_assert_cmpint(rank.expert, ==, 2 * 3 * 10 * 6);
    g_assert_cmpint(llm_piece_replicated(&s, &cut, LLM_PIECE_MOE), ==, whole);
    LlmPieceParameters module = llm_piece_parameters(&s, &cut, LLM_PIECE_MTP);
    g_assert_cmpint(module.dense, ==, rank.dense + 100 + 30);
    g_assert_cmpint(module.expert, ==, rank.expert);
    g_assert_cmpint(llm_piece_replicated(&s, &cut, LLM_PIECE_MTP), ==, whole + 30);
    s.layers = 5; /* the last layer is dense, and so is the module */
    g_assert_cmpint(llm_parameters(&s).mtp, ==, 230 + p.layer);
    g_assert_cmpint(llm_piece_parameters(&s, &cut, LLM_PIECE_MTP).expert, ==, 0);
}

static void
test_megatron_table(void)
{
    g_test_summary(
        "P = 12 L h^2 (1 + 13/12h + (V + s)/12Lh), SC'21 equation 2; billions as in its table 1");
    static const struct {
        const char *name;
        double billions;
    } models[] = {
        {"megatron-1.7b", 1.7},   {"megatron-3.6b", 3.6},      {"megatron-7.5b", 7.5},
        {"megatron-18b", 18.4},   {"megatron-39b", 39.1},      {"megatron-76b", 76.1},
        {"megatron-145b", 145.6}, {"megatron-310b", 310.1},    {"megatron-530b", 529.6},
        {"megatron-1t", 1008.0},  {"korthikanti-22b", 22.1},   {"korthikanti-175b", 174.6},
        {"gpt3-175b", 174.6},     {"korthikanti-530b", 529.6}, {"korthikanti-1t", 1008.0},
    };
    for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autoptr(LlmShape) s = shipped(models[i].name);
        gint64 total = llm_parameters(s).total;
        gint64 h = s->hidden;
        /* Its closed form leaves the final norm's 2h out. */
        gint64 closed =
            s->layers * (12 * h * h + 13 * h) + h * (s->vocab + s->max_positions) + 2 * h;
        g_test_message("%s", models[i].name);
        g_assert_cmpint(total, ==, closed);
        g_assert_cmpfloat_with_epsilon((double)total / 1e9, models[i].billions, 0.0501);
    }
}

static void
test_shares_per_rank(void)
{
    g_test_summary("what tp cuts adds up to the whole; norms and row biases are on every rank");
    g_auto(GStrv) names = llm_shape_names();
    for (guint i = 0; names[i] != NULL; i++) {
        g_autoptr(LlmShape) s = shipped(names[i]);
        LlmParameters p = llm_parameters(s);
        g_assert_cmpint(llm_layer_parameters_per_rank(s, 1), ==, p.layer);
        for (gint64 tp = 2; tp <= 8; tp *= 2) {
            if (s->heads % tp != 0 || s->kv_heads % tp != 0 || s->ffn % tp != 0) {
                continue;
            }
            gint64 norm = s->norm == LLM_NORM_LAYER ? 2 * s->hidden : s->hidden;
            gint64 latents = s->q_lora + s->kv_lora;
            gint64 whole_part = (s->post_norms ? 4 : 2) * norm +
                                (s->qk_norm ? 2 * s->head_dim : 0) + (s->out_bias ? s->hidden : 0) +
                                (s->mlp_bias ? s->hidden : 0) + latents +
                                s->hidden * (latents + s->qk_rope_dim);
            gint64 rank = llm_layer_parameters_per_rank(s, tp);
            g_assert_cmpint(tp * (rank - whole_part), ==, p.layer - whole_part);
        }
    }
    /* 4 key-value heads on 8 ranks: each holds one whole head of keys and of values. */
    g_autoptr(LlmShape) few = shipped("qwen3-32b");
    few->kv_heads = 4;
    gint64 h = few->hidden;
    gint64 expected = h * (8 + 2 * 1) * 128 + 8 * 128 * h + 3 * h * few->ffn / 8 + 2 * h + 2 * 128;
    g_assert_cmpint(llm_layer_parameters_per_rank(few, 8), ==, expected);
}

/* Over all ranks: `total` once, and what is on every rank once more for each further rank. */
static void
assert_pieces_add_up(const LlmShape *s, const LlmCut *cut, LlmPiece piece, gint64 total)
{
    LlmPieceParameters rank = llm_piece_parameters(s, cut, piece);
    gint64 replicated = llm_piece_replicated(s, cut, piece);
    gint64 row_bias = s->expert_bias ? s->experts * s->hidden : 0; /* on every expert-tensor rank */
    gint64 experts =
        rank.expert == 0 ? 0 : cut->ep * cut->etp * rank.expert - (cut->etp - 1) * row_bias;
    g_assert_cmpint(cut->tp * (rank.dense - replicated) + replicated + experts, ==, total);
}

static void
test_pieces_add_up(void)
{
    g_test_summary("the pieces of all ranks are the model, and each copy of what is not cut");
    static const gint64 degrees[][3] = {{1, 1, 1}, {2, 1, 1}, {4, 8, 1},
                                        {8, 4, 2}, {2, 2, 4}, {1, 8, 8}};
    g_auto(GStrv) names = llm_shape_names();
    for (guint i = 0; names[i] != NULL; i++) {
        g_autoptr(LlmShape) s = shipped(names[i]);
        LlmParameters p = llm_parameters(s);
        gint64 n = llm_shape_moe_layers(s);
        for (guint d = 0; d < G_N_ELEMENTS(degrees); d++) {
            LlmCut cut = cut_of(s, degrees[d][0], TRUE, 128);
            cut.ep = degrees[d][1];
            cut.etp = degrees[d][2];
            cut.vocab_padded = s->vocab;
            if (s->kv_heads % cut.tp != 0 || s->ffn % cut.tp != 0 || s->vocab % cut.tp != 0) {
                continue;
            }
            g_test_message("%s %d", names[i], (int)d);
            assert_pieces_add_up(s, &cut, LLM_PIECE_LAYER, p.layer);
            assert_pieces_add_up(s, &cut, LLM_PIECE_LAYER_WINDOW, p.layer);
            assert_pieces_add_up(s, &cut, LLM_PIECE_EMBEDDING,
                                 p.embedding + p.position + p.embedding_norm);
            assert_pieces_add_up(s, &cut, LLM_PIECE_HEAD,
                                 p.head + p.final_norm + (s->tied ? p.embedding : 0));
            if (n > 0) {
                assert_pieces_add_up(s, &cut, LLM_PIECE_MOE, p.moe_layer);
                assert_pieces_add_up(s, &cut, LLM_PIECE_MOE_WINDOW, p.moe_layer);
            }
            if (s->mtp_layers > 0) {
                assert_pieces_add_up(s, &cut, LLM_PIECE_MTP, p.mtp);
            }
        }
    }
}

/* Weights that one token is multiplied with in the forward pass of a piece: FLOPs of its GEMMs / 2 tokens. */
static gint64
weights_met(const LlmShape *s, LlmPiece piece)
{
    LlmCut cut = cut_of(s, 1, FALSE, 4096);
    cut.ep = cut.etp = 1;
    g_autoptr(GArray) ops = llm_ops(s, &cut, piece, LLM_PASS_FORWARD);
    double flops = 0;
    for (guint i = 0; i < ops->len; i++) {
        const LlmOp *op = &g_array_index(ops, LlmOp, i);
        flops += op->kind == LLM_OP_GEMM ? op->flops : 0;
    }
    g_assert_cmpfloat(flops / 8192, ==, (double)(gint64)(flops / 8192));
    return (gint64)(flops / 8192);
}

static void
test_lists_use_the_weights(void)
{
    g_test_summary(
        "the GEMMs of a layer's list are with the weights that are counted here, k of E experts");
    g_auto(GStrv) names = llm_shape_names();
    for (guint i = 0; names[i] != NULL; i++) {
        g_autoptr(LlmShape) s = shipped(names[i]);
        LlmParameters p = llm_parameters(s);
        gint64 expert = (s->gated ? 3 : 2) * s->hidden * s->expert_ffn;
        gint64 idle = (s->experts - s->experts_per_token) * expert;
        gint64 moe = p.moe_layer_matrices - idle + s->experts * s->hidden;
        g_test_message("%s", names[i]);
        g_assert_cmpint(weights_met(s, LLM_PIECE_LAYER), ==, p.layer_matrices);
        g_assert_cmpint(weights_met(s, LLM_PIECE_HEAD), ==, s->vocab * s->hidden);
        if (s->experts > 0) {
            g_assert_cmpint(weights_met(s, LLM_PIECE_MOE), ==, moe);
        }
        if (s->mtp_layers > 0) {
            g_assert_cmpint(weights_met(s, LLM_PIECE_MTP), ==,
                            2 * s->hidden * s->hidden + moe + s->vocab * s->hidden);
        }
    }
}

static void
test_padded_vocabulary(void)
{
    static const struct {
        gint64 vocab, multiple, padded;
    } cases[] = {{50257, 128, 50304}, {50257, 1024, 51200}, {51200, 1024, 51200}, {1, 1, 1}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        LlmShape shape = {.vocab = cases[i].vocab};
        g_assert_cmpint(llm_padded_vocab(&shape, cases[i].multiple), ==, cases[i].padded);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/llm/parameters/published-totals", test_published_totals);
    g_test_add_func("/llm/parameters/published-totals-with-experts",
                    test_published_totals_with_experts);
    g_test_add_func("/llm/parameters/by-hand", test_by_hand);
    g_test_add_func("/llm/parameters/pieces-of-all-ranks", test_pieces_add_up);
    g_test_add_func("/llm/parameters/lists-use-the-weights", test_lists_use_the_weights);
    g_test_add_func("/llm/parameters/megatron-closed-form", test_megatron_table);
    g_test_add_func("/llm/parameters/shares-per-rank", test_shares_per_rank);
    g_test_add_func("/llm/parameters/padded-vocabulary", test_padded_vocabulary);
    return g_test_run();
}
