/* A trace is valid JSON, appears whole or not at all, and is exact to the nanosecond. */
#include "config.h"

#include "report/trace.h"

#include <glib/gstdio.h>
#include <json-glib/json-glib.h>

typedef struct {
    char *folder, *path;
} Room;

static void
room_enter(Room *room, gconstpointer data)
{
    (void)data;
    room->folder = g_dir_make_tmp("dtsim-XXXXXX", NULL);
    room->path = g_build_filename(room->folder, "trace.json", NULL);
}

static void
room_leave(Room *room, gconstpointer data)
{
    (void)data;
    g_unlink(room->path);
    g_assert_cmpint(g_rmdir(room->folder), ==, 0); /* nothing else was left in it */
    g_free(room->path);
    g_free(room->folder);
}

static JsonObject *
event(JsonArray *events, guint i)
{
    return json_array_get_object_element(events, i);
}

static void
streams_are_threads_of_their_rank(Room *room, gconstpointer data)
{
    (void)data;
    g_autoptr(GError) error = NULL;
    ReportTrace *trace = report_trace_open(room->path, &error);
    g_assert_no_error(error);
    report_trace_op(trace, 3, "compute", "a \"quoted\"\n\\name", "compute", 1, 7, 1001, 2500);
    report_trace_op(trace, 3, "tensor", "all_reduce", "tp_exposed", -1, -1, 0, 5);
    report_trace_op(trace, 3, "compute", "b", "compute", 1, 8, 2500, 2500);
    g_assert_false(g_file_test(room->path, G_FILE_TEST_EXISTS));
    gboolean closed = report_trace_close(trace, &error);
    g_assert_no_error(error);
    g_assert_true(closed);

    g_autoptr(JsonParser) parser = json_parser_new();
    gboolean parsed = json_parser_load_from_file(parser, room->path, &error);
    g_assert_no_error(error);
    g_assert_true(parsed);
    JsonObject *root = json_node_get_object(json_parser_get_root(parser));
    JsonArray *events = json_object_get_array_member(root, "traceEvents");
    g_assert_cmpuint(json_array_get_length(events), ==,
                     6); /* one process, two threads, three ops */
    JsonObject *first = event(events, 2);
    g_assert_cmpstr(json_object_get_string_member(first, "name"), ==, "a \"quoted\"\n\\name");
    g_assert_cmpfloat(json_object_get_double_member(first, "ts"), ==, 1.001);
    g_assert_cmpfloat(json_object_get_double_member(first, "dur"), ==, 1.499);
    g_assert_cmpint(json_object_get_int_member(first, "pid"), ==, 3);
    g_assert_cmpint(json_object_get_int_member(first, "tid"), ==, 0);
    g_assert_cmpint(json_object_get_int_member(event(events, 4), "tid"), ==, 1);
    g_assert_cmpint(json_object_get_int_member(event(events, 5), "tid"), ==, 0);
}

static void
an_abandoned_trace_leaves_nothing(Room *room, gconstpointer data)
{
    (void)data;
    ReportTrace *trace = report_trace_open(room->path, NULL);
    report_trace_op(trace, 0, "compute", "a", "compute", 0, 0, 0, 1);
    report_trace_abandon(trace);
    g_assert_false(g_file_test(room->path, G_FILE_TEST_EXISTS));
}

static void
a_place_that_cannot_be_written_is_an_error(Room *room, gconstpointer data)
{
    (void)data;
    g_autoptr(GError) error = NULL;
    ReportTrace *trace = report_trace_open(room->folder, &error);
    g_assert_null(trace);
    g_assert_nonnull(error);
    if (!g_file_test("/dev/full", G_FILE_TEST_EXISTS))
        return;
    g_clear_error(&error);
    trace = report_trace_open("/dev/full", &error);
    g_assert_no_error(error);
    report_trace_op(trace, 0, "compute", "a", "compute", 0, 0, 0, 1);
    gboolean closed = report_trace_close(trace, &error);
    g_assert_false(closed);
    g_assert_nonnull(error);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/report/trace/streams-are-threads-of-their-rank", Room, NULL, room_enter,
               streams_are_threads_of_their_rank, room_leave);
    g_test_add("/report/trace/an-abandoned-trace-leaves-nothing", Room, NULL, room_enter,
               an_abandoned_trace_leaves_nothing, room_leave);
    g_test_add("/report/trace/a-place-that-cannot-be-written-is-an-error", Room, NULL, room_enter,
               a_place_that_cannot_be_written_is_an_error, room_leave);
    return g_test_run();
}
