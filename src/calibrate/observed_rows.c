/* Reads each table into points. Least times: flops at the peak; bytes that no L2 cache can hold at the rate of HBM; bytes
 * that every algorithm has to send through a GPU's port or a node's cards (a switch that adds, NVLS or SHARP, halves
 * an all-reduce's). */
#include "config.h"

#include "calibrate/observed_rows.h"

#include "calibrate/words.h"
#include "cost/cells.h"
#include "cost/roofline.h"
#include "net/collective.h"

#include <math.h>
#include <string.h>

typedef struct {
    const ClusterSystem *system;
    const ConfTable *table;
    guint columns[9];
    int pass, spread;
    GPtrArray *names; /* of char*, one a row of `rows`; owned */
    GArray *rows;
} Reader;

typedef gboolean (*ReadRow)(Reader *r, guint i, GError **error);

/* --- what all tables have ------------------------------------------------------------------------ */

static void
add(Reader *r, guint row, char *of, CalibrateObservation o)
{
    o.line = conf_table_line(r->table, row);
    o.spread_frac = NAN;
    const char *text = r->spread < 0 ? "-" : conf_table_text(r->table, row, (guint)r->spread);
    char *end = NULL;
    double spread = g_ascii_strtod(text, &end);
    if (end != text && *end == '\0' && isfinite(spread))
        o.spread_frac = spread;
    g_ptr_array_add(r->names, of);
    g_array_append_val(r->rows, o);
}

static gboolean
read_counts(const Reader *r, guint row, guint first, guint n, gint64 *ret, GError **error)
{
    for (guint i = 0; i < n; i++)
        if (!cost_read_count(r->table, row, r->columns[first + i], &ret[i], error))
            return FALSE;
    return TRUE;
}

static gboolean
read_bytes(const Reader *r, guint row, guint column, double *ret, GError **error)
{
    gint64 bytes = 0;
    if (!conf_table_int(r->table, row, r->columns[column], &bytes, error))
        return FALSE;
    *ret = (double)bytes;
    if (bytes < 1)
        conf_table_complain(r->table, row, r->columns[column], error, "must be more than 0");
    return bytes >= 1;
}

static double
time_ns(double amount, double per_s)
{
    return per_s > 0 ? amount / per_s * 1e9 : 0;
}

/* --- products ------------------------------------------------------------------------------------ */

static gboolean
read_gemm(Reader *r, guint i, GError **error)
{
    ClusterDtype dtype = CLUSTER_BF16;
    gint64 size[CALIBRATE_AXES];
    CalibrateObservation o = {0};
    guint pass = 0;
    if (!cost_read_dtype(r->table, i, r->columns[0], &dtype, error) ||
        !read_counts(r, i, 1, CALIBRATE_AXES, size, error) ||
        !cost_read_time(r->table, i, r->columns[5], &o.value, error))
        return FALSE;
    if (r->pass >= 0 &&
        !calibrate_read_word(r->table, i, (guint)r->pass, CALIBRATE_PASSES, &pass, error))
        return FALSE;
    double m = (double)size[0], n = (double)size[1], k = (double)size[2], batch = (double)size[3];
    /* 8 bits are multiplied into 16. */
    double in = cluster_dtype_bytes(dtype), out = MAX(in, 2);
    double bytes = batch * (in * (m * k + k * n) + out * m * n);
    double ns = time_ns(2 * m * n * k * batch, cost_peak_flops(r->system, dtype));
    double rate = (double)r->system->memory_Bps;
    o.nominal_ns = MAX(ns, time_ns(bytes, rate));
    o.least_ns = MAX(ns, time_ns(bytes - (double)r->system->l2_bytes, rate));
    for (guint axis = 0; axis < CALIBRATE_AXES; axis++)
        o.x[axis] = log2((double)size[axis]);
    add(r, i,
        g_strdup_printf("%s %s", cluster_dtype_name(dtype), calibrate_word(CALIBRATE_PASSES, pass)),
        o);
    return TRUE;
}

/* --- attention ----------------------------------------------------------------------------------- */

static gboolean
read_attention(Reader *r, guint i, GError **error)
{
    ClusterDtype dtype = CLUSTER_BF16;
    gint64 c[5]; /* batch, heads, kv_heads, head_dim, seq */
    if (!cost_read_dtype(r->table, i, r->columns[0], &dtype, error) ||
        !read_counts(r, i, 1, 5, c, error))
        return FALSE;
    gboolean causal = strcmp(conf_table_text(r->table, i, r->columns[6]), "1") == 0;
    double pairs = (double)c[4] * (double)c[4] * (causal ? 0.5 : 1);
    double flops = 4 * (double)c[0] * (double)c[1] * (double)c[3] * pairs;
    for (guint pass = 0; pass < 2; pass++) {
        const char *text = conf_table_text(r->table, i, r->columns[7 + pass]);
        CalibrateObservation o = {0};
        if (*text == '\0' || strcmp(text, "-") == 0)
            continue;
        if (!cost_read_time(r->table, i, r->columns[7 + pass], &o.value, error))
            return FALSE;
        o.nominal_ns = time_ns(flops * (pass == 1 ? 2.5 : 1), cost_peak_flops(r->system, dtype));
        o.least_ns = o.nominal_ns;
        o.x[0] = log2((double)c[0]);
        o.x[1] = log2((double)c[1]);
        o.x[2] = log2((double)c[4]);
        g_autofree char *of =
            g_strdup_printf("%s head_dim %" G_GINT64_FORMAT "%s %s", cluster_dtype_name(dtype),
                            c[3], causal ? " causal" : "", pass == 1 ? "backward" : "forward");
        add(r, i, c[1] == c[2] ? g_strdup(of) : g_strdup_printf("%s grouped", of), o);
    }
    return TRUE;
}

/* --- kernels bound by memory --------------------------------------------------------------------- */

static gboolean
read_memory(Reader *r, guint i, GError **error)
{
    guint kernel = 0;
    double bytes = 0;
    CalibrateObservation o = {0};
    if (!calibrate_read_word(r->table, i, r->columns[0], CALIBRATE_MEMORIES, &kernel, error) ||
        !read_bytes(r, i, 1, &bytes, error) ||
        !cost_read_time(r->table, i, r->columns[2], &o.value, error))
        return FALSE;
    double rate = (double)r->system->memory_Bps;
    o.nominal_ns = time_ns(bytes, rate);
    o.least_ns = MAX(0, time_ns(bytes - (double)r->system->l2_bytes, rate));
    o.x[0] = log2(bytes);
    add(r, i, g_strdup(calibrate_word(CALIBRATE_MEMORIES, kernel)), o);
    return TRUE;
}

/* --- kernels beside traffic ---------------------------------------------------------------------- */

static gboolean
read_overlap(Reader *r, guint i, GError **error)
{
    static const char *const whose[] = {"work", "traffic"};
    guint work = 0, traffic = 0;
    double channels = 0;
    if (!calibrate_read_word(r->table, i, r->columns[0], CALIBRATE_WORKS, &work, error) ||
        !calibrate_read_word(r->table, i, r->columns[1], CALIBRATE_TRAFFICS, &traffic, error) ||
        !conf_table_double(r->table, i, r->columns[2], &channels, error))
        return FALSE;
    for (guint side = 0; side < 2; side++) {
        guint column = r->columns[4 + side];
        CalibrateObservation o = {.x = {log2(1 + MAX(0, channels))}};
        if (strcmp(conf_table_text(r->table, i, column), "-") == 0)
            continue;
        if (!conf_table_double(r->table, i, column, &o.value, error))
            return FALSE;
        add(r, i,
            g_strdup_printf("%s of %s beside %s", whose[side],
                            calibrate_word(CALIBRATE_WORKS, work),
                            calibrate_word(CALIBRATE_TRAFFICS, traffic)),
            o);
    }
    return TRUE;
}

/* --- collectives --------------------------------------------------------------------------------- */

/* Bytes that each GPU must send or receive, as a part of nccl-tests' size. `adds`: switches do the sum. */
static double
port_part(NetOp op, double n, gboolean adds)
{
    switch (op) {
    case NET_ALL_REDUCE:
        return adds ? 1 : 2 * (n - 1) / n;
    case NET_ALL_GATHER:
    case NET_REDUCE_SCATTER:
    case NET_ALL_TO_ALL:
        return (n - 1) / n;
    default:
        return 1;
    }
}

/* The same of a node of g ranks, through its cards. */
static double
node_part(NetOp op, double n, double nodes, gboolean adds)
{
    double g = n / nodes;
    return op == NET_ALL_TO_ALL  ? g * (n - g) / n
           : op == NET_SEND_RECV ? g
           : op == NET_BROADCAST ? 1
                                 : port_part(op, nodes, adds);
}

static gboolean
read_collective(Reader *r, guint i, GError **error)
{
    const ClusterSystem *s = r->system;
    guint op = 0;
    gint64 group[2]; /* ranks, nodes */
    double bytes = 0;
    CalibrateObservation o = {0};
    if (!calibrate_read_word(r->table, i, r->columns[0], CALIBRATE_OPS, &op, error) ||
        !read_counts(r, i, 1, 2, group, error) || !read_bytes(r, i, 3, &bytes, error) ||
        !cost_read_time(r->table, i, r->columns[4], &o.value, error))
        return FALSE;
    double n = (double)group[0], nodes = (double)group[1];
    if (nodes > 1) {
        double nics = (double)s->nics_per_node, gpus = (double)s->gpus_per_node;
        double used = CLAMP(ceil(n / nodes) * MAX(1, nics / gpus), 1, MAX(1, nics));
        double rate = (double)s->nic_Bps * used;
        o.nominal_ns = time_ns(bytes * node_part((NetOp)op, n, nodes, FALSE), rate);
        o.least_ns = time_ns(bytes * node_part((NetOp)op, n, nodes, TRUE), rate);
    } else if (n > 1) {
        gboolean adds = s->link == CLUSTER_LINK_NVSWITCH;
        o.nominal_ns = time_ns(bytes * port_part((NetOp)op, n, FALSE), (double)s->nvlink_Bps);
        o.least_ns = time_ns(bytes * port_part((NetOp)op, n, adds), (double)s->nvlink_Bps);
    }
    o.x[0] = log2(bytes);
    add(r, i,
        g_strdup_printf("%s %" G_GINT64_FORMAT " ranks %" G_GINT64_FORMAT " node%s",
                        calibrate_word(CALIBRATE_OPS, op), group[0], group[1],
                        group[1] == 1 ? "" : "s"),
        o);
    return TRUE;
}

/* --- all ----------------------------------------------------------------------------------------- */

static const struct {
    ReadRow read;
    const char *columns[10];
    const char *axes[CALIBRATE_AXES];
} kinds[CLUSTER_N_TABLES] = {
    [CLUSTER_TABLE_GEMM] = {read_gemm,
                            {"dtype", "m", "n", "k", "batch", "time_us"},
                            {"m", "n", "k", "batch"}},
    [CLUSTER_TABLE_ATTENTION] = {read_attention,
                                 {"dtype", "batch", "heads", "kv_heads", "head_dim", "seq",
                                  "causal", "forward_us", "backward_us"},
                                 {"batch", "heads", "seq"}},
    [CLUSTER_TABLE_MEMORY] = {read_memory, {"kernel", "bytes", "time_us"}, {"bytes"}},
    [CLUSTER_TABLE_OVERLAP] = {read_overlap,
                               {"work", "traffic", "channels", "rate_GBps", "work_slowdown",
                                "traffic_slowdown"},
                               {"channels"}},
    [CLUSTER_TABLE_COLLECTIVE] = {read_collective,
                                  {"op", "ranks", "nodes", "bytes", "time_us"},
                                  {"bytes"}},
};

const char *
calibrate_axis_name(ClusterTable table, guint axis)
{
    g_assert(table < CLUSTER_N_TABLES && axis < CALIBRATE_AXES);
    return kinds[table].axes[axis];
}

gboolean
calibrate_read_observations(const ClusterSystem *system, ClusterTable table, const ConfTable *text,
                            GPtrArray *names, GArray *rows, GError **error)
{
    Reader r = {.system = system, .table = text, .names = names, .rows = rows};
    for (guint i = 0; kinds[table].columns[i] != NULL; i++)
        if (!conf_table_need_column(text, kinds[table].columns[i], &r.columns[i], error))
            return FALSE;
    r.pass = conf_table_find_column(text, "pass");
    r.spread = conf_table_find_column(text, "spread_frac");
    for (guint i = 0; i < conf_table_n_rows(text); i++)
        if (!kinds[table].read(&r, i, error))
            return FALSE;
    return TRUE;
}
