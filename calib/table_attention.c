/* attention.tsv: forward and backward of a shape in one row. */
#include "config.h"

#include "calib/tables.h"

#include <inttypes.h>
#include <stdio.h>

static bool
holds(const CalibCase *what)
{
    return what->kind == CALIB_CASE_ATTENTION;
}

static void
format(const CalibRow *row, char *text, size_t size)
{
    const CalibAttention *a = &row->what.attention;
    char forward[32], backward[32];
    calib_format_number(row->us[0], forward, sizeof forward);
    calib_format_number(row->us[1], backward, sizeof backward);
    snprintf(text, size,
             "%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%d\t%s\t%s",
             calib_dtype_name(a->dtype), a->batch, a->heads, a->kv_heads, a->head_dim, a->seq,
             a->causal, forward, backward);
}

static bool
parse(char *const *cells, CalibRow *ret)
{
    int dtype = calib_dtype_find(cells[0]), causal;
    CalibAttention a = {0};
    if (dtype < 0 || !calib_parse_count(cells[1], &a.batch) ||
        !calib_parse_count(cells[2], &a.heads) || !calib_parse_count(cells[3], &a.kv_heads) ||
        !calib_parse_count(cells[4], &a.head_dim) || !calib_parse_count(cells[5], &a.seq) ||
        !calib_parse_int(cells[6], &causal) || causal > 1 ||
        !calib_parse_number(cells[7], &ret->us[0]) || !calib_parse_number(cells[8], &ret->us[1]))
        return false;
    a.dtype = (CalibDtype)dtype;
    a.causal = causal == 1;
    ret->what.kind = CALIB_CASE_ATTENTION;
    ret->what.attention = a;
    return true;
}

const CalibTable calib_table_attention = {
    .name = "attention",
    .about =
        "# columns: dtype, batch, heads (query), kv_heads, head_dim, seq (query = key length), "
        "causal 0|1,\n"
        "# time of forward and backward in us (- : this machine has no such kernel)\n",
    .columns = "dtype\tbatch\theads\tkv_heads\thead_dim\tseq\tcausal\tforward_us\tbackward_us",
    .holds = holds,
    .format = format,
    .parse = parse,
};
