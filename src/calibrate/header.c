/* Sections of a trace that are not its events. */
#include "config.h"

#include "calibrate/header.h"

#include "calibrate/error.h"

#include <string.h>

#define MAX_KEYS 12

void
calibrate_header_init(CalibrateHeader *h)
{
    *h = (CalibrateHeader){.rank = -1, .world_size = -1};
    h->keys = g_ptr_array_new_with_free_func(g_free);
}

void
calibrate_header_clear(CalibrateHeader *h)
{
    g_clear_pointer(&h->schema, g_free);
    g_clear_pointer(&h->device, g_free);
    g_clear_pointer(&h->contents, g_free);
    g_clear_pointer(&h->backend, g_free);
    g_clear_pointer(&h->keys, g_ptr_array_unref);
}

static gint64
int_of(const ConfJsonToken *t, gint64 otherwise)
{
    char copy[24];
    gint64 value;
    if (t->kind != CONF_JSON_NUMBER || t->length >= sizeof copy)
        return otherwise;
    memcpy(copy, t->text, t->length);
    copy[t->length] = '\0';
    return g_ascii_string_to_signed(copy, 10, G_MININT64, G_MAXINT64, &value, NULL) ? value
                                                                                    : otherwise;
}

void
calibrate_header_key(CalibrateHeaderReader *r, const ConfJsonToken *t)
{
    static const struct {
        const char *name;
        CalibrateSection section;
    } sections[] = {
        {"traceEvents", CALIBRATE_SECTION_EVENTS},
        {"deviceProperties", CALIBRATE_SECTION_DEVICES},
        {"distributedInfo", CALIBRATE_SECTION_DISTRIBUTED},
        {"baseTimeNanoseconds", CALIBRATE_SECTION_BASE},
        {"schema", CALIBRATE_SECTION_SCHEMA},
    };
    r->section = CALIBRATE_SECTION_OTHER;
    for (guint i = 0; i < G_N_ELEMENTS(sections); i++)
        if (conf_json_is(t, sections[i].name))
            r->section = sections[i].section;
    r->header->has_events |= r->section == CALIBRATE_SECTION_EVENTS;
    r->header->has_nodes |= conf_json_is(t, "nodes");
    if (r->header->keys->len < MAX_KEYS)
        g_ptr_array_add(r->header->keys, g_strndup(t->text, MIN(t->length, 40)));
}

static void
take_device(CalibrateHeaderReader *r, const ConfJsonToken *t)
{
    CalibrateHeader *h = r->header;
    if (t->depth == 2 && t->kind == CONF_JSON_MAP)
        h->n_devices++;
    else if (t->depth == 3 && t->kind == CONF_JSON_KEY)
        conf_json_token_copy(t, r->word, sizeof r->word);
    else if (t->depth == 3 && t->kind == CONF_JSON_TEXT && h->device == NULL &&
             strcmp(r->word, "name") == 0)
        h->device = g_strndup(t->text, MIN(t->length, 80));
}

static void
take_distributed(CalibrateHeaderReader *r, const ConfJsonToken *t)
{
    CalibrateHeader *h = r->header;
    if (t->depth != 2)
        return;
    if (t->kind == CONF_JSON_KEY)
        conf_json_token_copy(t, r->word, sizeof r->word);
    else if (strcmp(r->word, "backend") == 0 && t->kind == CONF_JSON_TEXT && h->backend == NULL)
        h->backend = g_strndup(t->text, MIN(t->length, 40));
    else if (strcmp(r->word, "rank") == 0)
        h->rank = int_of(t, -1);
    else if (strcmp(r->word, "world_size") == 0)
        h->world_size = int_of(t, -1);
}

void
calibrate_header_take(CalibrateHeaderReader *r, const ConfJsonToken *t)
{
    CalibrateHeader *h = r->header;
    if (r->section == CALIBRATE_SECTION_DEVICES)
        take_device(r, t);
    else if (r->section == CALIBRATE_SECTION_DISTRIBUTED)
        take_distributed(r, t);
    else if (r->section == CALIBRATE_SECTION_BASE && t->depth == 1)
        h->base_ns = int_of(t, 0);
    else if (r->section == CALIBRATE_SECTION_SCHEMA && t->depth == 1 && t->kind == CONF_JSON_TEXT &&
             h->schema == NULL)
        h->schema = g_strndup(t->text, MIN(t->length, 40));
}

gboolean
calibrate_header_check(const char *name, const CalibrateHeader *h, GError **error)
{
    if (h->has_events)
        return TRUE;
    g_ptr_array_add(h->keys, NULL);
    g_autofree char *list = g_strjoinv(", ", (char **)h->keys->pdata);
    if (h->has_nodes && h->schema != NULL)
        g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_KIND,
                    "%s: is a PyTorch execution trace (schema %s), which has no times of kernels; "
                    "write the profiler's Chrome trace of that run",
                    name, h->schema);
    else
        g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_KIND,
                    "%s: has no traceEvents, but %s; write a Chrome trace of PyTorch's profiler",
                    name, h->keys->len > 1 ? list : "nothing");
    return FALSE;
}
