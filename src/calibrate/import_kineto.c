/* A profile's kernels -> rows, where the calls that launched them say their shapes.
 *
 * Tables hold times of kernels alone, so only those count beside which nothing ran. A rank's time of a collective is
 * its own time and its wait for the slowest; the least of many is nearest to the first. */
#include "config.h"

#include "calibrate/import.h"

#include "calibrate/profile.h"
#include "calibrate/words.h"

#include <math.h>

/* What one op launched, of the kind that its call is of. */
typedef struct {
    gint64 ns;
    guint n;
    guint name; /* of the longest */
    gint64 longest_ns;
    gboolean beside; /* another kernel ran meanwhile */
} Launched;

static CalibrateKind
kind_of_call(CalibrateCallKind kind)
{
    return kind == CALIBRATE_CALL_GEMM        ? CALIBRATE_GEMM
           : kind == CALIBRATE_CALL_ATTENTION ? CALIBRATE_ATTENTION
           : kind == CALIBRATE_CALL_MEMORY    ? CALIBRATE_MEMORY
                                              : CALIBRATE_N_KINDS;
}

static void
number(char cell[24], gint64 value)
{
    g_snprintf(cell, 24, "%" G_GINT64_FORMAT, value);
}

/* Why not, or NULL. */
static const char *
add_gemm(CalibrateImport *import, const CalibrateCall *call, const char *kernel, double us)
{
    CostGemmPass pass = call->gemm.pass;
    if (!call->has_pass && !calibrate_kernel_pass(kernel, &pass))
        return "products whose layout neither strides nor the kernel's name tell";
    if (pass == COST_GEMM_WGRAD)
        return "weight gradients that are not added into an fp32 gradient, which wgrad means";
    ClusterDtype dtype = call->gemm.dtype;
    if (call->is_fp32 && calibrate_kernel_is_tf32(kernel))
        dtype = CLUSTER_TF32;
    char m[24], n[24], k[24], batch[24];
    number(m, call->gemm.m);
    number(n, call->gemm.n);
    number(k, call->gemm.k);
    number(batch, call->gemm.batch);
    const char *const keys[] = {
        cluster_dtype_name(dtype), m, n, k, batch, calibrate_word(CALIBRATE_PASSES, pass)};
    calibrate_rows_add(import->rows, CALIBRATE_TABLE_GEMM, keys, &us);
    return NULL;
}

static void
add_attention(CalibrateImport *import, const CalibrateCall *call, double us)
{
    const CostAttention *a = &call->attention;
    char batch[24], heads[24], kv_heads[24], head_dim[24], seq[24];
    number(batch, a->batch);
    number(heads, a->heads);
    number(kv_heads, a->kv_heads);
    number(head_dim, a->head_dim);
    number(seq, a->seq_q);
    const char *const keys[] = {cluster_dtype_name(a->dtype), batch, heads, kv_heads, head_dim, seq,
                                a->causal ? "1" : "0"};
    const double times[] = {a->backward ? NAN : us, a->backward ? us : NAN};
    calibrate_rows_add(import->rows, CALIBRATE_TABLE_ATTENTION, keys, times);
}

static void
add_memory(CalibrateImport *import, const CalibrateCall *call, double us)
{
    char bytes[24];
    number(bytes, call->bytes);
    const char *const keys[] = {cost_memory_kernel_name(call->memory), bytes};
    calibrate_rows_add(import->rows, CALIBRATE_TABLE_MEMORY, keys, &us);
}

/* Cut off to whole steps a time is too short by half a step, which is to be at most 2.5 % of it. */
static const char *
too_short(const CalibrateTrace *t, gint64 ns)
{
    return ns < 20 * t->header.step_ns ? "kernels of less than 20 us in whole us" : NULL;
}

static void
take_op(CalibrateImport *import, const CalibrateTrace *t, const CalibrateCall *call,
        const Launched *launched)
{
    double us = (double)launched->ns / 1e3;
    const char *refusal = call->refusal != NULL ? call->refusal : too_short(t, launched->ns);
    if (refusal == NULL && launched->beside)
        refusal = "kernels beside which others ran";
    if (refusal == NULL && launched->ns < 1)
        refusal = "kernels of no length";
    if (refusal == NULL && call->kind == CALIBRATE_CALL_GEMM)
        refusal = add_gemm(import, call, calibrate_trace_name(t, launched->name), us);
    else if (refusal == NULL && call->kind == CALIBRATE_CALL_ATTENTION)
        add_attention(import, call, us);
    else if (refusal == NULL)
        add_memory(import, call, us);
    if (refusal != NULL)
        calibrate_rows_leave_out(import->rows, refusal);
}

static void
take_ops(CalibrateImport *import, const CalibrateTrace *t)
{
    g_autofree Launched *launched = g_new0(Launched, t->ops->len + 1);
    for (guint i = 0; i < t->kernels->len; i++) {
        const CalibrateKernel *k = &g_array_index(t->kernels, CalibrateKernel, i);
        if (k->op < 0 || k->kind != kind_of_call(calibrate_op_call(t, (guint)k->op)->kind))
            continue;
        Launched *l = &launched[k->op];
        if (l->n++ == 0 || k->duration_ns > l->longest_ns) {
            l->name = k->name;
            l->longest_ns = k->duration_ns;
        }
        l->ns += k->duration_ns;
        l->beside |= !k->alone;
    }
    for (guint i = 0; i < t->ops->len; i++) {
        if (launched[i].n == 0)
            continue;
        take_op(import, t, calibrate_op_call(t, i), &launched[i]);
    }
}

static const char *
add_collective(CalibrateImport *import, const CalibrateTrace *t, const CalibrateCall *call,
               double us)
{
    gint64 per_node = import->per_node;
    if (per_node == 0 && t->header.n_devices > 1)
        per_node = t->header.n_devices;
    guint nodes = calibrate_call_nodes(call, (guint)per_node);
    if (nodes == 0)
        return per_node > 0 ? "collectives whose ranks are not listed in order"
                            : "collectives on nodes of unknown size; write --gpus-per-node N";
    if (call->group_size % nodes != 0)
        return "collectives with more ranks on one node than on another";
    char ranks[24], of_nodes[24], bytes[24];
    number(ranks, call->group_size);
    number(of_nodes, nodes);
    number(bytes, call->bytes);
    const char *const keys[] = {net_op_name(call->op), call->dtype, ranks, of_nodes, bytes};
    const double times[] = {us, NAN};
    calibrate_rows_add(import->rows, CALIBRATE_TABLE_COLLECTIVE, keys, times);
    return NULL;
}

static void
take_collectives(CalibrateImport *import, const CalibrateTrace *t)
{
    for (guint i = 0; i < t->kernels->len; i++) {
        const CalibrateKernel *k = &g_array_index(t->kernels, CalibrateKernel, i);
        if (k->kind != CALIBRATE_NCCL)
            continue;
        const CalibrateCall *call = calibrate_kernel_call(t, k);
        const char *refusal = call != NULL ? call->refusal : NULL;
        if (call == NULL || call->kind != CALIBRATE_CALL_COLLECTIVE)
            refusal = "collectives of unknown size (PyTorch before 2.3)";
        else if (refusal == NULL && k->duration_ns < 1)
            refusal = "kernels of no length";
        else if (refusal == NULL)
            refusal = too_short(t, k->duration_ns);
        if (refusal == NULL)
            refusal = add_collective(import, t, call, (double)k->duration_ns / 1e3);
        if (refusal != NULL)
            calibrate_rows_leave_out(import->rows, refusal);
    }
    calibrate_rows_set_merge(import->rows, CALIBRATE_TABLE_COLLECTIVE, CALIBRATE_MERGE_LEAST);
}

static void
take_names(CalibrateImport *import, const CalibrateTrace *t)
{
    g_autoptr(GArray) groups = calibrate_groups_by_name(t);
    for (guint i = 0; i < groups->len; i++) {
        const CalibrateGroup *g = &g_array_index(groups, CalibrateGroup, i);
        if (g->max_ns < 1)
            continue;
        const char *name = calibrate_trace_name(t, g->name);
        const char *const keys[] = {*name != '\0' ? name : "-", calibrate_kind_name(g->kind)};
        const double values[] = {g->n, MAX(g->median_ns, 1.0) / 1e3,
                                 (double)MAX(g->min_ns, 1) / 1e3, (double)g->max_ns / 1e3};
        calibrate_rows_add(import->rows, CALIBRATE_TABLE_KERNELS, keys, values);
    }
}

gboolean
calibrate_import_trace(CalibrateImport *import, const CalibrateTrace *t, GError **error)
{
    if (!calibrate_import_gpu(import, t->path, t->header.device, error))
        return FALSE;
    if (t->kernels->len == 0) {
        calibrate_import_note(import, "%s: no GPU kernels", t->path);
        return TRUE;
    }
    take_ops(import, t);
    take_collectives(import, t);
    take_names(import, t);
    calibrate_import_source(import, t->path,
                            "%s, %s, %u kernels and copies; GEMMs, attention and "
                            "memory: medians of those that ran alone; collectives: the least",
                            t->header.schema != NULL ? "Chakra trace" : "PyTorch profile",
                            t->header.device != NULL ? t->header.device : "device not named",
                            t->kernels->len);
    return TRUE;
}
