/* Memory over time, streamed as TSV and kept for the plot. */
#include "config.h"

#include "report/timeline.h"

#include "conf/complaint.h"
#include "report/gantt.h"
#include "report/number.h"
#include "report/stream.h"

#include <errno.h>
#include <string.h>

#define POINTS_MOST 400000u /* gnuplot takes a minute for as many */

typedef struct {
    guint pp_rank;
    gint64 when_ns;
    gint64 bytes[STEP_N_MEMORY];
} Point;

struct ReportTimeline {
    ReportStream *stream; /* NULL: no file, or it was closed */
    FILE *file;           /* NULL: no TSV is asked for */
    gint64 rank;
    GArray *points; /* of Point; NULL: no picture is asked for */
    guint n_points; /* also those that are too many to be kept */
};

ReportTimeline *
report_timeline_open(const char *path, gboolean drawn, gint64 rank, GError **error)
{
    g_autoptr(ReportTimeline) t = g_new0(ReportTimeline, 1);
    t->rank = rank;
    t->points = drawn ? g_array_new(FALSE, FALSE, sizeof(Point)) : NULL;
    if (path != NULL && strcmp(path, "-") == 0) {
        t->file = stdout;
    } else if (path != NULL) {
        t->stream = report_stream_open(path, error);
        if (t->stream == NULL)
            return NULL;
        t->file = report_stream_file(t->stream);
    }
    if (t->file != NULL) {
        fputs("time_ms\trank", t->file);
        for (guint k = 0; k < STEP_N_MEMORY; k++)
            fprintf(t->file, "\t%s_bytes", step_memory_names[k]);
        fputs("\ttotal_bytes\n", t->file);
    }
    return g_steal_pointer(&t);
}

static void
write_row(ReportTimeline *t, const Point *p)
{
    gint64 sum = 0;
    fprintf(t->file, "%" G_GINT64_FORMAT ".%06d\t%u", p->when_ns / 1000000,
            (int)(p->when_ns % 1000000), p->pp_rank);
    for (guint k = 0; k < STEP_N_MEMORY; k++) {
        fprintf(t->file, "\t%" G_GINT64_FORMAT, p->bytes[k]);
        sum += p->bytes[k];
    }
    if (fprintf(t->file, "\t%" G_GINT64_FORMAT "\n", sum) < 0 && t->stream != NULL)
        report_stream_note(t->stream, errno);
}

void
report_timeline_add(void *timeline, guint rank, guint pp_rank, gint64 when_ns,
                    const gint64 bytes[STEP_N_MEMORY])
{
    ReportTimeline *t = timeline;
    (void)rank;
    if (t->rank >= 0 && t->rank != pp_rank)
        return;
    Point p = {.pp_rank = pp_rank, .when_ns = when_ns};
    memcpy(p.bytes, bytes, sizeof p.bytes);
    if (t->file != NULL)
        write_row(t, &p);
    t->n_points++;
    if (t->points != NULL && t->points->len < POINTS_MOST)
        g_array_append_val(t->points, p);
}

gboolean
report_timeline_close(ReportTimeline *t, GError **error)
{
    ReportStream *stream = g_steal_pointer(&t->stream);
    t->file = NULL;
    return stream == NULL || report_stream_close(stream, error);
}

/* From the bottom: what stays lies below what comes and goes. */
static const StepMemory stacked[STEP_N_MEMORY] = {
    STEP_MEMORY_FIXED,       STEP_MEMORY_COMMUNICATION, STEP_MEMORY_PARAMETERS,
    STEP_MEMORY_GRADIENTS,   STEP_MEMORY_OPTIMIZER,     STEP_MEMORY_GATHERED,
    STEP_MEMORY_ACTIVATIONS, STEP_MEMORY_LOGITS,        STEP_MEMORY_WORKSPACE};

static void
append_line(GString *data, gint64 when_ns, const gint64 bytes[STEP_N_MEMORY])
{
    gint64 below = 0;
    g_string_append(data, report_plain((double)when_ns / 1e6, 12).text);
    for (guint k = 0; k < STEP_N_MEMORY; k++) { /* edges of the areas, from the bottom */
        below += bytes[stacked[k]];
        g_string_append_printf(data, "\t%s", report_plain((double)below / 1e9, 12).text);
    }
    g_string_append_c(data, '\n');
}

/* Block of a pipeline rank: its number, then a line before and one after each change. */
static void
append_block(const ReportTimeline *t, guint pp_rank, gint64 end_ns, GString *data)
{
    const Point *last = NULL;
    for (guint i = 0; i < t->points->len; i++) {
        const Point *p = &g_array_index(t->points, Point, i);
        if (p->pp_rank != pp_rank)
            continue;
        if (last == NULL)
            g_string_append_printf(data, "%s%u\n", data->len > 0 ? "\n\n" : "", pp_rank);
        else if (p->when_ns > last->when_ns)
            append_line(data, p->when_ns, last->bytes);
        append_line(data, p->when_ns, p->bytes);
        last = p;
    }
    if (last != NULL && end_ns > last->when_ns)
        append_line(data, end_ns, last->bytes);
}

gboolean
report_timeline_plot(const ReportTimeline *t, const char *title, gint64 end_ns, gint64 limit_bytes,
                     const char *path, GError **error)
{
    if (t->n_points > POINTS_MOST) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_VALUE,
                    "--plot: %u changes of memory are more than a picture of %u shows; write fewer "
                    "--microbatches, or one --rank",
                    t->n_points, POINTS_MOST);
        return FALSE;
    }
    guint ranks = 0;
    for (guint i = 0; i < t->points->len; i++)
        ranks = MAX(ranks, g_array_index(t->points, Point, i).pp_rank + 1);
    g_autoptr(GString) data = g_string_new(NULL);
    for (guint rank = 0; rank < ranks; rank++)
        append_block(t, rank, end_ns, data);
    g_autoptr(GString) words = g_string_new(title);
    g_string_append_printf(words, "\t%s", report_plain((double)limit_bytes / 1e9, 12).text);
    for (guint k = 0; k < STEP_N_MEMORY; k++)
        g_string_append_printf(words, "%s%s", k == 0 ? "\t" : " ", step_memory_names[stacked[k]]);
    return report_plot("memory.gp", data, words->str, path, error);
}

void
report_timeline_free(ReportTimeline *t)
{
    if (t == NULL)
        return;
    report_stream_abandon(t->stream);
    g_clear_pointer(&t->points, g_array_unref);
    g_free(t);
}
