/* Reads memory.tsv and interpolates rates. */
#include "config.h"

#include "cost/memory_table.h"

#include "conf/complaint.h"
#include "cost/cells.h"

#include <math.h>

/* Expected relative error: between rows; outside of them, and for each octave that it is outside.  Each counts as much
 * as what one row is off when it is left out.  (A row between its neighbours is twice as far from them as what is
 * asked for between rows, and off by as much more.) */
#define ERROR_BETWEEN 0.04
#define ERROR_OUTSIDE 0.05
#define ERROR_OCTAVE 0.02
#define LEFT_OUT 0.5
/* Of a row without others: as far as the rates of unlike sizes commonly lie apart. */
#define OFF_ALONE 0.1
/* Beyond so many octaves outside the rows a time is a model's. */
#define FAR_OUTSIDE 3.0
/* A mean absolute error of a normal distribution times this is its sigma. */
#define SIGMA_OF_MEAN 1.2533

typedef struct {
    gint64 bytes;
    double ns;
    double off; /* |ln| of its time over what the others say */
} Row;

struct CostMemoryTable {
    GArray *rows[COST_N_MEMORY_KERNELS]; /* Row, by bytes */
    guint n_rows;
};

static gboolean
read_kernel(const ConfTable *table, guint row, guint column, CostMemoryKernel *ret, GError **error)
{
    const char *names[COST_N_MEMORY_KERNELS + 1] = {NULL};
    const char *text = conf_table_text(table, row, column);
    for (guint i = 0; i < COST_N_MEMORY_KERNELS; i++) {
        names[i] = cost_memory_kernel_name((CostMemoryKernel)i);
        if (g_str_equal(text, names[i])) {
            *ret = (CostMemoryKernel)i;
            return TRUE;
        }
    }
    g_autofree char *hint = conf_hint(text, names);
    g_autofree char *list = g_strjoinv(", ", (char **)names);
    conf_table_complain(table, row, column, error, "'%s' is no kernel%s; write one of %s", text,
                        hint, list);
    return FALSE;
}

static int
compare_rows(gconstpointer a, gconstpointer b)
{
    const Row *p = a, *q = b;
    if (p->bytes != q->bytes)
        return p->bytes < q->bytes ? -1 : 1;
    return p->ns < q->ns ? -1 : p->ns > q->ns;
}

static gboolean
read_bytes(const ConfTable *table, guint row, guint column, gint64 *ret, GError **error)
{
    gint64 bytes = 0;
    if (!conf_table_int(table, row, column, &bytes, error))
        return FALSE;
    if (bytes < 1) {
        conf_table_complain(table, row, column, error, "must be more than 0");
        return FALSE;
    }
    *ret = bytes;
    return TRUE;
}

/* Bytes per ns between two rows. */
static double
rate_between(const Row *low, const Row *high, double bytes)
{
    double low_rate = (double)low->bytes / low->ns, high_rate = (double)high->bytes / high->ns;
    double x = log(bytes / (double)low->bytes) / log((double)high->bytes / (double)low->bytes);
    return exp(log(low_rate) + x * (log(high_rate) - log(low_rate)));
}

/* What the rows beside one say of it: of the first and the last the rate of the next one. */
static void
leave_out(GArray *rows)
{
    for (guint i = 0; i < rows->len; i++) {
        Row *row = &g_array_index(rows, Row, i);
        double bytes = (double)row->bytes, rate = bytes / row->ns;
        if (i > 0 && i + 1 < rows->len && row[1].bytes > row[-1].bytes)
            row->off = fabs(log(rate / rate_between(row - 1, row + 1, bytes)));
        else if (rows->len > 1) {
            const Row *other = i > 0 ? row - 1 : row + 1;
            row->off = fabs(log(rate * other->ns / (double)other->bytes));
        } else {
            row->off = OFF_ALONE;
        }
    }
}

CostMemoryTable *
cost_memory_table_new(const ConfTable *rows, GError **error)
{
    guint kernel_column, bytes_column, time_column;
    if (!conf_table_need_column(rows, "kernel", &kernel_column, error) ||
        !conf_table_need_column(rows, "bytes", &bytes_column, error) ||
        !conf_table_need_column(rows, "time_us", &time_column, error))
        return NULL;
    g_autoptr(CostMemoryTable) t = g_new0(CostMemoryTable, 1);
    for (guint i = 0; i < COST_N_MEMORY_KERNELS; i++)
        t->rows[i] = g_array_new(FALSE, FALSE, sizeof(Row));
    t->n_rows = conf_table_n_rows(rows);
    for (guint i = 0; i < t->n_rows; i++) {
        CostMemoryKernel kernel;
        Row row = {0};
        if (!read_kernel(rows, i, kernel_column, &kernel, error) ||
            !read_bytes(rows, i, bytes_column, &row.bytes, error) ||
            !cost_read_time(rows, i, time_column, &row.ns, error))
            return NULL;
        g_array_append_val(t->rows[kernel], row);
    }
    for (guint i = 0; i < COST_N_MEMORY_KERNELS; i++) {
        g_array_sort(t->rows[i], compare_rows);
        leave_out(t->rows[i]);
    }
    return g_steal_pointer(&t);
}

void
cost_memory_table_free(CostMemoryTable *t)
{
    if (!t)
        return;
    for (guint i = 0; i < COST_N_MEMORY_KERNELS; i++)
        if (t->rows[i])
            g_array_unref(t->rows[i]);
    g_free(t);
}

guint
cost_memory_table_n_rows(const CostMemoryTable *t)
{
    return t->n_rows;
}

static CostTime
between(const Row *low, const Row *high, double bytes)
{
    double off = SIGMA_OF_MEAN * LEFT_OUT * (low->off + high->off);
    return (CostTime){bytes / rate_between(low, high, bytes), COST_INTERPOLATED,
                      (off + ERROR_BETWEEN) / 3, 0};
}

static CostTime
outside(const Row *row, double ns, double octaves)
{
    double error = (SIGMA_OF_MEAN * row->off + ERROR_OUTSIDE) / 2 + ERROR_OCTAVE * octaves;
    return (CostTime){ns, octaves > FAR_OUTSIDE ? COST_MODELLED : COST_INTERPOLATED, error, 0};
}

/* The first row of at least so many bytes; rows->len: none. */
static guint
first_from(const GArray *rows, double bytes)
{
    guint low = 0, high = rows->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if ((double)g_array_index(rows, Row, middle).bytes < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

gboolean
cost_memory_table_time(const CostMemoryTable *t, CostMemoryKernel kernel, double bytes,
                       double floor_ns, CostTime *ret)
{
    const GArray *rows = t->rows[kernel];
    if (!rows->len)
        return FALSE;
    const Row *first = &g_array_index(rows, Row, 0),
              *last = &g_array_index(rows, Row, rows->len - 1);
    guint i = first_from(rows, bytes);
    const Row *next = i < rows->len ? &g_array_index(rows, Row, i) : NULL;
    if (next && !((double)next->bytes > bytes))
        *ret = (CostTime){next->ns, COST_MEASURED, 0, 0};
    else if (i == 0)
        *ret = outside(first,
                       MIN(floor_ns, first->ns) +
                           MAX(0, first->ns - floor_ns) * bytes / (double)first->bytes,
                       MIN(log2((double)first->bytes / MAX(bytes, 1)), FAR_OUTSIDE));
    else if (!next)
        *ret = outside(last, bytes * last->ns / (double)last->bytes,
                       log2(bytes / (double)last->bytes));
    else
        *ret = between(next - 1, next, bytes);
    return TRUE;
}
