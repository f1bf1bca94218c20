/* collective.tsv: out of place (what dtsim reads) and in place in one row. */
#include "config.h"

#include "calib/tables.h"

#include <inttypes.h>
#include <stdio.h>

static bool
holds(const CalibCase *what)
{
    return what->kind == CALIB_CASE_COLLECTIVE;
}

static void
format(const CalibRow *row, char *text, size_t size)
{
    const CalibCollective *c = &row->what.collective;
    char out[32], in[32];
    calib_format_number(row->us[0], out, sizeof out);
    calib_format_number(row->us[1], in, sizeof in);
    snprintf(text, size, "%s\t%s\t%d\t%d\t%" PRId64 "\t%s\t%s", calib_op_name(c->op),
             calib_dtype_name(c->dtype), c->ranks, c->nodes, c->bytes, out, in);
}

static bool
parse(char *const *cells, CalibRow *ret)
{
    int op = calib_op_find(cells[0]), dtype = calib_dtype_find(cells[1]);
    CalibCollective c = {0};
    if (op < 0 || op == CALIB_COPY_ENGINE || dtype < 0 || !calib_parse_int(cells[2], &c.ranks) ||
        !calib_parse_int(cells[3], &c.nodes) || !calib_parse_count(cells[4], &c.bytes) ||
        !calib_parse_number(cells[5], &ret->us[0]) || !calib_parse_number(cells[6], &ret->us[1]))
        return false;
    c.op = (CalibOp)op;
    c.dtype = (CalibDtype)dtype;
    ret->what.kind = CALIB_CASE_COLLECTIVE;
    ret->what.collective = c;
    return true;
}

const CalibTable calib_table_collective = {
    .name = "collective",
    .about =
        "# columns: op, dtype, ranks (in all, as many on each node), nodes, bytes, time_us (out of "
        "place), in_place_us (- : none)\n"
        "# bytes as nccl-tests' \"size\": all_reduce, broadcast, send_recv the buffer of one "
        "rank; all_gather what a rank ends with;\n"
        "# reduce_scatter what it starts with; all_to_all one rank's whole buffer, its own "
        "slice included; the slowest rank's time\n",
    .columns = "op\tdtype\tranks\tnodes\tbytes\ttime_us\tin_place_us",
    .holds = holds,
    .format = format,
    .parse = parse,
};
