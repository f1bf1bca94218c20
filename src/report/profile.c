/* Profiles as text, JSON, TSV. Times of a profile are microseconds, as in the file. */
#include "config.h"

#include "report/profile.h"

#include "report/number.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

#define MOST_NAMES 12 /* of kernels in the text */
#define NAME_WIDTH 60

const char report_profile_columns[] =
    "file\tsection\tname\tbytes\tranks\tn\ttotal_us\tmedian_us\tleast_us\tmost_us\n";

static double
us(gint64 ns)
{
    return (double)ns / 1e3;
}

static ReportNumber
us_text(double value)
{
    return value >= 1000 ? report_grouped(value) : report_fixed(value, 1);
}

static void
head_text(const CalibrateTrace *t, GString *out)
{
    const CalibrateHeader *h = &t->header;
    g_string_append_printf(out, "%s: ", t->path);
    if (h->schema != NULL)
        g_string_append_printf(out, "Chakra trace (schema %s) of ", h->schema);
    else
        g_string_append(out, "PyTorch profile of ");
    if (t->rank >= 0)
        g_string_append_printf(out, "rank %" G_GINT64_FORMAT "%s", t->rank,
                               t->rank_of_name ? " (by the file's name)" : "");
    else
        g_string_append(out, "a rank that neither it nor its name says");
    if (h->world_size > 0)
        g_string_append_printf(out, " of %" G_GINT64_FORMAT, h->world_size);
    else
        g_string_append(out, ", world size not said: taken as one process");
    if (h->backend != NULL)
        g_string_append_printf(out, ", %s", h->backend);
    g_string_append_printf(out, "\n  %s; ", h->device != NULL ? h->device : "GPU not named");
    if (h->contents != NULL)
        g_string_append_printf(out, "%s\n", h->contents);
    else
        g_string_append_printf(out, "%s events\n", report_grouped((double)t->n_events).text);
    if (h->sums_only)
        g_string_append(out, "  kernels do not say when they began: times are sums\n");
    if (t->n_untimed > 0)
        g_string_append_printf(
            out, "  %u events of the GPU have no usable times and are left out\n", t->n_untimed);
}

static void
steps_text(const CalibrateTrace *t, GString *out)
{
    g_autoptr(ReportTable) table = report_table_new("lr", NULL);
    for (guint i = 0; i < t->steps->len; i++) {
        const CalibrateStep *step = &g_array_index(t->steps, CalibrateStep, i);
        report_table_cell(table, "%s", step->name);
        report_table_cell(table, "%s us", us_text(us(step->duration_ns)).text);
    }
    if (t->steps->len > 0)
        report_table_print(table, 2, out);
}

static void
unions_text(const CalibrateProfile *p, GString *out)
{
    const struct {
        const char *name, *about;
        gint64 ns;
    } rows[] = {
        {"span", "first kernel or copy to the last", p->span_ns},
        {"busy", "anything runs", p->busy_ns},
        {"compute", "a kernel that computes runs", p->compute_ns},
        {"NCCL", "one of its kernels runs", p->nccl_ns},
        {"communication", "NCCL or an exchange of experts runs", p->communication_ns},
        {"exposed", "communication runs and nothing computes", p->exposed_ns},
    };
    g_autoptr(ReportTable) table = report_table_new("lrrl", NULL);
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        report_table_cell(table, "%s", rows[i].name);
        report_table_cell(table, "%s us", us_text(us(rows[i].ns)).text);
        report_table_cell(
            table, "%s",
            report_percent(p->span_ns > 0 ? us(rows[i].ns) / us(p->span_ns) : NAN).text);
        report_table_cell(table, "%s", rows[i].about);
    }
    report_table_print(table, 2, out);
}

static void
kinds_text(const CalibrateProfile *p, GString *out)
{
    static const char *const heads[] = {"kind", "n", "total us", NULL};
    g_autoptr(ReportTable) table = report_table_new("lrr", heads);
    for (guint kind = 0; kind < CALIBRATE_N_KINDS; kind++) {
        if (p->n[kind] == 0)
            continue;
        report_table_cell(table, "%s", calibrate_kind_name(kind));
        report_table_cell(table, "%u", p->n[kind]);
        report_table_cell(table, "%s", us_text(us(p->total_ns[kind])).text);
    }
    g_string_append_c(out, '\n');
    report_table_print(table, 2, out);
}

static void
operations_text(const CalibrateTrace *t, GString *out)
{
    static const char *const heads[] = {"operation", "bytes",     "ranks",    "n",
                                        "total us",  "median us", "least us", NULL};
    g_autoptr(GArray) groups = calibrate_groups_by_operation(t);
    g_autoptr(ReportTable) table = report_table_new("lrrrrrr", heads);
    for (guint i = 0; i < groups->len; i++) {
        const CalibrateGroup *g = &g_array_index(groups, CalibrateGroup, i);
        report_table_cell(table, "%s %s", calibrate_kind_name(g->kind), g->operation);
        report_table_cell(table, "%s", g->bytes > 0 ? report_grouped((double)g->bytes).text : "-");
        report_table_cell(table, "%s", g->ranks > 0 ? report_grouped((double)g->ranks).text : "-");
        report_table_cell(table, "%u", g->n);
        report_table_cell(table, "%s", us_text(us(g->total_ns)).text);
        report_table_cell(table, "%s", us_text(g->median_ns / 1e3).text);
        report_table_cell(table, "%s", us_text(us(g->min_ns)).text);
    }
    if (groups->len == 0)
        return;
    g_string_append_c(out, '\n');
    report_table_print(table, 2, out);
}

/* The first letters, whole characters. */
static char *
short_name(const char *name)
{
    if (g_utf8_strlen(name, -1) <= NAME_WIDTH)
        return g_strdup(name);
    g_autofree char *cut = g_utf8_substring(name, 0, NAME_WIDTH - 3);
    return g_strconcat(cut, "...", NULL);
}

static void
names_text(const CalibrateTrace *t, GString *out)
{
    static const char *const heads[] = {"kernel", "kind", "n", "total us", "median us", NULL};
    g_autoptr(GArray) groups = calibrate_groups_by_name(t);
    g_autoptr(ReportTable) table = report_table_new("llrrr", heads);
    for (guint i = 0; i < groups->len && i < MOST_NAMES; i++) {
        const CalibrateGroup *g = &g_array_index(groups, CalibrateGroup, i);
        g_autofree char *name = short_name(calibrate_trace_name(t, g->name));
        report_table_cell(table, "%s", name);
        report_table_cell(table, "%s", calibrate_kind_name(g->kind));
        report_table_cell(table, "%u", g->n);
        report_table_cell(table, "%s", us_text(us(g->total_ns)).text);
        report_table_cell(table, "%s", us_text(g->median_ns / 1e3).text);
    }
    g_string_append_c(out, '\n');
    report_table_print(table, 2, out);
    if (groups->len > MOST_NAMES)
        g_string_append_printf(out, "  and %u more names (--format tsv lists them)\n",
                               groups->len - MOST_NAMES);
}

void
report_profile_text(const CalibrateTrace *t, GString *out)
{
    CalibrateProfile p = calibrate_profile(t);
    head_text(t, out);
    steps_text(t, out);
    if (p.n_gpu == 0) {
        g_string_append(out, "  no GPU kernels: it was profiled without the GPU's activities\n");
        return;
    }
    if (!t->header.sums_only)
        unions_text(&p, out);
    kinds_text(&p, out);
    operations_text(t, out);
    names_text(t, out);
}

/* --- JSON --------------------------------------------------------------------------------------- */

/* A count that may not be known. */
static void
count_json(JsonBuilder *b, const char *key, gint64 value, gboolean known)
{
    if (known)
        report_json_int(b, key, value);
    else
        report_json_double(b, key, NAN);
}

static void
head_json(JsonBuilder *b, const CalibrateTrace *t)
{
    const CalibrateHeader *h = &t->header;
    report_json_text(b, "file", t->path);
    if (h->contents != NULL) {
        report_json_text(b, "schema", h->schema);
        report_json_text(b, "contents", h->contents);
    }
    report_json_text(b, "gpu", h->device);
    report_json_text(b, "backend", h->backend);
    count_json(b, "rank", t->rank, t->rank >= 0);
    report_json_bool(b, "rank_by_name", t->rank_of_name);
    count_json(b, "world_size", h->world_size, h->world_size > 0);
    report_json_int(b, "events", (gint64)t->n_events);
    report_json_int(b, "untimed_gpu_events", t->n_untimed);
}

static void
groups_json(JsonBuilder *b, const CalibrateTrace *t, const GArray *groups, gboolean operations)
{
    for (guint i = 0; i < groups->len; i++) {
        const CalibrateGroup *g = &g_array_index(groups, CalibrateGroup, i);
        report_json_object(b, NULL);
        report_json_text(b, "kind", calibrate_kind_name(g->kind));
        report_json_text(b, "name", operations ? g->operation : calibrate_trace_name(t, g->name));
        if (operations) {
            count_json(b, "bytes", g->bytes, g->bytes > 0);
            count_json(b, "ranks", g->ranks, g->ranks > 0);
        }
        report_json_int(b, "n", g->n);
        report_json_double(b, "total_us", us(g->total_ns));
        report_json_double(b, "median_us", g->median_ns / 1e3);
        report_json_double(b, "least_us", us(g->min_ns));
        report_json_double(b, "most_us", us(g->max_ns));
        json_builder_end_object(b);
    }
}

static void
unions_json(JsonBuilder *b, const CalibrateProfile *p, gboolean known)
{
    gboolean any = known && p->n_gpu > 0; /* without a kernel nothing took 0 us */
    report_json_int(b, "gpu_events", p->n_gpu);
    report_json_double(b, "span_us", any ? us(p->span_ns) : NAN);
    report_json_double(b, "busy_us", any ? us(p->busy_ns) : NAN);
    report_json_double(b, "compute_us", any ? us(p->compute_ns) : NAN);
    report_json_double(b, "nccl_us", any ? us(p->nccl_ns) : NAN);
    report_json_double(b, "communication_us", any ? us(p->communication_ns) : NAN);
    report_json_double(b, "exposed_us", any ? us(p->exposed_ns) : NAN);
}

void
report_profile_json(JsonBuilder *b, const CalibrateTrace *t)
{
    CalibrateProfile p = calibrate_profile(t);
    report_json_object(b, NULL);
    head_json(b, t);
    unions_json(b, &p, !t->header.sums_only);
    report_json_array(b, "steps");
    for (guint i = 0; i < t->steps->len; i++) {
        const CalibrateStep *step = &g_array_index(t->steps, CalibrateStep, i);
        report_json_object(b, NULL);
        report_json_text(b, "name", step->name);
        report_json_double(b, "us", us(step->duration_ns));
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    report_json_array(b, "kinds");
    for (guint kind = 0; kind < CALIBRATE_N_KINDS; kind++) {
        report_json_object(b, NULL);
        report_json_text(b, "kind", calibrate_kind_name(kind));
        report_json_int(b, "n", p.n[kind]);
        report_json_double(b, "total_us", us(p.total_ns[kind]));
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    g_autoptr(GArray) operations = calibrate_groups_by_operation(t);
    g_autoptr(GArray) names = calibrate_groups_by_name(t);
    report_json_array(b, "operations");
    groups_json(b, t, operations, TRUE);
    json_builder_end_array(b);
    report_json_array(b, "kernels");
    groups_json(b, t, names, FALSE);
    json_builder_end_array(b);
    json_builder_end_object(b);
}

/* --- TSV ---------------------------------------------------------------------------------------- */

static void
row_tsv(GString *out, const CalibrateTrace *t, const char *section, const char *name, guint n,
        double total_us)
{
    g_string_append_printf(out, "%s\t%s\t%s\t\t\t%u\t%s\t\t\t\n", t->path, section, name, n,
                           report_plain(total_us, 12).text);
}

static void
groups_tsv(GString *out, const CalibrateTrace *t, const GArray *groups, gboolean operations)
{
    for (guint i = 0; i < groups->len; i++) {
        const CalibrateGroup *g = &g_array_index(groups, CalibrateGroup, i);
        g_string_append_printf(
            out, "%s\t%s\t%s\t%s\t%s\t%u\t%s\t%s\t%s\t%s\n", t->path,
            operations ? calibrate_kind_name(g->kind) : "kernel",
            operations ? g->operation : calibrate_trace_name(t, g->name),
            g->bytes > 0 ? report_plain((double)g->bytes, 15).text : "",
            g->ranks > 0 ? report_plain((double)g->ranks, 15).text : "", g->n,
            report_plain(us(g->total_ns), 12).text, report_plain(g->median_ns / 1e3, 12).text,
            report_plain(us(g->min_ns), 12).text, report_plain(us(g->max_ns), 12).text);
    }
}

void
report_profile_tsv(const CalibrateTrace *t, GString *out)
{
    CalibrateProfile p = calibrate_profile(t);
    for (guint i = 0; i < t->steps->len; i++) {
        const CalibrateStep *step = &g_array_index(t->steps, CalibrateStep, i);
        row_tsv(out, t, "step", step->name, 1, us(step->duration_ns));
    }
    if (p.n_gpu == 0) {
        g_string_append_printf(out, "%s\tunion\tspan\t\t\t0\t\t\t\t\n", t->path);
        return;
    }
    const gint64 unions[] = {p.span_ns, p.busy_ns,          p.compute_ns,
                             p.nccl_ns, p.communication_ns, p.exposed_ns};
    static const char *const names[] = {"span", "busy",          "compute",
                                        "nccl", "communication", "exposed"};
    for (guint i = 0; i < G_N_ELEMENTS(unions) && !t->header.sums_only; i++)
        row_tsv(out, t, "union", names[i], p.n_gpu, us(unions[i]));
    for (guint kind = 0; kind < CALIBRATE_N_KINDS; kind++)
        row_tsv(out, t, "kind", calibrate_kind_name(kind), p.n[kind], us(p.total_ns[kind]));
    g_autoptr(GArray) operations = calibrate_groups_by_operation(t);
    g_autoptr(GArray) by_name = calibrate_groups_by_name(t);
    groups_tsv(out, t, operations, TRUE);
    groups_tsv(out, t, by_name, FALSE);
}
