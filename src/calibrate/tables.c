/* What columns tables have, and what may stand in them. */
#include "config.h"

#include "calibrate/tables.h"

#include "calibrate/words.h"
#include "conf/complaint.h"

#include <math.h>
#include <string.h>

#define KEY(name, type)                                                                            \
    {                                                                                              \
        name, type, TRUE, NULL                                                                     \
    }
#define TIME(name, otherwise)                                                                      \
    {                                                                                              \
        name, CALIBRATE_COLUMN_TIME, FALSE, otherwise                                              \
    }

static const CalibrateTable tables[CALIBRATE_N_TABLES] = {
    [CALIBRATE_TABLE_GEMM] =
        {"gemm",
         "# columns: dtype; C[m,n] = A[m,k] B[k,n]; batch > 1 = strided batched; time_us of one "
         "call;\n"
         "# pass: forward (TN: y = x W^T), dgrad (NN), wgrad (NT, added into an fp32 main "
         "gradient)\n",
         {KEY("dtype", CALIBRATE_COLUMN_DTYPE),
          KEY("m", CALIBRATE_COLUMN_COUNT),
          KEY("n", CALIBRATE_COLUMN_COUNT),
          KEY("k", CALIBRATE_COLUMN_COUNT),
          {"batch", CALIBRATE_COLUMN_COUNT, TRUE, "1"},
          {"pass", CALIBRATE_COLUMN_PASS, TRUE, "forward"},
          TIME("time_us", NULL)},
         7,
         6},
    [CALIBRATE_TABLE_ATTENTION] =
        {"attention",
         "# columns: dtype, batch, heads (query), kv_heads, head_dim, seq (query = key length), "
         "causal 0|1,\n"
         "# time of forward and backward in us (- : not measured)\n",
         {KEY("dtype", CALIBRATE_COLUMN_DTYPE), KEY("batch", CALIBRATE_COLUMN_COUNT),
          KEY("heads", CALIBRATE_COLUMN_COUNT), KEY("kv_heads", CALIBRATE_COLUMN_COUNT),
          KEY("head_dim", CALIBRATE_COLUMN_COUNT), KEY("seq", CALIBRATE_COLUMN_COUNT),
          KEY("causal", CALIBRATE_COLUMN_FLAG), TIME("forward_us", "-"), TIME("backward_us", "-")},
         9,
         7},
    [CALIBRATE_TABLE_MEMORY] =
        {"memory",
         "# columns: kernel; bytes = what one ideal pass moves to and from HBM; time_us of one "
         "call\n",
         {KEY("kernel", CALIBRATE_COLUMN_KERNEL), KEY("bytes", CALIBRATE_COLUMN_BYTES),
          TIME("time_us", NULL)},
         3,
         2},
    [CALIBRATE_TABLE_COLLECTIVE] =
        {"collective",
         "# columns: op, dtype, ranks (in all, as many on each node), nodes, bytes, time_us (out "
         "of place), in_place_us (- : none)\n"
         "# bytes as nccl-tests' \"size\": all_reduce, broadcast, send_recv the buffer of one "
         "rank; all_gather what a rank ends with;\n"
         "# reduce_scatter what it starts with; all_to_all one rank's whole buffer\n",
         {KEY("op", CALIBRATE_COLUMN_OP), KEY("dtype", CALIBRATE_COLUMN_WORD),
          KEY("ranks", CALIBRATE_COLUMN_COUNT), KEY("nodes", CALIBRATE_COLUMN_COUNT),
          KEY("bytes", CALIBRATE_COLUMN_BYTES), TIME("time_us", NULL), TIME("in_place_us", "-")},
         7,
         5},
    [CALIBRATE_TABLE_KERNELS] =
        {"kernels",
         "# kernels of profiles by name; dtsim does not read this table\n"
         "# columns: kernel; kind; how many in one profile; time of one: median, least and most, us\n",
         {KEY("kernel", CALIBRATE_COLUMN_WORD),
          KEY("kind", CALIBRATE_COLUMN_WORD),
          {"count", CALIBRATE_COLUMN_COUNT, FALSE, NULL},
          TIME("median_us", NULL),
          TIME("least_us", NULL),
          TIME("most_us", NULL)},
         6,
         2},
};

const CalibrateTable *
calibrate_table(CalibrateTableId id)
{
    g_assert(id < CALIBRATE_N_TABLES);
    return &tables[id];
}

/* --- cells -------------------------------------------------------------------------------------- */

static char *
fault_of_choice(const char *text, const char *what, const char *const *choices)
{
    if (g_strv_contains(choices, text))
        return NULL;
    g_autofree char *hint = conf_hint(text, choices);
    g_autofree char *list = g_strjoinv(", ", (char **)choices);
    return g_strdup_printf("'%s' is no %s%s; write one of %s", text, what, hint, list);
}

static char *
fault_of_word(const char *text, const char *what, CalibrateWords words)
{
    g_autofree const char **all = calibrate_words(words);
    return fault_of_choice(text, what, all);
}

static char *
fault_of_number(CalibrateColumnType type, const char *text)
{
    char *end;
    double value = g_ascii_strtod(text, &end);
    gboolean decimal = end != text && *end == '\0' && isfinite(value) &&
                       text[strspn(text, "+-.0123456789eE")] == '\0';
    if (!decimal)
        return g_strdup_printf("'%s' is not a number", text);
    if (type == CALIBRATE_COLUMN_TIME)
        return value >= 0.001 ? NULL : g_strdup_printf("'%s' is less than a nanosecond", text);
    gint64 count, most = type == CALIBRATE_COLUMN_COUNT ? G_MAXINT32 : G_GINT64_CONSTANT(1) << 50;
    if (g_ascii_string_to_signed(text, 10, 1, most, &count, NULL))
        return NULL;
    return g_strdup_printf("'%s' is not a whole number from 1 to %" G_GINT64_FORMAT, text, most);
}

char *
calibrate_cell_fault(CalibrateColumnType type, const char *text)
{
    static const char *const dtypes[] = {"fp32", "tf32", "fp16", "bf16", "fp8", NULL};
    static const char *const flags[] = {"0", "1", NULL};
    switch (type) {
    case CALIBRATE_COLUMN_DTYPE:
        return fault_of_choice(text, "dtype", dtypes);
    case CALIBRATE_COLUMN_PASS:
        return fault_of_word(text, "pass", CALIBRATE_PASSES);
    case CALIBRATE_COLUMN_FLAG:
        return fault_of_choice(text, "flag", flags);
    case CALIBRATE_COLUMN_OP:
        return fault_of_word(text, "operation", CALIBRATE_OPS);
    case CALIBRATE_COLUMN_KERNEL:
        return fault_of_word(text, "kernel", CALIBRATE_MEMORIES);
    case CALIBRATE_COLUMN_WORD:
        return *text != '\0' ? NULL : g_strdup("is empty");
    default:
        return fault_of_number(type, text);
    }
}
