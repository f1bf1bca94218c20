/* Rows in memory and on the disk. */
#include "config.h"

#include "calib/store.h"

#include "calib/file.h"
#include "calib/grow.h"
#include "calib/head.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TABLES = 8, MAX_NOTES = 12, LINE = 1024, PATH = 4096 };

typedef struct {
    const CalibTable *table;
    CalibFile part; /* open once a row was added */
    struct {
        char reason[256], first[256];
        unsigned n;
    } notes[MAX_NOTES];
    unsigned n_notes, n_unlisted; /* reasons; cases with further ones */
    bool changed;                 /* has rows that TABLE.tsv has not */
} Shelf;

struct CalibStore {
    char *directory, *head;
    CalibRow *rows;
    unsigned *order; /* of rows, by case */
    size_t n, room, order_room;
    Shelf shelves[MAX_TABLES];
    int lock; /* a descriptor + 1, while others are kept out */
};

static CalibStoreStatus
fail(CalibError *error, CalibStoreStatus status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

static void
path_of(const CalibStore *store, const char *name, const char *ending, char *path)
{
    snprintf(path, PATH, "%s/%s%s", store->directory, name, ending);
}

/* --- rows in memory ----------------------------------------------------------------------------- */

/* Where the case stands or would stand in the order. */
static size_t
place_of(const CalibStore *store, const CalibCase *what, bool *ret_there)
{
    size_t low = 0, high = store->n;
    *ret_there = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = calib_case_compare(what, &store->rows[store->order[middle]].what);
        if (order == 0) {
            *ret_there = true;
            return middle;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The later of two rows of one case counts. */
static void
keep(CalibStore *store, const CalibRow *row)
{
    bool there;
    size_t place = place_of(store, &row->what, &there);
    if (there) {
        store->rows[store->order[place]] = *row;
        return;
    }
    store->rows = calib_grow(store->rows, store->n, &store->room, sizeof *store->rows);
    store->order = calib_grow(store->order, store->n, &store->order_room, sizeof *store->order);
    memmove(store->order + place + 1, store->order + place,
            (store->n - place) * sizeof *store->order);
    store->order[place] = (unsigned)store->n;
    store->rows[store->n++] = *row;
}

const CalibRow *
calib_store_find(const CalibStore *store, const CalibCase *what)
{
    bool there;
    size_t place = place_of(store, what, &there);
    return there ? &store->rows[store->order[place]] : NULL;
}

unsigned
calib_store_n_rows(const CalibStore *store)
{
    return (unsigned)store->n;
}

const CalibRow *
calib_store_row(const CalibStore *store, unsigned i)
{
    return &store->rows[store->order[i]];
}

const char *
calib_store_head(const CalibStore *store)
{
    return store->head;
}

/* --- reading ------------------------------------------------------------------------------------ */

static void
columns_of(const CalibTable *table, char *text, size_t size)
{
    snprintf(text, size, "%s\t%s", table->columns, calib_table_last_columns);
}

/* Rows of a file whose lines are whole; `text` is cut up. */
static CalibStoreStatus
read_rows(CalibStore *store, const CalibTable *table, const char *path, char *text,
          CalibError *error)
{
    char columns[LINE];
    columns_of(table, columns, sizeof columns);
    bool inside = false;
    unsigned number = 0;
    for (char *line = text, *next; *line != '\0'; line = next) {
        next = strchr(line, '\n');
        *next++ = '\0';
        number++;
        if (*line == '#' || *line == '\0')
            continue;
        if (!inside && strcmp(line, columns) != 0)
            return fail(error, CALIB_STORE_REFUSED,
                        "%s:%u: the columns are not those of this version; write another -o", path,
                        number);
        CalibRow row;
        if (inside && !calib_table_parse(table, line, &row))
            return fail(error, CALIB_STORE_REFUSED,
                        "%s:%u: not a row of %s.tsv; delete the line or write another -o", path,
                        number, table->name);
        if (inside)
            keep(store, &row);
        inside = true;
    }
    return CALIB_STORE_OK;
}

/* `torn`: the file may end within a line or in its head. */
static CalibStoreStatus
read_table(CalibStore *store, const CalibTable *table, const char *ending, bool torn,
           CalibError *error)
{
    char path[PATH], ours[256], theirs[256], columns[LINE];
    path_of(store, table->name, ending, path);
    char *text = calib_file_read(path);
    if (text == NULL && errno == ENOENT)
        return CALIB_STORE_OK;
    if (text == NULL)
        return fail(error, CALIB_STORE_REFUSED, "%s: %s", path, strerror(errno));
    char *end = strrchr(text, '\n');
    end = end != NULL ? end + 1 : text;
    if (*end != '\0' && !torn) {
        free(text);
        return fail(error, CALIB_STORE_REFUSED,
                    "%s: the last line has no end; write another -o, or complete it", path);
    }
    *end = '\0';
    columns_of(table, columns, sizeof columns);
    CalibStoreStatus status = CALIB_STORE_OK;
    if (strstr(text, columns) == NULL && torn)
        ; /* cut off in its head: nothing was measured */
    else if (!calib_head_agrees(store->head, text, ours, theirs, sizeof ours))
        status = fail(error, CALIB_STORE_REFUSED,
                      "%s: measured elsewhere: it says '%s', this machine '%s'; write another -o",
                      path, *theirs != '\0' ? theirs : "nothing", ours);
    else
        status = read_rows(store, table, path, text, error);
    free(text);
    return status;
}

static bool
exists(const CalibStore *store, const char *name, const char *ending)
{
    char path[PATH];
    path_of(store, name, ending, path);
    return access(path, F_OK) == 0;
}

static CalibStoreStatus
read_all(CalibStore *store, bool resume, CalibError *error)
{
    for (int i = 0; calib_tables[i] != NULL; i++) {
        const CalibTable *table = calib_tables[i];
        bool part = exists(store, table->name, ".tsv.part");
        store->shelves[i].table = table;
        store->shelves[i].changed = part;
        if (!resume && (part || exists(store, table->name, ".tsv")))
            return fail(error, CALIB_STORE_REFUSED,
                        "%s: holds %s.tsv%s already; write --resume to go on there, or another -o",
                        store->directory, table->name, part ? ".part" : "");
        CalibStoreStatus status = read_table(store, table, ".tsv", false, error);
        if (status == CALIB_STORE_OK)
            status = read_table(store, table, ".tsv.part", true, error);
        if (status != CALIB_STORE_OK)
            return status;
    }
    return CALIB_STORE_OK;
}

/* False: another process writes there. Some network file systems have no locks. */
static bool
lock(CalibStore *store, const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return true;
    store->lock = fd + 1;
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

CalibStoreStatus
calib_store_open(const CalibStoreSpec *spec, CalibStore **ret, CalibError *error)
{
    if (mkdir(spec->directory, 0777) != 0 && errno != EEXIST)
        return fail(error, CALIB_STORE_REFUSED, "%s: %s", spec->directory, strerror(errno));
    CalibStore *store = calloc(1, sizeof *store);
    if (store == NULL)
        abort();
    if (!lock(store, spec->directory)) {
        calib_store_free(store);
        return fail(error, CALIB_STORE_REFUSED,
                    "%s: another dtsim-calibrate writes there now; write another -o",
                    spec->directory);
    }
    store->directory = strdup(spec->directory);
    store->head = calib_head_new(spec->machine, spec->version, spec->name);
    CalibStoreStatus status = read_all(store, spec->resume, error);
    if (status != CALIB_STORE_OK) {
        calib_store_free(store);
        return status;
    }
    *ret = store;
    return CALIB_STORE_OK;
}

void
calib_store_free(CalibStore *store)
{
    if (store == NULL)
        return;
    for (int i = 0; i < MAX_TABLES; i++)
        calib_file_close(&store->shelves[i].part);
    if (store->lock > 0)
        close(store->lock - 1);
    free(store->directory);
    free(store->head);
    free(store->rows);
    free(store->order);
    free(store);
}

/* --- writing ------------------------------------------------------------------------------------ */

static CalibStoreStatus
complain_of_disk(const char *path, CalibError *error)
{
    return fail(error, CALIB_STORE_FAILED,
                "%s: %s; what was measured is kept: make room and go on with --resume", path,
                strerror(errno));
}

static Shelf *
shelf_of(CalibStore *store, const CalibCase *what)
{
    int i = 0;
    while (!calib_tables[i]->holds(what))
        i++;
    return &store->shelves[i];
}

static void
first_lines(const CalibStore *store, const CalibTable *table, char *text, size_t size)
{
    snprintf(text, size, "%s%s", store->head, table->about);
}

static CalibStoreStatus
open_part(CalibStore *store, Shelf *shelf, char *path, CalibError *error)
{
    path_of(store, shelf->table->name, ".tsv.part", path);
    if (calib_file_is_open(&shelf->part))
        return CALIB_STORE_OK;
    char first[3 * LINE * 4], columns[LINE];
    first_lines(store, shelf->table, first, sizeof first);
    columns_of(shelf->table, columns, sizeof columns);
    size_t length = strlen(first);
    snprintf(first + length, sizeof first - length, "%s\n", columns);
    if (!calib_file_open(&shelf->part, path, first, columns))
        return complain_of_disk(path, error);
    return CALIB_STORE_OK;
}

static CalibStoreStatus
append(CalibStore *store, Shelf *shelf, const char *line, CalibError *error)
{
    char path[PATH];
    CalibStoreStatus status = open_part(store, shelf, path, error);
    if (status == CALIB_STORE_OK && !calib_file_append(&shelf->part, line))
        status = complain_of_disk(path, error);
    return status;
}

CalibStoreStatus
calib_store_add(CalibStore *store, CalibRow *row, CalibError *error)
{
    char line[LINE];
    Shelf *shelf = shelf_of(store, &row->what);
    calib_row_round(row);
    calib_table_format(shelf->table, row, line, sizeof line);
    CalibStoreStatus status = append(store, shelf, line, error);
    if (status != CALIB_STORE_OK)
        return status;
    shelf->changed = true;
    /* what is in memory is what would be read again */
    line[strlen(line) - 1] = '\0';
    if (!calib_table_parse(shelf->table, line, row))
        return fail(error, CALIB_STORE_FAILED, "%s.tsv: a row cannot be read again",
                    shelf->table->name);
    keep(store, row);
    return CALIB_STORE_OK;
}

CalibStoreStatus
calib_store_note(CalibStore *store, const CalibCase *what, const char *reason, CalibError *error)
{
    Shelf *shelf = shelf_of(store, what);
    for (unsigned i = 0; i < shelf->n_notes; i++)
        if (strncmp(shelf->notes[i].reason, reason, sizeof shelf->notes[i].reason - 1) == 0) {
            shelf->notes[i].n++;
            return CALIB_STORE_OK;
        }
    if (shelf->n_notes == MAX_NOTES) {
        shelf->n_unlisted++;
        return CALIB_STORE_OK;
    }
    unsigned i = shelf->n_notes++;
    snprintf(shelf->notes[i].reason, sizeof shelf->notes[i].reason, "%s", reason);
    calib_case_describe(what, shelf->notes[i].first, sizeof shelf->notes[i].first);
    shelf->notes[i].n = 1;
    shelf->changed = true;
    char line[LINE];
    snprintf(line, sizeof line, "# left out: %s: %s\n", shelf->notes[i].first,
             shelf->notes[i].reason);
    return append(store, shelf, line, error);
}

/* --- finishing ---------------------------------------------------------------------------------- */

typedef struct {
    char *text;
    size_t n, room;
} Text;

static void
add_text(Text *t, const char *more)
{
    for (; *more != '\0'; more++) {
        t->text = calib_grow(t->text, t->n + 1, &t->room, 1);
        t->text[t->n++] = *more;
    }
}

static void
add_notes(Text *text, const Shelf *shelf)
{
    char line[LINE];
    for (unsigned i = 0; i < shelf->n_notes; i++) {
        snprintf(line, sizeof line, "# left out: %u, the first %s: %s\n", shelf->notes[i].n,
                 shelf->notes[i].first, shelf->notes[i].reason);
        add_text(text, line);
    }
    if (shelf->n_unlisted > 0) {
        snprintf(line, sizeof line, "# left out: %u more for other reasons\n", shelf->n_unlisted);
        add_text(text, line);
    }
}

/* Rows in the order of cases; NULL text when there are none. */
static Text
whole_table(const CalibStore *store, const Shelf *shelf)
{
    char line[4 * LINE];
    Text text = {0};
    add_text(&text, store->head);
    add_text(&text, shelf->table->about);
    add_notes(&text, shelf);
    columns_of(shelf->table, line, sizeof line);
    add_text(&text, line);
    add_text(&text, "\n");
    size_t n_rows = 0;
    for (size_t i = 0; i < store->n; i++) {
        const CalibRow *row = calib_store_row(store, (unsigned)i);
        if (!shelf->table->holds(&row->what))
            continue;
        calib_table_format(shelf->table, row, line, sizeof line);
        add_text(&text, line);
        n_rows++;
    }
    if (n_rows == 0) {
        free(text.text);
        text = (Text){0};
    }
    return text;
}

CalibStoreStatus
calib_store_finish(CalibStore *store, CalibError *error)
{
    char path[PATH];
    for (int i = 0; calib_tables[i] != NULL; i++) {
        Shelf *shelf = &store->shelves[i];
        if (!shelf->changed)
            continue;
        Text text = whole_table(store, shelf);
        path_of(store, shelf->table->name, ".tsv", path);
        bool done = text.text == NULL || calib_file_replace(path, text.text, text.n);
        free(text.text);
        if (!done)
            return complain_of_disk(path, error);
        calib_file_close(&shelf->part);
        path_of(store, shelf->table->name, ".tsv.part", path);
        unlink(path);
        shelf->changed = false;
    }
    return CALIB_STORE_OK;
}

/* Are two texts the same but for what each run says anew? */
static bool
is_same(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        bool passing = (strncmp(a, "# date: ", 8) == 0 && strncmp(b, "# date: ", 8) == 0) ||
                       (strncmp(a, "# clocks: ", 10) == 0 && strncmp(b, "# clocks: ", 10) == 0);
        if (!passing && (n != m || memcmp(a, b, n) != 0))
            return false;
        a += n + (a[n] == '\n');
        b += m + (b[m] == '\n');
    }
    return *a == *b;
}

CalibStoreStatus
calib_store_write_text(const CalibStore *store, const char *name, const char *text,
                       CalibError *error)
{
    char path[PATH], old[PATH];
    path_of(store, name, "", path);
    path_of(store, name, ".old", old);
    char *before = calib_file_read(path);
    bool kept =
        before == NULL || is_same(before, text) || calib_file_replace(old, before, strlen(before));
    free(before);
    if (!kept)
        return complain_of_disk(old, error);
    if (!calib_file_replace(path, text, strlen(text)))
        return complain_of_disk(path, error);
    return CALIB_STORE_OK;
}
