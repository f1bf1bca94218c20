/* Which rank holds which stage of a schedule file: read from its rows, or given.
 *
 * Read from the rows, stage s lives where microbatch 0 runs it. A microbatch that runs on the mirrored
 * ranks instead (stage s where the other copy has stage S-1-s) belongs to a second copy of the model, as
 * DualPipe and Chimera have it. Ranks may hold different numbers of stages; vpp is then the largest. */
#include "config.h"

#include "schedule/csv_table.h"

#include <string.h>

#define NOWHERE G_MAXUINT
#define UNKNOWN G_MAXUINT8

typedef struct {
    const ScheduleTable *table;
    const char *given; /* NULL: inferred */
    guint n_stages, n_microbatches;
    gsize n_compute;
    guint *paths; /* [2 * n_stages] rank of each stage, of the first and of the second copy */
    gboolean two; /* the second may be used */
    guint8 *replica_of;
} Placing;

static gboolean
is_compute(const TableCell *cell)
{
    return (TABLE_COMPUTE >> cell->op & 1) != 0;
}

static void
count(Placing *p)
{
    for (guint r = 0; r < p->table->n_rows; r++)
        for (guint i = 0; i < p->table->rows[r]->len; i++) {
            const TableCell *cell = TABLE_CELL(p->table, r, i);
            if (!is_compute(cell))
                continue;
            p->n_stages = MAX(p->n_stages, cell->stage + 1u);
            p->n_microbatches = MAX(p->n_microbatches, cell->microbatch + 1);
            p->n_compute++;
        }
}

/* Indices in a file may be absurd: refuse before anything is allocated by them. Small files are left to
 * the search for the operation that is missing. */
static gboolean
check_size(const Placing *p, GError **error)
{
    guint64 cells = (guint64)p->n_stages * p->n_microbatches;

    if (p->n_compute >= 2 * cells || cells <= 1u << 16)
        return TRUE;
    g_set_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_INCOMPLETE,
                "%s: %" G_GSIZE_FORMAT " operations are too few for %u stages and %u microbatches; "
                "every stage runs one F and one B (or I and W) for every microbatch",
                p->table->name, p->n_compute, p->n_stages, p->n_microbatches);
    return FALSE;
}

static void
mirror(Placing *p)
{
    for (guint s = 0; s < p->n_stages; s++)
        p->paths[p->n_stages + s] = p->paths[p->n_stages - 1 - s];
    p->two = TRUE;
}

/* Stage s lives where microbatch 0 runs forward, or else where anything of it runs. */
static gboolean
infer(Placing *p, GError **error)
{
    guint *path = p->paths = g_new(guint, 2 * (gsize)p->n_stages);

    for (guint s = 0; s < p->n_stages; s++)
        path[s] = NOWHERE;
    for (guint first = 1; first <= 1; first--)
        for (guint r = 0; r < p->table->n_rows; r++)
            for (guint i = 0; i < p->table->rows[r]->len; i++) {
                const TableCell *cell = TABLE_CELL(p->table, r, i);
                gboolean counts =
                    is_compute(cell) && (!first || (cell->op == TABLE_F && cell->microbatch == 0));
                if (counts && path[cell->stage] == NOWHERE)
                    path[cell->stage] = r;
            }
    for (guint s = 0; s < p->n_stages; s++)
        if (path[s] == NOWHERE) {
            g_set_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_INCOMPLETE,
                        "%s: stage %u is on no row; number the stages 0 to %u without gaps",
                        p->table->name, s, p->n_stages - 1);
            return FALSE;
        }
    mirror(p);
    return TRUE;
}

static gboolean
refuse_placement(const Placing *p, GError **error, const char *why)
{
    g_set_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_ILLEGAL,
                "--placement: '%.60s' %s; write loop, v, bidirectional, or the rank of each stage, "
                "as in 0,1,1,0 (two model copies: 0,1/1,0)",
                p->given, why);
    return FALSE;
}

/* "0,1,1,0" into ranks; FALSE when it is anything else. */
static gboolean
parse_ranks(const char *text, guint n_rows, GArray *ret)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);

    for (guint i = 0; words[i] != NULL; i++) {
        guint64 rank;
        if (!g_ascii_string_to_unsigned(g_strstrip(words[i]), 10, 0, n_rows - 1, &rank, NULL))
            return FALSE;
        guint value = (guint)rank;
        g_array_append_val(ret, value);
    }
    return TRUE;
}

static gboolean
take_list(Placing *p, GError **error)
{
    g_auto(GStrv) copies = g_strsplit(p->given, "/", -1);
    guint n_copies = g_strv_length(copies);
    g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(guint));

    if (n_copies < 1 || n_copies > 2)
        return refuse_placement(p, error, "is not one or two lists of ranks");
    for (guint i = 0; i < n_copies; i++)
        if (!parse_ranks(copies[i], p->table->n_rows, ranks)) {
            g_autofree char *why =
                g_strdup_printf("is not a list of ranks 0 to %u", p->table->n_rows - 1);
            return refuse_placement(p, error, why);
        }
    if (ranks->len % n_copies != 0)
        return refuse_placement(p, error, "gives the two copies different numbers of stages");
    guint n_stages = ranks->len / n_copies;
    if (n_stages < p->n_stages || n_stages > G_MAXUINT16) {
        g_autofree char *why =
            g_strdup_printf("places %u stages and the file has %u", n_stages, p->n_stages);
        return refuse_placement(p, error, why);
    }
    p->n_stages = n_stages;
    p->paths = g_new0(guint, 2 * (gsize)n_stages);
    if (ranks->len > 0)
        memcpy(p->paths, ranks->data, ranks->len * sizeof(guint));
    p->two = n_copies == 2;
    return TRUE;
}

static gboolean
take_given(Placing *p, GError **error)
{
    guint n = p->table->n_rows;
    gboolean loop = strcmp(p->given, "loop") == 0, wave = strcmp(p->given, "v") == 0;
    gboolean both = strcmp(p->given, "bidirectional") == 0;

    if (!loop && !wave && !both)
        return take_list(p, error);
    if (both && p->n_stages != n) {
        g_autofree char *why = g_strdup_printf(
            "has one stage a rank and copy, the file %u stages on %u rows", p->n_stages, n);
        return refuse_placement(p, error, why);
    }
    p->paths = g_new(guint, 2 * (gsize)p->n_stages);
    for (guint s = 0; s < p->n_stages; s++)
        p->paths[s] = wave && s / n % 2 == 1 ? n - 1 - s % n : s % n;
    if (both)
        mirror(p);
    return TRUE;
}

/* The copy that a cell runs on: where its row fits only one of them, the microbatch is that one's. */
static gboolean
assign(Placing *p, guint row, const TableCell *cell, GError **error)
{
    guint first = p->paths[cell->stage];
    guint second = p->two ? p->paths[p->n_stages + cell->stage] : first;
    guint8 *replica = &p->replica_of[cell->microbatch];

    if (row != first && row != second) {
        if (p->given != NULL)
            return schedule_table_complain(p->table, row, cell, SCHEDULE_ERROR_ILLEGAL, error,
                                           "belongs on row %u by --placement %s", first + 1,
                                           p->given);
        return schedule_table_complain(
            p->table, row, cell, SCHEDULE_ERROR_ILLEGAL, error,
            "is on another row than stage %u of microbatch 0, which is on row %u; a stage lives on "
            "one row (with two model copies: on row %u for the microbatches of the second)",
            cell->stage, first + 1, second + 1);
    }
    if (first == second)
        return TRUE;
    guint8 here = row == first ? 0 : 1;
    if (*replica == UNKNOWN)
        *replica = here;
    if (*replica == here)
        return TRUE;
    return schedule_table_complain(
        p->table, row, cell, SCHEDULE_ERROR_ILLEGAL, error,
        "belongs on row %u, where stage %u is for the other operations of microbatch %u",
        (here == 0 ? second : first) + 1, cell->stage, cell->microbatch);
}

static gboolean
assign_all(Placing *p, GError **error)
{
    p->replica_of = g_new(guint8, p->n_microbatches);
    for (guint m = 0; m < p->n_microbatches; m++)
        p->replica_of[m] = UNKNOWN;
    for (guint r = 0; r < p->table->n_rows; r++)
        for (guint i = 0; i < p->table->rows[r]->len; i++) {
            const TableCell *cell = TABLE_CELL(p->table, r, i);
            if (is_compute(cell) && !assign(p, r, cell, error))
                return FALSE;
        }
    gboolean used = FALSE;
    for (guint m = 0; m < p->n_microbatches; m++) {
        if (p->replica_of[m] == UNKNOWN)
            p->replica_of[m] = 0;
        used = used || p->replica_of[m] == 1;
    }
    p->two = used;
    return TRUE;
}

/* Stages on each rank: at least one; the most is vpp. */
static gboolean
count_stages(const Placing *p, guint *ret_vpp, GError **error)
{
    g_autofree guint *stages_on = g_new0(guint, p->table->n_rows);
    guint vpp = 0;

    for (guint s = 0; s < p->n_stages; s++) {
        guint n = ++stages_on[p->paths[s]];
        vpp = MAX(vpp, n);
    }
    for (guint s = 0; p->two && s < p->n_stages; s++)
        stages_on[p->paths[p->n_stages + s]]++;
    for (guint r = 0; r < p->table->n_rows; r++)
        if (stages_on[r] == 0) {
            g_set_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_ILLEGAL,
                        "%s: row %u holds no stage; give every rank one, or leave the row out",
                        p->table->name, r + 1);
            return FALSE;
        }
    *ret_vpp = vpp;
    return TRUE;
}

gboolean
schedule_place(Schedule *s, const ScheduleTable *t, const char *placement, GError **error)
{
    Placing p = {.table = t, .given = placement};
    guint vpp = 0;

    count(&p);
    gboolean placed = check_size(&p, error) &&
                      (placement != NULL ? take_given(&p, error) : infer(&p, error)) &&
                      assign_all(&p, error) && count_stages(&p, &vpp, error);
    if (!placed) {
        g_free(p.paths);
        g_free(p.replica_of);
        return FALSE;
    }
    s->params.vpp = vpp;
    s->params.microbatches = p.n_microbatches;
    s->n_stages = p.n_stages;
    s->n_replicas = p.two ? 2 : 1;
    s->rank_of = g_renew(guint, p.paths, s->n_replicas * (gsize)p.n_stages);
    s->replica_of = p.replica_of;
    return TRUE;
}
