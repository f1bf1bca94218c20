/* Names, sizes and order of cases. */
#include "config.h"

#include "calib/case.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const dtypes[CALIB_N_DTYPES] = {"fp32", "tf32", "fp16", "bf16", "fp8"};
static const char *const passes[CALIB_N_PASSES] = {"forward", "dgrad", "wgrad"};
static const char *const kernels[CALIB_N_KERNELS] = {
    [CALIB_COPY] = "copy",
    [CALIB_NORM] = "norm",
    [CALIB_NORM_BACKWARD] = "norm_backward",
    [CALIB_SOFTMAX] = "softmax",
    [CALIB_SOFTMAX_BACKWARD] = "softmax_backward",
    [CALIB_ACTIVATION] = "activation",
    [CALIB_ACTIVATION_BACKWARD] = "activation_backward",
    [CALIB_ADD] = "add",
    [CALIB_DROPOUT] = "dropout",
    [CALIB_ROPE] = "rope",
    [CALIB_EMBEDDING] = "embedding",
    [CALIB_EMBEDDING_BACKWARD] = "embedding_backward",
    [CALIB_CROSS_ENTROPY] = "cross_entropy",
    [CALIB_CROSS_ENTROPY_BACKWARD] = "cross_entropy_backward",
    [CALIB_ADAM] = "adam",
    [CALIB_REDUCE] = "reduce",
    [CALIB_PERMUTE] = "permute",
    [CALIB_CAST] = "cast",
    [CALIB_TRIAD] = "triad",
    [CALIB_LAUNCH] = "launch",
    [CALIB_EVENT] = "event",
    [CALIB_SYNC] = "sync",
    [CALIB_H2D] = "h2d",
    [CALIB_D2H] = "d2h",
    [CALIB_P2P] = "p2p",
};
static const char *const ops[CALIB_N_OPS + 1] = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv", "copy"};
static const char *const works[] = {"gemm", "attention", "memory"};
static const char *const kinds[CALIB_N_CASES] = {"gemm", "memory", "attention", "collective",
                                                 "overlap"};

static int
find(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

const char *
calib_dtype_name(CalibDtype dtype)
{
    return dtypes[dtype];
}

int
calib_dtype_bytes(CalibDtype dtype)
{
    static const int bytes[CALIB_N_DTYPES] = {4, 4, 2, 2, 1};
    return bytes[dtype];
}

const char *
calib_pass_name(CalibPass pass)
{
    return passes[pass];
}

const char *
calib_kernel_name(CalibKernel kernel)
{
    return kernels[kernel];
}

const char *
calib_op_name(CalibOp op)
{
    return ops[op];
}

const char *
calib_work_name(CalibWork work)
{
    return works[work];
}

const char *
calib_kind_name(CalibKind kind)
{
    return kinds[kind];
}

int
calib_dtype_find(const char *name)
{
    return find(dtypes, CALIB_N_DTYPES, name);
}

int
calib_pass_find(const char *name)
{
    return find(passes, CALIB_N_PASSES, name);
}

int
calib_kernel_find(const char *name)
{
    return find(kernels, CALIB_N_KERNELS, name);
}

int
calib_op_find(const char *name)
{
    return find(ops, CALIB_N_OPS + 1, name);
}

int
calib_kind_find(const char *name)
{
    return find(kinds, CALIB_N_CASES, name);
}

unsigned
calib_case_n_times(const CalibCase *what)
{
    return what->kind == CALIB_CASE_OVERLAP ? CALIB_OVERLAP_TIMES : 1;
}

bool
calib_case_is_shared(const CalibCase *what)
{
    return what->kind == CALIB_CASE_COLLECTIVE ||
           (what->kind == CALIB_CASE_OVERLAP && what->overlap.traffic.op != CALIB_COPY_ENGINE);
}

/* --- order ------------------------------------------------------------------------------------ */

/* A case as numbers, in the order that tables have. */
enum { KEY_LENGTH = 20 };

static void
push(int64_t key[KEY_LENGTH], int *n, int64_t value)
{
    key[(*n)++] = value;
}

static void
push_gemm(int64_t key[KEY_LENGTH], int *n, const CalibGemm *g)
{
    const int64_t values[] = {g->dtype, g->pass, g->groups, g->batch, g->m, g->n, g->k};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        push(key, n, values[i]);
}

static void
push_attention(int64_t key[KEY_LENGTH], int *n, const CalibAttention *a)
{
    const int64_t values[] = {a->dtype,    a->batch, a->heads,  a->kv_heads,
                              a->head_dim, a->seq,   a->causal, a->backward};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        push(key, n, values[i]);
}

static void
push_collective(int64_t key[KEY_LENGTH], int *n, const CalibCollective *c)
{
    const int64_t values[] = {c->op, c->dtype, c->nodes, c->ranks, c->in_place, c->bytes};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        push(key, n, values[i]);
}

static void
push_memory(int64_t key[KEY_LENGTH], int *n, const CalibMemory *m)
{
    push(key, n, m->kernel);
    push(key, n, m->bytes);
}

static void
key_of(const CalibCase *what, int64_t key[KEY_LENGTH])
{
    int n = 0;
    memset(key, 0, KEY_LENGTH * sizeof *key);
    push(key, &n, what->kind);
    switch (what->kind) {
    case CALIB_CASE_GEMM:
        push_gemm(key, &n, &what->gemm);
        return;
    case CALIB_CASE_MEMORY:
        push_memory(key, &n, &what->memory);
        return;
    case CALIB_CASE_ATTENTION:
        push_attention(key, &n, &what->attention);
        return;
    case CALIB_CASE_COLLECTIVE:
        push_collective(key, &n, &what->collective);
        return;
    case CALIB_CASE_OVERLAP:
        push(key, &n, what->overlap.work);
        push_collective(key, &n, &what->overlap.traffic);
        push(key, &n, what->overlap.channels);
        if (what->overlap.work == CALIB_WORK_GEMM)
            push_gemm(key, &n, &what->overlap.gemm);
        else if (what->overlap.work == CALIB_WORK_ATTENTION)
            push_attention(key, &n, &what->overlap.attention);
        else
            push_memory(key, &n, &what->overlap.memory);
        return;
    case CALIB_N_CASES:
        return;
    }
}

int
calib_case_compare(const CalibCase *a, const CalibCase *b)
{
    int64_t left[KEY_LENGTH], right[KEY_LENGTH];
    key_of(a, left);
    key_of(b, right);
    for (int i = 0; i < KEY_LENGTH; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* --- for people ------------------------------------------------------------------------------- */

static void
describe_gemm(const CalibGemm *g, char *text, size_t size)
{
    int n = snprintf(text, size, "gemm %s %s %" PRId64 " x %" PRId64 " x %" PRId64,
                     dtypes[g->dtype], passes[g->pass], g->m, g->n, g->k);
    if (n > 0 && (size_t)n < size && g->batch > 1)
        snprintf(text + n, size - (size_t)n, ", batch %" PRId64, g->batch);
    if (n > 0 && (size_t)n < size && g->groups > 1)
        snprintf(text + n, size - (size_t)n, ", %" PRId64 " groups", g->groups);
}

static void
describe_attention(const CalibAttention *a, char *text, size_t size)
{
    snprintf(text, size,
             "attention %s batch %" PRId64 ", %" PRId64 " heads (%" PRId64 " of keys) of %" PRId64
             ", seq %" PRId64 "%s%s",
             dtypes[a->dtype], a->batch, a->heads, a->kv_heads, a->head_dim, a->seq,
             a->causal ? ", causal" : "", a->backward ? ", backward" : "");
}

static void
describe_memory(const CalibMemory *m, char *text, size_t size)
{
    snprintf(text, size, m->bytes > 0 ? "memory %s %" PRId64 " B" : "memory %s", kernels[m->kernel],
             m->bytes);
}

static void
describe_collective(const CalibCollective *c, char *text, size_t size)
{
    snprintf(text, size, "%s %s %d ranks, %d node%s, %" PRId64 " B%s", ops[c->op], dtypes[c->dtype],
             c->ranks, c->nodes, c->nodes == 1 ? "" : "s", c->bytes,
             c->in_place ? ", in place" : "");
}

void
calib_case_describe(const CalibCase *what, char *text, size_t size)
{
    char work[160], traffic[120];
    switch (what->kind) {
    case CALIB_CASE_GEMM:
        describe_gemm(&what->gemm, text, size);
        return;
    case CALIB_CASE_MEMORY:
        describe_memory(&what->memory, text, size);
        return;
    case CALIB_CASE_ATTENTION:
        describe_attention(&what->attention, text, size);
        return;
    case CALIB_CASE_COLLECTIVE:
        describe_collective(&what->collective, text, size);
        return;
    case CALIB_CASE_OVERLAP:
        if (what->overlap.work == CALIB_WORK_GEMM)
            describe_gemm(&what->overlap.gemm, work, sizeof work);
        else if (what->overlap.work == CALIB_WORK_ATTENTION)
            describe_attention(&what->overlap.attention, work, sizeof work);
        else
            describe_memory(&what->overlap.memory, work, sizeof work);
        describe_collective(&what->overlap.traffic, traffic, sizeof traffic);
        snprintf(text, size, "%s beside %s on %d channels", work, traffic, what->overlap.channels);
        return;
    case CALIB_N_CASES:
        return;
    }
}
