/* The op list of each piece of the model on one rank: kernels and tensor-parallel collectives of
 * forward, backward, input gradient and weight gradient, in launch order. */
#pragma once

#include "llm/shape.h"
#include "net/collective.h"

typedef enum { LLM_RECOMPUTE_NONE, LLM_RECOMPUTE_SELECTIVE, LLM_RECOMPUTE_FULL } LlmRecompute;
typedef enum { LLM_ATTENTION_FLASH, LLM_ATTENTION_UNFUSED } LlmAttention;
/* What selective recompute runs again (Megatron's --recompute-modules). */
typedef enum {
    LLM_MODULE_CORE_ATTENTION = 1 << 0,
    LLM_MODULE_NORM = 1 << 1,           /* "layernorm": norm outputs */
    LLM_MODULE_MLP = 1 << 2,            /* the dense MLP, from its norm output */
    LLM_MODULE_MOE = 1 << 3,            /* router, dispatch, experts, combine */
    LLM_MODULE_MOE_ACTIVATION = 1 << 4, /* the activation between the experts' matrices */
    LLM_MODULE_SHARED_EXPERTS = 1 << 5,
    LLM_MODULE_MLA_UP = 1 << 6,     /* "mla_up_proj": expanded q, k, v from the latents */
    LLM_MODULE_ACTIVATION = 1 << 7, /* the dense MLP's activation output */
    /* "second_gemm": every second matrix and what is neither matrix nor attention (torchtitan's option "op");
     * experts as with MOE. It decides alone: other modules beside it change nothing. */
    LLM_MODULE_SECOND_GEMM = 1 << 8,
    LLM_MODULE_ALL = (1 << 9) - 1
} LlmModule;

/* How attention meets keys of other context-parallel ranks (SPEC.md 7.5). */
typedef enum { LLM_CP_P2P, LLM_CP_ALL_GATHER, LLM_CP_A2A, LLM_CP_A2A_P2P } LlmCpKind;
/* How tokens get to their experts (SPEC.md 7.6): NCCL all-to-all of every copy; all-gather of all tokens and
 * reduce-scatter back; DeepEP's, which sends a token once to a node and once to a rank. */
typedef enum { LLM_DISPATCH_ALL_TO_ALL, LLM_DISPATCH_ALL_GATHER, LLM_DISPATCH_FLEX } LlmDispatch;

/* How the model is cut as far as one rank's op list is concerned. */
typedef struct {
    gint64 tp, cp;
    gboolean sequence_parallel; /* with tp > 1 */
    gint64 micro_batch, seq;
    ClusterDtype dtype;
    LlmAttention attention;
    LlmRecompute recompute;  /* of this layer */
    guint recompute_modules; /* LlmModule bits, with SELECTIVE */
    gboolean dropout;        /* shape's, or overridden */
    gboolean gradient_fp32;  /* wgrad accumulates into an fp32 main gradient */
    gint64 vocab_padded;
    gboolean fused_kernels; /* bias+GELU, scale+mask+softmax, bias+dropout+add in one */
    gboolean fused_loss;    /* cross-entropy that keeps no fp32 copy of the logits */
    gboolean
        log_softmax; /* not fused: PyTorch's own over fp32 logits, each step in a tensor of its own */
    gboolean
        tp_overlap; /* TransformerEngine's user buffers (SPEC.md 7.4): ring exchange and bulk */

    LlmCpKind cp_kind;
    gint64 cp_inner; /* with A2A_P2P: ranks of the inner all-to-all, divides cp */

    /* Experts. The tokens of tp x cp x dp ranks meet in groups of ep x etp; SPEC.md 7.6. */
    gint64 ep, etp;
    gint64 ep_nodes; /* nodes that an expert-parallel group touches, for FLEX */
    LlmDispatch dispatch;
    double capacity_factor;   /* tokens an expert takes over the mean; 0: dropless */
    gboolean pad_to_capacity; /* every expert is filled up to its capacity */
    double expert_load; /* tokens of the most loaded rank over the mean; 1: balanced; 0 means 1 */
    gboolean overlap_shared;   /* shared experts run beside dispatch and combine */
    gboolean fp8_dispatch;     /* tokens travel to their experts in 8 bits, forward */
    gboolean fp8_weights_kept; /* fp8: 8-bit copies of weights stay for the iteration; else each
                                * microbatch casts them again */
} LlmCut;

/* What the model is made of: layers differ by their MLP and by the reach of their attention. */
typedef enum {
    LLM_PIECE_EMBEDDING,
    LLM_PIECE_LAYER,        /* dense MLP, full attention */
    LLM_PIECE_LAYER_WINDOW, /* dense MLP, attention within the window */
    LLM_PIECE_MOE,          /* experts, full attention */
    LLM_PIECE_MOE_WINDOW,
    LLM_PIECE_MTP, /* one multi-token-prediction module: norms, 2h -> h, a layer, the shared head and loss */
    LLM_PIECE_HEAD, /* final norm, LM head, loss */
    LLM_N_PIECES
} LlmPiece;
LlmPiece llm_layer_piece(const LlmShape *shape, gint64 layer);
/* BACKWARD = INPUT_GRAD and WEIGHT_GRAD in the frameworks' order; RECOMPUTE: what is run again
 * before the backward of the piece (empty for recompute none; selective: the modules; full:
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
/* Whom a collective is with, and so on which stream it runs: TP and ETP on the tensor-parallel one, CP*
 * on the context-parallel one, EP on the expert-parallel one. CP_INNER and CP_OUTER: the all-to-all and the
 * ring of A2A_P2P. */
typedef enum {
    LLM_GROUP_TP,
    LLM_GROUP_CP,
    LLM_GROUP_CP_INNER,
    LLM_GROUP_CP_OUTER,
    LLM_GROUP_EP,
    LLM_GROUP_ETP,
    LLM_N_GROUPS
} LlmGroup;
typedef enum {
    LLM_STREAM_COMPUTE,
    LLM_STREAM_TP,
    LLM_STREAM_CP,
    LLM_STREAM_EP,
    LLM_N_STREAMS
} LlmStream;
/* Parts of a layer that an overlapped pair of F and B interleaves (SPEC.md 3.15). Dense layers are all
 * ATTENTION. Weight gradients have their own part so that they can be put off. */
typedef enum {
    LLM_SEGMENT_ATTENTION, /* norm, attention, norm, router, permute; backward: the same */
    LLM_SEGMENT_DISPATCH,
    LLM_SEGMENT_EXPERTS,
    LLM_SEGMENT_EXPERTS_WGRAD,
    LLM_SEGMENT_COMBINE,
    LLM_SEGMENT_POST, /* unpermute and residual; they go with the next layer's attention */
    LLM_SEGMENT_ATTENTION_WGRAD,
    LLM_N_SEGMENTS
} LlmSegment;

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
            gint64
                bytes; /* as NetOp counts; of a FLEX exchange: all that a rank sends, one copy a rank */
            LlmGroup group;
            gint64
                node_bytes; /* of a FLEX exchange: all that a rank sends, one copy a node; else 0 */
        } collective;
    };
    LlmStream stream; /* COMPUTE, or the collective's */
    LlmSegment segment;
    /* Indices in this list of earlier ops on *other* streams that must be complete first; -1:
     * none. Ops of one stream run in list order anyway. A blocking collective is one whose next
     * compute op waits for it; an overlapped one is waited for later. */
    int waits[LLM_N_STREAMS - 1];
    double flops; /* 2mnk and the like; 0 for the others */
    gboolean
        same_call; /* started by the framework's call for the op before it, with no host time of its own */
} LlmOp;

/* GArray of LlmOp; caller frees (g_array_unref).
 *
 * Each list can follow any other: it begins with a compute op and ends with one, and by its end
 * every collective has been waited for. The exceptions are WEIGHT_GRAD, which may begin with the
 * "re_gather" of a saved input, and RECOMPUTE, whose modules may begin with a gather or a message (no
 * waits: it is launched behind the compute op before the list). WEIGHT_GRAD of the embedding is empty.
 *
 * The collectives: "all_gather", "reduce_scatter", "all_reduce", "re_gather" over hidden states,
 * "ring_exchange" with user buffers, and of the loss "all_reduce_max", "all_reduce_target",
 * "all_reduce_sum"; "cp_..." of the attention core; of experts "expert_counts", "dispatch",
 * "dispatch_scales", "dispatch_probs", "combine", backward "combine_grad", "dispatch_grad",
 * "dispatch_probs_grad", and over etp "expert_gather", "expert_scatter". */
GArray *llm_ops(const LlmShape *shape, const LlmCut *cut, LlmPiece piece, LlmPass pass);

/* 2 for the 16-bit types and fp8 (whose GEMMs alone are in 8 bits), else 4. */
double llm_element_bytes(ClusterDtype dtype);

/* Parameters of a piece on one rank: cut by tp (experts by ep and etp), vocabulary padded. Gradients of the
 * dense part are reduced over dp x cp, those of the experts over the ranks with the same experts. The head's
 * are final norm and LM head (also when tied: whoever places it decides), a prediction module's without the
 * shared embedding and head. */
typedef struct {
    gint64 dense, expert;
} LlmPieceParameters;
LlmPieceParameters llm_piece_parameters(const LlmShape *shape, const LlmCut *cut, LlmPiece piece);
/* Of the dense ones, those that tp does not cut: with sequence parallelism their gradients are summed over tp. */
gint64 llm_piece_replicated(const LlmShape *shape, const LlmCut *cut, LlmPiece piece);

/* Bytes that stay alive from the piece's forward to its backward, per microbatch with the cut's
 * recompute (of a prediction module with its logits); and what only its own backward needs while it runs:
 * what recompute brings back, the input that is there not among it; of the head the logits and their fp32
 * copy, which are there from the end of its forward to its backward. */
double llm_activation_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece);
/* With the backward split: what stays alive from the end of the input gradient to the end of the weight
 * gradient, the inputs and output gradients of the matrices (32 s b h of 34 s b h + 5 a s^2 b for GPT without
 * tp, SPEC.md 5 and 10.6). */
double llm_weight_grad_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece);
double llm_transient_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece);
/* The most that a list needs for itself while it runs, on top of what it keeps, finds kept or recomputed (all of
 * it counted for as long as the list runs): gradients of activations and gathered ones, outputs that are not
 * kept, copies of tokens on their way. Inputs gathered by sequence parallelism are not among it: they lie in
 * one buffer of whole hidden states that is there all the time. */
double llm_workspace_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece, LlmPass pass);
