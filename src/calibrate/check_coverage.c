/* What tables hold, and what planning a usual LLM asks of them: a transformer of 1 to 400 billion parameters in bf16 (or
 * fp16), micro-batches of thousands of tokens, tensor parallel in a node and data parallel over nodes. What is missing
 * is modelled. */
#include "config.h"

#include "calibrate/check_parts.h"

#include "calibrate/words.h"
#include "cost/kernel.h"
#include "net/collective.h"

#include <math.h>
#include <string.h>

/* Rows of a usual step reach at least so far. */
#define LARGE_DIMENSION 16384
#define LARGE_SEQUENCE 8192
#define LARGE_KERNEL_BYTES 268435456  /* 2^28: 16k tokens of width 8192 */
#define LARGE_MESSAGE_BYTES 268435456 /* gradients of a bucket */

static char *
range_of(const CalibrateObservations *rows, const CalibrateSeries *s)
{
    GString *out = g_string_new(NULL);
    for (guint axis = 0; axis < CALIBRATE_AXES; axis++) {
        const char *name = calibrate_axis_name(rows->table, axis);
        if (name == NULL)
            break;
        double low = INFINITY, high = -INFINITY;
        for (guint i = s->first; i < s->first + s->n; i++) {
            low = MIN(low, calibrate_observation_at(rows, i)->x[axis]);
            high = MAX(high, calibrate_observation_at(rows, i)->x[axis]);
        }
        gboolean shifted = rows->table == CLUSTER_TABLE_OVERLAP; /* log2(1 + channels) */
        double from = round(exp2(low)) - shifted, to = round(exp2(high)) - shifted;
        g_string_append_printf(out, "%s%s %.0f", axis > 0 ? ", " : "", name, from);
        if (to > from)
            g_string_append_printf(out, "-%.0f", to);
    }
    return g_string_free(out, FALSE);
}

static void miss(CalibrateCheck *check, ClusterTable table, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static void
miss(CalibrateCheck *check, ClusterTable table, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    g_ptr_array_add(check->missing, g_strdup_printf("%s.tsv: %s", cluster_table_name(table), text));
}

static double
largest(const CalibrateObservations *rows, const CalibrateSeries *s, guint axis)
{
    double x = -INFINITY;
    for (guint i = s->first; i < s->first + s->n; i++)
        x = MAX(x, calibrate_observation_at(rows, i)->x[axis]);
    return exp2(x);
}

/* Either 16-bit type speaks for the other. */
static const CalibrateSeries *
find_16bit(const CalibrateObservations *rows, const char *rest)
{
    g_autofree char *bf16 = g_strconcat("bf16 ", rest, NULL);
    g_autofree char *fp16 = g_strconcat("fp16 ", rest, NULL);
    const CalibrateSeries *s = calibrate_series_find(rows, bf16);
    return s != NULL ? s : calibrate_series_find(rows, fp16);
}

static void
gemm_missing(const ClusterSystem *system, const CalibrateObservations *rows, CalibrateCheck *check)
{
    for (guint pass = 0; calibrate_word(CALIBRATE_PASSES, pass) != NULL; pass++) {
        const char *name = calibrate_word(CALIBRATE_PASSES, pass);
        const CalibrateSeries *s = find_16bit(rows, name);
        if (s == NULL)
            miss(check, rows->table, "no %s in bf16 or fp16", name);
        for (guint axis = 0; s != NULL && axis < 3; axis++)
            if (largest(rows, s, axis) < LARGE_DIMENSION * 0.999)
                miss(check, rows->table, "%s: %s ends at %.0f, below %d", s->of,
                     calibrate_axis_name(rows->table, axis), round(largest(rows, s, axis)),
                     LARGE_DIMENSION);
        g_autofree char *fp8 = g_strconcat("fp8 ", name, NULL);
        if (system->peak_flops[CLUSTER_FP8] > 0 && calibrate_series_find(rows, fp8) == NULL)
            miss(check, rows->table, "no %s, which the GPU can", fp8);
    }
}

static void
attention_missing(const ClusterSystem *system G_GNUC_UNUSED, const CalibrateObservations *rows,
                  CalibrateCheck *check)
{
    static const char *const wanted[] = {
        "head_dim 64 causal forward", "head_dim 64 causal backward", "head_dim 128 causal forward",
        "head_dim 128 causal backward"};
    for (guint i = 0; i < G_N_ELEMENTS(wanted); i++) {
        const CalibrateSeries *s = find_16bit(rows, wanted[i]);
        if (s == NULL)
            miss(check, rows->table, "no %s in bf16 or fp16", wanted[i]);
        else if (largest(rows, s, 2) < LARGE_SEQUENCE * 0.999)
            miss(check, rows->table, "%s: seq ends at %.0f, below %d", s->of,
                 round(largest(rows, s, 2)), LARGE_SEQUENCE);
    }
}

static void
memory_missing(const ClusterSystem *system G_GNUC_UNUSED, const CalibrateObservations *rows,
               CalibrateCheck *check)
{
    g_autoptr(GString) none = g_string_new(NULL);
    for (guint i = 0; i < COST_N_MEMORY_KERNELS; i++) {
        const char *name = cost_memory_kernel_name((CostMemoryKernel)i);
        const CalibrateSeries *s = calibrate_series_find(rows, name);
        if (s == NULL)
            g_string_append_printf(none, " %s", name);
        else if (largest(rows, s, 0) < LARGE_KERNEL_BYTES * 0.999)
            miss(check, rows->table, "%s: bytes end at %.0f, below %d", name,
                 round(largest(rows, s, 0)), LARGE_KERNEL_BYTES);
    }
    if (none->len > 0)
        miss(check, rows->table, "no rows of:%s", none->str);
}

/* Ops that each kind of parallelism sends, in a whole node and over several. */
static void
collective_missing(const ClusterSystem *system, const CalibrateObservations *rows,
                   CalibrateCheck *check)
{
    for (guint op = 0; op < NET_N_OPS; op++) {
        const char *name = net_op_name((NetOp)op);
        gint64 in_node = op == NET_SEND_RECV ? 2 : system->gpus_per_node;
        g_autofree char *whole =
            g_strdup_printf("%s %" G_GINT64_FORMAT " ranks 1 node", name, in_node);
        gboolean beyond = FALSE, pair = FALSE;
        double most = 0;
        for (guint i = 0; i < rows->series->len; i++) {
            const CalibrateSeries *s = calibrate_series_at(rows, i);
            gsize length = strlen(name);
            if (strncmp(s->of, name, length) != 0 || s->of[length] != ' ')
                continue;
            beyond = beyond || g_str_has_suffix(s->of, " nodes");
            pair = pair || (op == NET_SEND_RECV && g_str_has_suffix(s->of, " 1 node"));
            most = MAX(most, largest(rows, s, 0));
        }
        if (in_node > 1 && op != NET_BROADCAST && !pair &&
            calibrate_series_find(rows, whole) == NULL)
            miss(check, rows->table, "no %s", whole);
        if (!beyond && op != NET_BROADCAST && system->nics_per_node > 0)
            miss(check, rows->table, "no %s over several nodes", name);
        if (most > 0 && most < LARGE_MESSAGE_BYTES * 0.999)
            miss(check, rows->table, "%s: bytes end at %.0f, below %d", name, round(most),
                 LARGE_MESSAGE_BYTES);
    }
}

static void
overlap_missing(const ClusterSystem *system G_GNUC_UNUSED, const CalibrateObservations *rows,
                CalibrateCheck *check)
{
    static const char *const works[] = {"gemm", "attention", "memory"};
    static const char *const traffics[] = {"nvlink", "network"};
    for (guint i = 0; i < G_N_ELEMENTS(works); i++)
        for (guint j = 0; j < G_N_ELEMENTS(traffics); j++) {
            g_autofree char *of = g_strdup_printf("work of %s beside %s", works[i], traffics[j]);
            if (calibrate_series_find(rows, of) == NULL)
                miss(check, rows->table, "no %s", of);
        }
}

typedef void (*Missing)(const ClusterSystem *system, const CalibrateObservations *rows,
                        CalibrateCheck *check);

static const Missing missing[CLUSTER_N_TABLES] = {
    [CLUSTER_TABLE_GEMM] = gemm_missing,
    [CLUSTER_TABLE_ATTENTION] = attention_missing,
    [CLUSTER_TABLE_MEMORY] = memory_missing,
    [CLUSTER_TABLE_OVERLAP] = overlap_missing,
    [CLUSTER_TABLE_COLLECTIVE] = collective_missing,
};

void
calibrate_check_coverage(const ClusterSystem *system, ClusterTable table,
                         const CalibrateObservations *rows, CalibrateCheck *check)
{
    for (guint i = 0; i < rows->series->len; i++) {
        const CalibrateSeries *s = calibrate_series_at(rows, i);
        CalibrateCovered covered = {table, g_strdup(s->of), s->n, range_of(rows, s)};
        g_array_append_val(check->covered, covered);
    }
    missing[table](system, rows, check);
}
