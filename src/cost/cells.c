/* Reads and checks single cells. */
#include "config.h"

#include "cost/cells.h"

gboolean
cost_read_dtype(const ConfTable *table, guint row, guint column, ClusterDtype *ret, GError **error)
{
    g_autoptr(GError) unknown = NULL;
    if (cluster_dtype_parse(conf_table_text(table, row, column), ret, &unknown))
        return TRUE;
    conf_table_complain(table, row, column, error, "%s", unknown->message);
    return FALSE;
}

gboolean
cost_read_count(const ConfTable *table, guint row, guint column, gint64 *ret, GError **error)
{
    gint64 value = 0;
    if (!conf_table_int(table, row, column, &value, error))
        return FALSE;
    if (value < 1 || value > G_MAXINT32) {
        conf_table_complain(table, row, column, error, "must be from 1 to 2147483647");
        return FALSE;
    }
    *ret = value;
    return TRUE;
}

gboolean
cost_read_time(const ConfTable *table, guint row, guint column, double *ret_ns, GError **error)
{
    double us = 0;
    if (!conf_table_double(table, row, column, &us, error))
        return FALSE;
    if (!(us >= 1e-3) || us > 1e12) {
        conf_table_complain(table, row, column, error,
                            "must be from 0.001 to 1e12; write the time of one call in us");
        return FALSE;
    }
    *ret_ns = us * 1e3;
    return TRUE;
}
