/* Events of profiles: times to the nanosecond, arguments, what stands beside them, and other kinds of files. */
#include "config.h"

#include "calibrate/error.h"
#include "calibrate/event.h"

#include <string.h>

static void
test_times(void)
{
    static const struct {
        const char *text;
        gboolean ok;
        gint64 ns;
    } cases[] = {
        {"0", TRUE, 0},
        {"1740461679479712", TRUE, G_GINT64_CONSTANT(1740461679479712000)},
        {"4203669604595.407", TRUE, G_GINT64_CONSTANT(4203669604595407)},
        {"17.6", TRUE, 17600},
        {"0.0004", TRUE, 0},
        {"0.0005", TRUE, 1},
        {"1.9999", TRUE, 2000},
        {"-2.25", TRUE, -2250},
        {"1e3", TRUE, 1000000},
        {"1.5e-2", TRUE, 15},
        {"", FALSE, 0},
        {"-", FALSE, 0},
        {".5", FALSE, 0},
        {"12a", FALSE, 0},
        {"1e300", FALSE, 0},
        {"99999999999999999", FALSE, 0},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        gint64 ns = -1;
        g_assert_cmpint(calibrate_ns_of_us(cases[i].text, strlen(cases[i].text), &ns), ==,
                        cases[i].ok);
        g_assert_cmpint(ns, ==, cases[i].ok ? cases[i].ns : -1);
    }
}

/* "phase name category begin+duration [dims][types] correlation;" */
static gboolean
note(const CalibrateEvent *e, gpointer user, G_GNUC_UNUSED GError **error)
{
    g_string_append_printf(user, "%c %s %s ", e->phase, e->name, e->category);
    if (e->timed)
        g_string_append_printf(user, "%" G_GINT64_FORMAT "+%" G_GINT64_FORMAT, e->begin_ns,
                               e->duration_ns);
    g_string_append_printf(user, " [%s][%s] %s;", e->args[CALIBRATE_ARG_INPUT_DIMS],
                           e->args[CALIBRATE_ARG_INPUT_TYPE], e->args[CALIBRATE_ARG_CORRELATION]);
    return TRUE;
}

static char *
events_of(const char *text, CalibrateHeader *header, GError **error)
{
    GString *out = g_string_new(NULL);
    if (calibrate_events_parse("t.json", text, strlen(text), note, out, header, error))
        return g_string_free(out, FALSE);
    g_string_free(out, TRUE);
    return NULL;
}

static void
test_events(void)
{
    static const char list[] =
        "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 7, \"tid\": 8, "
        "\"ts\": 1.5, \"dur\": 2,\n"
        "  \"args\": {\"Input Dims\": [[2, 3], [3, 4], []], \"Input type\": [\"\", \"float\"], "
        "\"Call stack\": \"x\"}},\n"
        " {\"ph\": \"X\", \"name\": \"k\\tk\", \"cat\": \"kernel\", \"ts\": 3, \"dur\": -1, "
        "\"args\": {\"correlation\": 5, \"Input Dims\": 9}},\n"
        " {\"ph\": \"i\", \"name\": \"mark\", \"args\": {\"nested\": {\"correlation\": 6}}}]";
    static const char expected[] = "X aten::mm cpu_op 1500+2000 [[2,3]\t[3,4]\t[]][ \tfloat] ;"
                                   "X k k kernel  [9][] 5;"
                                   "i mark   [][] ;";
    GError *error = NULL;
    g_auto(CalibrateHeader) header = {0}, inside = {0};
    g_autofree char *alone = events_of(list, &header, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(alone, ==, expected);
    g_assert_cmpint(header.world_size, ==, -1);
    /* the same as a member, with other lists around it */
    g_autofree char *text = g_strdup_printf(
        "{\"other\": [{\"name\": \"no\"}], \"traceEvents\": %s, \"more\": [[1], {\"ph\": \"X\"}]}",
        list);
    g_autofree char *member = events_of(text, &inside, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(member, ==, expected);
}

static void
test_header(void)
{
    GError *error = NULL;
    g_auto(CalibrateHeader) h = {0};
    g_autofree char *none =
        events_of("{\"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H800\", \"limits\": "
                  "{\"name\": \"no\"}}, {\"id\": 1, \"name\": \"other\"}],\n"
                  "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 64, "
                  "\"pg_config\": [{\"rank\": 9}]},\n"
                  "\"baseTimeNanoseconds\": 1719853884000000000, \"traceEvents\": []}",
                  &h, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(none, ==, "");
    g_assert_cmpstr(h.device, ==, "NVIDIA H800");
    g_assert_cmpuint(h.n_devices, ==, 2);
    g_assert_cmpstr(h.backend, ==, "nccl");
    g_assert_cmpint(h.rank, ==, 3);
    g_assert_cmpint(h.world_size, ==, 64);
    g_assert_cmpint(h.base_ns, ==, G_GINT64_CONSTANT(1719853884000000000));
}

static void
test_other_files(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"schema\": \"1.0.1\", \"pid\": 1, \"nodes\": [{}]}",
         "t.json: is a PyTorch execution trace (schema 1.0.1), which has no times of kernels; write "
         "the profiler's Chrome trace of that run"},
        {"{\"a\": 1, \"b\": {}}", "t.json: has no traceEvents, but a, b; write a Chrome trace of "
                                  "PyTorch's profiler"},
        {"{}", "t.json: has no traceEvents, but nothing; write a Chrome trace of PyTorch's "
               "profiler"},
        {"3", "t.json: has no traceEvents, but nothing; write a Chrome trace of PyTorch's "
              "profiler"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_auto(CalibrateHeader) header = {0};
        g_assert_null(events_of(cases[i].text, &header, &error));
        g_assert_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_KIND);
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
}

/* Lists of thousands are cut, not kept. */
static void
test_long_arguments(void)
{
    g_autoptr(GString) text = g_string_new("[{\"ph\": \"X\", \"args\": {\"Input Dims\": [");
    for (guint i = 0; i < 100000; i++)
        g_string_append_printf(text, "%s[%u]", i > 0 ? "," : "", i);
    g_string_append(text, "]}}]");
    GError *error = NULL;
    g_auto(CalibrateHeader) header = {0};
    g_autofree char *events = events_of(text->str, &header, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(strlen(events), <, 5000);
    g_assert_true(g_str_has_prefix(events, "X    [[0]\t[1]\t[2]"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("Profiles are read event by event");
    g_test_add_func("/calibrate/event/times", test_times);
    g_test_add_func("/calibrate/event/events", test_events);
    g_test_add_func("/calibrate/event/header", test_header);
    g_test_add_func("/calibrate/event/other-files", test_other_files);
    g_test_add_func("/calibrate/event/long-arguments", test_long_arguments);
    return g_test_run();
}
