/* dtsim systems: the machines that ship with dtsim, or one machine's configuration. */
#include "config.h"

#include "cli/arguments.h"
#include "cli/case.h"
#include "cli/command.h"
#include "cli/format.h"
#include "cli/output.h"
#include "cost/overlap.h"
#include "net/coverage.h"
#include "report/system.h"

static gboolean
append_one(GPtrArray *rows, const char *name, GError **error)
{
    CliMachine *machine = cli_machine_load(name, NULL, error);
    if (machine == NULL)
        return FALSE;
    g_ptr_array_add(rows, machine);
    return TRUE;
}

static void
clear_row(gpointer row)
{
    g_array_unref(((ReportSystem *)row)->covered);
}

static ReportSystem
report_of(const CliMachine *machine)
{
    ReportSystem row = {.system = machine->system, .covered = net_book_coverage(machine->net)};
    cost_book_counts(machine->cost, &row.n_rows[CLUSTER_TABLE_GEMM],
                     &row.n_rows[CLUSTER_TABLE_ATTENTION], &row.n_rows[CLUSTER_TABLE_MEMORY]);
    row.n_rows[CLUSTER_TABLE_OVERLAP] = cost_book_overlap_rows(machine->cost);
    row.n_rows[CLUSTER_TABLE_COLLECTIVE] = net_book_n_rows(machine->net);
    return row;
}

static int
systems_run(int argc, char **argv, GError **error)
{
    g_auto(CliFormat) format = {0};
    CliArguments arguments = {
        "systems",
        "[NAME|DIR]",
        "Lists the systems that ship with dtsim, what is measured of each and\n"
        "what is modelled, or prints the complete system.conf of one.",
        1,
        {cli_format_group(&format)}};
    gboolean helped;
    if (!cli_arguments_parse(&arguments, &argc, &argv, &helped, error) || helped)
        return CLI_DONE;
    gboolean one = argc > 1;
    g_auto(GStrv) names = one ? g_strdupv((char *[]){argv[1], NULL}) : cluster_system_names();
    g_autoptr(GPtrArray) machines =
        g_ptr_array_new_with_free_func((GDestroyNotify)cli_machine_free);
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(ReportSystem));
    g_array_set_clear_func(rows, clear_row);
    for (guint i = 0; names[i] != NULL; i++) {
        if (!append_one(machines, names[i], error))
            return CLI_USAGE;
        ReportSystem row = report_of(machines->pdata[i]);
        g_array_append_val(rows, row);
    }
    if (names[0] == NULL) {
        g_set_error_literal(
            error, CLI_ERROR, CLI_ERROR_USAGE,
            "no systems are installed; set DTSIM_DATA to the folder that holds them");
        return CLI_USAGE;
    }
    g_autoptr(GString) out = g_string_new(NULL);
    report_systems(rows, one, cli_format_name(&format), out);
    return cli_output_write(format.output, out, error) ? CLI_DONE : CLI_USAGE;
}

const CliCommand cli_systems = {"systems", "what systems there are", systems_run};
