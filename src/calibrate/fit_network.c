/* Fits to collective.tsv: latency and rate of each operation and group, and the levels of the model of NCCL. */
#include "config.h"

#include "calibrate/fit_parts.h"
#include "calibrate/fit_rows.h"
#include "net/book.h"

#include <math.h>

/* Sizes that say what a large collective achieves, and what a message takes that carries next to nothing. */
#define FORMULA "time = L + X + 2 sqrt(fill L X), L latency, X = sent bytes / rate"

#define LARGE_BYTES 64e6
#define SMALL_BYTES 65536.0
/* A rate so far above the best row is the form's, not the rows'. */
#define EXTRAPOLATED 1.1

/* The rows of one operation and group. */
typedef struct {
    NetOp op;
    guint ranks, nodes;
    double least_bytes, most_bytes;
    GArray *points; /* of CalibratePoint: bytes sent by each rank, ns */
} Sweep;

static void
clear_sweep(gpointer sweep)
{
    g_array_unref(((Sweep *)sweep)->points);
}

static int
compare_sweeps(gconstpointer a, gconstpointer b)
{
    const Sweep *p = a, *q = b;
    if (p->op != q->op)
        return p->op < q->op ? -1 : 1;
    if (p->nodes != q->nodes)
        return p->nodes < q->nodes ? -1 : 1;
    return p->ranks < q->ranks ? -1 : p->ranks > q->ranks;
}

static Sweep *
sweep_of(GArray *sweeps, const CalibrateCollectiveRow *row)
{
    for (guint i = 0; i < sweeps->len; i++) {
        Sweep *s = &g_array_index(sweeps, Sweep, i);
        if (s->op == row->op && s->ranks == row->ranks && s->nodes == row->nodes)
            return s;
    }
    Sweep sweep = {row->op,    row->ranks, row->nodes,
                   row->bytes, row->bytes, g_array_new(FALSE, FALSE, sizeof(CalibratePoint))};
    g_array_append_val(sweeps, sweep);
    return &g_array_index(sweeps, Sweep, sweeps->len - 1);
}

static GArray *
sweeps_of(const GArray *rows)
{
    GArray *sweeps = g_array_new(FALSE, FALSE, sizeof(Sweep));
    g_array_set_clear_func(sweeps, clear_sweep);
    for (guint i = 0; i < rows->len; i++) {
        const CalibrateCollectiveRow *row = &g_array_index(rows, CalibrateCollectiveRow, i);
        Sweep *sweep = sweep_of(sweeps, row);
        CalibratePoint point = {net_ring_bytes(row->op, row->ranks, row->bytes), row->ns};
        sweep->least_bytes = MIN(sweep->least_bytes, row->bytes);
        sweep->most_bytes = MAX(sweep->most_bytes, row->bytes);
        g_array_append_val(sweep->points, point);
    }
    g_array_sort(sweeps, compare_sweeps);
    return sweeps;
}

static void
add_line(CalibrateModel *model, const CalibrateLine *line, const CalibrateLine *today,
         const char *latency_key, const char *rate_key)
{
    const CalibrateConstant latency = {"latency",           "us",           line->a / 1e3,
                                       line->a_error / 1e3, today->a / 1e3, latency_key};
    const CalibrateConstant rate = {"rate",
                                    "GB/s",
                                    line->b > 0 ? 1 / line->b : NAN,
                                    line->b_error / (line->b * line->b),
                                    today->b > 0 ? 1 / today->b : NAN,
                                    rate_key};
    const CalibrateConstant fill = {
        "fill", "", calibrate_line_fill(line), NAN, calibrate_line_fill(today), NULL};
    calibrate_model_constant(model, latency);
    calibrate_model_constant(model, rate);
    calibrate_model_constant(model, fill);
}

/* The same line through what the model says of the same sizes with NCCL's levels as they are without rows. */
static CalibrateLine
line_of_model(const NetFabric *unfitted, const Sweep *sweep)
{
    g_autoptr(GArray) points = g_array_new(FALSE, FALSE, sizeof(CalibratePoint));
    NetGroup group = net_even_group(unfitted, sweep->ranks, sweep->nodes);
    double share = net_ring_bytes(sweep->op, sweep->ranks, 1);
    for (guint i = 0; i < sweep->points->len; i++) {
        double sent = g_array_index(sweep->points, CalibratePoint, i).x;
        NetModelTime time = net_model_time(unfitted, sweep->op, &group, sent / share);
        CalibratePoint point = {sent, MAX(time.ns, 1)};
        g_array_append_val(points, point);
    }
    return calibrate_line_fit((const CalibratePoint *)(const void *)points->data, points->len,
                              CALIBRATE_FILLED);
}

static void
fit_sweep(CalibrateFit *fit, const ClusterSystem *system, const NetFabric *unfitted,
          const Sweep *sweep)
{
    CalibrateLine line, today = line_of_model(unfitted, sweep);
    gboolean message = sweep->op == NET_SEND_RECV && sweep->ranks == 2 && sweep->nodes == 2 &&
                       sweep->least_bytes <= SMALL_BYTES;
    CalibrateModel *model =
        calibrate_fit_add(fit, CLUSTER_TABLE_COLLECTIVE,
                          g_strdup_printf("%s, %u ranks, %u node%s", net_op_name(sweep->op),
                                          sweep->ranks, sweep->nodes, sweep->nodes == 1 ? "" : "s"),
                          FORMULA, sweep->points, CALIBRATE_FILLED, &line);
    add_line(model, &line, &today, message ? "nic.latency" : NULL, NULL);
    if (message && line.a > 0)
        calibrate_fit_key_time(fit, "nic", "latency", line.a, line.a_error, system->nic_latency_ns,
                               model);
}

/* --- what links achieve ------------------------------------------------------------------------- */

/* Rings: all-gather and reduce-scatter. An all-reduce may be done by switches, beyond what links carry, from Hopper on. */
static gboolean
is_ring(const NetFabric *fabric, NetOp op)
{
    return op == NET_ALL_GATHER || op == NET_REDUCE_SCATTER ||
           (op == NET_ALL_REDUCE && fabric->generation < NET_HOPPER && !fabric->sharp);
}

static double
best_rate(const GArray *points)
{
    double best = 0;
    for (guint i = 0; i < points->len; i++) {
        const CalibratePoint *p = &g_array_index(points, CalibratePoint, i);
        best = MAX(best, p->x / p->y);
    }
    return best;
}

/* Of all GPUs of so many nodes; what each rank sends is what a port carries in a node, and across nodes what all cards
 * of a node carry together: the ring crosses to the next node once on each. */
static void
fit_rings(CalibrateFit *fit, const ClusterSystem *system, const NetFabric *fabric,
          const GArray *sweeps, guint nodes)
{
    g_autoptr(GArray) points = g_array_new(FALSE, FALSE, sizeof(CalibratePoint));
    guint ranks = nodes * (guint)system->gpus_per_node;
    double most = 0;
    Sweep all = {NET_ALL_GATHER, ranks, nodes, 0, 0, points};
    for (guint i = 0; i < sweeps->len; i++) {
        const Sweep *s = &g_array_index(sweeps, Sweep, i);
        if (s->ranks != ranks || s->nodes != nodes || !is_ring(fabric, s->op))
            continue;
        g_array_append_vals(points, s->points->data, s->points->len);
        most = MAX(most, s->most_bytes);
    }
    CalibrateLine line;
    double nominal = nodes == 1 ? (double)system->nvlink_Bps
                                : (double)system->nic_Bps * (double)system->nics_per_node;
    if (most < LARGE_BYTES || !(nominal > 0))
        return;
    CalibrateLine today = line_of_model(fabric, &all);
    const char *section = nodes == 1 ? "node" : "nic";
    const char *key = nodes == 1 ? "nvlink-efficiency" : "efficiency";
    CalibrateModel *model = calibrate_fit_add(
        fit, CLUSTER_TABLE_COLLECTIVE,
        g_strdup_printf("rings, %u ranks, %u node%s", ranks, nodes, nodes == 1 ? "" : "s"), FORMULA,
        points, CALIBRATE_FILLED, &line);
    add_line(model, &line, &today, NULL, nodes == 1 ? "node.nvlink-efficiency" : "nic.efficiency");
    if (!(line.b > 0))
        return;
    gboolean levelled = 1 / line.b <= EXTRAPOLATED * best_rate(points);
    calibrate_fit_key_fraction(fit, section, key, 1e9 / line.b / nominal,
                               line.b_error / (line.b * line.b) * 1e9 / nominal,
                               nodes == 1 ? system->nvlink_efficiency : system->nic_efficiency,
                               model, levelled ? NULL : "rows end before the rate levels off");
}

/* Above the cards links matter least in the fewest nodes. */
static guint
fewest_nodes(const ClusterSystem *system, const NetFabric *fabric, const GArray *sweeps)
{
    guint fewest = 0;
    for (guint i = 0; i < sweeps->len; i++) {
        const Sweep *s = &g_array_index(sweeps, Sweep, i);
        if (s->nodes > 1 && s->ranks == s->nodes * (guint)system->gpus_per_node &&
            is_ring(fabric, s->op) && s->most_bytes >= LARGE_BYTES &&
            (fewest == 0 || s->nodes < fewest))
            fewest = s->nodes;
    }
    return fewest;
}

/* --- levels of the model ------------------------------------------------------------------------ */

typedef struct {
    const char *name;
    gsize offset; /* of a double in NetTuning */
} Level;

#define LEVEL(name, field)                                                                         \
    {                                                                                              \
        name, G_STRUCT_OFFSET(NetTuning, field)                                                    \
    }
static const Level node_levels[] = {
    LEVEL("rate", nvlink_scale),
    LEVEL("latency", nvlink_latency_scale),
    LEVEL("fill", nvlink_fill),
    LEVEL("small group loss", small_group_loss),
    LEVEL("Simple latency", simple_latency_scale),
    LEVEL("LL128 latency", ll128_latency_scale),
    LEVEL("NVLS latency", nvls_latency_scale),
    LEVEL("NVLS rate", nvls_scale),
};
static const Level net_levels[] = {
    LEVEL("rate", nic_scale),
    LEVEL("latency", nic_latency_scale),
    LEVEL("fill", nic_fill),
    LEVEL("ring latency", ring_latency_scale),
    LEVEL("direct latency", direct_latency_scale),
    LEVEL("LL rate", ll_scale),
    LEVEL("direct rate", direct_scale),
};

/* Errors of the model of `book` in the sweep. */
static void
append_model_errors(const NetBook *book, const NetSweep *sweep, GArray *errors)
{
    for (guint i = 0; i < net_curve_n_points(sweep->curve); i++) {
        NetSample at = net_curve_point(sweep->curve, i);
        double ns = net_model_time(&book->measured, sweep->op, &sweep->group, at.bytes).ns;
        double error = fabs(ns / at.ns - 1);
        g_array_append_val(errors, error);
    }
}

static gboolean
is_of_kind(const NetSweep *sweep, gboolean across)
{
    return (sweep->group.nodes > 1) == across && net_sweep_speaks_for_others(sweep);
}

/* Whole groups are left out, of both kinds at once. */
static gboolean
leave_out_groups(CalibrateFit *fit, const ClusterSystem *system, const NetBook *whole,
                 GArray *errors[2], GError **error)
{
    guint n = whole->sweeps->len;
    g_autofree guint *part = calibrate_folds(n, fit->folds);
    g_autofree NetSweep *others = g_new(NetSweep, n + 1);
    for (guint fold = 0; fold < fit->folds; fold++) {
        guint n_others = 0;
        for (guint i = 0; i < n; i++)
            if (part[i] != fold)
                others[n_others++] = g_array_index(whole->sweeps, NetSweep, i);
        g_autoptr(NetBook) book = net_book_new(system, others, n_others, error);
        if (book == NULL)
            return FALSE;
        for (guint i = 0; i < n; i++) {
            const NetSweep *sweep = &g_array_index(whole->sweeps, NetSweep, i);
            if (part[i] == fold && net_sweep_speaks_for_others(sweep))
                append_model_errors(book, sweep, errors[sweep->group.nodes > 1]);
        }
    }
    return TRUE;
}

static void
add_levels(CalibrateFit *fit, const NetBook *book, gboolean across, GArray *left_out)
{
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < book->sweeps->len; i++) {
        const NetSweep *sweep = &g_array_index(book->sweeps, NetSweep, i);
        if (is_of_kind(sweep, across))
            append_model_errors(book, sweep, errors);
    }
    if (errors->len == 0)
        return;
    CalibrateModel model = {
        .table = CLUSTER_TABLE_COLLECTIVE,
        .of = g_strdup(across ? "levels of NCCL, across nodes" : "levels of NCCL, in a node"),
        .formula = "factors of rates and latencies of net/fabric.h",
        .n_rows = errors->len,
        .n_used = errors->len,
    };
    model.residual = calibrate_residuals_of(errors);
    model.left_out = calibrate_residuals_of(left_out);
    NetTuning start = net_tuning_default(book->measured.generation);
    const Level *levels = across ? net_levels : node_levels;
    guint n = across ? G_N_ELEMENTS(net_levels) : G_N_ELEMENTS(node_levels);
    for (guint i = 0; i < n; i++)
        calibrate_model_constant(
            &model,
            (CalibrateConstant){levels[i].name, "",
                                G_STRUCT_MEMBER(double, &book->fit.tuning, levels[i].offset), NAN,
                                G_STRUCT_MEMBER(double, &start, levels[i].offset), NULL});
    g_array_append_val(fit->models, model);
}

static gboolean
fit_levels(CalibrateFit *fit, const ClusterSystem *system, const NetFabric *unfitted,
           const ConfTable *table, GError **error)
{
    g_autoptr(GArray) sweeps = net_rows_load(conf_table_name(table), unfitted, NULL, error);
    if (sweeps == NULL)
        return FALSE;
    g_autoptr(NetBook) book =
        net_book_new(system, (const NetSweep *)(void *)sweeps->data, sweeps->len, error);
    if (book == NULL)
        return FALSE;
    g_autoptr(GArray) near = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GArray) far = g_array_new(FALSE, FALSE, sizeof(double));
    GArray *left_out[2] = {near, far};
    if (!leave_out_groups(fit, system, book, left_out, error))
        return FALSE;
    add_levels(fit, book, FALSE, near);
    add_levels(fit, book, TRUE, far);
    return TRUE;
}

gboolean
calibrate_fit_collective(CalibrateFit *fit, const ClusterSystem *system, const ConfTable *table,
                         GError **error)
{
    g_autoptr(GArray) rows = calibrate_collective_rows(table, error);
    if (rows == NULL)
        return FALSE;
    g_autoptr(GArray) sweeps = sweeps_of(rows);
    NetFabric unfitted = net_fabric_of(system, NULL);
    for (guint i = 0; i < sweeps->len; i++)
        fit_sweep(fit, system, &unfitted, &g_array_index(sweeps, Sweep, i));
    fit_rings(fit, system, &unfitted, sweeps, 1);
    guint nodes = fewest_nodes(system, &unfitted, sweeps);
    if (nodes > 1)
        fit_rings(fit, system, &unfitted, sweeps, nodes);
    return fit_levels(fit, system, &unfitted, table, error);
}
