/* The op list of each piece of the model on one rank: kernels and tensor-parallel collectives of
 * forward, backward, input gradient and weight gradient, in launch order. */
#pragma once

#include "llm/shape.h"
#include "net/collective.h"

typedef enum { LLM_RECOMPUTE_NONE, LLM_RECOMPUTE_SELECTIVE, LLM_RECOMPUTE_FULL } LlmRecompute;
typedef enum { LLM_ATTENTION_FLASH, LLM_ATTENTION_UNFUSED } LlmAttention;

/* How the model is cut as far as one rank's op list is concerned. */
typedef struct {
    gint64 tp, cp;
    gboolean sequence_parallel; /* with tp > 1 */
    gint64 micro_batch, seq;
    ClusterDtype dtype;
    LlmAttention attention;
    LlmRecompute recompute;
    gboolean dropout;       /* shape's, or overridden */
    gboolean gradient_fp32; /* wgrad accumulates into an fp32 main gradient */
    gint64 vocab_padded;
    gboolean fused_kernels; /* bias+GELU, scale+mask+softmax, bias+dropout+add in one */
} LlmCut;

typedef enum { LLM_PIECE_EMBEDDING, LLM_PIECE_LAYER, LLM_PIECE_HEAD, LLM_N_PIECES } LlmPiece;
/* BACKWARD = INPUT_GRAD and WEIGHT_GRAD in the frameworks' order; RECOMPUTE: what is run again
 * before the backward of the piece (empty for recompute none; selective: the attention core; full:
 * all). */
typedef enum {
    LLM_PASS_FORWARD,
    LLM_PASS_BACKWARD,
    LLM_PASS_INPUT_GRAD,
    LLM_PASS_WEIGHT_GRAD,
    LLM_PASS_RECOMPUTE,
    LLM_N_PASSES
} LlmPass;

typedef enum { LLM_OP_GEMM, LLM_OP_ATTENTION, LLM_OP_MEMORY, LLM_OP_COLLECTIVE } LlmOpKind;

typedef struct {
    const char *name; /* static: "qkv", "attention_out", "norm", "all_gather" ... */
    LlmOpKind kind;
    union {
        CostGemm gemm;
        CostAttention attention;
        struct {
            CostMemoryKernel kernel;
            double bytes;
        } memory;
        struct {
            NetOp op;
            gint64 bytes;
        } collective; /* over the TP group, on the TP stream */
    };
    /* Index in this list of an earlier op on the *other* stream that must be complete first; -1:
     * none. Ops of one stream run in list order anyway. A blocking collective is one whose next
     * compute op waits for it; an overlapped one is waited for later. */
    int wait;
    double flops; /* 2mnk and the like; 0 for the others */
} LlmOp;

/* GArray of LlmOp; caller frees (g_array_unref).
 *
 * Each list can follow any other: it begins with a compute op and ends with one, and by its end
 * every collective has been waited for. The one exception is WEIGHT_GRAD, which may begin with the
 * "re_gather" of a saved input (wait -1: it is launched behind the compute op before the list).
 * WEIGHT_GRAD of the embedding is empty. The collectives: "all_gather", "reduce_scatter",
 * "all_reduce", "re_gather" over hidden states, and of the loss "all_reduce_max",
 * "all_reduce_target", "all_reduce_sum". */
GArray *llm_ops(const LlmShape *shape, const LlmCut *cut, LlmPiece piece, LlmPass pass);

/* 2 for the 16-bit types and fp8 (whose GEMMs alone are in 8 bits), else 4. */
double llm_element_bytes(ClusterDtype dtype);

/* Bytes that stay alive from the piece's forward to its backward, per microbatch with the cut's
 * recompute; and what only its own backward needs while it runs: recomputed activations; of the
 * head the logits and their fp32 copy, which are there from the end of its forward to its
 * backward. */
double llm_activation_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece);
/* With the backward split: what stays alive from the end of the input gradient to the end of the weight
 * gradient, the inputs and output gradients of the matrices (32 s b h of 34 s b h + 5 a s^2 b for GPT without
 * tp, SPEC.md 5 and 10.6). */
double llm_weight_grad_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece);
double llm_transient_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece);
