/* What a collective costs on a system: measured sweeps, and the fitted model between and beyond them.
 *
 * Every time is model(b) x ratio(b), b the bytes. Where (op, ranks, nodes) was measured and b lies
 * within its sweep, ratio = measured / model: exactly what was measured. Elsewhere ratio is the
 * weighted geometric mean over all measured sweeps of the same kind (in a node, across nodes), with
 *
 *     weight = 1 / d^2,   d^2 = op^2 + ln(k/k')^2 + (ln(N/N')/2)^2 + ln(nics per rank)^2 + (octaves
 *                               outside that sweep / 4)^2
 *
 * and a sweep of ratio 1 (the fitted model itself) at d = 1.5: near what was measured the measurement
 * speaks, far away the model. A sweep far off the model (misaligned slices of 5 ranks, say, at a
 * tenth of the rate) speaks for itself alone, and so does nccl-tests' ring of sends.
 *
 * The ratio is that of the system as measured; the model is that of the system as asked for, so
 * overrides of rates and latencies act on measured times by what the model says they change. Every
 * result is monotone in bytes: measured sweeps by their curve, the rest by a running maximum. */
#include "config.h"

#include "net/book.h"
#include "net/lent.h"
#include "net/routes.h"

#include <math.h>
#include <string.h>

/* rms of ln(measured / model) from which a sweep is of another kind than the model */
#define STRANGE_LOG_RATIO 1.0
#define CAPACITY_FROM_BYTES 64e6
#define MOST_PLACED 2048 /* ranks of a sweep whose links are followed */

static CostTime
cost_within(const NetBook *book, const NetAnchor *own, double bytes)
{
    gboolean hit;
    double spread;
    CostTime time = {.ns = net_curve_ns(own->asked, bytes, &hit, &spread)};
    time.basis = book->changed ? COST_MODELLED : hit ? COST_MEASURED : COST_INTERPOLATED;
    time.error_frac = hit ? spread : hypot(spread, net_curve_error_frac(own->asked, bytes));
    return time;
}

static CostTime
cost_outside(const NetBook *book, const NetPrepared *prepared, double bytes)
{
    const NetAnchor *own = net_prepared_own(prepared);
    CostTime time = {.basis = COST_MODELLED};
    time.ns = net_prepared_ns(book, prepared, bytes, &time.error_frac);
    if (own != NULL) {
        double end = MAX(net_curve_first_bytes(own->sweep.curve),
                         MIN(bytes, net_curve_last_bytes(own->sweep.curve)));
        double end_ns = net_curve_ns(own->asked, end, NULL, NULL);
        time.ns = bytes < end ? MIN(time.ns, end_ns) : MAX(time.ns, end_ns);
    }
    time.common_frac = time.error_frac;
    return time;
}

static void
count_bytes(const NetBook *book, NetTime *time, double nvlink_bytes, double nic_bytes)
{
    double seconds = time->time.ns / 1e9;
    time->nvlink_bytes = nvlink_bytes;
    time->nic_bytes = nic_bytes;
    time->nvlink_rest_bytes = MAX(nvlink_bytes - book->nvlink_capacity_Bps * seconds, 0.0);
    time->nic_rest_bytes = MAX(nic_bytes - book->nic_capacity_Bps * seconds, 0.0);
}

/* Fields that may be left out. */
static const NetGroup *
complete(NetGroup *group)
{
    guint even = (group->ranks + group->nodes - 1) / group->nodes;
    group->ranks_per_node = MAX(group->ranks_per_node, even);
    group->nics = group->nodes > 1 ? MAX(group->nics, 1) : 1;
    group->least_per_node = net_group_least(group);
    return group;
}

NetTime
net_collective(const NetBook *book, NetOp op, NetGroup group, gint64 bytes)
{
    g_assert((guint)op < NET_N_OPS && bytes >= 0);
    NetTime result = {.time = {.basis = COST_MEASURED}, .algorithm = "", .protocol = ""};
    if (group.ranks <= 1 || bytes == 0)
        return result;
    g_assert(group.nodes >= 1 && group.nodes <= group.ranks);
    complete(&group);
    const NetPrepared *prepared = net_prepared_of(book, op, &group);
    const NetPlan *plan = net_prepared_plan(prepared);
    const NetOption *option = net_plan_choose(plan, &book->asked, (double)bytes);
    const NetAnchor *own = net_prepared_own(prepared);
    gboolean within = own != NULL && net_octaves_outside(own->sweep.curve, (double)bytes) == 0.0;
    result.time = within ? cost_within(book, own, (double)bytes)
                         : cost_outside(book, prepared, (double)bytes);
    result.algorithm = option->algorithm->name;
    result.protocol = net_protocol_name(option->protocol);
    result.pattern = net_algorithm_pattern(option->algorithm, &book->asked);
    result.channels = net_option_channels(plan, option, &book->asked, (double)bytes);
    count_bytes(book, &result, option->unit.nvlink * (double)bytes,
                option->unit.nic * (double)bytes);
    return result;
}

gboolean
net_collective_check(const NetBook *book, NetOp op, NetGroup group, GError **error)
{
    NetPlan plan;
    guint version = book->asked.nccl_version;
    if (group.ranks <= 1 || net_plan_make(&plan, &book->asked, op, complete(&group)))
        return TRUE;
    g_set_error(
        error, NET_ERROR, NET_ERROR_CHOICE,
        "[nccl] algo and proto leave nothing that does %s among %u ranks on %u node%s, and NCCL %u.%u "
        "stops there; add ring to the one and Simple to the other, or leave them empty",
        net_op_name(op), group.ranks, group.nodes, group.nodes == 1 ? "" : "s", version / 10000,
        version / 100 % 100);
    return FALSE;
}

/* What DeepEP's low-latency kernels leave of their time beside the wire, 128 tokens of 7168 among 8 to 256
 * H800: 30 to 55 us, however many the peers (figures in tests/data/net/deepep.tsv). */
#define EXCHANGE_US 35.0
#define EXCHANGE_NET_US 5.0
/* Share of the wire that their kernels reach, and the error of all this against the published figures. */
#define EXCHANGE_FRAC 0.93
#define EXCHANGE_ERROR 0.1

/* The wires are taken as system.conf has them: what was fitted to NCCL is NCCL's. */
NetTime
net_exchange(const NetBook *book, NetGroup group, double nvlink_bytes, double nic_bytes)
{
    g_assert(nvlink_bytes >= 0.0 && nic_bytes >= 0.0);
    NetTime result = {.time = {.basis = COST_MEASURED}, .algorithm = "", .protocol = ""};
    if (group.ranks <= 1 || nvlink_bytes + nic_bytes <= 0.0)
        return result;
    const NetFabric *fabric = &book->asked;
    double nvlink_Bps = fabric->nvlink_Bps / fabric->tuning.nvlink_scale;
    double nic_Bps = fabric->nic_Bps / fabric->tuning.nic_scale;
    double seconds = nvlink_bytes / nvlink_Bps;
    double us = EXCHANGE_US * fabric->nvlink_factor / fabric->tuning.nvlink_latency_scale;
    if (nic_bytes > 0.0) {
        seconds = MAX(seconds, nic_bytes / nic_Bps);
        us += EXCHANGE_NET_US * fabric->nic_factor / fabric->tuning.nic_latency_scale;
    }
    result.time = (CostTime){1e9 * seconds / EXCHANGE_FRAC + 1e3 * us, COST_MODELLED,
                             EXCHANGE_ERROR, EXCHANGE_ERROR};
    result.algorithm = "exchange";
    count_bytes(book, &result, nvlink_bytes, nic_bytes);
    return result;
}

NetTime
net_point_to_point(const NetBook *book, gboolean same_node, gint64 bytes)
{
    return net_collective(book, NET_SEND_RECV, net_even_group(&book->asked, 2, same_node ? 1 : 2),
                          bytes);
}

guint
net_book_n_rows(const NetBook *book)
{
    return book->n_rows;
}

double
net_nvlink_capacity_Bps(const NetBook *book)
{
    return book->nvlink_capacity_Bps;
}

double
net_nic_capacity_Bps(const NetBook *book)
{
    return book->nic_capacity_Bps;
}

/* What whole nodes measured at their largest sizes put through a port (a few fast rows of small groups
 * would raise it beyond what a port does under load), at least the model's achieved rate where nothing
 * of that kind was measured. */
static void
find_capacities(NetBook *book)
{
    double nvlink = 0.0, nic = 0.0;
    for (guint a = 0; a < book->sweeps->len; a++) {
        const NetSweep *s = &book->anchors[a].sweep;
        double bytes = net_curve_last_bytes(s->curve);
        gboolean direct = s->op == NET_ALL_TO_ALL || s->op == NET_SEND_RECV;
        if (bytes < CAPACITY_FROM_BYTES || direct)
            continue;
        NetModelTime model = net_model_time(&book->measured, s->op, &s->group, bytes);
        double seconds = net_curve_ns(s->curve, bytes, NULL, NULL) / 1e9;
        if (s->group.ranks_per_node == book->measured.gpus_per_node)
            nvlink = MAX(nvlink, model.bytes.nvlink / seconds);
        nic = MAX(nic, model.bytes.nic / seconds);
    }
    if (nvlink == 0.0)
        nvlink = net_fabric_nvlink_Bps(&book->measured, book->measured.gpus_per_node);
    if (nic == 0.0)
        nic = book->measured.nic_Bps;
    book->nvlink_capacity_Bps = nvlink * book->asked.nvlink_Bps / book->measured.nvlink_Bps;
    book->nic_capacity_Bps = nic * book->asked.nic_Bps / book->measured.nic_Bps;
}

/* A measured curve under overrides: each point times what they change there, by the model; as it is where nodes have
 * become too small for its group. */
static NetCurve *
changed_curve(const NetBook *book, const NetSweep *s)
{
    guint n = net_curve_n_points(s->curve);
    g_autofree NetSample *samples = g_new(NetSample, n);
    gboolean fits = s->group.ranks_per_node <= book->asked.gpus_per_node;
    for (guint i = 0; i < n; i++) {
        samples[i] = net_curve_point(s->curve, i);
        if (!fits)
            continue;
        double before = net_model_time(&book->measured, s->op, &s->group, samples[i].bytes).ns;
        double after = net_model_time(&book->asked, s->op, &s->group, samples[i].bytes).ns;
        samples[i].ns *= MAX(after, 1.0) / MAX(before, 1.0);
    }
    return net_curve_new(samples, n);
}

static void
make_anchors(NetBook *book)
{
    book->anchors = g_new0(NetAnchor, book->sweeps->len + 1);
    for (guint a = 0; a < book->sweeps->len; a++) {
        NetAnchor *anchor = &book->anchors[a];
        anchor->sweep = g_array_index(book->sweeps, NetSweep, a);
        anchor->asked = book->changed ? changed_curve(book, &anchor->sweep) : anchor->sweep.curve;
        const NetCurve *curve = anchor->sweep.curve;
        double sum = 0.0;
        for (guint i = 0; i < NET_GRID; i++) {
            double bytes =
                CLAMP(net_grid_bytes(i), net_curve_first_bytes(curve), net_curve_last_bytes(curve));
            NetModelTime model =
                net_model_time(&book->measured, anchor->sweep.op, &anchor->sweep.group, bytes);
            anchor->log_ratio[i] = log(net_curve_ns(curve, bytes, NULL, NULL) / MAX(model.ns, 1.0));
            sum += anchor->log_ratio[i] * anchor->log_ratio[i];
        }
        anchor->speaks_for_others =
            net_sweep_speaks_for_others(&anchor->sweep) && sqrt(sum / NET_GRID) < STRANGE_LOG_RATIO;
    }
}

/* The system as its directory says it, without overrides; NULL when it has no system.conf. */
static gboolean
load_measured_system(const ClusterSystem *system, ClusterSystem **ret, GError **error)
{
    *ret = NULL;
    if (system->directory == NULL)
        return TRUE;
    g_autofree char *path = g_build_filename(system->directory, "system.conf", NULL);
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return TRUE;
    /* a name without a slash would be looked up among the shipped systems */
    g_autofree char *directory = g_strconcat(system->directory, G_DIR_SEPARATOR_S, NULL);
    *ret = cluster_system_load(directory, NULL, error);
    return *ret != NULL;
}

/* What links above ports and cards do to a sweep's group, on the machine's first nodes. */
static void
place_sweeps(const ClusterSystem *base, GArray *sweeps)
{
    g_autoptr(ClusterTopology) topology = NULL;
    guint n_nodes = 0;
    for (guint i = 0; i < sweeps->len; i++)
        n_nodes = MAX(n_nodes, g_array_index(sweeps, NetSweep, i).group.nodes);
    if (n_nodes == 0)
        return;
    topology = cluster_topology_new(base, n_nodes, NULL);
    for (guint i = 0; i < sweeps->len && topology != NULL; i++) {
        NetGroup *group = &g_array_index(sweeps, NetSweep, i).group;
        guint k = group->ranks_per_node;
        if (k > base->gpus_per_node || k * group->nodes != group->ranks ||
            group->ranks > MOST_PLACED)
            continue;
        g_autofree guint *slots = g_new(guint, group->ranks);
        for (guint r = 0; r < group->ranks; r++)
            slots[r] = r / k * (guint)base->gpus_per_node + r % k;
        NetGroup placed = net_group_on(topology, slots, group->ranks);
        memcpy(group->fabric, placed.fabric, sizeof placed.fabric);
        memcpy(group->node, placed.node, sizeof placed.node);
    }
}

/* Takes `sweeps`. `base`: the machine they were measured on; `system`: the one asked for. */
static NetBook *
book_of(const ClusterSystem *base, const ClusterSystem *system, GArray *sweeps, guint n_rows)
{
    NetBook *book = g_new0(NetBook, 1);
    book->sweeps = sweeps;
    book->n_rows = n_rows;
    place_sweeps(base, sweeps);
    book->fit = net_fit(base, (const NetSweep *)(void *)book->sweeps->data, book->sweeps->len);
    book->measured = net_fabric_of(base, &book->fit.tuning);
    book->asked = net_fabric_of(system, &book->fit.tuning);
    book->changed = book->asked.nvlink_Bps != book->measured.nvlink_Bps ||
                    book->asked.nic_Bps != book->measured.nic_Bps ||
                    book->asked.nvlink_factor != book->measured.nvlink_factor ||
                    book->asked.nic_factor != book->measured.nic_factor ||
                    book->asked.link != book->measured.link ||
                    book->asked.rail_optimised != book->measured.rail_optimised ||
                    book->asked.generation != book->measured.generation ||
                    book->asked.nccl != book->measured.nccl ||
                    book->asked.algorithms != book->measured.algorithms ||
                    book->asked.protocols != book->measured.protocols ||
                    book->asked.sharp != book->measured.sharp ||
                    book->asked.pxn != book->measured.pxn;
    book->cache = net_cache_new();
    make_anchors(book);
    net_anchors_leave_out(book);
    find_capacities(book);
    return book;
}

NetBook *
net_book_load(const ClusterSystem *system, GError **error)
{
    g_autoptr(ClusterSystem) measured = NULL;
    if (!load_measured_system(system, &measured, error))
        return NULL;
    const ClusterSystem *base = measured != NULL ? measured : system;
    NetFabric unfitted = net_fabric_of(base, NULL);
    guint n_rows = 0;
    GArray *sweeps;
    if (system->directory != NULL) {
        g_autofree char *path = g_build_filename(system->directory, "collective.tsv", NULL);
        sweeps = net_rows_load(path, &unfitted, &n_rows, error);
        if (sweeps != NULL)
            sweeps = net_lent_add(system, sweeps, &unfitted, &n_rows, error);
        if (sweeps == NULL)
            return NULL;
    } else {
        sweeps = g_array_new(FALSE, FALSE, sizeof(NetSweep));
    }
    return book_of(base, system, sweeps, n_rows);
}

NetBook *
net_book_new(const ClusterSystem *system, const NetSweep *sweeps, guint n,
             GError **error G_GNUC_UNUSED)
{
    GArray *own = net_sweeps_copy(sweeps, n);
    guint n_rows = 0;
    for (guint i = 0; i < n; i++)
        n_rows += net_curve_n_points(sweeps[i].curve);
    return book_of(system, system, own, n_rows);
}

void
net_book_free(NetBook *book)
{
    if (book == NULL)
        return;
    for (guint i = 0; book->changed && book->anchors != NULL && i < book->sweeps->len; i++)
        net_curve_free(book->anchors[i].asked);
    net_cache_free(book->cache);
    g_free(book->anchors);
    g_clear_pointer(&book->sweeps, g_array_unref);
    g_free(book);
}
