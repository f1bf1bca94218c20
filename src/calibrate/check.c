/* Goes through the tables of a system; rules are in check_rules.c, check_units.c. */
#include "config.h"

#include "calibrate/check.h"

#include "calibrate/check_parts.h"
#include "calibrate/own_table.h"

#include <string.h>

static const char *const rule_names[CALIBRATE_N_RULES] = {
    [CALIBRATE_RULE_UNIT] = "unit",       [CALIBRATE_RULE_IMPOSSIBLE] = "impossible",
    [CALIBRATE_RULE_TWICE] = "twice",     [CALIBRATE_RULE_OUTLIER] = "outlier",
    [CALIBRATE_RULE_FALLING] = "falling", [CALIBRATE_RULE_SPREAD] = "spread",
};

const char *
calibrate_rule_name(CalibrateRule rule)
{
    g_assert(rule < CALIBRATE_N_RULES);
    return rule_names[rule];
}

static void
finding_clear(gpointer data)
{
    g_free(((CalibrateFinding *)data)->text);
}

static void
covered_clear(gpointer data)
{
    CalibrateCovered *covered = data;
    g_free(covered->of);
    g_free(covered->range);
}

static CalibrateCheck *
check_new(void)
{
    CalibrateCheck *check = g_new0(CalibrateCheck, 1);
    check->findings = g_array_new(FALSE, FALSE, sizeof(CalibrateFinding));
    g_array_set_clear_func(check->findings, finding_clear);
    check->covered = g_array_new(FALSE, FALSE, sizeof(CalibrateCovered));
    g_array_set_clear_func(check->covered, covered_clear);
    check->missing = g_ptr_array_new_with_free_func(g_free);
    return check;
}

void
calibrate_check_free(CalibrateCheck *check)
{
    if (check == NULL)
        return;
    g_array_unref(check->findings);
    g_array_unref(check->covered);
    g_ptr_array_unref(check->missing);
    g_free(check);
}

void
calibrate_check_add(CalibrateChecking *c, guint line, CalibrateRule rule, gboolean wrong,
                    double size, char *text)
{
    CalibrateFinding finding = {c->rows->table, line, rule, wrong, size, text};
    g_array_append_val(c->findings, finding);
}

char *
calibrate_check_amount(ClusterTable table, double value)
{
    gboolean is_time = table != CLUSTER_TABLE_OVERLAP;
    double amount = is_time ? value / 1e3 : value;
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(text, sizeof text, amount < 1e4 ? "%.4g" : "%.0f", amount);
    return g_strdup_printf("%s %s", text, is_time ? "us" : "times");
}

/* Farthest off first within a rule. */
static int
compare_findings(gconstpointer a, gconstpointer b)
{
    const CalibrateFinding *p = a, *q = b;
    if (p->table != q->table)
        return p->table < q->table ? -1 : 1;
    if (p->wrong != q->wrong)
        return p->wrong ? -1 : 1;
    if (p->rule != q->rule)
        return p->rule < q->rule ? -1 : 1;
    if (p->size != q->size)
        return p->size > q->size ? -1 : 1;
    if (p->line != q->line)
        return p->line < q->line ? -1 : 1;
    return strcmp(p->text, q->text);
}

static gboolean
add_table(CalibrateCheck *check, const ClusterSystem *system, ClusterTable table,
          const ConfTable *text, GError **error)
{
    g_autoptr(CalibrateObservations) rows = calibrate_observe(system, table, text, error);
    if (rows == NULL)
        return FALSE;
    g_autofree gboolean *in_unit = g_new0(gboolean, rows->series->len + 1);
    g_autofree gboolean *is_doubted = g_new0(gboolean, rows->rows->len + 1);
    CalibrateChecking c = {system, rows, check->findings, in_unit, is_doubted};
    calibrate_check_units(&c);
    calibrate_check_impossible(&c);
    calibrate_check_twice(&c);
    calibrate_check_outliers(&c);
    calibrate_check_falling(&c);
    calibrate_check_spread(&c);
    calibrate_check_coverage(system, table, rows, check);
    check->n_rows += conf_table_n_rows(text);
    return TRUE;
}

static CalibrateCheck *
finish(CalibrateCheck *check)
{
    g_array_sort(check->findings, compare_findings);
    for (guint i = 0; i < check->findings->len; i++)
        if (g_array_index(check->findings, CalibrateFinding, i).wrong)
            check->n_wrong++;
    check->n_odd = check->findings->len - check->n_wrong;
    return check;
}

CalibrateCheck *
calibrate_check_table(const ClusterSystem *system, ClusterTable table, const ConfTable *rows,
                      GError **error)
{
    g_autoptr(CalibrateCheck) check = check_new();
    if (!add_table(check, system, table, rows, error))
        return NULL;
    return finish(g_steal_pointer(&check));
}

CalibrateCheck *
calibrate_check(const ClusterSystem *system, GError **error)
{
    g_autoptr(CalibrateCheck) check = check_new();
    guint n_tables = 0;
    for (guint id = 0; id < CLUSTER_N_TABLES; id++) {
        g_autofree char *why = NULL;
        g_autoptr(ConfTable) text = calibrate_own_table(system, (ClusterTable)id, &why, error);
        if (why != NULL) {
            g_ptr_array_add(check->missing, g_steal_pointer(&why));
            continue;
        }
        if (text == NULL || !add_table(check, system, (ClusterTable)id, text, error))
            return NULL;
        n_tables++;
    }
    if (n_tables > 0)
        return finish(g_steal_pointer(&check));
    calibrate_complain_of_no_table(system, "to check", error);
    return NULL;
}
