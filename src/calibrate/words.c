/* Words by their owners' names. */
#include "config.h"

#include "calibrate/words.h"

#include "cost/overlap.h"
#include "net/collective.h"

#include <string.h>

const char *
calibrate_word(CalibrateWords words, guint i)
{
    switch (words) {
    case CALIBRATE_PASSES:
        return i < COST_N_GEMM_PASSES ? cost_gemm_pass_name((CostGemmPass)i) : NULL;
    case CALIBRATE_MEMORIES:
        return i < COST_N_MEMORY_KERNELS ? cost_memory_kernel_name((CostMemoryKernel)i) : NULL;
    case CALIBRATE_OPS:
        return i < NET_N_OPS ? net_op_name((NetOp)i) : NULL;
    case CALIBRATE_WORKS:
        return i < COST_N_WORKS ? cost_work_name((CostWork)i) : NULL;
    case CALIBRATE_TRAFFICS:
        return i < COST_N_TRAFFICS ? cost_traffic_name((CostTraffic)i) : NULL;
    default:
        g_assert_not_reached();
    }
}

const char **
calibrate_words(CalibrateWords words)
{
    GPtrArray *all = g_ptr_array_new();
    for (guint i = 0; calibrate_word(words, i) != NULL; i++)
        g_ptr_array_add(all, (gpointer)calibrate_word(words, i));
    g_ptr_array_add(all, NULL);
    return (const char **)g_ptr_array_free(all, FALSE);
}

gboolean
calibrate_read_word(const ConfTable *table, guint row, guint column, CalibrateWords words,
                    guint *ret, GError **error)
{
    const char *text = conf_table_text(table, row, column);
    for (guint i = 0; calibrate_word(words, i) != NULL; i++)
        if (strcmp(text, calibrate_word(words, i)) == 0) {
            *ret = i;
            return TRUE;
        }
    g_autofree const char **all = calibrate_words(words);
    g_autofree char *list = g_strjoinv(", ", (char **)all);
    conf_table_complain(table, row, column, error, "'%s' is none; write one of %s", text, list);
    return FALSE;
}
