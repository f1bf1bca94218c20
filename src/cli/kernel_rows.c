/* Rows of measured kernels, gathered by machine. */
#include "config.h"

#include "cli/kernel_rows.h"

#include "report/skipped.h"

#include <math.h>
#include <string.h>

enum { MAX_TIMES = 8 };

typedef struct {
    const ConfTable *table;
    CliKernelKind kind;
    guint dtype, shape[5], causal; /* m n k, or batch heads kv_heads head_dim seq */
    int gpu, source, op, pass, layout, batch;
    int times[MAX_TIMES], n_times;   /* of whatever pass the row says */
    int forward_time, backward_time; /* -1: passes are rows */
} Columns;

static void
group_free(gpointer data)
{
    CliKernelGroup *group = data;
    g_array_unref(group->shapes);
    g_hash_table_unref(group->index);
    g_free(group);
}

GPtrArray *
cli_kernel_groups_new(void)
{
    return g_ptr_array_new_with_free_func(group_free);
}

double
cli_kernel_shape_ns(const CliKernelShape *shape)
{
    return exp(shape->log_sum / shape->n);
}

/* --- columns ---------------------------------------------------------------------------------- */

static int
first_column(const ConfTable *t, const char *const *names)
{
    int column = -1;
    for (guint i = 0; names[i] != NULL && column < 0; i++)
        column = conf_table_find_column(t, names[i]);
    return column;
}

static void
find_times(Columns *c)
{
    for (guint i = 0; i < conf_table_n_columns(c->table); i++) {
        const char *name = conf_table_column_name(c->table, i);
        gboolean time = strcmp(name, "time_us") == 0 || strcmp(name, "alt_time_us") == 0 ||
                        g_str_has_prefix(name, "time_us_");
        if (time && c->n_times < MAX_TIMES)
            c->times[c->n_times++] = (int)i;
    }
    c->forward_time = conf_table_find_column(c->table, "forward_us");
    c->backward_time = conf_table_find_column(c->table, "backward_us");
}

static gboolean
need_shape(Columns *c, GError **error)
{
    static const char *const gemm[] = {"m", "n", "k"};
    static const char *const attention[] = {"batch", "heads", "kv_heads", "head_dim"};
    const ConfTable *t = c->table;
    if (c->kind == CLI_KERNEL_GEMM) {
        for (guint i = 0; i < G_N_ELEMENTS(gemm); i++)
            if (!conf_table_need_column(t, gemm[i], &c->shape[i], error))
                return FALSE;
        return TRUE;
    }
    for (guint i = 0; i < G_N_ELEMENTS(attention); i++)
        if (!conf_table_need_column(t, attention[i], &c->shape[i], error))
            return FALSE;
    const char *seq = conf_table_find_column(t, "seqlen") >= 0 ? "seqlen" : "seq";
    return conf_table_need_column(t, seq, &c->shape[4], error) &&
           conf_table_need_column(t, "causal", &c->causal, error);
}

static gboolean
find_columns(const ConfTable *t, Columns *c, GError **error)
{
    static const char *const sources[] = {"source", "software", "kernel", NULL};
    *c = (Columns){.table = t};
    c->kind = conf_table_find_column(t, "head_dim") >= 0 ? CLI_KERNEL_ATTENTION : CLI_KERNEL_GEMM;
    c->gpu = conf_table_find_column(t, "gpu");
    c->source = first_column(t, sources);
    c->op = conf_table_find_column(t, "op");
    c->pass = conf_table_find_column(t, "pass");
    c->layout = conf_table_find_column(t, "layout");
    c->batch = conf_table_find_column(t, "batch");
    find_times(c);
    if (!need_shape(c, error) || !conf_table_need_column(t, "dtype", &c->dtype, error))
        return FALSE;
    guint time;
    return c->n_times > 0 || (c->forward_time >= 0 && c->backward_time >= 0) ||
           conf_table_need_column(t, "time_us", &time, error);
}

static const char *
text_of(const Columns *c, guint row, int column)
{
    return column >= 0 ? conf_table_text(c->table, row, (guint)column) : "";
}

/* --- groups and shapes ------------------------------------------------------------------------ */

static CliKernelGroup *
group_of(GPtrArray *groups, const Columns *c, guint row, const CliKernelShape *shape)
{
    ClusterDtype dtype = shape->gemm.dtype;
    gboolean backward = shape->attention.backward, causal = shape->attention.causal;
    const char *file = conf_table_name(c->table), *source = text_of(c, row, c->source);
    const char *gpu = c->gpu >= 0 ? text_of(c, row, c->gpu) : NULL;
    for (guint i = groups->len; i-- > 0;) {
        CliKernelGroup *g = groups->pdata[i];
        if (g->kind == c->kind && g->dtype == dtype && !g->backward == !backward &&
            !g->causal == !causal && strcmp(g->file, file) == 0 && strcmp(g->source, source) == 0 &&
            g_strcmp0(g->gpu, gpu) == 0)
            return g;
    }
    CliKernelGroup *g = g_new0(CliKernelGroup, 1);
    *g = (CliKernelGroup){.kind = c->kind,
                          .file = file,
                          .source = source,
                          .gpu = gpu,
                          .dtype = dtype,
                          .backward = backward,
                          .causal = causal,
                          .shapes = g_array_new(FALSE, FALSE, sizeof(CliKernelShape)),
                          .index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
    g_ptr_array_add(groups, g);
    return g;
}

static char *
words_of(const CliKernelShape *s)
{
    const CostGemm *g = &s->gemm;
    const CostAttention *a = &s->attention;
    const gint64 numbers[] = {g->pass,  g->m,        g->n,        g->k,     g->batch,  a->batch,
                              a->heads, a->kv_heads, a->head_dim, a->seq_q, a->causal, a->backward};
    GString *words = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
        g_string_append_printf(words, "%" G_GINT64_FORMAT " ", numbers[i]);
    return g_string_free(words, FALSE);
}

static void
shape_add(CliKernelGroup *group, const CliKernelShape *like, double us)
{
    g_autofree char *words = words_of(like);
    guint at = GPOINTER_TO_UINT(g_hash_table_lookup(group->index, words));
    if (at == 0) {
        g_array_append_val(group->shapes, *like);
        at = group->shapes->len;
        g_hash_table_insert(group->index, g_steal_pointer(&words), GUINT_TO_POINTER(at));
    }
    CliKernelShape *shape = &g_array_index(group->shapes, CliKernelShape, at - 1);
    shape->log_sum += log(us * 1e3);
    shape->n++;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* "bfloat16" and "fp8_e4m3" are other people's names. FALSE: none that is modelled. */
static gboolean
read_dtype(const char *text, ClusterDtype *ret)
{
    const char *name = strcmp(text, "bfloat16") == 0        ? "bf16"
                       : strcmp(text, "float16") == 0       ? "fp16"
                       : strcmp(text, "float32") == 0       ? "fp32"
                       : g_str_has_prefix(text, "fp8_e4m3") ? "fp8"
                                                            : text;
    return cluster_dtype_parse(name, ret, NULL);
}

/* NULL, or why the row's pass is none. */
static const char *
read_pass(const Columns *c, guint row, CliKernelShape *shape)
{
    const char *pass = text_of(c, row, c->pass), *layout = text_of(c, row, c->layout);
    gboolean forward =
        strcmp(pass, "") == 0 || strcmp(pass, "forward") == 0 || strcmp(pass, "fwd") == 0;
    if (c->kind == CLI_KERNEL_ATTENTION) {
        shape->attention.backward = strcmp(pass, "bwd") == 0 || strcmp(pass, "backward") == 0;
        return forward || shape->attention.backward ? NULL : "both passes in one time";
    }
    gboolean dgrad = strcmp(pass, "dgrad") == 0 || strcmp(layout, "NN") == 0;
    gboolean wgrad = strcmp(pass, "wgrad") == 0 || strcmp(layout, "NT") == 0;
    if (!forward && !dgrad && !wgrad)
        return "the pass is none of forward, dgrad, wgrad";
    shape->gemm.pass = dgrad ? COST_GEMM_DGRAD : wgrad ? COST_GEMM_WGRAD : COST_GEMM_FORWARD;
    shape->gemm.accumulate_fp32 = wgrad;
    return NULL;
}

static gboolean
read_numbers(const Columns *c, guint row, CliKernelShape *shape, GError **error)
{
    CostAttention *a = &shape->attention;
    gint64 *gemm[] = {&shape->gemm.m, &shape->gemm.n, &shape->gemm.k};
    gint64 *attention[] = {&a->batch, &a->heads, &a->kv_heads, &a->head_dim, &a->seq_q};
    gboolean is_gemm = c->kind == CLI_KERNEL_GEMM;
    for (guint i = 0; i < (is_gemm ? G_N_ELEMENTS(gemm) : G_N_ELEMENTS(attention)); i++) {
        gint64 *at = is_gemm ? gemm[i] : attention[i];
        if (!conf_table_int(c->table, row, c->shape[i], at, error))
            return FALSE;
        if (*at < 1 || *at > G_MAXINT32) {
            conf_table_complain(c->table, row, c->shape[i], error, "must be from 1 to 2147483647");
            return FALSE;
        }
    }
    a->seq_kv = a->seq_q;
    shape->gemm.batch = 1;
    return !is_gemm || c->batch < 0 ||
           conf_table_int(c->table, row, (guint)c->batch, &shape->gemm.batch, error);
}

/* A row counts in the group of its first time. */
static gboolean
add_time(const Columns *c, guint row, int column, GPtrArray *groups, const CliKernelShape *shape,
         guint *n, GError **error)
{
    const char *text = text_of(c, row, column);
    double us;
    if (*text == '\0' || strcmp(text, "-") == 0)
        return TRUE;
    if (!conf_table_double(c->table, row, (guint)column, &us, error))
        return FALSE;
    if (!(us >= 1e-3) || us > 1e12) {
        conf_table_complain(c->table, row, (guint)column, error,
                            "must be from 0.001 to 1e12; write the time of one call in us");
        return FALSE;
    }
    CliKernelGroup *group = group_of(groups, c, row, shape);
    shape_add(group, shape, us);
    group->n_rows += *n == 0 ? 1 : 0;
    ++*n;
    return TRUE;
}

static gboolean
add_times(const Columns *c, guint row, GPtrArray *groups, CliKernelShape *shape, guint *n,
          GError **error)
{
    for (int i = 0; i < c->n_times; i++)
        if (!add_time(c, row, c->times[i], groups, shape, n, error))
            return FALSE;
    for (guint backward = 0; c->n_times == 0 && backward < 2; backward++) {
        shape->attention.backward = backward == 1;
        if (!add_time(c, row, backward == 1 ? c->backward_time : c->forward_time, groups, shape, n,
                      error))
            return FALSE;
    }
    return TRUE;
}

/* NULL, or why the row is of no use. */
static const char *
read_words(const Columns *c, guint row, CliKernelShape *shape, ClusterDtype *ret_dtype)
{
    const char *op = text_of(c, row, c->op);
    if (c->kind == CLI_KERNEL_GEMM && *op != '\0' && strcmp(op, "gemm") != 0 &&
        strcmp(op, "bmm") != 0)
        return "the op is neither gemm nor bmm";
    if (!read_dtype(conf_table_text(c->table, row, c->dtype), ret_dtype))
        return "the dtype is not modelled";
    shape->gemm.dtype = shape->attention.dtype = *ret_dtype;
    if (c->kind == CLI_KERNEL_ATTENTION) {
        const char *causal = conf_table_text(c->table, row, c->causal);
        if (strcmp(causal, "0") != 0 && strcmp(causal, "1") != 0)
            return "the mask is not certain";
        shape->attention.causal = *causal == '1';
    }
    for (guint i = 0; i < (c->kind == CLI_KERNEL_GEMM ? 3 : G_N_ELEMENTS(c->shape)); i++)
        if (*conf_table_text(c->table, row, c->shape[i]) == '\0')
            return "no shape";
    return read_pass(c, row, shape);
}

static gboolean
read_row(const Columns *c, guint row, GPtrArray *groups, GArray *skipped, GError **error)
{
    CliKernelShape shape = {.n = 0};
    ClusterDtype dtype;
    const char *why = read_words(c, row, &shape, &dtype);
    if (why != NULL) {
        report_skipped_add(skipped, why, 1);
        return TRUE;
    }
    if (!read_numbers(c, row, &shape, error))
        return FALSE;
    guint n = 0;
    if (!add_times(c, row, groups, &shape, &n, error))
        return FALSE;
    if (n == 0)
        report_skipped_add(skipped, "no time", 1);
    return TRUE;
}

gboolean
cli_kernel_read(const ConfTable *table, GPtrArray *groups, GArray *skipped, GError **error)
{
    Columns columns;
    if (!find_columns(table, &columns, error))
        return FALSE;
    for (guint row = 0; row < conf_table_n_rows(table); row++)
        if (!read_row(&columns, row, groups, skipped, error))
            return FALSE;
    return TRUE;
}
