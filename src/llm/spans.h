/* Tensors of a layer over the steps of its lists: when each is alive, and the most that is alive at once. */
#pragma once

#include "llm/kept.h"

/* Of a layer's forward; a dense MLP leaves out those between its norm and its first matrix. */
typedef enum {
    LLM_F_NORM,
    LLM_F_QKV,
    LLM_F_CORE,
    LLM_F_OUT,
    LLM_F_COMBINE,
    LLM_F_ADD,
    LLM_F_MLP_NORM,
    LLM_F_ROUTER,
    LLM_F_PERMUTE,
    LLM_F_DISPATCH,
    LLM_F_SORT,
    LLM_F_UP,
    LLM_F_ACTIVATION,
    LLM_F_DOWN,
    LLM_F_UNSORT,
    LLM_F_MLP_COMBINE,
    LLM_F_UNPERMUTE,
    LLM_F_MLP_ADD,
    LLM_N_FORWARD
} LlmForwardStep;
typedef enum {
    LLM_B_ADD,
    LLM_B_UNPERMUTE,
    LLM_B_COMBINE, /* or the gather of the output's gradient */
    LLM_B_UNSORT,
    LLM_B_DOWN,
    LLM_B_ACTIVATION,
    LLM_B_UP,
    LLM_B_SORT, /* or the scatter of the input's gradient */
    LLM_B_DISPATCH,
    LLM_B_PERMUTE,
    LLM_B_ROUTER,
    LLM_B_MLP_NORM,
    LLM_B_GATHER,
    LLM_B_OUT,
    LLM_B_CORE,
    LLM_B_QKV,
    LLM_B_SCATTER,
    LLM_B_NORM,
    LLM_N_BACKWARD
} LlmBackwardStep;

enum { LLM_MAX_STEPS = 20 };

typedef struct {
    const LlmEmit *e;
    LlmPiece layer;
    LlmKept kept;
    gboolean split;             /* the input gradient alone */
    double whole, local;        /* bytes of hidden states: n h, l h */
    double sent, arrived, rows; /* of copies of tokens at the stations of their way */
    double alive[LLM_MAX_STEPS];
} LlmSpans;

LlmSpans llm_spans_begin(const LlmEmit *e, LlmPiece layer, gboolean split);
/* Alive from the start of step `from` to the end of step `to`. */
void llm_span(LlmSpans *s, double bytes, guint from, guint to);
double llm_span_peak(const LlmSpans *s);
/* Of the attention core, on top of its inputs, outputs and what it keeps. */
double llm_span_core(const LlmSpans *s, gboolean backward);
