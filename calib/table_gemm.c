/* gemm.tsv, and grouped.tsv for grouped GEMMs, which gemm.tsv has no column for. */
#include "config.h"

#include "calib/tables.h"

#include <inttypes.h>
#include <stdio.h>

#define ABOUT                                                                                      \
    "# pass: forward (TN: y = x W^T), dgrad (NN), wgrad (NT, added into an fp32 main gradient); "  \
    "random data, operands\n"                                                                      \
    "# beyond L2 in turn; fp8: both operands in 8 bits, no cast in the time; time_us of one "      \
    "call\n"

static bool
holds_gemm(const CalibCase *what)
{
    return what->kind == CALIB_CASE_GEMM && what->gemm.groups <= 1;
}

static bool
holds_grouped(const CalibCase *what)
{
    return what->kind == CALIB_CASE_GEMM && what->gemm.groups > 1;
}

static void
format_row(const CalibRow *row, int64_t batch_or_groups, char *text, size_t size)
{
    const CalibGemm *g = &row->what.gemm;
    char us[32];
    calib_format_number(row->us[0], us, sizeof us);
    snprintf(text, size, "%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\t%s",
             calib_dtype_name(g->dtype), g->m, g->n, g->k, batch_or_groups, us,
             calib_pass_name(g->pass));
}

static void
format_gemm(const CalibRow *row, char *text, size_t size)
{
    format_row(row, row->what.gemm.batch, text, size);
}

static void
format_grouped(const CalibRow *row, char *text, size_t size)
{
    format_row(row, row->what.gemm.groups, text, size);
}

static bool
parse_row(char *const *cells, CalibRow *ret, int64_t *ret_batch_or_groups)
{
    int dtype = calib_dtype_find(cells[0]), pass = calib_pass_find(cells[6]);
    CalibGemm g = {.batch = 1, .groups = 1};
    if (dtype < 0 || pass < 0 || !calib_parse_count(cells[1], &g.m) ||
        !calib_parse_count(cells[2], &g.n) || !calib_parse_count(cells[3], &g.k) ||
        !calib_parse_count(cells[4], ret_batch_or_groups) ||
        !calib_parse_number(cells[5], &ret->us[0]))
        return false;
    g.dtype = (CalibDtype)dtype;
    g.pass = (CalibPass)pass;
    ret->what.kind = CALIB_CASE_GEMM;
    ret->what.gemm = g;
    return true;
}

static bool
parse_gemm(char *const *cells, CalibRow *ret)
{
    int64_t batch;
    if (!parse_row(cells, ret, &batch))
        return false;
    ret->what.gemm.batch = batch;
    return true;
}

static bool
parse_grouped(char *const *cells, CalibRow *ret)
{
    int64_t groups;
    if (!parse_row(cells, ret, &groups))
        return false;
    ret->what.gemm.groups = groups;
    return true;
}

const CalibTable calib_table_gemm = {
    .name = "gemm",
    .about = "# columns: dtype; C[m,n] = A[m,k] B[k,n]; batch > 1 = strided batched, each of m x n "
             "x k;\n" ABOUT,
    .columns = "dtype\tm\tn\tk\tbatch\ttime_us\tpass",
    .holds = holds_gemm,
    .format = format_gemm,
    .parse = parse_gemm,
};

const CalibTable calib_table_grouped = {
    .name = "grouped",
    .about = "# columns: dtype; C[m,n] = A[m,k] B[k,n] of each group, of which m (of wgrad: k) is "
             "the sum over the groups;\n" ABOUT,
    .columns = "dtype\tm\tn\tk\tgroups\ttime_us\tpass",
    .holds = holds_grouped,
    .format = format_grouped,
    .parse = parse_grouped,
};
