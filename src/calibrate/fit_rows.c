/* Reads rows with the complaints of the layers that own the tables. */
#include "config.h"

#include "calibrate/fit_rows.h"

#include "calibrate/words.h"
#include "cost/cells.h"
#include "cost/gemm_table.h"

/* Traffic that takes no longer than this at the nominal rate is nothing beside a launch. */
#define SMALL_NS 200.0
/* A kernel finds in the L2 cache what the call before left there, up to so many times its size. */
#define CACHED 2

static gboolean
find_columns(const ConfTable *table, const char *const *names, guint n, guint *ret, GError **error)
{
    for (guint i = 0; i < n; i++)
        if (!conf_table_need_column(table, names[i], &ret[i], error))
            return FALSE;
    return TRUE;
}

GArray *
calibrate_gemm_rows(const ClusterSystem *system, const ConfTable *table, ClusterDtype dtype,
                    GError **error)
{
    static const char *const names[] = {"dtype", "m", "n", "k", "batch"};
    guint c[G_N_ELEMENTS(names)];
    g_autoptr(CostGemmTable) merged = cost_gemm_table_new(system, table, dtype, error);
    if (merged == NULL || !find_columns(table, names, G_N_ELEMENTS(names), c, error))
        return NULL;
    int pass = conf_table_find_column(table, "pass");
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(CalibrateGemmRow));
    for (guint i = 0; i < conf_table_n_rows(table); i++) {
        CalibrateGemmRow row = {0};
        CostGemm *g = &row.gemm;
        guint word = COST_GEMM_FORWARD;
        if ((pass >= 0 &&
             !calibrate_read_word(table, i, (guint)pass, CALIBRATE_PASSES, &word, error)) ||
            !cost_read_dtype(table, i, c[0], &g->dtype, error) ||
            !cost_read_count(table, i, c[1], &g->m, error) ||
            !cost_read_count(table, i, c[2], &g->n, error) ||
            !cost_read_count(table, i, c[3], &g->k, error) ||
            !cost_read_count(table, i, c[4], &g->batch, error))
            return NULL;
        g->pass = (CostGemmPass)word;
        g->accumulate_fp32 = g->pass == COST_GEMM_WGRAD;
        if (g->dtype == dtype && cost_gemm_table_find(merged, g, &row.ns))
            g_array_append_val(rows, row);
    }
    return g_steal_pointer(&rows);
}

GArray *
calibrate_attention_rows(const ConfTable *table, GError **error)
{
    static const char *const names[] = {"dtype", "batch",  "heads",      "kv_heads",   "head_dim",
                                        "seq",   "causal", "forward_us", "backward_us"};
    guint c[G_N_ELEMENTS(names)];
    if (!find_columns(table, names, G_N_ELEMENTS(names), c, error))
        return NULL;
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(CalibrateAttentionRow));
    for (guint i = 0; i < conf_table_n_rows(table); i++) {
        CalibrateAttentionRow row = {{0}, 0};
        CostAttention *a = &row.attention;
        if (!cost_read_dtype(table, i, c[0], &a->dtype, error) ||
            !cost_read_count(table, i, c[1], &a->batch, error) ||
            !cost_read_count(table, i, c[2], &a->heads, error) ||
            !cost_read_count(table, i, c[3], &a->kv_heads, error) ||
            !cost_read_count(table, i, c[4], &a->head_dim, error) ||
            !cost_read_count(table, i, c[5], &a->seq_q, error))
            return NULL;
        a->seq_kv = a->seq_q;
        a->causal = g_str_equal(conf_table_text(table, i, c[6]), "1");
        for (guint pass = 0; pass < 2; pass++) {
            const char *text = conf_table_text(table, i, c[7 + pass]);
            if (*text == '\0' || g_str_equal(text, "-"))
                continue;
            if (!cost_read_time(table, i, c[7 + pass], &row.ns, error))
                return NULL;
            a->backward = pass == 1;
            g_array_append_val(rows, row);
        }
    }
    return g_steal_pointer(&rows);
}

GArray *
calibrate_memory_rows(const ConfTable *table, GError **error)
{
    static const char *const names[] = {"kernel", "bytes", "time_us"};
    guint c[G_N_ELEMENTS(names)];
    if (!find_columns(table, names, G_N_ELEMENTS(names), c, error))
        return NULL;
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(CalibrateMemoryRow));
    for (guint i = 0; i < conf_table_n_rows(table); i++) {
        CalibrateMemoryRow row = {0};
        guint kernel = 0;
        gint64 bytes = 0;
        if (!calibrate_read_word(table, i, c[0], CALIBRATE_MEMORIES, &kernel, error) ||
            !conf_table_int(table, i, c[1], &bytes, error) ||
            !cost_read_time(table, i, c[2], &row.ns, error))
            return NULL;
        row.kernel = (CostMemoryKernel)kernel;
        row.bytes = (double)bytes;
        if (bytes > 0)
            g_array_append_val(rows, row);
    }
    return g_steal_pointer(&rows);
}

GArray *
calibrate_collective_rows(const ConfTable *table, GError **error)
{
    static const char *const names[] = {"op", "ranks", "nodes", "bytes", "time_us"};
    guint c[G_N_ELEMENTS(names)];
    if (!find_columns(table, names, G_N_ELEMENTS(names), c, error))
        return NULL;
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(CalibrateCollectiveRow));
    for (guint i = 0; i < conf_table_n_rows(table); i++) {
        CalibrateCollectiveRow row = {0};
        guint op = 0;
        gint64 ranks = 0, nodes = 0, bytes = 0;
        double us = 0;
        if (!calibrate_read_word(table, i, c[0], CALIBRATE_OPS, &op, error) ||
            !cost_read_count(table, i, c[1], &ranks, error) ||
            !cost_read_count(table, i, c[2], &nodes, error) ||
            !conf_table_int(table, i, c[3], &bytes, error) ||
            !conf_table_double(table, i, c[4], &us, error))
            return NULL;
        if (ranks < 2 || bytes < 1 || !(us > 0))
            continue;
        row = (CalibrateCollectiveRow){(NetOp)op, (guint)ranks, (guint)nodes, (double)bytes,
                                       us * 1e3};
        g_array_append_val(rows, row);
    }
    return g_steal_pointer(&rows);
}

gboolean
calibrate_is_small(const ClusterSystem *system, double bytes)
{
    return bytes / (double)system->memory_Bps * 1e9 <= SMALL_NS;
}

gboolean
calibrate_is_beyond_caches(const ClusterSystem *system, double bytes)
{
    return bytes > CACHED * (double)system->l2_bytes || calibrate_is_small(system, bytes);
}

double
calibrate_usual_rate_Bps(const ClusterSystem *s, CostTraffic traffic)
{
    if (traffic == COST_TRAFFIC_NVLINK || traffic == COST_TRAFFIC_COPY)
        return (double)s->nvlink_Bps * s->nvlink_efficiency;
    return (double)s->nic_Bps * s->nic_efficiency * (double)s->nics_per_node /
           (double)s->gpus_per_node;
}

/* `-`: 0. */
static gboolean
read_or_none(const ConfTable *table, guint row, guint column, double *ret, GError **error)
{
    *ret = 0;
    return g_str_equal(conf_table_text(table, row, column), "-") ||
           conf_table_double(table, row, column, ret, error);
}

GArray *
calibrate_overlap_rows(const ClusterSystem *system, const ConfTable *table, GError **error)
{
    static const char *const names[] = {"work", "traffic", "channels", "rate_GBps",
                                        "work_slowdown"};
    guint c[G_N_ELEMENTS(names)];
    if (!find_columns(table, names, G_N_ELEMENTS(names), c, error))
        return NULL;
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(CalibrateOverlapRow));
    for (guint i = 0; i < conf_table_n_rows(table); i++) {
        CalibrateOverlapRow row = {0};
        guint work = 0, traffic = 0;
        double rate = 0;
        if (!calibrate_read_word(table, i, c[0], CALIBRATE_WORKS, &work, error) ||
            !calibrate_read_word(table, i, c[1], CALIBRATE_TRAFFICS, &traffic, error) ||
            !conf_table_double(table, i, c[2], &row.channels, error) ||
            !read_or_none(table, i, c[3], &rate, error) ||
            !read_or_none(table, i, c[4], &row.slowdown, error))
            return NULL;
        row.work = (CostWork)work;
        row.traffic = (CostTraffic)traffic;
        row.sent_Bps = rate > 0 ? rate * 1e9 : calibrate_usual_rate_Bps(system, row.traffic);
        g_array_append_val(rows, row);
    }
    return g_steal_pointer(&rows);
}
