/* Tokens of JSON -> events.
 *
 *     { "distributedInfo": {...}, "traceEvents": [ {"ph": "X", "args": {...}}, ... ] }
 *     ^0                          ^1             ^2            ^3              depth of the brackets
 *
 * A file that is only the list has everything one level higher up. */
#include "config.h"

#include "calibrate/event.h"

#include <math.h>
#include <string.h>

/* Of a kept argument: call stacks, and lists of thousands of ranks, are cut. */
#define MAX_TEXT_BYTES 4096
/* Of times, so that sums of them stay far from 2^63 ns: years -31 to 2096 since 1970, a day or so for one event. */
#define FIRST_NS G_GINT64_CONSTANT(-1000000000000000000)
#define LAST_NS G_GINT64_CONSTANT(4000000000000000000)
#define LONGEST_NS G_GINT64_CONSTANT(100000000000000)

/* Keys of an event that are kept, and "args". */
typedef enum {
    KEY_NAME,
    KEY_CATEGORY,
    KEY_PHASE,
    KEY_TIME,
    KEY_DURATION,
    KEY_PROCESS,
    KEY_THREAD,
    KEY_ARGS,
    KEY_OTHER
} Key;
static const char *const keys[] = {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"};

static const char *const args[CALIBRATE_N_ARGS] = {
    [CALIBRATE_ARG_EXTERNAL_ID] = "External id",
    [CALIBRATE_ARG_CORRELATION] = "correlation",
    [CALIBRATE_ARG_INPUT_DIMS] = "Input Dims",
    [CALIBRATE_ARG_INPUT_TYPE] = "Input type",
    [CALIBRATE_ARG_INPUT_STRIDES] = "Input Strides",
    [CALIBRATE_ARG_CONCRETE_INPUTS] = "Concrete Inputs",
    [CALIBRATE_ARG_COLLECTIVE_NAME] = "Collective name",
    [CALIBRATE_ARG_IN_NELEMS] = "In msg nelems",
    [CALIBRATE_ARG_OUT_NELEMS] = "Out msg nelems",
    [CALIBRATE_ARG_GROUP_SIZE] = "Group size",
    [CALIBRATE_ARG_GROUP_RANKS] = "Process Group Ranks",
    [CALIBRATE_ARG_DTYPE] = "dtype",
};

typedef struct {
    CalibrateEventFunc func;
    gpointer user;
    CalibrateHeaderReader beside;
    guint event_depth; /* 2, or 1 where the file is a list */
    Key key;           /* of the event's member */
    int arg;           /* kept argument whose value comes, or -1 */
    GString *text[CALIBRATE_N_ARGS], *name, *category;
    char phase;
    gint64 begin_ns, duration_ns;
    gboolean has_begin, has_duration;
    guint64 process, thread;
} Parser;

/* --- numbers ------------------------------------------------------------------------------------ */

static gboolean
ns_of_double(const char *text, gsize length, gint64 *ret_ns)
{
    g_autofree char *copy = g_strndup(text, length);
    char *end;
    double us = g_ascii_strtod(copy, &end);
    if (end == copy || *end != '\0' || !(fabs(us) < 9e15))
        return FALSE;
    *ret_ns = (gint64)llround(us * 1e3);
    return TRUE;
}

gboolean
calibrate_ns_of_us(const char *text, gsize length, gint64 *ret_ns)
{
    gsize i = length > 0 && text[0] == '-';
    gboolean negative = i == 1;
    gint64 us = 0, ns = 0;
    gsize first = i;
    for (; i < length && g_ascii_isdigit(text[i]) && i - first < 16; i++)
        us = us * 10 + (text[i] - '0');
    if (i == first || us >= G_GINT64_CONSTANT(9000000000000000))
        return FALSE;
    if (i < length && text[i] == '.') {
        guint digits = 0;
        gboolean up = FALSE;
        for (i++; i < length && g_ascii_isdigit(text[i]); i++, digits++) {
            if (digits < 3)
                ns = ns * 10 + (text[i] - '0');
            else if (digits == 3)
                up = text[i] >= '5';
        }
        for (; digits < 3; digits++)
            ns *= 10;
        ns += up;
    }
    if (i < length)
        return ns_of_double(text, length, ret_ns);
    *ret_ns = negative ? -(us * 1000 + ns) : us * 1000 + ns;
    return TRUE;
}

/* Process and thread are numbers or words. */
static guint64
identity(const ConfJsonToken *t)
{
    guint64 hash = 14695981039346656037u; /* FNV-1a */
    for (gsize i = 0; i < t->length; i++)
        hash = (hash ^ (guchar)t->text[i]) * 1099511628211u;
    return hash;
}

/* --- one event ---------------------------------------------------------------------------------- */

static void
begin_event(Parser *p)
{
    for (guint i = 0; i < CALIBRATE_N_ARGS; i++)
        g_string_truncate(p->text[i], 0);
    g_string_truncate(p->name, 0);
    g_string_truncate(p->category, 0);
    p->phase = '\0';
    p->has_begin = p->has_duration = FALSE;
    p->process = p->thread = 0;
    p->key = KEY_OTHER;
    p->arg = -1;
}

static gboolean
end_event(Parser *p, GError **error)
{
    CalibrateEvent event = {
        .name = p->name->str,
        .category = p->category->str,
        .phase = p->phase,
        .timed = p->has_begin && p->has_duration && p->begin_ns >= FIRST_NS &&
                 p->begin_ns <= LAST_NS && p->duration_ns >= 0 && p->duration_ns <= LONGEST_NS,
        .begin_ns = p->begin_ns,
        .duration_ns = p->duration_ns,
        .thread = p->process * 31 + p->thread,
    };
    for (guint i = 0; i < CALIBRATE_N_ARGS; i++)
        event.args[i] = p->text[i]->str;
    return p->func(&event, p->user, error);
}

/* Control characters end words in tables. */
static void
append_text(GString *out, const ConfJsonToken *t)
{
    gsize n = out->len < MAX_TEXT_BYTES ? MIN(t->length, MAX_TEXT_BYTES - out->len) : 0;
    while (n < t->length && n > 0 && ((guchar)t->text[n] & 0xc0) == 0x80)
        n--; /* cut between characters */
    gsize at = out->len;
    g_string_append_len(out, t->text, (gssize)n);
    for (; at < out->len; at++)
        if ((guchar)out->str[at] < ' ')
            out->str[at] = ' ';
}

/* A value inside of a kept list: [[2,3],[4]] -> "[2,3]\t[4]". */
static void
append_element(Parser *p, const ConfJsonToken *t, guint depth)
{
    GString *out = p->text[p->arg];
    gboolean ends = t->kind == CONF_JSON_END_ARRAY || t->kind == CONF_JSON_END_MAP;
    if (depth == 0 || out->len >= MAX_TEXT_BYTES)
        return; /* the list's own brackets; too long */
    if (!ends && out->len > 0 && out->str[out->len - 1] != '[')
        g_string_append_c(out, depth == 1 ? '\t' : ',');
    else if (!ends && out->len == 0 && depth == 1 && t->kind == CONF_JSON_TEXT && t->length == 0)
        g_string_append_c(out, ' '); /* an empty first element is one, too */
    if (ends)
        g_string_append_c(out, ']');
    else if (t->kind == CONF_JSON_ARRAY || t->kind == CONF_JSON_MAP)
        g_string_append_c(out, '[');
    else
        append_text(out, t);
}

static void
take_member(Parser *p, const ConfJsonToken *t)
{
    switch (p->key) {
    case KEY_NAME:
        append_text(p->name, t);
        break;
    case KEY_CATEGORY:
        append_text(p->category, t);
        break;
    case KEY_PHASE:
        p->phase = t->length == 1 ? t->text[0] : '\0';
        break;
    case KEY_TIME:
        p->has_begin = calibrate_ns_of_us(t->text, t->length, &p->begin_ns);
        break;
    case KEY_DURATION:
        p->has_duration = calibrate_ns_of_us(t->text, t->length, &p->duration_ns);
        break;
    case KEY_PROCESS:
        p->process = identity(t);
        break;
    case KEY_THREAD:
        p->thread = identity(t);
        break;
    default:
        break;
    }
}

static void
take_arg(Parser *p, const ConfJsonToken *t)
{
    if (t->kind == CONF_JSON_KEY && t->depth == p->event_depth + 2) {
        p->arg = -1;
        for (int i = 0; i < CALIBRATE_N_ARGS && p->arg < 0; i++)
            if (conf_json_is(t, args[i]))
                p->arg = i;
        if (p->arg >= 0)
            g_string_truncate(p->text[p->arg], 0);
    } else if (p->arg >= 0 && t->kind != CONF_JSON_KEY) {
        gboolean single = t->depth == p->event_depth + 2 && t->kind >= CONF_JSON_TEXT;
        if (single)
            append_text(p->text[p->arg], t);
        else
            append_element(p, t, t->depth - p->event_depth - 2);
    }
}

static gboolean
take_event(Parser *p, const ConfJsonToken *t, GError **error)
{
    guint inside = t->depth - p->event_depth;
    if (inside == 0 && t->kind == CONF_JSON_MAP)
        begin_event(p);
    else if (inside == 0 && t->kind == CONF_JSON_END_MAP)
        return end_event(p, error);
    else if (inside == 1 && t->kind == CONF_JSON_KEY) {
        p->key = KEY_OTHER;
        for (guint i = 0; i < KEY_OTHER && p->key == KEY_OTHER; i++)
            if (conf_json_is(t, keys[i]))
                p->key = (Key)i;
    } else if (inside == 1 && p->key != KEY_ARGS && t->kind >= CONF_JSON_TEXT)
        take_member(p, t);
    else if (inside >= 2 && p->key == KEY_ARGS)
        take_arg(p, t);
    return TRUE;
}

/* --- whole files -------------------------------------------------------------------------------- */

static gboolean
take(const ConfJsonToken *t, gpointer user, GError **error)
{
    Parser *p = user;
    if (t->depth == 0 && t->kind == CONF_JSON_ARRAY) {
        p->event_depth = 1;
        p->beside.section = CALIBRATE_SECTION_EVENTS;
        p->beside.header->has_events = TRUE;
    } else if (t->depth == 1 && t->kind == CONF_JSON_KEY && p->event_depth == 2)
        calibrate_header_key(&p->beside, t);
    else if (p->beside.section != CALIBRATE_SECTION_EVENTS)
        calibrate_header_take(&p->beside, t);
    else if (t->depth >= p->event_depth)
        return take_event(p, t, error);
    return TRUE;
}

static void
parser_init(Parser *p, CalibrateEventFunc func, gpointer user, CalibrateHeader *header)
{
    *p = (Parser){.func = func, .user = user, .beside.header = header, .event_depth = 2};
    calibrate_header_init(header);
    for (guint i = 0; i < CALIBRATE_N_ARGS; i++)
        p->text[i] = g_string_new(NULL);
    p->name = g_string_new(NULL);
    p->category = g_string_new(NULL);
}

static void
parser_clear(Parser *p)
{
    for (guint i = 0; i < CALIBRATE_N_ARGS; i++)
        g_string_free(p->text[i], TRUE);
    g_string_free(p->name, TRUE);
    g_string_free(p->category, TRUE);
}

gboolean
calibrate_events_load(const char *path, CalibrateEventFunc func, gpointer user,
                      CalibrateHeader *ret_header, GError **error)
{
    Parser p;
    parser_init(&p, func, user, ret_header);
    gboolean done = conf_json_stream_load(path, take, &p, error) &&
                    calibrate_header_check(path, ret_header, error);
    parser_clear(&p);
    return done;
}

gboolean
calibrate_events_parse(const char *name, const char *text, gsize length, CalibrateEventFunc func,
                       gpointer user, CalibrateHeader *ret_header, GError **error)
{
    Parser p;
    parser_init(&p, func, user, ret_header);
    gboolean done = conf_json_stream_parse(name, text, length, take, &p, error) &&
                    calibrate_header_check(name, ret_header, error);
    parser_clear(&p);
    return done;
}
