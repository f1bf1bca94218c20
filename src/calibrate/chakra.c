/* Chakra's files: messages one after the other, whose kernels become events.
 *
 * A kernel of chakra_converter's is a node of its own behind the op that launched it, with that op's inputs, schema and
 * identity as its control dependency; a duration is whole microseconds, cut off. Nodes of an op follow each other. */
#include "config.h"

#include "calibrate/chakra.h"

#include "calibrate/call.h"
#include "calibrate/chakra_groups.h"
#include "calibrate/chakra_source.h"
#include "calibrate/error.h"
#include "units/quantity.h"

#include <string.h>

#define MOST_KINDS 8 /* of collectives that are told apart */
#define MOST_US (G_GUINT64_CONSTANT(1) << 40)
#define MOST_START_US (G_GUINT64_CONSTANT(1) << 52)

typedef struct {
    const CalibrateChakraWish *wish;
    CalibrateEventFunc func;
    gpointer user;
    CalibrateChakra *about;
    CalibrateHeader *header;
    GHashTable *groups;
    CalibrateChakraNode node;
    gboolean begun;  /* the metadata are read */
    gint64 clock_ns; /* end of what says no begin */
    guint64 op;      /* calls so far: the last is `parent`'s */
    guint64 parent;
    gboolean has_op;
    GString *text[CALIBRATE_N_ARGS];
    GString *name;
} Reader;

void
calibrate_chakra_init(CalibrateChakra *about)
{
    *about = (CalibrateChakra){.first_stream = -1};
    about->collectives = g_array_new(FALSE, FALSE, sizeof(CalibrateChakraCollective));
}

void
calibrate_chakra_clear(CalibrateChakra *about)
{
    g_free(about->schema);
    for (guint i = 0; i < about->collectives->len; i++)
        g_free(g_array_index(about->collectives, CalibrateChakraCollective, i).type);
    g_array_unref(about->collectives);
}

/* --- what is there ------------------------------------------------------------------------------ */

static void
count_collective(CalibrateChakra *about, const CalibrateChakraNode *n)
{
    const char *type = calibrate_chakra_collective(n->comm_type);
    type = type != NULL ? type : "collective";
    for (guint i = 0; i < about->collectives->len; i++) {
        CalibrateChakraCollective *c =
            &g_array_index(about->collectives, CalibrateChakraCollective, i);
        if (c->bytes == n->bytes && strcmp(c->type, type) == 0) {
            c->n++;
            return;
        }
    }
    CalibrateChakraCollective c = {g_strdup(type), n->bytes, 1};
    if (about->collectives->len < MOST_KINDS)
        g_array_append_val(about->collectives, c);
    else
        g_free(c.type);
}

/* " (all_reduce 1MiB, 2 all_gather 8MiB)" */
static void
append_collectives(const CalibrateChakra *about, GString *out)
{
    guint64 told = 0;
    for (guint i = 0; i < about->collectives->len; i++) {
        const CalibrateChakraCollective *c =
            &g_array_index(about->collectives, CalibrateChakraCollective, i);
        g_autofree char *bytes = c->bytes >= 0 ? units_format_exact(UNITS_BYTES, c->bytes) : NULL;
        g_string_append(out, i == 0 ? " (" : ", ");
        if (about->n_of[CALIBRATE_CHAKRA_COLLECTIVE] > 1)
            g_string_append_printf(out, "%u ", c->n);
        g_string_append_printf(out, "%s%s%s", c->type, bytes != NULL ? " " : "",
                               bytes != NULL ? bytes : "");
        told += c->n;
    }
    g_string_append(out, told < about->n_of[CALIBRATE_CHAKRA_COLLECTIVE] ? ", others)" : ")");
}

/* Types by how many there are. */
char *
calibrate_chakra_text(const CalibrateChakra *about)
{
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "%" G_GUINT64_FORMAT " node%s", about->n_nodes,
                           about->n_nodes == 1 ? "" : "s");
    gboolean told[CALIBRATE_CHAKRA_N_TYPES] = {FALSE};
    for (guint i = 0; i < CALIBRATE_CHAKRA_N_TYPES; i++) {
        guint most = 0;
        for (guint k = 1; k < CALIBRATE_CHAKRA_N_TYPES; k++)
            if (!told[k] && (told[most] || about->n_of[k] > about->n_of[most]))
                most = k;
        if (about->n_of[most] == 0)
            break;
        told[most] = TRUE;
        g_string_append_printf(out, "%s%" G_GUINT64_FORMAT " %s", i == 0 ? ": " : ", ",
                               about->n_of[most], calibrate_chakra_type_name(most));
        if (most == CALIBRATE_CHAKRA_COLLECTIVE)
            append_collectives(about, out);
    }
    return g_string_free(out, FALSE);
}

/* Generators of traces (MSCCL's algorithms, networks by layer) give kernels times that they computed; such kernels are
 * of no op and no stream. */
static gboolean
is_given(const CalibrateChakraNode *n)
{
    return n->type == CALIBRATE_CHAKRA_COMPUTE && !n->on_cpu && n->schema->len == 0 &&
           n->packed[CALIBRATE_CHAKRA_SHAPES].n == 0 && n->stream < 0;
}

static void
count_node(CalibrateChakra *about, const CalibrateChakraNode *n)
{
    about->n_given += n->duration_us > 0 && is_given(n);
    about->n_nodes++;
    about->n_of[n->type]++;
    about->n_timed += n->duration_us > 0;
    if (n->type == CALIBRATE_CHAKRA_COLLECTIVE)
        count_collective(about, n);
}

/* --- events ------------------------------------------------------------------------------------- */

static void set_arg(Reader *r, CalibrateArg arg, const char *format, ...) G_GNUC_PRINTF(3, 4);

static void
set_arg(Reader *r, CalibrateArg arg, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_string_vprintf(r->text[arg], format, args);
    va_end(args);
}

static gboolean
emit(Reader *r, const char *category, const char *name, gint64 begin_ns, gint64 duration_ns,
     guint64 thread, GError **error)
{
    CalibrateEvent event = {.name = name,
                            .category = category,
                            .phase = 'X',
                            .timed = TRUE,
                            .begin_ns = begin_ns,
                            .duration_ns = duration_ns,
                            .thread = thread};
    for (guint i = 0; i < CALIBRATE_N_ARGS; i++)
        event.args[i] = r->text[i]->str;
    gboolean done = r->func(&event, r->user, error);
    for (guint i = 0; i < CALIBRATE_N_ARGS; i++)
        g_string_truncate(r->text[i], 0);
    return done;
}

/* "Tensor(c10::BFloat16)" is c10::BFloat16, in lists of tensors the first; others stay. */
static void
append_types(const char *list, GString *out)
{
    g_autoptr(GString) elements = g_string_new(NULL);
    calibrate_chakra_elements(list, elements);
    for (const char *at = elements->str; *at != '\0';) {
        gsize n = strcspn(at, "\t");
        const char *tensor = g_strstr_len(at, (gssize)n, "Tensor(");
        if (tensor != NULL)
            g_string_append_len(out, tensor + 7, (gssize)strcspn(tensor + 7, ")\t"));
        else
            g_string_append_len(out, at, (gssize)n);
        at += n;
        if (*at == '\t')
            g_string_append_c(out, *at++);
    }
}

/* The op of "aten::mm(Tensor self, ...)", "aten::add.Tensor(...)". */
static char *
op_of(const CalibrateChakraNode *n)
{
    return g_strndup(n->schema->str, strcspn(n->schema->str, "(. "));
}

/* The call that launched the node's kernel, once for all kernels of one. Each call has a thread of its own, on which it
 * begins and ends at 0, as its launches do. */
static gboolean
emit_call(Reader *r, GError **error)
{
    const CalibrateChakraNode *n = &r->node;
    if (!r->has_op || !n->has_parent || n->parent != r->parent) {
        g_autofree char *name = op_of(n);
        r->op++;
        r->has_op = n->has_parent;
        r->parent = n->parent;
        calibrate_chakra_elements(n->shapes->str, r->text[CALIBRATE_ARG_INPUT_DIMS]);
        append_types(n->types->str, r->text[CALIBRATE_ARG_INPUT_TYPE]);
        calibrate_chakra_elements(n->values->str, r->text[CALIBRATE_ARG_CONCRETE_INPUTS]);
        if (!emit(r, "cpu_op", name, 0, 0, r->op, error))
            return FALSE;
    }
    set_arg(r, CALIBRATE_ARG_CORRELATION, "%" G_GUINT64_FORMAT, r->about->n_kernels);
    return emit(r, "cuda_runtime", "launch", 0, 0, r->op, error);
}

/* comm_size is what each rank gives: bytes here, elements there. */
static void
describe_collective(Reader *r)
{
    const CalibrateChakraNode *n = &r->node;
    const char *type = calibrate_chakra_collective(n->comm_type);
    const CalibrateChakraGroup *group = g_hash_table_lookup(r->groups, n->group->str);
    set_arg(r, CALIBRATE_ARG_COLLECTIVE_NAME, "%s",
            n->type != CALIBRATE_CHAKRA_COLLECTIVE ? "send_recv"
            : type != NULL                         ? type
                                                   : n->name->str);
    append_types(n->types->str, r->text[CALIBRATE_ARG_DTYPE]);
    g_string_truncate(r->text[CALIBRATE_ARG_DTYPE],
                      strcspn(r->text[CALIBRATE_ARG_DTYPE]->str, "\t"));
    if (r->wish->dtype != NULL && r->text[CALIBRATE_ARG_DTYPE]->len == 0)
        set_arg(r, CALIBRATE_ARG_DTYPE, "%s", calibrate_call_type_name(r->wish->dtype));
    guint size = calibrate_call_type_bytes(r->text[CALIBRATE_ARG_DTYPE]->str);
    if (size > 0 && n->bytes >= 0 && n->bytes % size == 0) {
        set_arg(r, CALIBRATE_ARG_IN_NELEMS, "%" G_GINT64_FORMAT, n->bytes / size);
        set_arg(r, CALIBRATE_ARG_OUT_NELEMS, "0");
    }
    gint64 ranks = group != NULL ? group->size : r->wish->ranks;
    if (ranks > 0)
        set_arg(r, CALIBRATE_ARG_GROUP_SIZE, "%" G_GINT64_FORMAT, ranks);
    set_arg(r, CALIBRATE_ARG_GROUP_RANKS, "%s",
            group != NULL ? group->ranks
            : ranks > 0   ? "0, 1"
                          : "");
}

static void
count_stream(CalibrateChakra *about, gint64 stream)
{
    if (about->n_streams == 0) {
        about->first_stream = stream;
        about->n_streams = 1;
    } else if (stream != about->first_stream) {
        about->n_streams = 2;
    }
}

static gboolean
is_copy(const char *name)
{
    return g_str_has_prefix(name, "Memcpy") || g_str_has_prefix(name, "Memset");
}

/* What is sent is NCCL's, whatever the node is called. */
static const char *
category_of(Reader *r)
{
    const CalibrateChakraNode *n = &r->node;
    gboolean sends = n->type == CALIBRATE_CHAKRA_SEND || n->type == CALIBRATE_CHAKRA_RECV ||
                     n->type == CALIBRATE_CHAKRA_COLLECTIVE;
    g_string_assign(r->name, n->name->str);
    if (!sends)
        return n->type != CALIBRATE_CHAKRA_COMPUTE || is_copy(n->name->str) ? "gpu_memcpy"
                                                                            : "kernel";
    if (calibrate_kernel_kind(n->name->str) != CALIBRATE_NCCL)
        g_string_prepend(r->name, "nccl: ");
    describe_collective(r);
    return "kernel";
}

static gboolean
emit_kernel(Reader *r, GError **error)
{
    const CalibrateChakraNode *n = &r->node;
    calibrate_chakra_node_unpack(&r->node);
    r->about->n_kernels++;
    r->about->n_begun += n->start_us > 0;
    count_stream(r->about, n->stream);
    if (n->type == CALIBRATE_CHAKRA_COMPUTE && n->schema->len > 0 && !emit_call(r, error))
        return FALSE;
    gint64 duration_ns = (gint64)n->duration_us * 1000;
    gint64 begin_ns = n->start_us > 0 ? (gint64)n->start_us * 1000 : r->clock_ns;
    if (n->start_us == 0)
        r->clock_ns += duration_ns;
    const char *category = category_of(r);
    set_arg(r, CALIBRATE_ARG_CORRELATION, "%" G_GUINT64_FORMAT, r->about->n_kernels);
    return emit(r, category, r->name->str, begin_ns, duration_ns, 0, error);
}

/* --- messages ----------------------------------------------------------------------------------- */

static void
take_schema(Reader *r, const guint8 *text, gsize n)
{
    if (r->about->schema != NULL)
        return;
    g_autofree char *schema = g_utf8_make_valid((const char *)text, (gssize)MIN(n, 40));
    r->about->schema = g_strdelimit(g_steal_pointer(&schema), "\t\r\n", ' ');
}

/* GlobalMetadata: version 1, attributes 2; of 0.0.3 attributes 1. An attribute begins with its name, a version does
 * not. A node has whole numbers in 1 and 3. */
static gboolean
take_metadata(Reader *r, CalibrateMessage *message)
{
    CalibrateField f;
    while (calibrate_message_next(message, &f)) {
        if (f.type != CALIBRATE_WIRE_BYTES) {
            message->fault = "a node, and no metadata before it (a schema before 0.0.1?)";
            message->at = message->begin;
            return FALSE;
        }
        CalibrateMessage inner = calibrate_message(f.bytes, f.n_bytes);
        CalibrateChakraAttr attr;
        if (f.number == 1 && !(f.n_bytes > 0 && f.bytes[0] == '\n'))
            take_schema(r, f.bytes, f.n_bytes);
        else if (!calibrate_chakra_attr_read(&inner, &attr)) {
            message->fault = inner.fault;
            message->at = inner.at;
            return FALSE;
        } else if (calibrate_chakra_attr_is(&attr, "schema") && attr.text != NULL)
            take_schema(r, attr.text, attr.n_text);
    }
    return message->fault == NULL;
}

static void
take_groups(Reader *r)
{
    g_autoptr(GString) elements = g_string_new(NULL);
    calibrate_chakra_node_unpack(&r->node);
    calibrate_chakra_elements(r->node.values->str, elements);
    g_string_truncate(elements, strcspn(elements->str, "\t"));
    if (elements->len > 0)
        calibrate_chakra_groups_add(r->groups, elements->str);
}

static gboolean
take_message(CalibrateMessage *message, gpointer user, GError **error)
{
    Reader *r = user;
    if (!r->begun) {
        r->begun = TRUE;
        return take_metadata(r, message);
    }
    if (!calibrate_chakra_node_read(message, &r->node))
        return FALSE;
    const CalibrateChakraNode *n = &r->node;
    count_node(r->about, n);
    if (strstr(n->name->str, "process_group:init") != NULL)
        take_groups(r);
    if (n->duration_us > MOST_US || n->start_us > MOST_START_US || r->clock_ns > G_MAXINT64 / 4) {
        message->fault = "a node of more days than a run has";
        message->at = message->begin;
        return FALSE;
    }
    gboolean runs = n->type >= CALIBRATE_CHAKRA_LOAD && n->type <= CALIBRATE_CHAKRA_COLLECTIVE;
    return !runs || n->on_cpu || n->duration_us == 0 || is_given(n) || emit_kernel(r, error);
}

/* --- whole files -------------------------------------------------------------------------------- */

static void
reader_init(Reader *r, const CalibrateChakraWish *wish, CalibrateEventFunc func, gpointer user,
            CalibrateHeader *header, CalibrateChakra *about)
{
    calibrate_chakra_init(about);
    *header = (CalibrateHeader){.rank = -1, .world_size = -1, .has_events = TRUE};
    *r = (Reader){.wish = wish,
                  .func = func,
                  .user = user,
                  .about = about,
                  .header = header,
                  .groups = calibrate_chakra_groups_new(),
                  .name = g_string_new(NULL)};
    calibrate_chakra_node_init(&r->node);
    for (guint i = 0; i < CALIBRATE_N_ARGS; i++)
        r->text[i] = g_string_new(NULL);
}

/* Is there something to calibrate by? */
static gboolean
check_times(const char *name, const CalibrateChakra *about, GError **error)
{
    if (about->n_kernels > 0 || about->is_leavings)
        return TRUE;
    g_autofree char *text = calibrate_chakra_text(about);
    g_autofree char *given =
        g_strdup_printf("none has a duration that was measured (%" G_GUINT64_FORMAT
                        " have one that a generator of traces gave)",
                        about->n_given);
    g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_EMPTY,
                "%s: Chakra trace%s%s of %s; %s, so there is nothing to calibrate by; write one "
                "that chakra_converter made of a profile with kernels",
                name, about->schema != NULL ? " of schema " : "",
                about->schema != NULL ? about->schema : "", text,
                about->n_timed == 0  ? "no node has a duration"
                : about->n_given > 0 ? given
                                     : "only ops of the host have durations");
    return FALSE;
}

static gboolean
reader_finish(Reader *r, const char *name, gboolean done, GError **error)
{
    CalibrateHeader *h = r->header;
    h->world_size = calibrate_chakra_groups_world(r->groups);
    g_hash_table_unref(r->groups);
    calibrate_chakra_node_clear(&r->node);
    for (guint i = 0; i < CALIBRATE_N_ARGS; i++)
        g_string_free(r->text[i], TRUE);
    g_string_free(r->name, TRUE);
    h->schema = g_strdup(r->about->schema != NULL ? r->about->schema : "of no named schema");
    h->contents = calibrate_chakra_text(r->about);
    h->step_ns = 1000;
    h->sums_only = r->about->n_begun < r->about->n_kernels;
    return done && check_times(name, r->about, error);
}

gboolean
calibrate_chakra_load(const char *path, const CalibrateChakraWish *wish, CalibrateEventFunc func,
                      gpointer user, CalibrateHeader *ret_header, CalibrateChakra *ret_about,
                      GError **error)
{
    Reader r;
    reader_init(&r, wish, func, user, ret_header, ret_about);
    gboolean done =
        calibrate_chakra_messages_load(path, take_message, &r, &ret_about->is_leavings, error);
    return reader_finish(&r, path, done, error);
}

gboolean
calibrate_chakra_parse(const char *name, const void *bytes, gsize n,
                       const CalibrateChakraWish *wish, CalibrateEventFunc func, gpointer user,
                       CalibrateHeader *ret_header, CalibrateChakra *ret_about, GError **error)
{
    Reader r;
    reader_init(&r, wish, func, user, ret_header, ret_about);
    gboolean done = calibrate_chakra_messages_parse(name, bytes, n, take_message, &r,
                                                    &ret_about->is_leavings, error);
    return reader_finish(&r, name, done, error);
}
