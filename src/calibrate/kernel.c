/* Kinds of kernels by words in their names.
 *
 * GEMMs: cuBLAS (gemm, xmma, nvjet, splitKreduce), CUTLASS, rocBLAS (Cijk_), Triton's grouped ones (gemm).
 * Attention: FlashAttention (flash), xformers and TensorRT (fmha), cuDNN (sdpa).
 * Exchanges: DeepEP's namespaces internode, internode_ll and intranode; what NVSHMEM runs itself. */
#include "config.h"

#include "calibrate/kernel.h"

#include <string.h>

const char *
calibrate_kind_name(CalibrateKind kind)
{
    static const char *const names[CALIBRATE_N_KINDS] = {"gemm", "attention", "memory",
                                                         "nccl", "exchange",  "copy"};
    g_assert(kind < CALIBRATE_N_KINDS);
    return names[kind];
}

static gboolean
has_any(const char *name, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strstr(name, *words) != NULL)
            return TRUE;
    return FALSE;
}

CalibrateKind
calibrate_kernel_kind(const char *name)
{
    static const char *const nccl[] = {"nccl", "rccl", "msccl", NULL};
    static const char *const exchange[] = {"internode", "intranode", "nvshmem",
                                           "deep_ep::", "hybrid_ep", NULL};
    static const char *const transposes[] = {"::transpose<", "transpose_kernel", NULL};
    static const char *const attention[] = {"flash", "fmha", "sdpa", "attention", "attn", NULL};
    static const char *const gemm[] = {"gemm",  "xmma",         "nvjet",  "cutlass::kernel",
                                       "cijk_", "splitkreduce", "cublas", "matmul",
                                       "gemv",  "tensorop",     NULL};
    g_autofree char *low = g_ascii_strdown(name, -1);
    /* a library of many kernels that are none */
    for (char *at = strstr(low, "fbgemm"); at != NULL; at = strstr(at, "fbgemm"))
        memset(at, '-', strlen("fbgemm"));
    if (has_any(low, nccl))
        return CALIBRATE_NCCL;
    if (has_any(low, exchange) && strstr(low, "layout") == NULL)
        return CALIBRATE_EXCHANGE;
    if (has_any(low, transposes))
        return CALIBRATE_MEMORY;
    if (has_any(low, attention))
        return CALIBRATE_ATTENTION;
    return has_any(low, gemm) ? CALIBRATE_GEMM : CALIBRATE_MEMORY;
}

typedef struct {
    const char *word, *name;
} Named;

/* Without letters' case and underscores. */
static const char *
find_named(const char *text, const Named *named)
{
    g_autofree char *low = g_ascii_strdown(text, -1);
    char *to = low;
    for (const char *from = low; *from != '\0'; from++)
        if (*from != '_' && *from != '-')
            *to++ = *from;
    *to = '\0';
    for (; named->word != NULL; named++)
        if (strstr(low, named->word) != NULL)
            return named->name;
    return "other";
}

const char *
calibrate_collective_name(const char *name)
{
    static const Named named[] = {
        {"allreduce", "all_reduce"},
        {"allgather", "all_gather"},
        {"reducescatter", "reduce_scatter"},
        {"alltoall", "all_to_all"},
        {"broadcast", "broadcast"},
        {"sendrecv", "send_recv"},
        {"send", "send_recv"},
        {"recv", "send_recv"},
        {"barrier", "barrier"},
        {"gather", "gather"},
        {"scatter", "scatter"},
        {"reduce", "reduce"},
        {NULL, NULL},
    };
    return find_named(name, named);
}

const char *
calibrate_exchange_name(const char *name)
{
    static const Named named[] = {
        {"notify", "notify"}, {"dispatch", "dispatch"}, {"combine", "combine"}, {NULL, NULL}};
    return find_named(name, named);
}

/* --- layouts of GEMMs --------------------------------------------------------------------------- */

static gboolean
pass_of_letters(char a, char b, CostGemmPass *ret_pass)
{
    if (a == 't' && b == 'n')
        *ret_pass = COST_GEMM_FORWARD;
    else if (a == 'n' && b == 'n')
        *ret_pass = COST_GEMM_DGRAD;
    else if (a == 'n' && b == 't')
        *ret_pass = COST_GEMM_WGRAD;
    else
        return FALSE;
    return TRUE;
}

static gboolean
is_end(char c)
{
    return c == '\0' || c == '_' || c == '>' || c == '(' || c == ' ' || c == ':';
}

/* cuBLAS, CUTLASS: "..._tn_align8", "..._nn_n_tilesize128x128x64", "ampere_sgemm_128x64_nn". nvjet: "_TNT", "_NNN": the
 * third letter is the result's. rocBLAS: Cijk_Alik_Bljk: A[l,i], the summed index l first, is transposed. */
gboolean
calibrate_kernel_pass(const char *name, CostGemmPass *ret_pass)
{
    if (strstr(name, "Cijk_") != NULL) {
        const char *a = strstr(name, "_Ali"), *b = strstr(name, "_Bjl");
        return pass_of_letters(a != NULL ? 't' : 'n', b != NULL ? 't' : 'n', ret_pass);
    }
    gboolean nvjet = strstr(name, "nvjet") != NULL;
    for (const char *at = strchr(name, '_'); at != NULL; at = strchr(at + 1, '_')) {
        if (nvjet && at[1] != '\0' && at[2] != '\0' && strchr("TN", at[3]) != NULL &&
            at[3] != '\0' && is_end(at[4]) && strchr("TN", at[1]) && strchr("TN", at[2]))
            return pass_of_letters(g_ascii_tolower(at[1]), g_ascii_tolower(at[2]), ret_pass);
        if (!nvjet && at[1] != '\0' && at[2] != '\0' && strchr("tn", at[1]) &&
            strchr("tn", at[2]) && is_end(at[3]))
            return pass_of_letters(at[1], at[2], ret_pass);
    }
    return FALSE;
}

gboolean
calibrate_kernel_is_tf32(const char *name)
{
    static const char *const words[] = {"tf32", "s1688gemm", "s1688f32", "s1688tf32", NULL};
    g_autofree char *low = g_ascii_strdown(name, -1);
    return has_any(low, words);
}
