/* Reads attention.tsv; one surface each for (forward, backward) x (full, causal).
 *
 * Coordinates: log2 of the sequence length, log2 of the head dimension, and a quarter each of log2 of batch x
 * heads and of query heads a key head: what these do to the time, filling the SMs in waves and loading keys, is
 * for the most part in the reference. fp16 and bf16 rows count alike: flash
 * kernels run both at one rate. */
#include "config.h"

#include "cost/attention_table.h"

#include "cost/cells.h"
#include "cost/roofline.h"

#include <math.h>

typedef struct {
    CostAttention attention;
    double ns;
} Row;

struct CostAttentionTable {
    GArray *rows;                /* Row, in the file's order; there are few */
    guint n_rows;                /* of the file: one may hold both passes */
    CostSurface *surfaces[2][2]; /* [backward][causal] */
};

static void
coordinates(const CostAttention *a, double x[COST_SURFACE_AXES])
{
    x[0] = (log2((double)a->seq_q) + log2((double)a->seq_kv)) / 2;
    x[1] = log2((double)(a->head_dim + (a->v_dim > 0 ? a->v_dim : a->head_dim)) / 2);
    x[2] = log2((double)a->batch * (double)a->heads) / 4;
    x[3] = log2((double)a->heads / (double)a->kv_heads) / 4;
    for (int axis = 4; axis < COST_SURFACE_AXES; axis++)
        x[axis] = 0;
}

typedef struct {
    guint dtype, batch, heads, kv_heads, head_dim, seq, causal, times[2];
} Columns;

static gboolean
find_columns(const ConfTable *t, Columns *c, GError **error)
{
    return conf_table_need_column(t, "dtype", &c->dtype, error) &&
           conf_table_need_column(t, "batch", &c->batch, error) &&
           conf_table_need_column(t, "heads", &c->heads, error) &&
           conf_table_need_column(t, "kv_heads", &c->kv_heads, error) &&
           conf_table_need_column(t, "head_dim", &c->head_dim, error) &&
           conf_table_need_column(t, "seq", &c->seq, error) &&
           conf_table_need_column(t, "causal", &c->causal, error) &&
           conf_table_need_column(t, "forward_us", &c->times[0], error) &&
           conf_table_need_column(t, "backward_us", &c->times[1], error);
}

static gboolean
read_shape(const ConfTable *t, guint i, const Columns *c, CostAttention *a, GError **error)
{
    if (!cost_read_dtype(t, i, c->dtype, &a->dtype, error) ||
        !cost_read_count(t, i, c->batch, &a->batch, error) ||
        !cost_read_count(t, i, c->heads, &a->heads, error) ||
        !cost_read_count(t, i, c->kv_heads, &a->kv_heads, error) ||
        !cost_read_count(t, i, c->head_dim, &a->head_dim, error) ||
        !cost_read_count(t, i, c->seq, &a->seq_q, error))
        return FALSE;
    a->seq_kv = a->seq_q;
    const char *causal = conf_table_text(t, i, c->causal);
    if (!g_str_equal(causal, "0") && !g_str_equal(causal, "1")) {
        conf_table_complain(t, i, c->causal, error, "'%s' is neither; write 0 or 1", causal);
        return FALSE;
    }
    a->causal = *causal == '1';
    return TRUE;
}

static gboolean
read_row(CostAttentionTable *table, const ClusterSystem *system, const ConfTable *t, guint i,
         const Columns *c, GError **error)
{
    Row row = {.ns = 0};
    if (!read_shape(t, i, c, &row.attention, error))
        return FALSE;
    for (guint pass = 0; pass < 2; pass++) {
        const char *text = conf_table_text(t, i, c->times[pass]);
        if (*text == '\0' || g_str_equal(text, "-"))
            continue;
        if (!cost_read_time(t, i, c->times[pass], &row.ns, error))
            return FALSE;
        row.attention.backward = pass == 1;
        g_array_append_val(table->rows, row);
        double x[COST_SURFACE_AXES];
        coordinates(&row.attention, x);
        double y = log(cost_attention_reference_ns(system, &row.attention) / row.ns);
        cost_surface_add(table->surfaces[pass][row.attention.causal], x, y);
    }
    return TRUE;
}

CostAttentionTable *
cost_attention_table_new(const ClusterSystem *system, const ConfTable *rows, GError **error)
{
    Columns c;
    if (!find_columns(rows, &c, error))
        return NULL;
    g_autoptr(CostAttentionTable) t = g_new0(CostAttentionTable, 1);
    t->rows = g_array_new(FALSE, FALSE, sizeof(Row));
    t->n_rows = conf_table_n_rows(rows);
    for (guint s = 0; s < 4; s++)
        t->surfaces[s / 2][s % 2] = cost_surface_new();
    for (guint i = 0; i < t->n_rows; i++)
        if (!read_row(t, system, rows, i, &c, error))
            return NULL;
    for (guint s = 0; s < 4; s++)
        cost_surface_build(t->surfaces[s / 2][s % 2]);
    return g_steal_pointer(&t);
}

void
cost_attention_table_free(CostAttentionTable *t)
{
    if (!t)
        return;
    g_array_unref(t->rows);
    for (guint s = 0; s < 4; s++)
        cost_surface_free(t->surfaces[s / 2][s % 2]);
    g_free(t);
}

guint
cost_attention_table_n_rows(const CostAttentionTable *t)
{
    return t->n_rows;
}

static gboolean
has_one_width(const CostAttention *a)
{
    return a->v_dim == 0 || a->v_dim == a->head_dim;
}

static gboolean
is_same(const CostAttention *a, const CostAttention *b)
{
    return has_one_width(a) && has_one_width(b) && a->batch == b->batch && a->heads == b->heads &&
           a->kv_heads == b->kv_heads && a->head_dim == b->head_dim && a->seq_q == b->seq_q &&
           a->seq_kv == b->seq_kv && !a->causal == !b->causal && !a->backward == !b->backward &&
           cluster_dtype_bytes(a->dtype) == cluster_dtype_bytes(b->dtype);
}

gboolean
cost_attention_table_find(const CostAttentionTable *t, const CostAttention *a, double *ret_ns)
{
    for (guint i = 0; i < t->rows->len; i++) {
        const Row *row = &g_array_index(t->rows, Row, i);
        if (is_same(&row->attention, a)) {
            *ret_ns = row->ns;
            return TRUE;
        }
    }
    return FALSE;
}

gboolean
cost_attention_table_log_efficiency(const CostAttentionTable *t, const CostAttention *a,
                                    CostEstimate *ret, gboolean *ret_other_mask)
{
    const CostSurface *surface = t->surfaces[a->backward ? 1 : 0][a->causal ? 1 : 0];
    const CostSurface *other = t->surfaces[a->backward ? 1 : 0][a->causal ? 0 : 1];
    gboolean has_own = cost_surface_n_points(surface) > 0;
    if (!has_own && !cost_surface_n_points(other))
        return FALSE;
    double x[COST_SURFACE_AXES];
    coordinates(a, x);
    *ret = cost_surface_at(has_own ? surface : other, x);
    *ret_other_mask = !has_own;
    return TRUE;
}
