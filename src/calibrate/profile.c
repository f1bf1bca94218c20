/* Adds a trace up. */
#include "config.h"

#include "calibrate/profile.h"

#include <string.h>

#define BIT(kind) (1u << (kind))
#define COMPUTE (BIT(CALIBRATE_GEMM) | BIT(CALIBRATE_ATTENTION) | BIT(CALIBRATE_MEMORY))
#define COMMUNICATION (BIT(CALIBRATE_NCCL) | BIT(CALIBRATE_EXCHANGE))

/* Time in which a kernel of these kinds runs; kernels are in order of begin. */
static gint64
union_of(const CalibrateTrace *t, guint kinds)
{
    gint64 sum = 0, end = G_MININT64;
    for (guint i = 0; i < t->kernels->len; i++) {
        const CalibrateKernel *k = &g_array_index(t->kernels, CalibrateKernel, i);
        gint64 stop = k->begin_ns + k->duration_ns;
        if (!(kinds & BIT(k->kind)) || stop <= end)
            continue;
        sum += stop - MAX(k->begin_ns, end);
        end = stop;
    }
    return sum;
}

CalibrateProfile
calibrate_profile(const CalibrateTrace *t)
{
    CalibrateProfile p = {.n_gpu = t->kernels->len};
    gint64 first = G_MAXINT64, last = G_MININT64;
    for (guint i = 0; i < t->kernels->len; i++) {
        const CalibrateKernel *k = &g_array_index(t->kernels, CalibrateKernel, i);
        first = MIN(first, k->begin_ns);
        last = MAX(last, k->begin_ns + k->duration_ns);
        p.n[k->kind]++;
        p.total_ns[k->kind] += k->duration_ns;
    }
    p.span_ns = p.n_gpu > 0 ? last - first : 0;
    p.busy_ns = union_of(t, ~0u);
    p.compute_ns = union_of(t, COMPUTE);
    p.nccl_ns = union_of(t, BIT(CALIBRATE_NCCL));
    p.communication_ns = union_of(t, COMMUNICATION);
    p.exposed_ns = union_of(t, COMPUTE | COMMUNICATION) - p.compute_ns;
    return p;
}

/* --- groups ------------------------------------------------------------------------------------- */

typedef struct {
    CalibrateGroup group;
    gint64 duration_ns;
} Entry;

static int
compare_keys(const CalibrateGroup *p, const CalibrateGroup *q)
{
    if (p->kind != q->kind)
        return p->kind < q->kind ? -1 : 1;
    if (p->name != q->name)
        return p->name < q->name ? -1 : 1;
    int order = g_strcmp0(p->operation, q->operation);
    if (order == 0 && p->bytes != q->bytes)
        order = p->bytes < q->bytes ? -1 : 1;
    if (order == 0 && p->ranks != q->ranks)
        order = p->ranks < q->ranks ? -1 : 1;
    return order;
}

static int
compare_entries(gconstpointer a, gconstpointer b)
{
    const Entry *p = a, *q = b;
    int order = compare_keys(&p->group, &q->group);
    return order != 0                        ? order
           : p->duration_ns < q->duration_ns ? -1
                                             : p->duration_ns > q->duration_ns;
}

static int
compare_totals(gconstpointer a, gconstpointer b)
{
    const CalibrateGroup *p = a, *q = b;
    if (p->total_ns != q->total_ns)
        return p->total_ns > q->total_ns ? -1 : 1;
    return compare_keys(p, q);
}

/* Sorted entries of one key, one after the other, become a group each. */
static GArray *
groups_of(GArray *entries)
{
    GArray *groups = g_array_new(FALSE, FALSE, sizeof(CalibrateGroup));
    g_array_sort(entries, compare_entries);
    const Entry *e = (const Entry *)entries->data;
    for (guint i = 0, end; i < entries->len; i = end) {
        CalibrateGroup g = e[i].group;
        for (end = i; end < entries->len && compare_keys(&e[end].group, &e[i].group) == 0; end++)
            g.total_ns += e[end].duration_ns;
        g.n = end - i;
        g.min_ns = e[i].duration_ns;
        g.max_ns = e[end - 1].duration_ns;
        g.median_ns =
            ((double)e[i + (g.n - 1) / 2].duration_ns + (double)e[i + g.n / 2].duration_ns) / 2;
        g_array_append_val(groups, g);
    }
    g_array_sort(groups, compare_totals);
    return groups;
}

GArray *
calibrate_groups_by_name(const CalibrateTrace *t)
{
    g_autoptr(GArray) entries = g_array_sized_new(FALSE, FALSE, sizeof(Entry), t->kernels->len);
    for (guint i = 0; i < t->kernels->len; i++) {
        const CalibrateKernel *k = &g_array_index(t->kernels, CalibrateKernel, i);
        const Entry entry = {{.kind = k->kind, .name = k->name, .bytes = -1}, k->duration_ns};
        g_array_append_val(entries, entry);
    }
    return groups_of(entries);
}

GArray *
calibrate_groups_by_operation(const CalibrateTrace *t)
{
    g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    for (guint i = 0; i < t->kernels->len; i++) {
        const CalibrateKernel *k = &g_array_index(t->kernels, CalibrateKernel, i);
        Entry entry = {{.kind = k->kind, .bytes = -1}, k->duration_ns};
        if (!(COMMUNICATION & BIT(k->kind)))
            continue;
        const char *name = calibrate_trace_name(t, k->name);
        entry.group.operation = k->kind == CALIBRATE_NCCL ? calibrate_collective_name(name)
                                                          : calibrate_exchange_name(name);
        const CalibrateCall *call = calibrate_kernel_call(t, k);
        if (k->kind == CALIBRATE_NCCL && call != NULL && call->kind == CALIBRATE_CALL_COLLECTIVE) {
            entry.group.operation = call->name;
            entry.group.bytes = call->bytes > 0 ? call->bytes : -1;
            entry.group.ranks = call->group_size;
        }
        g_array_append_val(entries, entry);
    }
    return groups_of(entries);
}
