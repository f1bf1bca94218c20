/* Messages Node, AttributeProto and IOInfo of et_def.proto. */
#include "config.h"

#include "calibrate/chakra_node.h"

#include <string.h>

enum { /* of Node */
       NODE_NAME = 2,
       NODE_TYPE = 3,
       NODE_CTRL_DEPS = 4,
       NODE_START = 6,
       NODE_DURATION = 7,
       NODE_INPUTS = 8,
       NODE_ATTR = 10
};
enum { IO_FIRST = 1 }; /* values, shapes, types: 1, 2, 3 of IOInfo */
enum { ATTR_NAME = 1, ATTR_TEXT = 29 };

const char *
calibrate_chakra_type_name(CalibrateChakraType type)
{
    static const char *const names[CALIBRATE_CHAKRA_N_TYPES] = {
        "invalid", "metadata", "load",       "store",   "compute",
        "send",    "recv",     "collective", "storage", "other"};
    g_assert(type < CALIBRATE_CHAKRA_N_TYPES);
    return names[type];
}

const char *
calibrate_chakra_collective(gint64 comm_type)
{
    static const char *const names[] = {
        "all_reduce", "reduce",     "all_gather",     "gather",         "scatter",
        "broadcast",  "all_to_all", "reduce_scatter", "reduce_scatter", "barrier"};
    return comm_type >= 0 && comm_type < (gint64)G_N_ELEMENTS(names) ? names[comm_type] : NULL;
}

void
calibrate_chakra_node_init(CalibrateChakraNode *n)
{
    *n = (CalibrateChakraNode){.name = g_string_new(NULL),
                               .schema = g_string_new(NULL),
                               .group = g_string_new(NULL),
                               .values = g_string_new(NULL),
                               .shapes = g_string_new(NULL),
                               .types = g_string_new(NULL)};
}

void
calibrate_chakra_node_clear(CalibrateChakraNode *n)
{
    GString *const texts[] = {n->name, n->schema, n->group, n->values, n->shapes, n->types};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        g_string_free(texts[i], TRUE);
}

static void
begin(CalibrateChakraNode *n)
{
    GString *const texts[] = {n->name, n->schema, n->group, n->values, n->shapes, n->types};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        g_string_truncate(texts[i], 0);
    n->type = CALIBRATE_CHAKRA_INVALID;
    n->start_us = n->duration_us = n->parent = 0;
    n->has_parent = n->on_cpu = FALSE;
    n->comm_type = n->bytes = n->stream = -1;
    memset(n->packed, 0, sizeof n->packed);
}

/* Texts of others become text of ours: what is no printable character is a space. */
static void
set_text(GString *text, const guint8 *bytes, gsize n)
{
    g_string_truncate(text, 0);
    g_string_append_len(text, (const char *)bytes, (gssize)n);
    for (gsize i = 0; i < text->len; i++)
        if ((guchar)text->str[i] < ' ')
            text->str[i] = ' ';
    if (g_utf8_validate(text->str, (gssize)text->len, NULL))
        return;
    g_autofree char *valid = g_utf8_make_valid(text->str, (gssize)text->len);
    g_string_assign(text, valid);
}

/* A fault inside is one of the message around it, at the same byte. */
static gboolean
check_inner(CalibrateMessage *message, const CalibrateMessage *inner)
{
    if (inner->fault == NULL)
        return TRUE;
    message->fault = inner->fault;
    message->at = inner->at;
    return FALSE;
}

/* --- attributes --------------------------------------------------------------------------------- */

/* Whole numbers have a field for each of their types: int32 7, int64 9, uint32 11, uint64 13, sint32 15, sint64 17,
 * fixed32 19, fixed64 21, sfixed32 23, sfixed64 25, bool 27. */
static void
take_number(const CalibrateField *f, CalibrateChakraAttr *attr)
{
    if (f->number < 7 || f->number > 27 || f->number % 2 == 0 || f->type == CALIBRATE_WIRE_BYTES)
        return;
    guint64 value = f->value;
    if (f->number == 15 || f->number == 17) /* zigzag: 0 -1 1 -2 2 */
        value = value >> 1 ^ (guint64) - (gint64)(value & 1);
    attr->has_number = TRUE;
    attr->number =
        f->type == CALIBRATE_WIRE_FIXED32 ? (gint64)(gint32)(guint32)value : (gint64)value;
}

gboolean
calibrate_chakra_attr_read(CalibrateMessage *message, CalibrateChakraAttr *ret)
{
    CalibrateChakraAttr attr = {0};
    CalibrateField f;
    while (calibrate_message_next(message, &f)) {
        if (f.number == ATTR_NAME && f.type == CALIBRATE_WIRE_BYTES) {
            attr.name = f.bytes;
            attr.n_name = f.n_bytes;
        } else if (f.number == ATTR_TEXT && f.type == CALIBRATE_WIRE_BYTES) {
            attr.text = f.bytes;
            attr.n_text = f.n_bytes;
        } else {
            take_number(&f, &attr);
        }
    }
    *ret = attr;
    return message->fault == NULL;
}

gboolean
calibrate_chakra_attr_is(const CalibrateChakraAttr *attr, const char *name)
{
    return attr->name != NULL && attr->n_name == strlen(name) &&
           memcmp(attr->name, name, attr->n_name) == 0;
}

static gboolean
take_attr(CalibrateMessage *message, const CalibrateField *f, CalibrateChakraNode *n)
{
    CalibrateMessage inner = calibrate_message(f->bytes, f->n_bytes);
    CalibrateChakraAttr attr;
    if (!calibrate_chakra_attr_read(&inner, &attr))
        return check_inner(message, &inner);
    const struct {
        const char *name;
        gint64 *number;
        GString *text;
    } kept[] = {{"comm_type", &n->comm_type, NULL},
                {"comm_size", &n->bytes, NULL},
                {"stream", &n->stream, NULL},
                {"pg_name", NULL, n->group},
                {"op_schema", NULL, n->schema}};
    for (guint i = 0; i < G_N_ELEMENTS(kept); i++) {
        if (!calibrate_chakra_attr_is(&attr, kept[i].name))
            continue;
        if (kept[i].number != NULL && attr.has_number)
            *kept[i].number = attr.number;
        if (kept[i].text != NULL && attr.text != NULL)
            set_text(kept[i].text, attr.text, attr.n_text);
    }
    if (calibrate_chakra_attr_is(&attr, "is_cpu_op"))
        n->on_cpu = attr.has_number && attr.number != 0;
    return TRUE;
}

/* --- nodes -------------------------------------------------------------------------------------- */

static gboolean
take_inputs(CalibrateMessage *message, const CalibrateField *f, CalibrateChakraNode *n)
{
    CalibrateMessage inner = calibrate_message(f->bytes, f->n_bytes);
    CalibrateField part;
    while (calibrate_message_next(&inner, &part)) {
        guint index = part.number - IO_FIRST;
        if (index >= CALIBRATE_CHAKRA_N_INPUTS || part.type != CALIBRATE_WIRE_BYTES)
            continue;
        n->packed[index].bytes = part.bytes;
        n->packed[index].n = part.n_bytes;
    }
    return check_inner(message, &inner);
}

void
calibrate_chakra_node_unpack(CalibrateChakraNode *n)
{
    GString *const texts[CALIBRATE_CHAKRA_N_INPUTS] = {n->values, n->shapes, n->types};
    for (guint i = 0; i < CALIBRATE_CHAKRA_N_INPUTS; i++)
        if (n->packed[i].bytes != NULL)
            set_text(texts[i], n->packed[i].bytes, n->packed[i].n);
}

/* One by one as varints, or all of them packed into bytes. */
static gboolean
take_parents(CalibrateMessage *message, const CalibrateField *f, CalibrateChakraNode *n)
{
    guint64 first = f->value;
    if (f->type == CALIBRATE_WIRE_BYTES) {
        CalibrateVarint state = CALIBRATE_VARINT_MORE;
        first = 0;
        for (guint i = 0; i < f->n_bytes && state == CALIBRATE_VARINT_MORE; i++)
            state = calibrate_varint_add(f->bytes[i], i, &first);
        if (f->n_bytes == 0)
            return TRUE;
        if (state != CALIBRATE_VARINT_DONE) {
            message->fault = "a number that is cut off";
            message->at = f->bytes;
            return FALSE;
        }
    }
    if (!n->has_parent)
        n->parent = first;
    n->has_parent = TRUE;
    return TRUE;
}

static gboolean
take_field(CalibrateMessage *message, const CalibrateField *f, CalibrateChakraNode *n)
{
    gboolean bytes = f->type == CALIBRATE_WIRE_BYTES, number = f->type == CALIBRATE_WIRE_VARINT;
    if (f->number == NODE_NAME && bytes)
        set_text(n->name, f->bytes, f->n_bytes);
    else if (f->number == NODE_TYPE && number)
        n->type =
            f->value < CALIBRATE_CHAKRA_OTHER ? (guint)f->value : (guint)CALIBRATE_CHAKRA_OTHER;
    else if (f->number == NODE_START && number)
        n->start_us = f->value;
    else if (f->number == NODE_DURATION && number)
        n->duration_us = f->value;
    else if (f->number == NODE_CTRL_DEPS)
        return take_parents(message, f, n);
    else if (f->number == NODE_INPUTS && bytes)
        return take_inputs(message, f, n);
    else if (f->number == NODE_ATTR && bytes)
        return take_attr(message, f, n);
    return TRUE;
}

gboolean
calibrate_chakra_node_read(CalibrateMessage *message, CalibrateChakraNode *n)
{
    CalibrateField f;
    begin(n);
    while (calibrate_message_next(message, &f))
        if (!take_field(message, &f, n))
            return FALSE;
    return message->fault == NULL;
}

/* --- lists -------------------------------------------------------------------------------------- */

void
calibrate_chakra_elements(const char *list, GString *out)
{
    guint depth = 0;
    char quote = '\0';
    const char *at = list + strspn(list, " ");
    if (*at != '[')
        return;
    for (at++; *at != '\0' && (quote != '\0' || depth > 0 || *at != ']'); at++) {
        if (quote != '\0') {
            if (*at == '\\' && at[1] != '\0')
                at++;
            else if (*at == quote) {
                quote = '\0';
                continue;
            }
        } else if (*at == '\'' || *at == '"') {
            quote = *at;
            continue;
        } else if (*at == ' ') {
            continue;
        } else if (*at == '[' || *at == '(') {
            depth++;
        } else if ((*at == ']' || *at == ')') && depth > 0) {
            depth--;
        }
        g_string_append_c(out, *at == ',' && depth == 0 && quote == '\0' ? '\t' : *at);
    }
}
