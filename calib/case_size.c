/* What a case computes, moves and keeps in memory. */
#include "config.h"

#include "calib/case.h"

double
calib_gemm_flops(const CalibGemm *g)
{
    return 2.0 * (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
}

/* Elements of A, B and C. Of a grouped GEMM m (of wgrad: k) is split over the groups; B (of wgrad: C) is there once a
 * group. */
static void
elements_of(const CalibGemm *g, double *inputs, double *outputs)
{
    double m = (double)g->m, n = (double)g->n, k = (double)g->k, groups = (double)g->groups;
    bool split_k = g->pass == CALIB_WGRAD;
    *inputs = (m * k + k * n * (split_k ? 1 : groups)) * (double)g->batch;
    *outputs = m * n * (split_k ? groups : 1) * (double)g->batch;
}

/* C is bf16 where the inputs are fp8; wgrad reads and writes it in fp32. */
static double
output_bytes(const CalibGemm *g)
{
    if (g->pass == CALIB_WGRAD)
        return 4;
    return g->dtype == CALIB_FP8 ? 2 : calib_dtype_bytes(g->dtype);
}

double
calib_gemm_bytes(const CalibGemm *g)
{
    double inputs, outputs;
    elements_of(g, &inputs, &outputs);
    return inputs * calib_dtype_bytes(g->dtype) +
           outputs * output_bytes(g) * (g->pass == CALIB_WGRAD ? 2 : 1);
}

/* Two products forward, five backward; causal halves them. */
double
calib_attention_flops(const CalibAttention *a)
{
    double forward = 4.0 * (double)a->batch * (double)a->heads * (double)a->seq * (double)a->seq *
                     (double)a->head_dim;
    return forward * (a->backward ? 2.5 : 1.0) * (a->causal ? 0.5 : 1.0);
}

double
calib_collective_sent_bytes(const CalibCollective *c)
{
    double bytes = (double)c->bytes, n = c->ranks;
    switch (c->op) {
    case CALIB_ALL_REDUCE:
        return bytes * 2 * (n - 1) / n;
    case CALIB_ALL_GATHER:
    case CALIB_REDUCE_SCATTER:
    case CALIB_ALL_TO_ALL:
        return bytes * (n - 1) / n;
    case CALIB_BROADCAST:
    case CALIB_SEND_RECV:
    case CALIB_COPY_ENGINE:
        break;
    }
    return bytes;
}

static double
attention_footprint(const CalibAttention *a)
{
    double width = (double)(2 * a->heads + 2 * a->kv_heads) * (double)a->head_dim;
    return (double)a->batch * (double)a->seq * width * calib_dtype_bytes(a->dtype) *
           (a->backward ? 2 : 1);
}

static double
gemm_footprint(const CalibGemm *g)
{
    double inputs, outputs;
    elements_of(g, &inputs, &outputs);
    return inputs * calib_dtype_bytes(g->dtype) + outputs * output_bytes(g);
}

/* Host copies have one end there. */
static double
memory_footprint(const CalibMemory *m)
{
    return (double)m->bytes;
}

/* A buffer to send from and one to receive into. */
static double
collective_footprint(const CalibCollective *c)
{
    return (double)c->bytes * (c->op == CALIB_COPY_ENGINE || c->in_place ? 1 : 2);
}

static double
overlap_footprint(const CalibOverlap *o)
{
    double work = o->work == CALIB_WORK_GEMM        ? gemm_footprint(&o->gemm)
                  : o->work == CALIB_WORK_ATTENTION ? attention_footprint(&o->attention)
                                                    : memory_footprint(&o->memory);
    return work + collective_footprint(&o->traffic);
}

int64_t
calib_case_footprint_bytes(const CalibCase *what)
{
    double bytes = 0;
    switch (what->kind) {
    case CALIB_CASE_GEMM:
        bytes = gemm_footprint(&what->gemm);
        break;
    case CALIB_CASE_MEMORY:
        bytes = memory_footprint(&what->memory);
        break;
    case CALIB_CASE_ATTENTION:
        bytes = attention_footprint(&what->attention);
        break;
    case CALIB_CASE_COLLECTIVE:
        bytes = collective_footprint(&what->collective);
        break;
    case CALIB_CASE_OVERLAP:
        bytes = overlap_footprint(&what->overlap);
        break;
    case CALIB_N_CASES:
        break;
    }
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}
