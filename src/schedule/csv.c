/* Schedules as text: PyTorch's compute-only CSV, one line a rank, "0F0,0F1,1B0" (stage, kind,
 * microbatch). */
#include "config.h"

#include "schedule/schedule.h"

#include "conf/complaint.h"
#include "schedule/types.h"

static const char letters[] = "FBIW"; /* in the order of ScheduleKind */

#define MAX_MICROBATCH (1u << 24)

char
schedule_kind_letter(ScheduleKind kind)
{
    g_assert(kind <= SCHEDULE_W);
    return letters[kind];
}

char *
schedule_format_csv(const Schedule *s)
{
    GString *text = g_string_new(NULL);

    for (guint r = 0; r < s->params.pp; r++) {
        for (guint i = 0; i < s->ranks[r]->len; i++) {
            const ScheduleToken *t = &g_array_index(s->ranks[r], ScheduleToken, i);
            g_string_append_printf(text, "%s%u%c%u", i > 0 ? "," : "", t->stage,
                                   schedule_kind_letter(t->kind), t->microbatch);
        }
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}

/* Digits only, at most `limit`; moves *at behind them. */
static gboolean
parse_number(const char **at, guint limit, guint *ret)
{
    guint64 value = 0;

    if (!g_ascii_isdigit(**at))
        return FALSE;
    for (; g_ascii_isdigit(**at); (*at)++) {
        value = value * 10 + (guint64)(**at - '0');
        if (value > limit)
            return FALSE;
    }
    *ret = (guint)value;
    return TRUE;
}

static gboolean
parse_token(const char *text, ScheduleToken *ret, const char **ret_why)
{
    const char *at = text;
    guint stage, microbatch;

    if (text[0] == '(') {
        *ret_why =
            "overlapped pairs are not supported; write the two operations one after the other";
        return FALSE;
    }
    *ret_why = "write STAGE, one of F B I W, MICROBATCH, as in '3F0'";
    if (!parse_number(&at, G_MAXUINT16 - 1, &stage))
        return FALSE;
    const char *letter = *at == '\0' ? NULL : strchr(letters, *at);
    if (letter == NULL)
        return FALSE;
    at++;
    if (!parse_number(&at, MAX_MICROBATCH, &microbatch) || *at != '\0')
        return FALSE;
    *ret = (ScheduleToken){
        .kind = (guint8)(letter - letters), .stage = (guint16)stage, .microbatch = microbatch};
    return TRUE;
}

static gboolean
parse_row(const char *name, guint row, const char *line, GArray *ret_tokens, GError **error)
{
    g_auto(GStrv) cells = g_strsplit(line, ",", -1);

    for (guint c = 0; cells[c] != NULL; c++) {
        const char *text = g_strstrip(cells[c]), *why = NULL;
        ScheduleToken token;
        if (text[0] == '\0')
            continue; /* an idle slot */
        if (!parse_token(text, &token, &why)) {
            g_set_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_ILLEGAL,
                        "%s: row %u, column %u: '%.40s' is not an operation; %s", name, row + 1,
                        c + 1, text, why);
            return FALSE;
        }
        g_array_append_val(ret_tokens, token);
    }
    return TRUE;
}

#define NOWHERE G_MAXUINT

/* Which rank holds which stage, from the lists; sets n_stages, vpp, microbatches. */
static gboolean
infer_placement(Schedule *s, GError **error)
{
    g_autofree guint *stages_on = g_new0(guint, s->params.pp);
    guint n_stages = 0, microbatches = 0;

    s->rank_of = g_new(guint, G_MAXUINT16);
    s->n_replicas = 1;
    for (guint i = 0; i < G_MAXUINT16; i++)
        s->rank_of[i] = NOWHERE;
    for (guint r = 0; r < s->params.pp; r++)
        for (guint i = 0; i < s->ranks[r]->len; i++) {
            const ScheduleToken *t = &g_array_index(s->ranks[r], ScheduleToken, i);
            guint home = s->rank_of[t->stage];
            if (home != NOWHERE && home != r) {
                g_set_error(
                    error, SCHEDULE_ERROR, SCHEDULE_ERROR_ILLEGAL,
                    "%s: row %u: stage %u is also on row %u; a stage lives on one rank (schedules "
                    "with two model copies are not supported)",
                    s->name, r + 1, t->stage, home + 1);
                return FALSE;
            }
            stages_on[r] += home == NOWHERE;
            s->rank_of[t->stage] = r;
            n_stages = MAX(n_stages, t->stage + 1u);
            microbatches = MAX(microbatches, t->microbatch + 1);
        }
    for (guint i = 0; i < n_stages; i++)
        if (s->rank_of[i] == NOWHERE) {
            g_set_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_INCOMPLETE,
                        "%s: stage %u is on no row; number the stages 0 to %u without gaps",
                        s->name, i, n_stages - 1);
            return FALSE;
        }
    for (guint r = 0; r < s->params.pp; r++)
        if (stages_on[r] != stages_on[0] || stages_on[r] == 0) {
            g_set_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_ILLEGAL,
                        "%s: row %u holds %u stages and row 1 holds %u; give every rank as many",
                        s->name, r + 1, stages_on[r], stages_on[0]);
            return FALSE;
        }
    s->n_stages = n_stages;
    s->params.vpp = stages_on[0];
    s->params.microbatches = microbatches;
    s->replica_of = g_new0(guint8, microbatches);
    return TRUE;
}

Schedule *
schedule_parse_csv(const char *name, const char *text, GError **error)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    guint n = g_strv_length(lines);

    while (n > 0 && g_strstrip(lines[n - 1])[0] == '\0')
        n--;
    if (n == 0 || n > G_MAXUINT16) {
        g_set_error(
            error, SCHEDULE_ERROR, SCHEDULE_ERROR_INCOMPLETE,
            "%s: holds %u rows; write one line a pipeline rank (at most %u), as in '0F0,0B0'", name,
            n, G_MAXUINT16);
        return NULL;
    }

    g_autoptr(Schedule) s = g_new0(Schedule, 1);
    s->name = g_intern_string(name); /* Schedule.name is never freed: types own theirs */
    s->params.pp = n;
    s->params.group = 0;
    s->ranks = g_new0(GArray *, n);
    for (guint r = 0; r < n; r++)
        s->ranks[r] = g_array_new(FALSE, FALSE, sizeof(ScheduleToken));
    for (guint r = 0; r < n; r++)
        if (!parse_row(name, r, lines[r], s->ranks[r], error))
            return NULL;
    if (!infer_placement(s, error) || !schedule_check(s, error))
        return NULL;
    return g_steal_pointer(&s);
}

Schedule *
schedule_load_csv(const char *path, GError **error)
{
    g_autofree char *text = conf_read_text(path, NULL, error);

    return text == NULL ? NULL : schedule_parse_csv(path, text, error);
}
