/* The pipeline as a picture in text, and as data for the plot. */
#include "config.h"

#include "report/gantt.h"

#include "conf/complaint.h"

#include <string.h>

#define BOXES_MOST 400000u /* gnuplot takes a minute for as many */

typedef struct {
    guint rank;
    ScheduleToken token;
    gint64 start, end; /* of a pair: of both */
} Box;

struct ReportGantt {
    guint n_ranks;
    GArray *boxes; /* of Box, as added */
    gint64 end;
};

ReportGantt *
report_gantt_new(guint n_ranks)
{
    ReportGantt *gantt = g_new0(ReportGantt, 1);
    gantt->n_ranks = n_ranks;
    gantt->boxes = g_array_new(FALSE, FALSE, sizeof(Box));
    return gantt;
}

void
report_gantt_free(ReportGantt *gantt)
{
    if (gantt == NULL)
        return;
    g_array_unref(gantt->boxes);
    g_free(gantt);
}

void
report_gantt_add(ReportGantt *gantt, guint pp_rank, ScheduleToken token, gint64 start, gint64 end)
{
    Box box = {pp_rank, token, start, end};
    if (token.pair == SCHEDULE_PAIR_SECOND && gantt->boxes->len > 0) {
        Box *first = &g_array_index(gantt->boxes, Box, gantt->boxes->len - 1);
        if (first->rank == pp_rank && first->token.pair == SCHEDULE_PAIR_FIRST) {
            first->start = box.start = MIN(first->start, start);
            first->end = box.end = MAX(first->end, end);
        }
    }
    g_array_append_val(gantt->boxes, box);
    gantt->end = MAX(gantt->end, end);
}

static const char kind_letters[] = "FBIW";

static void
draw(char *line, const Box *box, gint64 unit, guint zoom)
{
    gint64 from = box->start * zoom / unit, to = box->end * zoom / unit;
    if (box->token.pair == SCHEDULE_PAIR_FIRST)
        to = (from + to + 1) / 2;
    else if (box->token.pair == SCHEDULE_PAIR_SECOND)
        from = (from + to + 1) / 2;
    gsize room = to > from ? (gsize)(to - from) : 0;
    if (room == 0)
        return;
    memset(line + from, '-', room);
    line[from] = kind_letters[box->token.kind];
    g_autofree char *number = g_strdup_printf("%u", box->token.microbatch);
    gsize length = strlen(number), shown = MIN(length, room - 1);
    memcpy(line + from + 1, number + length - shown, shown);
}

void
report_gantt_text(const ReportGantt *gantt, gint64 unit, guint zoom, GString *out)
{
    gsize columns = (gsize)(gantt->end * zoom / unit);
    for (guint rank = 0; rank < gantt->n_ranks; rank++) {
        g_autofree char *line = g_strnfill(columns, '.');
        for (guint i = 0; i < gantt->boxes->len; i++) {
            const Box *box = &g_array_index(gantt->boxes, Box, i);
            if (box->rank == rank)
                draw(line, box, unit, zoom);
        }
        g_string_append_printf(out, "  %2u |%s|\n", rank, line);
    }
}

gint64
report_gantt_end(const ReportGantt *gantt)
{
    return gantt->end;
}

static void
append_number(GString *data, double x)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(text, sizeof text, "%.9g", x);
    g_string_append_printf(data, "\t%s", text);
}

/* "whole", or of a pair the half that a token has. */
static int
half_of(const Box *box)
{
    return box->token.pair == SCHEDULE_SINGLE ? 0 : box->token.pair == SCHEDULE_PAIR_FIRST ? 1 : 2;
}

/* A block of the data file: what it is in the first line, then a line a box. */
static void
append_panel(GString *data, const ReportPanel *panel)
{
    const ReportGantt *gantt = panel->gantt;
    double scale = panel->scale;
    if (data->len > 0)
        g_string_append(data, "\n\n");
    g_string_append_printf(data, "%s\t%u", panel->title, gantt->n_ranks);
    append_number(data, (double)gantt->end / scale);
    g_string_append(data, "\t0\t0\t0\t0\n");
    for (guint i = 0; i < gantt->boxes->len; i++) {
        const Box *box = &g_array_index(gantt->boxes, Box, i);
        g_string_append_printf(data, "%c\t%u", kind_letters[box->token.kind], box->rank);
        append_number(data, (double)box->start / scale);
        append_number(data, (double)box->end / scale);
        g_string_append_printf(data, "\t%d\t%u\t%d\n", half_of(box), box->token.microbatch,
                               box->token.stage != box->rank);
    }
}

gboolean
report_gantt_page(const ReportPage *page, const ReportPanel *panels, guint n, const char *path,
                  GError **error)
{
    g_autoptr(GString) data = g_string_new(NULL);
    guint boxes = 0;
    for (guint i = 0; i < n; i++)
        boxes += panels[i].gantt->boxes->len;
    if (boxes > BOXES_MOST) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_VALUE,
                    "--plot: %u operations are more than a picture of %u shows; write fewer "
                    "--microbatches, or name fewer schedules",
                    boxes, BOXES_MOST);
        return FALSE;
    }
    for (guint i = 0; i < n; i++)
        append_panel(data, &panels[i]);
    g_autofree char *words = g_strdup_printf("%s\t%s", page->title, page->unit);
    return report_plot("schedules.gp", data, words, path, error);
}

gboolean
report_gantt_plot(const ReportGantt *gantt, const char *title, const char *path, GError **error)
{
    gboolean seconds = gantt->end >= 2000000000;
    ReportPage page = {title, seconds ? "s" : "ms"};
    ReportPanel panel = {gantt, "", seconds ? 1e9 : 1e6};
    return report_gantt_page(&page, &panel, 1, path, error);
}
