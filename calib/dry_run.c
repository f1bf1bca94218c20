/* Prints how many rows of what a plan has, and how long they may take. */
#include "config.h"

#include "calib/dry_run.h"

#include "calib/progress.h"

static void
print_row(FILE *stream, const char *kind, const char *stage, CalibPlanSum sum)
{
    char text[32];
    calib_format_duration(sum.seconds, text, sizeof text);
    fprintf(stream, "%-12s%-8s%8u%12s\n", kind, stage, sum.n, text);
}

static void
print_dtypes(FILE *stream, const CalibSweepSpec *spec)
{
    fputs("dtypes of grids:", stream);
    for (int d = 0; d < CALIB_N_DTYPES; d++)
        if (spec->dtypes[d])
            fprintf(stream, " %s", calib_dtype_name((CalibDtype)d));
    fputc('\n', stream);
}

void
calib_dry_run_print(FILE *stream, const CalibPlan *plan, const CalibSweepSpec *spec,
                    double budget_s, bool assumed)
{
    const CalibMachine *m = spec->machine;
    char text[32];
    CalibPlanSum all = {0};
    fprintf(stream, "machine: %d node%s of %d x %s%s\n", m->nodes, m->nodes == 1 ? "" : "s",
            m->gpus, m->gpu_name, assumed ? " (assumed: there is no GPU here)" : "");
    print_dtypes(stream, spec);
    fprintf(stream, "%-12s%-8s%8s%12s\n", "kind", "stage", "rows", "estimate");
    for (int kind = 0; kind < CALIB_N_CASES; kind++)
        for (int stage = 0; stage < CALIB_N_STAGES; stage++) {
            CalibPlanSum sum = calib_plan_sum(plan, (CalibKind)kind, (CalibStage)stage);
            if (sum.n == 0)
                continue;
            print_row(stream, calib_kind_name((CalibKind)kind), calib_stage_name((CalibStage)stage),
                      sum);
            all.n += sum.n;
            all.seconds += sum.seconds;
        }
    print_row(stream, "all", "", all);
    calib_format_duration(budget_s, text, sizeof text);
    if (all.seconds > budget_s)
        fprintf(stream, "budget: %s, so grids stay coarser; each kind gets its share\n", text);
    else if (spec->kinds[CALIB_CASE_GEMM])
        fprintf(stream,
                "budget: %s; the rest goes to GEMMs where interpolation is worst, until half a "
                "percent is expected nowhere\n",
                text);
    else
        fprintf(stream, "budget: %s\n", text);
}
