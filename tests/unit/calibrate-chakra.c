/* Messages of Protocol Buffers and what Chakra's traces say with them; no byte of a file can be lost unseen. */
#include "config.h"

#include "calibrate/chakra.h"
#include "calibrate/error.h"
#include "calibrate/import.h"

#include <string.h>

/* --- messages ----------------------------------------------------------------------------------- */

static void
test_fields(void)
{
    static const guint8 bytes[] = {0x08, 0x96, 0x01,                          /* 1: varint 150 */
                                   0x12, 0x02, 'h',  'i',                     /* 2: bytes */
                                   0x1d, 0x01, 0x00, 0x00, 0x80,              /* 3: four bytes */
                                   0x21, 1,    2,    3,    4,    5, 6, 7, 8}; /* 4: eight */
    CalibrateMessage m = calibrate_message(bytes, sizeof bytes);
    CalibrateField f;
    g_assert_true(calibrate_message_next(&m, &f));
    g_assert_cmpuint(f.number, ==, 1);
    g_assert_cmpuint(f.value, ==, 150);
    g_assert_true(calibrate_message_next(&m, &f));
    g_assert_cmpuint(f.number, ==, 2);
    g_assert_cmpmem(f.bytes, f.n_bytes, "hi", 2);
    g_assert_true(calibrate_message_next(&m, &f));
    g_assert_cmpuint(f.number, ==, 3);
    g_assert_cmphex(f.value, ==, 0x80000001);
    g_assert_true(calibrate_message_next(&m, &f));
    g_assert_cmphex(f.value, ==, 0x0807060504030201);
    g_assert_false(calibrate_message_next(&m, &f));
    g_assert_null(m.fault);
}

static void
test_faults(void)
{
    static const struct {
        const char *bytes;
        gsize n, at;
        const char *fault;
    } cases[] = {
        {"\x08", 1, 1, "a number that is cut off"},
        {"\x08\x80\x80", 3, 1, "a number that is cut off"},
        {"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 11, 1, "a number of more than 64 bits"},
        {"\x08\x01\x12\x05hi", 6, 3, "a field that is longer than its message"},
        {"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, 1,
         "a field that is longer than its message"},
        {"\x1d\x01", 2, 1, "a number that is cut off"},
        {"\x0b", 1, 0, "a field of no known kind"}, /* groups, which proto3 has not */
        {"\x0e", 1, 0, "a field of no known kind"},
        {"\x00\x01", 2, 0, "a field without a number"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        CalibrateMessage m = calibrate_message((const guint8 *)cases[i].bytes, cases[i].n);
        CalibrateField f;
        while (calibrate_message_next(&m, &f))
            ;
        g_assert_cmpstr(m.fault, ==, cases[i].fault);
        g_assert_cmpuint((gsize)(m.at - m.begin), ==, cases[i].at);
        g_assert_false(calibrate_message_next(&m, &f)); /* stays so */
    }
}

/* What is written seven bits a byte is read back, in as many bytes. */
static void
test_varints(void)
{
    for (guint i = 0; i < 2000; i++) {
        guint64 value = (guint64)(guint32)g_test_rand_int() << 32 | (guint32)g_test_rand_int();
        value >>= g_test_rand_int_range(0, 64);
        guint64 read = 0;
        guint n = 0;
        CalibrateVarint state;
        for (guint64 rest = value;; rest >>= 7, n++) {
            state =
                calibrate_varint_add((guint8)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0)), n, &read);
            if (rest <= 0x7f)
                break;
            g_assert_cmpint((int)state, ==, CALIBRATE_VARINT_MORE);
        }
        g_assert_cmpint((int)state, ==, CALIBRATE_VARINT_DONE);
        g_assert_cmphex(read, ==, value);
    }
}

/* --- lists -------------------------------------------------------------------------------------- */

static void
test_elements(void)
{
    static const struct {
        const char *list, *elements;
    } cases[] = {
        {"", ""},
        {"none", ""},
        {"[]", ""},
        {"[[256, 64], [64, 32], []]", "[256,64]\t[64,32]\t[]"},
        {"['Tensor(c10::BFloat16)', 'Int']", "Tensor(c10::BFloat16)\tInt"},
        {"[[[1, 2], [3]], False, '<None>', 1e-05]", "[[1,2],[3]]\tFalse\t<None>\t1e-05"},
        {"['a, b', \"c'd\", 'e\\'f']", "a, b\tc'd\te'f"},
        {"[1, 2", "1\t2"},
        {"[1]]", "1"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) out = g_string_new(NULL);
        calibrate_chakra_elements(cases[i].list, out);
        g_assert_cmpstr(out->str, ==, cases[i].elements);
    }
}

/* --- traces ------------------------------------------------------------------------------------- */

static char *
data_of(const char *name, gsize *ret_n)
{
    const char *data = g_getenv("DTSIM_TEST_DATA");
    g_autofree char *path =
        g_build_filename(data != NULL ? data : "tests/data", "calibrate", "chakra", name, NULL);
    char *bytes = NULL;
    g_autoptr(GError) error = NULL;
    g_file_get_contents(path, &bytes, ret_n, &error);
    g_assert_no_error(error);
    return bytes;
}

static gboolean
count_event(const CalibrateEvent *event, gpointer user, G_GNUC_UNUSED GError **error)
{
    g_assert_true(event->timed);
    ++*(guint *)user;
    return TRUE;
}

/* How many events; `about` is to be cleared by the caller. */
static gboolean
parse(const char *bytes, gsize n, CalibrateChakra *about, guint *ret_events, GError **error)
{
    const CalibrateChakraWish wish = {0, NULL};
    g_auto(CalibrateHeader) header = {0};
    *ret_events = 0;
    return calibrate_chakra_parse("a.et", bytes, n, &wish, count_event, ret_events, &header, about,
                                  error);
}

static void
test_untimed(void)
{
    static const struct {
        const char *file, *schema, *text;
    } cases[] = {
        {"untimed.et", "0.0.4", "1 node: 1 collective (all_reduce 1MiB)"},
        {"ring.0.et", "1.0.2-chakra.0.0.4", "15 nodes: 6 send, 6 recv, 3 compute"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        gsize n;
        guint events;
        g_autofree char *bytes = data_of(cases[i].file, &n);
        g_auto(CalibrateChakra) about = {0};
        g_autoptr(GError) error = NULL;
        g_assert_false(parse(bytes, n, &about, &events, &error));
        g_assert_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_EMPTY);
        g_assert_nonnull(strstr(error->message, cases[i].text));
        g_autofree char *text = calibrate_chakra_text(&about);
        g_assert_cmpstr(text, ==, cases[i].text);
        g_assert_cmpstr(about.schema, ==, cases[i].schema);
        g_assert_cmpuint(events, ==, 0);
    }
}

/* 9 kernels and copies; 5 of them were launched by ops that say their schema, two of these by one. */
static void
test_timed(void)
{
    gsize n;
    guint events;
    g_autofree char *bytes = data_of("step.0.et", &n);
    g_auto(CalibrateChakra) about = {0};
    g_autoptr(GError) error = NULL;
    g_assert_true(parse(bytes, n, &about, &events, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(about.n_nodes, ==, 19);
    g_assert_cmpuint(about.n_kernels, ==, 9);
    g_assert_cmpuint(about.n_begun, ==, 0);
    g_assert_cmpuint(about.n_streams, ==, 2);
    g_assert_cmpuint(events, ==, 9 + 4 + 5); /* kernels, calls, launches */
}

/* Without its last bytes a file is refused with the byte where it ends, unless it ends between two messages. */
static void
test_cut(void)
{
    gsize n;
    g_autofree char *bytes = data_of("step.0.et", &n);
    guint whole = 0;
    for (gsize cut = 0; cut < n; cut++) {
        guint events;
        g_auto(CalibrateChakra) about = {0};
        g_autoptr(GError) error = NULL;
        g_autofree char *copy = g_memdup2(bytes, cut > 0 ? cut : 1);
        gboolean done = parse(copy, cut, &about, &events, &error);
        g_assert_true(done == (error == NULL));
        g_autofree char *place = g_strdup_printf("a.et: byte %" G_GSIZE_FORMAT ": ends in", cut);
        if (error != NULL && g_error_matches(error, CALIBRATE_ERROR, CALIBRATE_ERROR_VALUE))
            g_assert_true(g_str_has_prefix(error->message, place));
        else
            whole++;
    }
    g_assert_cmpuint(whole, ==, 20); /* nothing, the metadata, and all but the last of 19 nodes */
}

/* Any byte may be any other: an error or none, but no more nodes than bytes. */
static void
test_damaged(void)
{
    gsize n;
    g_autofree char *bytes = data_of("begun.0.et", &n);
    for (guint i = 0; i < 3000; i++) {
        gsize at = (gsize)g_test_rand_int_range(0, (gint32)n);
        char was = bytes[at];
        guint events;
        g_auto(CalibrateChakra) about = {0};
        g_autoptr(GError) error = NULL;
        bytes[at] = (char)g_test_rand_int_range(0, 256);
        gboolean done = parse(bytes, n, &about, &events, &error);
        g_assert_true(done == (error == NULL));
        g_assert_cmpuint(about.n_nodes, <, n);
        bytes[at] = was;
    }
}

static void
test_others(void)
{
    static const char leavings[] = "\0\5\26\7 and more";
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "of 0 nodes"},
        {"{\"schema\": \"1.0.2\", \"nodes\": [{\"id\": 1}]}", "of 1 node, 0 of them collectives"},
        {"{\"nodes\": [{\"exclusive_dur\": 3}], \"schema\": \"x\"}", "with times"},
        {"{\"traceEvents\": []}", "no execution trace"},
        {"{\"nodes\": [", "ends in the middle"},
        {"\x04\x08\x01\x18\x04", "a node, and no metadata before it"},
        {"\xff\xff\xff\xff\xff\x7f", "a message of more than 64 MiB"},
    };
    guint events;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(CalibrateChakra) about = {0};
        g_autoptr(GError) error = NULL;
        g_assert_false(parse(cases[i].text, strlen(cases[i].text), &about, &events, &error));
        g_assert_nonnull(error);
        g_assert_nonnull(strstr(error->message, cases[i].says));
    }
    g_auto(CalibrateChakra) about = {0};
    g_autoptr(GError) error = NULL;
    g_assert_true(parse(leavings, sizeof leavings, &about, &events, &error));
    g_assert_true(about.is_leavings);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary(
        "a Chakra trace is counted and read, and refused with the byte where it is damaged");
    g_test_add_func("/calibrate/chakra/fields-of-a-message", test_fields);
    g_test_add_func("/calibrate/chakra/faults-of-a-message", test_faults);
    g_test_add_func("/calibrate/chakra/varints-are-read-as-written", test_varints);
    g_test_add_func("/calibrate/chakra/elements-of-a-list", test_elements);
    g_test_add_func("/calibrate/chakra/without-times-counted-and-refused", test_untimed);
    g_test_add_func("/calibrate/chakra/kernels-and-their-calls", test_timed);
    g_test_add_func("/calibrate/chakra/cut-off-anywhere", test_cut);
    g_test_add_func("/calibrate/chakra/damaged-anywhere", test_damaged);
    g_test_add_func("/calibrate/chakra/other-kinds-of-files", test_others);
    return g_test_run();
}
