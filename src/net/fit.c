/* Fit of the model's level constants to measured sweeps. */
#include "config.h"

#include "net/fit.h"

#include <math.h>

#define ROUNDS 3
#define SECTIONS 8
#define NARROWER 0.2 /* each round searches a part of the range before, around what it found */
#define GOLDEN 0.6180339887498949
/* An error beyond a factor of 2 is a broken row or another algorithm: it counts, but no more. */
#define LARGEST_ERROR 0.69
/* What a factor of e away from the default must gain in mean square error. Latency constants that the
 * rows hardly touch (sweeps that start at 32 MB, say) stay near their defaults; rates stay near what
 * system.conf says a large transfer achieves, so that a plain copy is not faster than any was seen. */
#define WEAK_PULL 0.004
#define STRONG_PULL 0.4
/* Expected error of the model where nothing at all was measured (NCCL.md section 9). */
#define UNFITTED_ERROR 0.35

gboolean
net_sweep_speaks_for_others(const NetSweep *sweep)
{
    return sweep->op != NET_SEND_RECV || sweep->group.ranks == 2;
}

typedef struct {
    gsize offset; /* of a double in NetTuning */
    double low, high;
    gboolean logarithmic;
    double pull;
} Parameter;

static const Parameter node_parameters[] = {
    {G_STRUCT_OFFSET(NetTuning, nvlink_scale), 0.5, 1.6, TRUE, STRONG_PULL},
    {G_STRUCT_OFFSET(NetTuning, nvlink_latency_scale), 0.1, 10.0, TRUE, WEAK_PULL},
    {G_STRUCT_OFFSET(NetTuning, nvlink_fill), 0.01, 1.5, TRUE, WEAK_PULL},
    {G_STRUCT_OFFSET(NetTuning, small_group_loss), 0.0, 0.6, FALSE, WEAK_PULL},
    {G_STRUCT_OFFSET(NetTuning, simple_latency_scale), 0.1, 10.0, TRUE, WEAK_PULL},
    {G_STRUCT_OFFSET(NetTuning, ll128_latency_scale), 0.1, 10.0, TRUE, WEAK_PULL},
    {G_STRUCT_OFFSET(NetTuning, nvls_latency_scale), 0.1, 10.0, TRUE, WEAK_PULL},
    {G_STRUCT_OFFSET(NetTuning, nvls_scale), 0.5, 1.6, TRUE, STRONG_PULL},
};

static const Parameter net_parameters[] = {
    {G_STRUCT_OFFSET(NetTuning, nic_scale), 0.3, 1.3, TRUE, STRONG_PULL},
    {G_STRUCT_OFFSET(NetTuning, nic_latency_scale), 0.1, 10.0, TRUE, WEAK_PULL},
    {G_STRUCT_OFFSET(NetTuning, nic_fill), 0.01, 1.5, TRUE, WEAK_PULL},
    {G_STRUCT_OFFSET(NetTuning, ring_latency_scale), 0.1, 20.0, TRUE, WEAK_PULL},
    {G_STRUCT_OFFSET(NetTuning, direct_latency_scale), 0.1, 20.0, TRUE, WEAK_PULL},
    {G_STRUCT_OFFSET(NetTuning, ll_scale), 0.02, 2.0, TRUE, WEAK_PULL},
    {G_STRUCT_OFFSET(NetTuning, direct_scale), 0.1, 1.3, TRUE, WEAK_PULL},
};

typedef struct {
    guint plan, option; /* what NCCL takes there; the levels do not change that */
    double bytes, ns, weight;
} Target;

typedef struct {
    const ClusterSystem *system;
    const NetPlan *plans;
    const Target *targets;
    guint n;
    NetTuning tuning;
    NetTuning start;
} Problem;

/* Of ln(measured / model); broken rows count as LARGEST_ERROR, or not at all. */
static double
mean_square_error(const Problem *problem, gboolean with_broken)
{
    NetFabric fabric = net_fabric_of(problem->system, &problem->tuning);
    double sum = 0.0, weight = 0.0;
    for (guint i = 0; i < problem->n; i++) {
        const Target *t = &problem->targets[i];
        const NetPlan *plan = &problem->plans[t->plan];
        double ns = net_option_ns(plan, &plan->options[t->option], &fabric, t->bytes);
        double error = log(t->ns / MAX(ns, 1.0));
        if (!with_broken && fabs(error) > LARGEST_ERROR)
            continue;
        error = CLAMP(error, -LARGEST_ERROR, LARGEST_ERROR);
        sum += t->weight * error * error;
        weight += t->weight;
    }
    return weight > 0.0 ? sum / weight : UNFITTED_ERROR * UNFITTED_ERROR;
}

static double
error_at(Problem *problem, const Parameter *p, double x)
{
    double start = G_STRUCT_MEMBER(double, &problem->start, p->offset);
    double away = p->logarithmic ? x - log(start) : 5.0 * (x - start);
    G_STRUCT_MEMBER(double, &problem->tuning, p->offset) = p->logarithmic ? exp(x) : x;
    return mean_square_error(problem, TRUE) + p->pull * away * away;
}

/* Leaves the parameter at the least error found in `part` of its range around where it is. */
static void
minimise(Problem *problem, const Parameter *p, double part)
{
    double now = G_STRUCT_MEMBER(double, &problem->tuning, p->offset);
    now = p->logarithmic ? log(now) : now;
    double low = p->logarithmic ? log(p->low) : p->low;
    double high = p->logarithmic ? log(p->high) : p->high;
    double width = part * (high - low);
    low = MAX(low, now - width);
    high = MIN(high, now + width);
    double a = high - GOLDEN * (high - low), b = low + GOLDEN * (high - low);
    double error_a = error_at(problem, p, a), error_b = error_at(problem, p, b);
    for (int i = 0; i < SECTIONS; i++) {
        if (error_a <= error_b) {
            high = b;
            b = a;
            error_b = error_a;
            a = high - GOLDEN * (high - low);
            error_a = error_at(problem, p, a);
        } else {
            low = a;
            a = b;
            error_a = error_b;
            b = low + GOLDEN * (high - low);
            error_b = error_at(problem, p, b);
        }
    }
    error_at(problem, p, error_a <= error_b ? a : b);
}

/* Two sizes an octave apart would say the same: sweeps are read at every second octave, and each sweep
 * counts as one, however fine it is. */
static GArray *
targets_of(const NetFabric *fabric, const NetSweep *sweeps, guint n, gboolean across_nodes,
           NetPlan *plans)
{
    GArray *targets = g_array_new(FALSE, FALSE, sizeof(Target));
    for (guint i = 0; i < n; i++) {
        const NetGroup *group = &sweeps[i].group;
        if ((group->nodes > 1) != across_nodes)
            continue;
        if (!net_sweep_speaks_for_others(&sweeps[i]))
            continue;
        net_plan_make(&plans[i], fabric, sweeps[i].op, group);
        double last = net_curve_last_bytes(sweeps[i].curve);
        guint first_of_sweep = targets->len;
        for (double bytes = net_curve_first_bytes(sweeps[i].curve); bytes <= last; bytes *= 4.0) {
            const NetOption *option = net_plan_choose(&plans[i], fabric, bytes);
            Target t = {.plan = i, .option = (guint)(option - plans[i].options), .bytes = bytes};
            t.ns = net_curve_ns(sweeps[i].curve, bytes, NULL, NULL);
            g_array_append_val(targets, t);
        }
        guint points = targets->len - first_of_sweep;
        for (guint j = first_of_sweep; j < targets->len; j++)
            g_array_index(targets, Target, j).weight = 1.0 / points;
    }
    return targets;
}

static double
fit_kind(Problem *problem, const NetSweep *sweeps, guint n, gboolean across_nodes)
{
    NetFabric fabric = net_fabric_of(problem->system, &problem->tuning);
    g_autofree NetPlan *plans = g_new(NetPlan, n + 1);
    g_autoptr(GArray) targets = targets_of(&fabric, sweeps, n, across_nodes, plans);
    problem->plans = plans;
    if (targets->len == 0)
        return UNFITTED_ERROR;
    problem->targets = (const Target *)(void *)targets->data;
    problem->n = targets->len;
    const Parameter *parameters = across_nodes ? net_parameters : node_parameters;
    guint n_parameters =
        across_nodes ? G_N_ELEMENTS(net_parameters) : G_N_ELEMENTS(node_parameters);
    /* fewer points than constants cannot fix them all */
    n_parameters = MIN(n_parameters, targets->len);
    double part = 1.0;
    for (int round = 0; round < ROUNDS; round++, part *= NARROWER)
        for (guint i = 0; i < n_parameters; i++)
            minimise(problem, &parameters[i], part);
    return MAX(sqrt(mean_square_error(problem, FALSE)), 0.02);
}

NetFit
net_fit(const ClusterSystem *system, const NetSweep *sweeps, guint n)
{
    NetTuning start = net_tuning_default(net_generation_of(system->gpu_name));
    Problem problem = {.system = system, .tuning = start, .start = start};
    NetFit fit = {0};
    fit.node_error_frac = fit_kind(&problem, sweeps, n, FALSE);
    fit.net_error_frac = fit_kind(&problem, sweeps, n, TRUE);
    fit.tuning = problem.tuning;
    return fit;
}
