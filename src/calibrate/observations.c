/* Rows in order of their series and place. */
#include "config.h"

#include "calibrate/observations.h"

#include "calibrate/observed_rows.h"
#include "units/quantile.h"

#include <string.h>

static int
compare_rows(gconstpointer a, gconstpointer b)
{
    const CalibrateObservation *p = a, *q = b;
    if (p->series != q->series)
        return p->series < q->series ? -1 : 1;
    for (guint axis = 0; axis < CALIBRATE_AXES; axis++)
        if (p->x[axis] != q->x[axis])
            return p->x[axis] < q->x[axis] ? -1 : 1;
    return p->line < q->line ? -1 : p->line > q->line;
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The least but for one in twenty: one wrong row does not make it. */
static double
base_of(const CalibrateObservations *o, const CalibrateSeries *s)
{
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = s->first; i < s->first + s->n; i++)
        g_array_append_val(values, calibrate_observation_at(o, i)->value);
    g_array_sort(values, units_compare_doubles);
    guint at = MIN(values->len - 1, values->len / 20 + (values->len > 4 ? 1 : 0));
    return g_array_index(values, double, at);
}

static guint
count_axes(const CalibrateObservations *o, const CalibrateSeries *s)
{
    const CalibrateObservation *first = calibrate_observation_at(o, s->first);
    guint n = 0;
    for (guint axis = 0; axis < CALIBRATE_AXES; axis++) {
        gboolean differs = FALSE;
        for (guint i = s->first + 1; i < s->first + s->n && !differs; i++)
            differs = calibrate_observation_at(o, i)->x[axis] != first->x[axis];
        n += differs;
    }
    return n;
}

static void
series_clear(gpointer data)
{
    g_free(((CalibrateSeries *)data)->of);
}

/* Series in order of name, and their rows together. */
static CalibrateObservations *
gather(ClusterTable table, const GPtrArray *names, GArray *rows)
{
    CalibrateObservations *o = g_new0(CalibrateObservations, 1);
    o->table = table;
    o->rows = g_array_ref(rows);
    o->series = g_array_new(FALSE, FALSE, sizeof(CalibrateSeries));
    g_array_set_clear_func(o->series, series_clear);
    g_autoptr(GPtrArray) sorted = g_ptr_array_new();
    for (guint i = 0; i < names->len; i++)
        g_ptr_array_add(sorted, names->pdata[i]);
    g_ptr_array_sort(sorted, compare_names);
    g_autoptr(GHashTable) ids = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < sorted->len; i++) {
        if (g_hash_table_contains(ids, sorted->pdata[i]))
            continue;
        g_hash_table_insert(ids, sorted->pdata[i], GUINT_TO_POINTER(o->series->len));
        CalibrateSeries s = {.of = g_strdup(sorted->pdata[i])};
        g_array_append_val(o->series, s);
    }
    for (guint i = 0; i < o->rows->len; i++)
        g_array_index(o->rows, CalibrateObservation, i).series =
            GPOINTER_TO_UINT(g_hash_table_lookup(ids, names->pdata[i]));
    g_array_sort(o->rows, compare_rows);
    for (guint i = o->rows->len; i-- > 0;) {
        CalibrateSeries *s =
            &g_array_index(o->series, CalibrateSeries, calibrate_observation_at(o, i)->series);
        s->first = i;
        s->n++;
    }
    for (guint i = 0; i < o->series->len; i++) {
        CalibrateSeries *s = &g_array_index(o->series, CalibrateSeries, i);
        s->base = base_of(o, s);
        s->n_axes = count_axes(o, s);
    }
    return o;
}

CalibrateObservations *
calibrate_observe(const ClusterSystem *system, ClusterTable table, const ConfTable *rows,
                  GError **error)
{
    g_assert(table < CLUSTER_N_TABLES);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GArray) read = g_array_new(FALSE, FALSE, sizeof(CalibrateObservation));
    return calibrate_read_observations(system, table, rows, names, read, error)
               ? gather(table, names, read)
               : NULL;
}

void
calibrate_observations_free(CalibrateObservations *o)
{
    if (o == NULL)
        return;
    g_array_unref(o->series);
    g_array_unref(o->rows);
    g_free(o);
}

const CalibrateSeries *
calibrate_series_at(const CalibrateObservations *o, guint i)
{
    g_assert(i < o->series->len);
    return &g_array_index(o->series, CalibrateSeries, i);
}

const CalibrateObservation *
calibrate_observation_at(const CalibrateObservations *o, guint i)
{
    g_assert(i < o->rows->len);
    return &g_array_index(o->rows, CalibrateObservation, i);
}

const CalibrateSeries *
calibrate_series_find(const CalibrateObservations *o, const char *of)
{
    for (guint i = 0; i < o->series->len; i++)
        if (strcmp(calibrate_series_at(o, i)->of, of) == 0)
            return calibrate_series_at(o, i);
    return NULL;
}
