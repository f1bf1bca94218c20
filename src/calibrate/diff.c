/* Facts of two machines side by side; tables that both have go to diff_tables.c. */
#include "config.h"

#include "calibrate/diff.h"

#include <math.h>
#include <string.h>

static void
fact_clear(gpointer data)
{
    CalibrateFact *fact = data;
    g_free(fact->text[CALIBRATE_A]);
    g_free(fact->text[CALIBRATE_B]);
}

static void
series_clear(gpointer data)
{
    g_free(((CalibrateSeriesDiff *)data)->of);
}

static void
row_clear(gpointer data)
{
    CalibrateRowDiff *row = data;
    g_free(row->of);
    g_free(row->at);
}

CalibrateDiff *
calibrate_diff_new(void)
{
    CalibrateDiff *diff = g_new0(CalibrateDiff, 1);
    diff->facts = g_array_new(FALSE, FALSE, sizeof(CalibrateFact));
    g_array_set_clear_func(diff->facts, fact_clear);
    diff->series = g_array_new(FALSE, FALSE, sizeof(CalibrateSeriesDiff));
    g_array_set_clear_func(diff->series, series_clear);
    diff->worst = g_array_new(FALSE, FALSE, sizeof(CalibrateRowDiff));
    g_array_set_clear_func(diff->worst, row_clear);
    diff->notes = g_ptr_array_new_with_free_func(g_free);
    return diff;
}

void
calibrate_diff_free(CalibrateDiff *diff)
{
    if (diff == NULL)
        return;
    g_array_unref(diff->facts);
    g_array_unref(diff->series);
    g_array_unref(diff->worst);
    g_ptr_array_unref(diff->notes);
    g_free(diff);
}

/* A figure of a key; FALSE where it is none. */
static gboolean
read_figure(const ConfKeyfile *conf, const ConfKey *key, double *ret)
{
    if (*conf_keyfile_text(conf, key->section, key->key) == '\0')
        return FALSE;
    if (key->type == CONF_KEY_QUANTITY)
        *ret = (double)conf_keyfile_quantity(conf, key->section, key->key);
    else if (key->type == CONF_KEY_FRACTION)
        *ret = conf_keyfile_fraction(conf, key->section, key->key);
    else
        return FALSE;
    return TRUE;
}

static void
add_facts(CalibrateDiff *diff, const ClusterSystem *a, const ClusterSystem *b)
{
    for (const ConfKey *key = cluster_system_keys(); key->section != NULL; key++) {
        const char *in_a = conf_keyfile_text(a->conf, key->section, key->key);
        const char *in_b = conf_keyfile_text(b->conf, key->section, key->key);
        double x = 0, y = 0;
        gboolean figures = read_figure(a->conf, key, &x) && read_figure(b->conf, key, &y);
        if (strcmp(in_a, in_b) == 0 || (figures && x == y))
            continue;
        CalibrateFact fact = {key->section,
                              key->key,
                              {g_strdup(in_a), g_strdup(in_b)},
                              figures && x > 0 ? y / x : NAN};
        g_array_append_val(diff->facts, fact);
    }
}

/* Its own table, else the one that it is lent; NULL without error: it has none. */
static ConfTable *
load_table(const ClusterSystem *system, ClusterTable id, ClusterSystem **ret_lender, GError **error)
{
    GError *own = NULL;
    g_autofree char *path = cluster_table_path(system, id);
    if (path == NULL) {
        *ret_lender = cluster_table_lender(system, id, &own);
        if (*ret_lender == NULL) {
            if (own != NULL)
                g_propagate_error(error, own);
            return NULL;
        }
        path = cluster_table_path(*ret_lender, id);
    }
    return conf_table_load(path, error);
}

static gboolean
add_table(CalibrateDiff *diff, ClusterTable id, const ClusterSystem *const system[], GError **error)
{
    g_autoptr(ClusterSystem) lender_a = NULL, lender_b = NULL;
    ClusterSystem **lenders[] = {&lender_a, &lender_b};
    g_autoptr(ConfTable) a = NULL, b = NULL;
    ConfTable **tables[] = {&a, &b};
    const ClusterSystem *measured[CALIBRATE_N_SIDES];
    for (guint side = 0; side < CALIBRATE_N_SIDES; side++) {
        GError *own = NULL;
        *tables[side] = load_table(system[side], id, lenders[side], &own);
        if (own != NULL) {
            g_propagate_error(error, own);
            return FALSE;
        }
        measured[side] = *lenders[side] != NULL ? *lenders[side] : system[side];
        if (*lenders[side] != NULL)
            g_ptr_array_add(diff->notes,
                            g_strdup_printf("%s.tsv of %c is that of %s", cluster_table_name(id),
                                            "AB"[side], measured[side] -> name));
    }
    if (a != NULL && b != NULL && strcmp(conf_table_name(a), conf_table_name(b)) == 0)
        return TRUE;
    if (a != NULL && b != NULL)
        return calibrate_diff_table(diff, id, measured, (const ConfTable *const[]){a, b}, error);
    if (a != NULL || b != NULL)
        g_ptr_array_add(diff->notes, g_strdup_printf("only %c has %s.tsv", a != NULL ? 'A' : 'B',
                                                     cluster_table_name(id)));
    return TRUE;
}

CalibrateDiff *
calibrate_diff(const ClusterSystem *a, const ClusterSystem *b, GError **error)
{
    const ClusterSystem *const systems[] = {a, b};
    g_autoptr(CalibrateDiff) diff = calibrate_diff_new();
    add_facts(diff, a, b);
    for (guint id = 0; id < CLUSTER_N_TABLES; id++)
        if (!add_table(diff, (ClusterTable)id, systems, error))
            return NULL;
    return g_steal_pointer(&diff);
}
