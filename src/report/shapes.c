/* Lists of shapes. As text one is what the calibrator reads: a line a shape, what is known of it in a comment above. */
#include "config.h"

#include "report/shapes.h"

#include "report/certainty.h"
#include "report/json_number.h"
#include "report/number.h"
#include "report/table.h"

#include <string.h>

#define G "%" G_GINT64_FORMAT
#define N_WORTH 10 /* shapes that a run on models names */

/* --- words ------------------------------------------------------------------------------------ */

static char *
gemm_words(const CostGemm *g)
{
    return g_strdup_printf("gemm %s %s " G " " G " " G " " G " " G, cluster_dtype_name(g->dtype),
                           cost_gemm_pass_name(g->pass), g->m, g->n, g->k, g->batch,
                           MAX(g->groups, 1));
}

/* A line of a list stands for forward and backward. What no line can say is said behind it. */
static char *
attention_words(const CostAttention *a)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text, "attention %s " G " " G " " G " " G " " G " %d",
                    cluster_dtype_name(a->dtype), a->batch, a->heads, a->kv_heads, a->head_dim,
                    a->seq_q, a->causal ? 1 : 0);
    if (a->seq_kv != a->seq_q)
        g_string_append_printf(text, " keys=" G, a->seq_kv);
    if (a->v_dim != 0 && a->v_dim != a->head_dim)
        g_string_append_printf(text, " values=" G, a->v_dim);
    return g_strdup(text->str);
}

static char *
words_of(const StepShape *s)
{
    switch (s->kind) {
    case STEP_SHAPE_GEMM:
        return gemm_words(&s->gemm);
    case STEP_SHAPE_ATTENTION:
        return attention_words(&s->attention);
    case STEP_SHAPE_MEMORY:
        return g_strdup_printf("memory %s " G, cost_memory_kernel_name(s->memory.kernel),
                               s->memory.bytes);
    default:
        return g_strdup_printf("collective %s %s %u %u " G, net_op_name(s->collective.op),
                               cluster_dtype_name(s->collective.dtype), s->collective.ranks,
                               s->collective.nodes, s->collective.bytes);
    }
}

char *
report_shape_words(const StepShape *shape, const char *between)
{
    g_autofree char *words = words_of(shape);
    g_auto(GStrv) parts = g_strsplit(words, " ", -1);
    return g_strjoinv(between, parts);
}

/* --- worth ------------------------------------------------------------------------------------ */

typedef struct {
    guint index;
    double error_ns;
} Worth;

static gint
by_worth(gconstpointer a, gconstpointer b)
{
    const Worth *x = a, *y = b;
    if (x->error_ns != y->error_ns)
        return x->error_ns > y->error_ns ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

GArray *
report_shapes_worth(const StepResult *result, guint most)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Worth));
    GArray *indices = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint i = 0; i < result->shapes->len; i++) {
        const StepShape *s = &g_array_index(result->shapes, StepShape, i);
        Worth worth = {i, s->error_ns};
        if (s->time.basis != COST_MEASURED && s->error_ns > 0 && step_shape_is_measurable(s))
            g_array_append_val(all, worth);
    }
    g_array_sort(all, by_worth);
    for (guint i = 0; i < MIN(all->len, most); i++)
        g_array_append_val(indices, g_array_index(all, Worth, i).index);
    return indices;
}

gboolean
report_rests_on_models(const StepResult *result)
{
    return report_certainty_is_modelled(report_certainty(result));
}

void
report_append_unmeasured(const StepResult *r, GString *out)
{
    g_autoptr(GArray) worth = report_shapes_worth(r, N_WORTH);
    if (!report_rests_on_models(r) || worth->len == 0)
        return;
    g_string_append_printf(out,
                           "  WARNING: %s rests on shapes that were not measured; measure first "
                           "(dtsim shapes --worth %d):\n",
                           report_percent(r->share[COST_MODELLED]).text, N_WORTH);
    g_autoptr(ReportTable) table = report_table_new("lrl", NULL);
    for (guint i = 0; i < worth->len; i++) {
        const StepShape *s = &g_array_index(r->shapes, StepShape, g_array_index(worth, guint, i));
        g_autofree char *words = report_shape_words(s, " ");
        report_table_cell(table, "%s", words);
        report_table_cell(table, "+- %s", report_time(s->error_ns * 1e-9).text);
        report_table_cell(table, "%s", s->name);
    }
    report_table_print(table, 4, out);
}

/* --- text ------------------------------------------------------------------------------------- */

static double
share_of(const ReportShapes *r, const StepShape *s)
{
    double ns = (double)r->run->result->time_ns;
    return ns > 0 ? s->path_ns / ns : 0;
}

static void
comment(const ReportShapes *r, const StepShape *s, GString *out)
{
    const char *pass = s->kind != STEP_SHAPE_ATTENTION ? ""
                       : s->attention.backward         ? " backward"
                                                       : " forward";
    g_autofree char *share = g_strdup(report_percent(share_of(r, s)).text);
    g_string_append_printf(out, "# %s%s: %s of the iteration; %s each, %s", s->name, pass, share,
                           report_time(s->time.ns * 1e-9).text, report_basis_names[s->time.basis]);
    if (s->time.error_frac > 0)
        g_string_append_printf(out, " +- %s", report_percent(s->time.error_frac).text);
    g_string_append_c(out, '\n');
}

/* What one line says. */
typedef struct {
    char *words;
    gboolean measurable;
    double calls;
    GString *comments;
} Line;

static void
line_free(gpointer data)
{
    Line *line = data;
    g_free(line->words);
    g_string_free(line->comments, TRUE);
    g_free(line);
}

/* Forward and backward of attention are one line, as are GEMMs that add to what is there and those that do not, and
 * groups of ranks that only links tell apart. */
static void
add_line(const ReportShapes *r, const StepShape *s, GPtrArray *lines)
{
    g_autofree char *words = report_shape_words(s, "\t");
    Line *line = NULL;
    for (guint i = 0; i < lines->len && line == NULL; i++)
        if (strcmp(((const Line *)lines->pdata[i])->words, words) == 0)
            line = lines->pdata[i];
    if (line == NULL) {
        line = g_new0(Line, 1);
        line->words = g_steal_pointer(&words);
        line->measurable = step_shape_is_measurable(s);
        line->comments = g_string_new(NULL);
        g_ptr_array_add(lines, line);
    }
    line->calls =
        s->kind == STEP_SHAPE_ATTENTION ? MAX(line->calls, s->calls) : line->calls + s->calls;
    comment(r, s, line->comments);
}

typedef void (*Visit)(const ReportShapes *r, const StepShape *s, gpointer user);

static void
for_each(const ReportShapes *r, Visit visit, gpointer user)
{
    const GArray *shapes = r->run->result->shapes;
    g_autoptr(GArray) worth = report_shapes_worth(r->run->result, r->worth);
    guint n = r->worth > 0 ? worth->len : shapes->len;
    for (guint i = 0; i < n; i++) {
        guint index = r->worth > 0 ? g_array_index(worth, guint, i) : i;
        visit(r, &g_array_index(shapes, StepShape, index), user);
    }
}

static void
visit_line(const ReportShapes *r, const StepShape *s, gpointer lines)
{
    add_line(r, s, lines);
}

static void
shapes_text(const ReportShapes *r, GString *out)
{
    const Plan *plan = r->run->plan;
    const PlanSpec *p = &plan->spec;
    const StepResult *result = r->run->result;
    g_autofree char *error = g_strdup(report_time((double)result->error_ns * 1e-9).text);
    g_string_append_printf(out,
                           "# %s of %s on %s: " G " GPU%s, tp " G ", pp " G ", dp " G ", cp " G
                           ", ep " G ", microbatch " G " x " G "\n",
                           r->worth > 0 ? "Shapes worth measuring" : "Shapes", plan->shape->name,
                           plan->system->name, plan->gpus, plan->gpus == 1 ? "" : "s", p->tp, p->pp,
                           p->dp, p->cp, p->ep, p->micro_batch, p->seq);
    g_autofree char *rests = report_certainty_words(report_certainty(result));
    g_string_append_printf(out,
                           "# iteration %s +- %s (one sigma); for dtsim-calibrate --shapes\n"
                           "# compute and communication: %s\n",
                           report_time((double)result->time_ns * 1e-9).text, error, rests);
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(line_free);
    for_each(r, visit_line, lines);
    for (guint i = 0; i < lines->len; i++) {
        const Line *line = lines->pdata[i];
        g_string_append(out, line->comments->str);
        g_string_append_printf(out, "%s%s\t%s\n",
                               line->measurable ? ""
                                                : "# no case of the "
                                                  "calibrator: ",
                               line->words, report_plain(line->calls, 9).text);
    }
    if (lines->len == 0)
        g_string_append(out, "# none: all that was looked up was measured\n");
}

/* --- TSV and JSON ----------------------------------------------------------------------------- */

static const char *
pass_of(const StepShape *s)
{
    if (s->kind == STEP_SHAPE_GEMM)
        return cost_gemm_pass_name(s->gemm.pass);
    if (s->kind == STEP_SHAPE_ATTENTION)
        return s->attention.backward ? "backward" : "forward";
    return "";
}

static void
visit_row(const ReportShapes *r, const StepShape *s, gpointer user)
{
    g_autofree char *words = report_shape_words(s, " ");
    const double values[] = {s->calls, s->time.ns * 1e-3, share_of(r, s), s->time.error_frac,
                             s->error_ns * 1e-9};
    g_string_append_printf(user, "%s\t%s\t%s\t%s\t%s\t%d", step_shape_kind_names[s->kind], words,
                           s->name, pass_of(s), report_basis_names[s->time.basis],
                           step_shape_is_measurable(s) ? 1 : 0);
    for (guint i = 0; i < G_N_ELEMENTS(values); i++)
        g_string_append_printf(user, "\t%s", report_plain(values[i], 6).text);
    g_string_append_c(user, '\n');
}

static void
shapes_tsv(const ReportShapes *r, GString *out)
{
    g_string_append(out, "kind\tshape\tname\tpass\tbasis\tmeasurable\tcalls\ttime_us\tshare\t"
                         "error_frac\terror_s\n");
    for_each(r, visit_row, out);
}

static void
json_shape(const ReportShapes *r, const StepShape *s, gpointer user)
{
    JsonBuilder *b = user;
    g_autofree char *words = report_shape_words(s, " ");
    report_json_object(b, NULL);
    report_json_text(b, "kind", step_shape_kind_names[s->kind]);
    report_json_text(b, "shape", words);
    report_json_text(b, "name", s->name);
    report_json_text(b, "pass", *pass_of(s) != '\0' ? pass_of(s) : NULL);
    report_json_text(b, "basis", report_basis_names[s->time.basis]);
    report_json_bool(b, "measurable", step_shape_is_measurable(s));
    report_json_double(b, "calls", s->calls);
    report_json_double(b, "time_us", s->time.ns * 1e-3);
    report_json_double(b, "share", share_of(r, s));
    report_json_double(b, "error_frac", s->time.error_frac);
    report_json_double(b, "error_s", s->error_ns * 1e-9);
    json_builder_end_object(b);
}

void
report_worth_members(JsonBuilder *b, const ReportRun *run)
{
    const ReportShapes worth = {run, N_WORTH};
    report_json_bool(b, "rests_on_models", report_rests_on_models(run->result));
    report_json_array(b, "worth_measuring");
    for_each(&worth, json_shape, b);
    json_builder_end_array(b);
}

static void
shapes_json(const ReportShapes *r, GString *out)
{
    const StepResult *result = r->run->result;
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    report_json_text(b, "model", r->run->plan->shape->name);
    report_json_text(b, "system", r->run->plan->system->name);
    report_json_int(b, "gpus", r->run->plan->gpus);
    report_json_double(b, "time_s", (double)result->time_ns / 1e9);
    report_certainty_members(b, report_certainty(result));
    report_json_array(b, "shapes");
    for_each(r, json_shape, b);
    json_builder_end_array(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

void
report_shapes(const ReportShapes *shapes, const char *format, GString *out)
{
    if (strcmp(format, "json") == 0)
        shapes_json(shapes, out);
    else if (strcmp(format, "tsv") == 0)
        shapes_tsv(shapes, out);
    else
        shapes_text(shapes, out);
}
