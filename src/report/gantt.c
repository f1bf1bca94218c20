/* The pipeline as a picture in text, and as data for the plot. */
#include "config.h"

#include "report/gantt.h"

#include <string.h>

typedef struct {
    guint rank;
    ScheduleToken token;
    gint64 start, end;
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
    g_array_append_val(gantt->boxes, box);
    gantt->end = MAX(gantt->end, end);
}

static const char kind_letters[] = "FBIW";

static void
draw(char *line, const Box *box, gint64 unit, guint zoom)
{
    gint64 from = box->start * zoom / unit, to = box->end * zoom / unit;
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

/* Whether the box has room for its number: a digit is 1/190 of the width, with a margin. */
static gboolean
label_fits(const ReportGantt *gantt, const Box *box)
{
    guint digits = 1;
    for (guint m = box->token.microbatch; m >= 10; m /= 10)
        digits++;
    return (double)(box->end - box->start) * 190 >= (double)gantt->end * (digits + 0.3);
}

/* Numbers on a few boxes of a kind tell nothing: those that fit, when nearly all do, or none. */
static gboolean
kind_is_labelled(const ReportGantt *gantt, guint kind)
{
    guint n = 0, n_fit = 0;
    for (guint i = 0; i < gantt->boxes->len; i++) {
        const Box *box = &g_array_index(gantt->boxes, Box, i);
        n += box->token.kind == kind;
        n_fit += box->token.kind == kind && label_fits(gantt, box);
    }
    return 10 * n_fit >= 9 * n;
}

static void
append_number(GString *data, double x)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(text, sizeof text, "%.9g", x);
    g_string_append_printf(data, "\t%s", text);
}

gboolean
report_gantt_plot(const ReportGantt *gantt, const char *title, const char *path, GError **error)
{
    gboolean seconds = gantt->end >= 2000000000;
    double unit = seconds ? 1e9 : 1e6;
    g_autoptr(GString) data = g_string_new(NULL);
    for (guint kind = 0; kind < 4; kind++) {
        gboolean any = FALSE, labelled = kind_is_labelled(gantt, kind);
        for (guint i = 0; i < gantt->boxes->len; i++) {
            const Box *box = &g_array_index(gantt->boxes, Box, i);
            if (box->token.kind != kind)
                continue;
            if (!any && data->len > 0)
                g_string_append(data, "\n\n");
            any = TRUE;
            g_string_append_printf(data, "%c\t%u", kind_letters[kind], box->rank);
            append_number(data, (double)box->start / unit);
            append_number(data, (double)box->end / unit);
            g_string_append_printf(data, "\t%u", box->token.stage / gantt->n_ranks);
            if (labelled && label_fits(gantt, box))
                g_string_append_printf(data, "\t%u\n", box->token.microbatch);
            else
                g_string_append(data, "\t-\n");
        }
    }
    g_autofree char *full = g_strdup_printf("%s\t%s\t%u", title, seconds ? "s" : "ms",
                                            gantt->n_ranks);
    return report_plot("gantt.gp", data, full, path, error);
}
