/* Leave-out test of the kernel models on measured tables: the model that simulations use, built from a sample. */
#include "config.h"

#include "cli/validate_kernels.h"

#include "cli/command.h"
#include "cli/kernel_rows.h"
#include "cli/output.h"
#include "cli/validate_tables.h"
#include "cost/book.h"
#include "cost/roofline.h"
#include "report/kernels.h"
#include "report/skipped.h"
#include "sim/random.h"

#include <math.h>
#include <string.h>

/* With fewer fitted shapes nothing is said. */
#define ENOUGH_SHAPES 8
/* 7 % of 100 are 7.000000000000001 */
#define ROUNDING 1e-9

enum { N_AXES = 5 };

typedef struct {
    const CliKernelOptions *options;
    CliTables tables; /* of CliKernelGroup */
    GPtrArray *rows;  /* of ReportKernelsRow */
} Validation;

static void
row_free(gpointer data)
{
    ReportKernelsRow *row = data;
    g_array_unref(row->errors);
    g_free(row);
}

/* --- baselines -------------------------------------------------------------------------------- */

static double
plain_roofline_ns(const ClusterSystem *system, const CliKernelGroup *group,
                  const CliKernelShape *shape)
{
    const CostGemm *g = &shape->gemm;
    gboolean gemm = group->kind == CLI_KERNEL_GEMM;
    double flops = gemm ? 2.0 * (double)g->batch * (double)g->m * (double)g->n * (double)g->k
                        : cost_attention_flops(&shape->attention);
    double bytes = gemm ? cost_gemm_bytes(g) : cost_attention_bytes(&shape->attention);
    double rate = (double)system->memory_Bps * system->memory_efficiency;
    double ns = 1e9 * MAX(flops / cost_peak_flops(system, group->dtype), bytes / rate);
    return MAX(ns, (double)system->kernel_floor_ns);
}

static void
coordinates(const CliKernelGroup *group, const CliKernelShape *shape, double x[N_AXES])
{
    const CostGemm *g = &shape->gemm;
    const CostAttention *a = &shape->attention;
    const gint64 gemm[N_AXES] = {g->m, g->n, g->k, g->batch, 1};
    const gint64 attention[N_AXES] = {a->batch, a->heads, a->kv_heads, a->head_dim, a->seq_q};
    for (guint i = 0; i < N_AXES; i++)
        x[i] = log2((double)(group->kind == CLI_KERNEL_GEMM ? gemm : attention)[i]);
}

static gboolean
is_alike(const CliKernelShape *a, const CliKernelShape *b)
{
    return a->gemm.pass == b->gemm.pass && a->attention.causal == b->attention.causal &&
           a->attention.backward == b->attention.backward;
}

/* Coordinates of all shapes of the group, one after the other; caller frees. */
static double *
coordinates_new(const CliKernelGroup *group)
{
    double *x = g_new(double, (gsize)group->shapes->len *N_AXES);
    for (guint i = 0; i < group->shapes->len; i++)
        coordinates(group, &g_array_index(group->shapes, CliKernelShape, i), x + N_AXES * i);
    return x;
}

/* The fitted shape nearest to shape i, of the same pass and mask where there is one. */
static const CliKernelShape *
nearest_of(const CliKernelGroup *group, const double *x, guint i)
{
    const CliKernelShape *shape = &g_array_index(group->shapes, CliKernelShape, i), *best = NULL;
    double least = HUGE_VAL;
    for (guint k = 0; k < group->shapes->len; k++) {
        const CliKernelShape *other = &g_array_index(group->shapes, CliKernelShape, k);
        if (!other->fitted)
            continue;
        double distance2 = is_alike(shape, other) ? 0 : 1e6;
        for (guint axis = 0; axis < N_AXES && distance2 < least; axis++) {
            double d = x[N_AXES * i + axis] - x[N_AXES * k + axis];
            distance2 += d * d;
        }
        if (distance2 < least) {
            least = distance2;
            best = other;
        }
    }
    return best;
}

/* --- why groups are left out ------------------------------------------------------------------- */

static const char skipped_few[] = "half of its group are fewer than 8 shapes";
static const char skipped_all[] = "the sample takes all shapes of its group";
static const char skipped_gpu[] = "the GPU is not known";
static const char skipped_precision[] = "the GPU has no such precision";

/* What most rows were left out for, and what helps. */
static void
complain_of_no_group(const GArray *skipped, GError **error)
{
    static const struct {
        const char *reason, *help;
    } helps[] = {{skipped_few, "tables of 15 shapes or more of a kind"},
                 {skipped_all, "a smaller --sample"},
                 {skipped_gpu, "a GPU that dtsim systems lists, in the table or as --gpu"},
                 {skipped_precision, "another --gpu, or tables of what it computes in"}};
    const ReportSkipped *most = NULL;
    for (guint i = 0; i < skipped->len; i++) {
        const ReportSkipped *s = &g_array_index(skipped, ReportSkipped, i);
        most = most == NULL || s->n > most->n ? s : most;
    }
    const char *reason = most != NULL ? most->reason : "no rows";
    const char *help = "tables of GEMMs or attention with their times";
    for (guint i = 0; i < G_N_ELEMENTS(helps); i++)
        help = strcmp(reason, helps[i].reason) == 0 ? helps[i].help : help;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "validate: no kernels that can be predicted from a sample: %s; write %s", reason,
                help);
}

/* --- the model -------------------------------------------------------------------------------- */

/* The share of the group's shapes, rounded up: how many does not hang on the seed, which they are does. */
static guint
draw_sample(const CliKernelGroup *group, const CliKernelOptions *options, double sample_frac)
{
    SimRandom random = sim_random_init((guint64)options->seed, "kernels", 0);
    guint n = group->shapes->len, wanted = MIN((guint)ceil(sample_frac * n - ROUNDING), n);
    guint drawn = 0;
    for (guint i = 0; i < n; i++) {
        CliKernelShape *shape = &g_array_index(group->shapes, CliKernelShape, i);
        shape->fitted = sim_random_below(&random, n - i) < wanted - drawn;
        drawn += shape->fitted ? 1 : 0;
    }
    return drawn;
}

static void
add_gemm(const CliKernelShape *shape, const char *us, GString *text)
{
    const CostGemm *g = &shape->gemm;
    g_string_append_printf(text,
                           "%s\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT
                           "\t%" G_GINT64_FORMAT "\t%s\t%s\n",
                           cluster_dtype_name(g->dtype), g->m, g->n, g->k, g->batch, us,
                           cost_gemm_pass_name(g->pass));
}

static void
add_attention(const CliKernelShape *shape, const char *us, GString *text)
{
    const CostAttention *a = &shape->attention;
    g_string_append_printf(text,
                           "%s\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT
                           "\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT "\t%d\t%s\t%s\n",
                           cluster_dtype_name(a->dtype), a->batch, a->heads, a->kv_heads,
                           a->head_dim, a->seq_q, a->causal ? 1 : 0, a->backward ? "-" : us,
                           a->backward ? us : "-");
}

/* The sample as a table of a system directory, and the book of it. */
static CostBook *
book_of_sample(const CliKernelGroup *group, const ClusterSystem *system, GError **error)
{
    gboolean gemm = group->kind == CLI_KERNEL_GEMM;
    g_autoptr(GString) text =
        g_string_new(gemm ? "dtype\tm\tn\tk\tbatch\ttime_us\tpass\n"
                          : "dtype\tbatch\theads\tkv_heads\thead_dim\tseq\tcausal\tforward_us\t"
                            "backward_us\n");
    for (guint i = 0; i < group->shapes->len; i++) {
        const CliKernelShape *shape = &g_array_index(group->shapes, CliKernelShape, i);
        char us[G_ASCII_DTOSTR_BUF_SIZE];
        if (!shape->fitted)
            continue;
        g_ascii_dtostr(us, sizeof us, cli_kernel_shape_ns(shape) / 1e3);
        (gemm ? add_gemm : add_attention)(shape, us, text);
    }
    g_autoptr(ConfTable) table = conf_table_parse(group->file, text->str, '\t', error);
    ClusterTable kind = gemm ? CLUSTER_TABLE_GEMM : CLUSTER_TABLE_ATTENTION;
    return table != NULL ? cost_book_of_table(system, kind, table, error) : NULL;
}

static void
predict(const CliKernelGroup *group, const ClusterSystem *system, const CostBook *book,
        GArray *errors)
{
    g_autofree double *x = coordinates_new(group);
    for (guint i = 0; i < group->shapes->len; i++) {
        const CliKernelShape *shape = &g_array_index(group->shapes, CliKernelShape, i);
        if (shape->fitted)
            continue;
        CostTime time = group->kind == CLI_KERNEL_GEMM ? cost_gemm(book, &shape->gemm)
                                                       : cost_attention(book, &shape->attention);
        const CliKernelShape *near = nearest_of(group, x, i);
        double measured = cli_kernel_shape_ns(shape);
        double roofline = plain_roofline_ns(system, group, shape);
        double scale = cli_kernel_shape_ns(near) / plain_roofline_ns(system, group, near);
        ReportKernelsError e = {.measured_us = measured / 1e3,
                                .log_ratio = {log(time.ns / measured), log(roofline / measured),
                                              log(roofline * scale / measured)},
                                .error_frac = time.error_frac};
        g_array_append_val(errors, e);
    }
}

/* The share that was asked for, or the first larger one that makes enough. FALSE: none does, or it leaves none over. */
static gboolean
draw_enough(const CliKernelGroup *group, const CliKernelOptions *options, guint *ret_fitted,
            double *ret_frac, const char **ret_why)
{
    const double shares[] = {options->sample_frac, 0.3, 0.5};
    for (guint i = 0; i < G_N_ELEMENTS(shares); i++) {
        if (shares[i] < shares[0])
            continue;
        *ret_fitted = draw_sample(group, options, shares[i]);
        *ret_frac = shares[i];
        if (*ret_fitted >= ENOUGH_SHAPES && *ret_fitted < group->shapes->len)
            return TRUE;
    }
    *ret_why = group->shapes->len < ENOUGH_SHAPES  ? skipped_few
               : *ret_fitted == group->shapes->len ? skipped_all
                                                   : skipped_few;
    return FALSE;
}

static const char *
kind_of(const CliKernelGroup *group)
{
    if (group->kind == CLI_KERNEL_GEMM)
        return "gemm";
    if (group->causal)
        return group->backward ? "attention backward" : "attention";
    return group->backward ? "full attention backward" : "full attention";
}

static gboolean
skip_group(Validation *v, const CliKernelGroup *group, const char *why)
{
    report_skipped_add(v->tables.skipped, why, group->n_rows);
    return TRUE;
}

static gboolean
group_run(gpointer data, gpointer user, GError **error)
{
    const CliKernelGroup *group = data;
    Validation *v = user;
    guint n_fitted = 0;
    double sample_frac = 0;
    const char *why = NULL;
    if (!draw_enough(group, v->options, &n_fitted, &sample_frac, &why))
        return skip_group(v, group, why);
    GError *failure = NULL;
    g_autoptr(ClusterSystem) system = cli_kernel_system(group, v->options->gpu, &failure);
    if (failure != NULL) {
        g_propagate_error(error, failure);
        return FALSE;
    }
    if (system == NULL)
        return skip_group(v, group, skipped_gpu);
    if (system->peak_flops[group->dtype] == 0)
        return skip_group(v, group, skipped_precision);
    g_autoptr(CostBook) book = book_of_sample(group, system, error);
    if (book == NULL)
        return FALSE;
    ReportKernelsRow *row = g_new0(ReportKernelsRow, 1);
    *row = (ReportKernelsRow){
        .kind = kind_of(group),
        .file = group->file,
        .source = group->source,
        .gpu = group->gpu != NULL
                   ? group->gpu
                   : g_intern_string(v->options->gpu != NULL ? v->options->gpu : system->gpu_name),
        .dtype = cluster_dtype_name(group->dtype),
        .n_fitted = n_fitted,
        .sample_frac = sample_frac,
        .errors = g_array_new(FALSE, FALSE, sizeof(ReportKernelsError))};
    g_ptr_array_add(v->rows, row);
    predict(group, system, book, row->errors);
    return TRUE;
}

static gboolean
files_run(Validation *v, char **files, GError **error)
{
    if (!cli_tables_load(&v->tables, files, cli_kernel_read, error) ||
        !cli_tables_predict(&v->tables, files[0], group_run, v, error))
        return FALSE;
    if (v->rows->len > 0)
        return TRUE;
    complain_of_no_group(v->tables.skipped, error);
    return FALSE;
}

int
cli_validate_kernels(const CliFormat *format, const CliKernelOptions *options, char **files,
                     GError **error)
{
    Validation v = {.options = options, .rows = g_ptr_array_new_with_free_func(row_free)};
    cli_tables_init(&v.tables, cli_kernel_groups_new());
    int status = CLI_USAGE;
    if (files_run(&v, files, error)) {
        ReportKernels report = {v.rows, options->sample_frac, v.tables.n_rows, v.tables.skipped};
        g_autoptr(GString) out = g_string_new(NULL);
        report_kernels(&report, cli_format_name(format), out);
        double median = report_kernels_median(&report);
        if (cli_output_write(format->output, out, error))
            status =
                !isnan(options->tolerance) && !(median <= options->tolerance) ? CLI_NO : CLI_DONE;
    }
    g_ptr_array_unref(v.rows);
    cli_tables_clear(&v.tables);
    return status;
}
