/* memory.tsv: kernels that dtsim knows. device.tsv: launches, events, copies: what system.conf is made of. */
#include "config.h"

#include "calib/tables.h"

#include <inttypes.h>
#include <stdio.h>

static bool
holds_memory(const CalibCase *what)
{
    return what->kind == CALIB_CASE_MEMORY && what->memory.kernel < CALIB_N_TABLE_KERNELS;
}

static bool
holds_device(const CalibCase *what)
{
    return what->kind == CALIB_CASE_MEMORY && what->memory.kernel >= CALIB_N_TABLE_KERNELS;
}

static void
format_row(const CalibRow *row, char *text, size_t size)
{
    char us[32];
    calib_format_number(row->us[0], us, sizeof us);
    snprintf(text, size, "%s\t%" PRId64 "\t%s", calib_kernel_name(row->what.memory.kernel),
             row->what.memory.bytes, us);
}

static bool
parse_row(char *const *cells, CalibRow *ret)
{
    int kernel = calib_kernel_find(cells[0]);
    CalibMemory memory = {0};
    if (kernel < 0 || !calib_parse_count(cells[1], &memory.bytes) ||
        !calib_parse_number(cells[2], &ret->us[0]))
        return false;
    memory.kernel = (CalibKernel)kernel;
    ret->what.kind = CALIB_CASE_MEMORY;
    ret->what.memory = memory;
    return true;
}

const CalibTable calib_table_memory = {
    .name = "memory",
    .about =
        "# columns: kernel; bytes = what one ideal pass moves to and from HBM; time_us of one call\n"
        "# bytes an element, bf16: copy, norm, softmax, rope, embedding, permute 4; dropout 5; "
        "norm_backward,\n"
        "# softmax_backward, activation (SwiGLU), add, embedding_backward (fp32 table) 6; "
        "activation_backward 10; reduce 2; cast 3;\n"
        "# cross_entropy, in fp32 and unfused, 38 a logit, backward 14; adam 30 a parameter\n",
    .columns = "kernel\tbytes\ttime_us",
    .holds = holds_memory,
    .format = format_row,
    .parse = parse_row,
};

const CalibTable calib_table_device = {
    .name = "device",
    .about = "# columns: what; bytes moved; time_us of one\n"
             "# triad: a = b + s c in fp32; launch: of empty kernels back to back; event: two "
             "events one after the other;\n"
             "# sync: launch and cudaDeviceSynchronize; h2d, d2h: pinned memory; p2p: GPU 0 to GPU "
             "1\n",
    .columns = "kernel\tbytes\ttime_us",
    .holds = holds_device,
    .format = format_row,
    .parse = parse_row,
};
