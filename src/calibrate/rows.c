/* Rows as they come, merged by what they are of. */
#include "config.h"

#include "calibrate/tables.h"

#include "units/quantile.h"

#include <math.h>
#include <string.h>

typedef struct {
    char *key;
    double us[CALIBRATE_MAX_TIMES];
    guint sequence;
} Sample;

struct CalibrateRows {
    GArray *samples[CALIBRATE_N_TABLES]; /* of Sample, as they came */
    CalibrateMerge merge[CALIBRATE_N_TABLES];
    GArray *left_out; /* of CalibrateLeftOut */
};

static void
clear_sample(gpointer sample)
{
    g_free(((Sample *)sample)->key);
}

static void
clear_row(gpointer row)
{
    g_free(((CalibrateRow *)row)->key);
}

static void
clear_left_out(gpointer left_out)
{
    g_free(((CalibrateLeftOut *)left_out)->reason);
}

CalibrateRows *
calibrate_rows_new(void)
{
    CalibrateRows *rows = g_new0(CalibrateRows, 1);
    for (guint i = 0; i < CALIBRATE_N_TABLES; i++) {
        rows->samples[i] = g_array_new(FALSE, FALSE, sizeof(Sample));
        g_array_set_clear_func(rows->samples[i], clear_sample);
    }
    rows->left_out = g_array_new(FALSE, FALSE, sizeof(CalibrateLeftOut));
    g_array_set_clear_func(rows->left_out, clear_left_out);
    return rows;
}

void
calibrate_rows_free(CalibrateRows *rows)
{
    if (rows == NULL)
        return;
    for (guint i = 0; i < CALIBRATE_N_TABLES; i++)
        g_array_unref(rows->samples[i]);
    g_array_unref(rows->left_out);
    g_free(rows);
}

void
calibrate_rows_add(CalibrateRows *rows, CalibrateTableId id, const char *const *keys,
                   const double *us)
{
    const CalibrateTable *table = calibrate_table(id);
    const char *cells[CALIBRATE_MAX_COLUMNS + 1] = {NULL};
    for (guint i = 0; i < table->n_keys; i++)
        cells[i] = keys[i];
    Sample sample = {.key = g_strjoinv("\t", (char **)cells), .sequence = rows->samples[id]->len};
    for (guint i = 0; i < table->n_columns - table->n_keys; i++)
        sample.us[i] = us[i];
    g_array_append_val(rows->samples[id], sample);
}

void
calibrate_rows_leave_out(CalibrateRows *rows, const char *reason)
{
    for (guint i = 0; i < rows->left_out->len; i++) {
        CalibrateLeftOut *known = &g_array_index(rows->left_out, CalibrateLeftOut, i);
        if (strcmp(known->reason, reason) == 0) {
            known->n++;
            return;
        }
    }
    CalibrateLeftOut left_out = {g_strdup(reason), 1};
    g_array_append_val(rows->left_out, left_out);
}

void
calibrate_rows_set_merge(CalibrateRows *rows, CalibrateTableId table, CalibrateMerge merge)
{
    rows->merge[table] = merge;
}

guint
calibrate_rows_count(const CalibrateRows *rows, CalibrateTableId table)
{
    return rows->samples[table]->len;
}

const GArray *
calibrate_rows_left_out(const CalibrateRows *rows)
{
    return rows->left_out;
}

/* --- merging ------------------------------------------------------------------------------------ */

static int
compare_samples(gconstpointer a, gconstpointer b)
{
    const Sample *p = a, *q = b;
    int order = strcmp(p->key, q->key);
    return order != 0 ? order : p->sequence < q->sequence ? -1 : p->sequence > q->sequence;
}

/* Of those that are numbers; NAN where none is. */
static double
merge_times(const Sample *samples, guint n, guint column, CalibrateMerge merge)
{
    g_autoptr(GArray) values = g_array_sized_new(FALSE, FALSE, sizeof(double), n);
    for (guint i = 0; i < n; i++)
        if (!isnan(samples[i].us[column]))
            g_array_append_val(values, samples[i].us[column]);
    return units_quantile_of(values, merge == CALIBRATE_MERGE_LEAST ? 0 : 0.5);
}

typedef struct {
    CalibrateRow row;
    guint sequence; /* of its first sample */
} Merged;

static int
compare_merged(gconstpointer a, gconstpointer b)
{
    const Merged *p = a, *q = b;
    return p->sequence < q->sequence ? -1 : p->sequence > q->sequence;
}

GArray *
calibrate_rows_merged(const CalibrateRows *rows, CalibrateTableId id)
{
    const CalibrateTable *table = calibrate_table(id);
    guint n = rows->samples[id]->len;
    g_autofree Sample *sorted = g_memdup2(rows->samples[id]->data, n * sizeof(Sample));
    g_autoptr(GArray) merged = g_array_new(FALSE, FALSE, sizeof(Merged));
    if (n > 0)
        qsort(sorted, n, sizeof *sorted, compare_samples);
    for (guint i = 0, end; i < n; i = end) {
        for (end = i; end < n && strcmp(sorted[end].key, sorted[i].key) == 0;)
            end++;
        Merged m = {{.key = sorted[i].key, .samples = end - i}, sorted[i].sequence};
        for (guint c = 0; c < table->n_columns - table->n_keys; c++)
            m.row.us[c] = merge_times(&sorted[i], end - i, c, rows->merge[id]);
        g_array_append_val(merged, m);
    }
    g_array_sort(merged, compare_merged);
    GArray *out = g_array_sized_new(FALSE, FALSE, sizeof(CalibrateRow), merged->len);
    g_array_set_clear_func(out, clear_row);
    for (guint i = 0; i < merged->len; i++) {
        CalibrateRow row = g_array_index(merged, Merged, i).row;
        row.key = g_strdup(row.key);
        g_array_append_val(out, row);
    }
    return out;
}
