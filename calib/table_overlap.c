/* overlap.tsv: time beside the other over time alone. */
#include "config.h"

#include "calib/tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool
holds(const CalibCase *what)
{
    return what->kind == CALIB_CASE_OVERLAP;
}

/* What runs beside the traffic, in one cell. */
static void
format_shape(const CalibOverlap *o, char *text, size_t size)
{
    const CalibGemm *g = &o->gemm;
    const CalibAttention *a = &o->attention;
    if (o->work == CALIB_WORK_GEMM)
        snprintf(text, size, "%s/%s/%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64,
                 calib_dtype_name(g->dtype), calib_pass_name(g->pass), g->m, g->n, g->k, g->batch,
                 g->groups);
    else if (o->work == CALIB_WORK_MEMORY)
        snprintf(text, size, "%s/%" PRId64, calib_kernel_name(o->memory.kernel), o->memory.bytes);
    else
        snprintf(text, size, "%s/%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64 "/%d/%d",
                 calib_dtype_name(a->dtype), a->batch, a->heads, a->kv_heads, a->head_dim, a->seq,
                 a->causal, a->backward);
}

static bool
parse_gemm(char *const *cells, CalibGemm *g)
{
    int dtype = calib_dtype_find(cells[0]), pass = calib_pass_find(cells[1]);
    if (dtype < 0 || pass < 0 || !calib_parse_count(cells[2], &g->m) ||
        !calib_parse_count(cells[3], &g->n) || !calib_parse_count(cells[4], &g->k) ||
        !calib_parse_count(cells[5], &g->batch) || !calib_parse_count(cells[6], &g->groups))
        return false;
    g->dtype = (CalibDtype)dtype;
    g->pass = (CalibPass)pass;
    return true;
}

static bool
parse_attention(char *const *cells, CalibAttention *a)
{
    int dtype = calib_dtype_find(cells[0]), causal, backward;
    if (dtype < 0 || !calib_parse_count(cells[1], &a->batch) ||
        !calib_parse_count(cells[2], &a->heads) || !calib_parse_count(cells[3], &a->kv_heads) ||
        !calib_parse_count(cells[4], &a->head_dim) || !calib_parse_count(cells[5], &a->seq) ||
        !calib_parse_int(cells[6], &causal) || !calib_parse_int(cells[7], &backward))
        return false;
    a->dtype = (CalibDtype)dtype;
    a->causal = causal == 1;
    a->backward = backward == 1;
    return true;
}

static bool
parse_shape(char *text, CalibOverlap *o)
{
    static const unsigned counts[] = {7, 8, 2};
    char *cells[8];
    if (calib_split(text, '/', cells, 8) != counts[o->work])
        return false;
    if (o->work == CALIB_WORK_GEMM)
        return parse_gemm(cells, &o->gemm);
    if (o->work == CALIB_WORK_ATTENTION)
        return parse_attention(cells, &o->attention);
    int kernel = calib_kernel_find(cells[0]);
    if (kernel < 0)
        return false;
    o->memory.kernel = (CalibKernel)kernel;
    return calib_parse_count(cells[1], &o->memory.bytes);
}

/* The kinds of traffic that dtsim tells apart (src/cost/overlap.h). */
static const char *
traffic_name(const CalibCollective *c)
{
    if (c->op == CALIB_COPY_ENGINE)
        return "copy";
    if (c->op == CALIB_SEND_RECV)
        return "send_recv";
    return c->nodes > 1 ? "network" : "nvlink";
}

/* What is beside something else is no faster than alone: less than 1 is noise. */
static void
format_slowdown(double beside_us, double alone_us, char *text, size_t size)
{
    double slowdown = beside_us / alone_us;
    calib_format_number(slowdown < 1 ? 1 : slowdown, text, size);
}

static void
format(const CalibRow *row, char *text, size_t size)
{
    const CalibOverlap *o = &row->what.overlap;
    const CalibCollective *c = &o->traffic;
    char rate[32], slow[2][32], shape[128], us[CALIB_OVERLAP_TIMES][32];
    for (int i = 0; i < CALIB_OVERLAP_TIMES; i++)
        calib_format_number(row->us[i], us[i], sizeof us[i]);
    calib_format_number(calib_collective_sent_bytes(c) / row->us[1] * 1e-3, rate, sizeof rate);
    format_slowdown(row->us[2], row->us[0], slow[0], sizeof slow[0]);
    format_slowdown(row->us[3], row->us[1], slow[1], sizeof slow[1]);
    format_shape(o, shape, sizeof shape);
    snprintf(text, size, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%" PRId64 "\t%s\t%s\t%s\t%s",
             calib_work_name(o->work), traffic_name(c), o->channels, rate, slow[0], slow[1], shape,
             calib_op_name(c->op), calib_dtype_name(c->dtype), c->ranks, c->nodes, c->bytes, us[0],
             us[1], us[2], us[3]);
}

static int
find_work(const char *name)
{
    for (int i = CALIB_WORK_GEMM; i <= CALIB_WORK_MEMORY; i++)
        if (strcmp(name, calib_work_name((CalibWork)i)) == 0)
            return i;
    return -1;
}

static bool
parse(char *const *cells, CalibRow *ret)
{
    int work = find_work(cells[0]), op = calib_op_find(cells[7]),
        dtype = calib_dtype_find(cells[8]);
    CalibOverlap o;
    memset(&o, 0, sizeof o);
    if (work < 0 || op < 0 || dtype < 0 || !calib_parse_int(cells[2], &o.channels) ||
        !calib_parse_int(cells[9], &o.traffic.ranks) ||
        !calib_parse_int(cells[10], &o.traffic.nodes) ||
        !calib_parse_count(cells[11], &o.traffic.bytes))
        return false;
    for (int i = 0; i < CALIB_OVERLAP_TIMES; i++)
        if (!calib_parse_number(cells[12 + i], &ret->us[i]))
            return false;
    o.work = (CalibWork)work;
    o.traffic.op = (CalibOp)op;
    o.traffic.dtype = (CalibDtype)dtype;
    if (!parse_shape(cells[6], &o))
        return false;
    ret->what.kind = CALIB_CASE_OVERLAP;
    ret->what.overlap = o;
    return true;
}

const CalibTable calib_table_overlap = {
    .name = "overlap",
    .about =
        "# columns: work (gemm, attention, memory), traffic (nvlink, network: collectives in a node, "
        "over several; send_recv, copy),\n"
        "# channels (SMs that the traffic takes), rate_GBps (what it sends from each GPU when "
        "alone), work_slowdown and traffic_slowdown\n"
        "# (time beside the other over time alone); then what ran: the work's shape (a GEMM's "
        "dtype/pass/m/n/k/batch/groups), the collective,\n"
        "# and the times in us: each alone, each beside the other\n",
    .columns = "work\ttraffic\tchannels\trate_GBps\twork_slowdown\ttraffic_slowdown\tshape\top\t"
               "dtype\tranks\tnodes\tbytes\twork_us\ttraffic_us\twork_beside_us\ttraffic_beside_us",
    .holds = holds,
    .format = format,
    .parse = parse,
};
