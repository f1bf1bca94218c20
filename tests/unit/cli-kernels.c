/* Tables of measured kernels: what is read, merged and skipped; which GPU is meant. */
#include "config.h"

#include "cli/kernel_rows.h"
#include "report/skipped.h"

#include <string.h>

static const char table_text[] = "op,gpu,dtype,m,n,k,layout,time_us,alt_time_us\n"
                                 "gemm,H200-SXM,bfloat16,128,256,512,TN,4,9\n"
                                 "gemm,H200-SXM,bf16,128,256,512,TN,6,\n"
                                 "gemm,H200-SXM,bf16,128,256,512,NN,7,\n"
                                 "gemm,H200-SXM,bf16,512,256,128,NT,8,\n"
                                 "gemm,L40S,fp8,128,256,512,TN,5,\n"
                                 "grouped_gemm,L40S,fp8,128,256,512,TN,5,\n"
                                 "gemm,L40S,int4,128,256,512,TN,5,\n"
                                 "gemm,L40S,fp8,,256,512,TN,5,\n"
                                 "gemm,L40S,fp8,128,256,512,TN,,\n";

static void
rows_become_groups_of_shapes(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTable) table = conf_table_parse("t.csv", table_text, ',', &error);
    g_assert_no_error(error);
    g_autoptr(GPtrArray) groups = cli_kernel_groups_new();
    g_autoptr(GArray) skipped = g_array_new(FALSE, FALSE, sizeof(ReportSkipped));
    g_assert_true(cli_kernel_read(table, groups, skipped, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(groups->len, ==, 2);
    const CliKernelGroup *h200 = groups->pdata[0], *l40s = groups->pdata[1];
    g_assert_cmpuint(h200->n_rows, ==, 4);
    g_assert_cmpuint(h200->shapes->len, ==, 3); /* forward, dgrad, wgrad */
    const CliKernelShape *shapes = (const CliKernelShape *)(gconstpointer)h200->shapes->data;
    g_assert_cmpuint(shapes[0].n, ==, 3);
    g_assert_cmpfloat_with_epsilon(cli_kernel_shape_ns(&shapes[0]), 6000, 1e-6); /* (4 9 6)^(1/3) */
    g_assert_cmpint(shapes[1].gemm.pass, ==, COST_GEMM_DGRAD);
    g_assert_cmpint(shapes[2].gemm.pass, ==, COST_GEMM_WGRAD);
    g_assert_true(shapes[2].gemm.accumulate_fp32);
    g_assert_cmpint(l40s->dtype, ==, CLUSTER_FP8);
    g_assert_cmpuint(l40s->n_rows, ==, 1);
    g_assert_cmpuint(skipped->len, ==, 4); /* the op, the dtype, no shape, no time */
    g_autoptr(ClusterSystem) system = cli_kernel_system(l40s, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpint(system->n_sms, ==, 142);
}

static void
bad_cells_say_where(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"dtype,m,n,k,time_us\nbf16,128,256,0,5\n", "t.csv:2: column k: must be from 1"},
        {"dtype,m,n,k,time_us\nbf16,128,256,x,5\n", "t.csv:2: column k: 'x'"},
        {"dtype,m,n,k,time_us\nbf16,128,256,64,-5\n",
         "t.csv:2: column time_us: must be from 0.001"},
        {"dtype,m,n,time_us\nbf16,128,256,5\n", "no column k"},
        {"dtype,m,n,k,us\nbf16,128,256,64,5\n", "time_us"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(ConfTable) table = conf_table_parse("t.csv", cases[i].text, ',', &error);
        g_assert_no_error(error);
        g_autoptr(GPtrArray) groups = cli_kernel_groups_new();
        g_autoptr(GArray) skipped = g_array_new(FALSE, FALSE, sizeof(ReportSkipped));
        g_assert_false(cli_kernel_read(table, groups, skipped, &error));
        g_assert_nonnull(error);
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, cases[i].says));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cli/kernels/rows-become-groups-of-shapes", rows_become_groups_of_shapes);
    g_test_add_func("/cli/kernels/bad-cells-say-where", bad_cells_say_where);
    return g_test_run();
}
