/* Events -> the GPU's kernels with their calls. Of the host only calls that have a shape, launches and steps are kept. */
#include "config.h"

#include "calibrate/trace.h"

#include "calibrate/error.h"

#include <string.h>

#define MAX_NAME_BYTES 512 /* of a kernel: templates are longer than what tells them apart */

typedef struct {
    gint64 correlation, begin_ns;
    guint64 thread;
} Launch;

typedef struct {
    CalibrateTrace *trace;
    GHashTable *known; /* text -> index into names; looked up only */
    GArray *kinds;     /* of gint8: CalibrateKind of a kernel of that name; -1: not asked yet */
    GArray *launches;  /* of Launch */
    GString *call;
} Loader;

typedef enum {
    EVENT_OTHER,
    EVENT_KERNEL,
    EVENT_COPY,
    EVENT_LAUNCH,
    EVENT_CALL,
    EVENT_NOTE
} EventKind;

/* Names of categories have changed over PyTorch's versions. */
static EventKind
kind_of(const char *category)
{
    static const struct {
        const char *name;
        EventKind kind;
    } kinds[] = {
        {"cpu_op", EVENT_CALL},        {"operator", EVENT_CALL},
        {"kernel", EVENT_KERNEL},      {"cuda_runtime", EVENT_LAUNCH},
        {"cuda_driver", EVENT_LAUNCH}, {"hip_runtime", EVENT_LAUNCH},
        {"runtime", EVENT_LAUNCH},     {"gpu_memcpy", EVENT_COPY},
        {"gpu_memset", EVENT_COPY},    {"memcpy", EVENT_COPY},
        {"memset", EVENT_COPY},        {"user_annotation", EVENT_NOTE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (g_ascii_tolower(category[0]) == kinds[i].name[0] &&
            g_ascii_strcasecmp(category, kinds[i].name) == 0)
            return kinds[i].kind;
    return EVENT_OTHER;
}

const char *
calibrate_trace_name(const CalibrateTrace *trace, guint index)
{
    g_assert(index < trace->names->len);
    return trace->names->pdata[index];
}

const CalibrateCall *
calibrate_op_call(const CalibrateTrace *trace, guint op)
{
    return trace->calls->pdata[g_array_index(trace->ops, CalibrateOp, op).text];
}

const CalibrateCall *
calibrate_kernel_call(const CalibrateTrace *trace, const CalibrateKernel *kernel)
{
    if (kernel->call != 0)
        return trace->calls->pdata[kernel->call];
    return kernel->op >= 0 ? calibrate_op_call(trace, (guint)kernel->op) : NULL;
}

static guint
intern(Loader *l, const char *text, gsize most)
{
    g_autofree char *cut = NULL;
    if (strlen(text) > most) {
        const char *end = text + most;
        while (((guchar)*end & 0xc0) == 0x80)
            end--;
        text = cut = g_strndup(text, (gsize)(end - text));
    }
    gpointer index;
    if (g_hash_table_lookup_extended(l->known, text, NULL, &index))
        return GPOINTER_TO_UINT(index);
    char *copy = g_strdup(text);
    const gint8 unknown = -1;
    g_ptr_array_add(l->trace->names, copy);
    g_array_append_val(l->kinds, unknown);
    g_hash_table_insert(l->known, copy, GUINT_TO_POINTER(l->trace->names->len - 1));
    return l->trace->names->len - 1;
}

static gint64
number_of(const char *text)
{
    gint64 value;
    return g_ascii_string_to_signed(text, 10, 0, G_MAXINT64, &value, NULL) ? value : -1;
}

/* Names are long and few. */
static CalibrateKind
kernel_kind(Loader *l, guint name)
{
    gint8 *kind = &g_array_index(l->kinds, gint8, name);
    if (*kind < 0)
        *kind = (gint8)calibrate_kernel_kind(calibrate_trace_name(l->trace, name));
    return (CalibrateKind)*kind;
}

static void
take_kernel(Loader *l, const CalibrateEvent *e, gboolean copy)
{
    guint name = intern(l, e->name, MAX_NAME_BYTES);
    CalibrateKernel kernel = {
        .begin_ns = e->begin_ns,
        .duration_ns = e->duration_ns,
        .correlation = number_of(e->args[CALIBRATE_ARG_CORRELATION]),
        .kind = copy ? CALIBRATE_COPY : kernel_kind(l, name),
        .name = name,
        .op = -1,
    };
    g_string_truncate(l->call, 0);
    if (kernel.kind == CALIBRATE_NCCL && calibrate_call_pack(e, l->call))
        kernel.call = intern(l, l->call->str, G_MAXSIZE);
    g_array_append_val(l->trace->kernels, kernel);
}

static void
take_call(Loader *l, const CalibrateEvent *e)
{
    g_string_truncate(l->call, 0);
    if (!calibrate_call_pack(e, l->call))
        return;
    CalibrateOp op = {.begin_ns = e->begin_ns,
                      .end_ns = e->begin_ns + e->duration_ns,
                      .thread = e->thread,
                      .text = intern(l, l->call->str, G_MAXSIZE),
                      .parent = -1};
    g_array_append_val(l->trace->ops, op);
}

static gboolean
take(const CalibrateEvent *e, gpointer user, G_GNUC_UNUSED GError **error)
{
    Loader *l = user;
    EventKind kind = kind_of(e->category);
    gboolean gpu = kind == EVENT_KERNEL || kind == EVENT_COPY;
    l->trace->n_events++;
    if (e->phase != 'X' || !e->timed) {
        l->trace->n_untimed += gpu;
        return TRUE;
    }
    if (strncmp(e->name, "ProfilerStep#", 13) == 0 && (kind == EVENT_NOTE || kind == EVENT_CALL)) {
        CalibrateStep step = {g_strdup(e->name), e->begin_ns, e->duration_ns};
        g_array_append_val(l->trace->steps, step);
    } else if (gpu) {
        take_kernel(l, e, kind == EVENT_COPY);
    } else if (kind == EVENT_LAUNCH) {
        Launch launch = {number_of(e->args[CALIBRATE_ARG_CORRELATION]), e->begin_ns, e->thread};
        if (launch.correlation >= 0)
            g_array_append_val(l->launches, launch);
    } else if (kind == EVENT_CALL) {
        take_call(l, e);
    }
    return TRUE;
}

/* --- order -------------------------------------------------------------------------------------- */

static int
compare_int64(gint64 a, gint64 b)
{
    return a < b ? -1 : a > b;
}

static int
compare_kernels(gconstpointer a, gconstpointer b)
{
    const CalibrateKernel *p = a, *q = b;
    int order = compare_int64(p->begin_ns, q->begin_ns);
    if (order == 0)
        order = compare_int64(p->duration_ns, q->duration_ns);
    if (order == 0)
        order = compare_int64(p->name, q->name);
    return order != 0 ? order : compare_int64(p->correlation, q->correlation);
}

static int
compare_ops(gconstpointer a, gconstpointer b)
{
    const CalibrateOp *p = a, *q = b;
    if (p->thread != q->thread)
        return p->thread < q->thread ? -1 : 1;
    int order = compare_int64(p->begin_ns, q->begin_ns);
    if (order == 0)
        order = compare_int64(q->end_ns, p->end_ns); /* the outer one first */
    return order != 0 ? order : compare_int64(p->text, q->text);
}

static int
compare_launches(gconstpointer a, gconstpointer b)
{
    const Launch *p = a, *q = b;
    int order = compare_int64(p->correlation, q->correlation);
    if (order == 0)
        order = compare_int64(p->begin_ns, q->begin_ns);
    return order != 0 ? order : p->thread < q->thread ? -1 : p->thread > q->thread;
}

static int
compare_steps(gconstpointer a, gconstpointer b)
{
    const CalibrateStep *p = a, *q = b;
    int order = compare_int64(p->begin_ns, q->begin_ns);
    return order != 0 ? order : strcmp(p->name, q->name);
}

/* --- who launched what -------------------------------------------------------------------------- */

static void
find_parents(GArray *ops)
{
    CalibrateOp *all = (CalibrateOp *)ops->data;
    gint around = -1;
    for (guint i = 0; i < ops->len; i++) {
        while (around >= 0 &&
               (all[around].thread != all[i].thread || all[around].end_ns < all[i].end_ns))
            around = all[around].parent;
        all[i].parent = around;
        around = (gint)i;
    }
}

/* The innermost op of the thread that was running at that time. */
static gint
op_at(const GArray *ops, guint64 thread, gint64 at_ns)
{
    const CalibrateOp *all = (const CalibrateOp *)ops->data;
    guint low = 0, high = ops->len; /* the first that is after (thread, at_ns) */
    while (low < high) {
        guint middle = low + (high - low) / 2;
        const CalibrateOp *op = &all[middle];
        if (op->thread < thread || (op->thread == thread && op->begin_ns <= at_ns))
            low = middle + 1;
        else
            high = middle;
    }
    gint op = (gint)low - 1;
    if (op >= 0 && all[op].thread != thread)
        op = -1;
    while (op >= 0 && all[op].end_ns < at_ns)
        op = all[op].parent;
    return op;
}

static const Launch *
launch_of(const GArray *launches, gint64 correlation)
{
    const Launch *all = (const Launch *)launches->data;
    guint low = 0, high = launches->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (all[middle].correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low < launches->len && all[low].correlation == correlation ? &all[low] : NULL;
}

static void
mark_alone(GArray *kernels)
{
    gint last = -1; /* kernel that ends last so far */
    for (guint i = 0; i < kernels->len; i++) {
        CalibrateKernel *k = &g_array_index(kernels, CalibrateKernel, i);
        k->alone = k->kind != CALIBRATE_COPY;
        if (!k->alone)
            continue;
        CalibrateKernel *before = last >= 0 ? &g_array_index(kernels, CalibrateKernel, last) : NULL;
        if (before != NULL && before->begin_ns + before->duration_ns > k->begin_ns)
            before->alone = k->alone = FALSE;
        if (before == NULL ||
            before->begin_ns + before->duration_ns <= k->begin_ns + k->duration_ns)
            last = (gint)i;
    }
}

static void
read_call(CalibrateTrace *t, guint text)
{
    if (t->calls->pdata[text] != NULL)
        return;
    CalibrateCall call = calibrate_call_read(calibrate_trace_name(t, text));
    t->calls->pdata[text] = g_memdup2(&call, sizeof call);
}

/* Calls of one shape are many, and read once. */
static void
read_calls(CalibrateTrace *t)
{
    g_ptr_array_set_size(t->calls, (gint)t->names->len);
    for (guint i = 0; i < t->ops->len; i++)
        read_call(t, g_array_index(t->ops, CalibrateOp, i).text);
    for (guint i = 0; i < t->kernels->len; i++) {
        guint call = g_array_index(t->kernels, CalibrateKernel, i).call;
        if (call != 0)
            read_call(t, call);
    }
}

static void
link_kernels(Loader *l)
{
    CalibrateTrace *t = l->trace;
    g_array_sort(t->kernels, compare_kernels);
    g_array_sort(t->ops, compare_ops);
    g_array_sort(l->launches, compare_launches);
    g_array_sort(t->steps, compare_steps);
    find_parents(t->ops);
    mark_alone(t->kernels);
    read_calls(t);
    for (guint i = 0; i < t->kernels->len; i++) {
        CalibrateKernel *k = &g_array_index(t->kernels, CalibrateKernel, i);
        const Launch *launch = k->correlation >= 0 ? launch_of(l->launches, k->correlation) : NULL;
        if (launch != NULL)
            k->op = op_at(t->ops, launch->thread, launch->begin_ns);
    }
}

/* --- whole traces ------------------------------------------------------------------------------- */

/* "sampled_rank-0.json.gz", "rank_12", "rank7", Chakra's "all_reduce.3.et": 0, 12, 7, 3; -1: it has none. */
static gint64
rank_of_name(const char *path)
{
    g_autofree char *name = g_path_get_basename(path);
    const char *at = strstr(name, "rank"), *end = strstr(name, ".et");
    if (at != NULL)
        at += 4 + strspn(at + 4, "-_.");
    else if (end != NULL)
        for (at = end; at > name && g_ascii_isdigit(at[-1]); at--)
            ;
    else
        return -1;
    gsize digits = strspn(at, "0123456789");
    g_autofree char *number = g_strndup(at, digits);
    return digits > 0 && digits < 10 ? number_of(number) : -1;
}

static void
clear_step(gpointer step)
{
    g_free(((CalibrateStep *)step)->name);
}

static void
loader_init(Loader *l, const char *path)
{
    CalibrateTrace *t = g_new0(CalibrateTrace, 1);
    t->path = g_strdup(path);
    t->names = g_ptr_array_new_with_free_func(g_free);
    t->calls = g_ptr_array_new_with_free_func(g_free);
    t->kernels = g_array_new(FALSE, FALSE, sizeof(CalibrateKernel));
    t->ops = g_array_new(FALSE, FALSE, sizeof(CalibrateOp));
    t->steps = g_array_new(FALSE, FALSE, sizeof(CalibrateStep));
    g_array_set_clear_func(t->steps, clear_step);
    *l = (Loader){.trace = t,
                  .known = g_hash_table_new(g_str_hash, g_str_equal),
                  .kinds = g_array_new(FALSE, FALSE, sizeof(gint8)),
                  .launches = g_array_new(FALSE, FALSE, sizeof(Launch)),
                  .call = g_string_new(NULL)};
    intern(l, "", 0);
}

static CalibrateTrace *
loader_finish(Loader *l, gboolean done)
{
    CalibrateTrace *t = l->trace;
    if (done) {
        link_kernels(l);
        t->rank = t->header.rank;
        if (t->rank < 0) {
            t->rank = rank_of_name(t->path);
            t->rank_of_name = t->rank >= 0;
        }
    }
    g_hash_table_unref(l->known);
    g_array_unref(l->kinds);
    g_array_unref(l->launches);
    g_string_free(l->call, TRUE);
    if (done)
        return t;
    calibrate_trace_free(t);
    return NULL;
}

CalibrateTrace *
calibrate_trace_load(const char *path, GError **error)
{
    Loader l;
    loader_init(&l, path);
    return loader_finish(&l, calibrate_events_load(path, take, &l, &l.trace->header, error));
}

CalibrateTrace *
calibrate_trace_parse(const char *name, const char *text, gsize length, GError **error)
{
    Loader l;
    loader_init(&l, name);
    return loader_finish(
        &l, calibrate_events_parse(name, text, length, take, &l, &l.trace->header, error));
}

CalibrateTrace *
calibrate_trace_gather(const char *path, CalibrateTraceSource source, gpointer user, GError **error)
{
    Loader l;
    loader_init(&l, path);
    return loader_finish(&l, source(path, take, &l, &l.trace->header, user, error));
}

void
calibrate_trace_free(CalibrateTrace *t)
{
    if (t == NULL)
        return;
    g_free(t->path);
    calibrate_header_clear(&t->header);
    g_ptr_array_unref(t->names);
    g_ptr_array_unref(t->calls);
    g_array_unref(t->kernels);
    g_array_unref(t->ops);
    g_array_unref(t->steps);
    g_free(t);
}
