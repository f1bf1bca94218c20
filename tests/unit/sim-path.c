/* The critical path: hand-made cases, segment by segment. */
#include "config.h"

#include "sim/engine.h"

typedef struct {
    guint32 rank, tag;
    gint64 start_ns, end_ns;
} Expected;

static void
collect(void *user, const SimSegment *segment)
{
    g_array_append_vals(user, segment, 1);
}

static void
assert_path(SimEngine *e, const Expected *expected, guint n)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(sim_engine_run(e, NULL, NULL, &error));
    g_assert_no_error(error);
    g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(SimSegment));
    sim_engine_critical_path(e, collect, path);
    for (guint i = 0; i < MIN(n, path->len); i++) {
        const SimSegment *s = &g_array_index(path, SimSegment, i);
        g_assert_cmpuint(s->rank, ==, expected[i].rank);
        g_assert_cmpuint(s->tag, ==, expected[i].tag);
        g_assert_cmpint(s->start_ns, ==, expected[i].start_ns);
        g_assert_cmpint(s->end_ns, ==, expected[i].end_ns);
    }
    g_assert_cmpuint(path->len, ==, n);
}

static guint
add(SimTemplate *t, guint slot, gint64 duration_ns, guint32 tag)
{
    return sim_template_add(
        t, slot, (SimWork){.duration_ns = duration_ns, .load = {(double)duration_ns}}, tag);
}

static guint
add_joining(SimTemplate *t, guint slot, gint64 duration_ns, guint32 tag, SimJoin join, guint port)
{
    guint op = add(t, slot, duration_ns, tag);
    sim_template_join(t, op, join, port, FALSE);
    return op;
}

static void
test_diamond(void)
{
    /* A 10, then B 30 and C 20 beside each other, then D 5: D B A. A stream that only idles, and ops
     * of no duration, do not show. */
    g_autoptr(SimTemplate) t = sim_template_new();
    guint a = add(t, 0, 10, 1), b = add(t, 1, 30, 2), c = add(t, 2, 20, 3);
    add(t, 0, 0, 9);
    guint d = add(t, 0, 5, 4);
    sim_template_wait_op(t, b, a);
    sim_template_wait_op(t, c, a);
    sim_template_wait_op(t, d, b);
    sim_template_wait_op(t, d, c);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_call(p, t, 0, 0);
    sim_program_call(p, t, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    sim_engine_add_rank(e, p, NULL, 0);
    const Expected path[] = {{0, 4, 85, 90}, {0, 2, 55, 85}, {0, 1, 45, 55},
                             {0, 4, 40, 45}, {0, 2, 10, 40}, {0, 1, 0, 10}};
    assert_path(e, path, G_N_ELEMENTS(path));
}

static void
test_tie(void)
{
    /* The copy on slot 1 ends at 10 together with slot 0's own previous op: the own stream wins. */
    g_autoptr(SimTemplate) t = sim_template_new();
    guint copy = add(t, 1, 10, 1);
    add(t, 0, 10, 2);
    sim_template_wait_op(t, add(t, 0, 5, 3), copy);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_call(p, t, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    sim_engine_add_rank(e, p, NULL, 0);
    const Expected path[] = {{0, 3, 10, 15}, {0, 2, 0, 10}};
    assert_path(e, path, G_N_ELEMENTS(path));
}

static void
test_program_wait(void)
{
    /* A program wait releases the op: the path goes to the op with that count, here the second. */
    g_autoptr(SimTemplate) copies = sim_template_new(), kernel = sim_template_new();
    add(copies, 1, 7, 1);
    add(copies, 1, 8, 2);
    add(copies, 1, 100, 3);
    add(kernel, 0, 200, 4);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_wait(p, 1, 0, 0);
    sim_program_call(p, copies, 0, 0);
    sim_program_wait(p, 0, 1, 1);
    sim_program_wait(p, 0, 1, 2);
    sim_program_call(p, kernel, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    sim_engine_add_rank(e, p, NULL, 0);
    const Expected path[] = {{0, 4, 15, 215}, {0, 2, 7, 15}, {0, 1, 0, 7}};
    assert_path(e, path, G_N_ELEMENTS(path));
}

/* Rank 0 and rank 1 compute, meet for 6, and rank 0 computes 50 more. */
static void
check_meeting(gint64 first_ns, gint64 second_ns, guint32 expected_rank)
{
    g_autoptr(SimTemplate) a = sim_template_new(), b = sim_template_new();
    add(a, 0, first_ns, 1);
    add_joining(a, 0, 6, 2, SIM_JOIN_ALL, 0);
    add(a, 0, 50, 3);
    guint kernel = add(b, 0, second_ns, 4);
    sim_template_wait_op(b, add_joining(b, 1, 6, 5, SIM_JOIN_ALL, 0), kernel);
    g_autoptr(SimProgram) p = sim_program_new(), q = sim_program_new();
    sim_program_call(p, a, 0, 0);
    sim_program_call(q, b, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 meeting = sim_engine_add_meetings(e, 2, 1);
    sim_engine_add_rank(e, p, &meeting, 1);
    sim_engine_add_rank(e, q, &meeting, 1);
    gint64 met_ns = MAX(first_ns, second_ns);
    const Expected path[] = {{0, 3, met_ns + 6, met_ns + 56},
                             {0, 2, met_ns, met_ns + 6},
                             {expected_rank, expected_rank ? 4 : 1, 0, met_ns}};
    assert_path(e, path, G_N_ELEMENTS(path));
}

static void
test_meeting(void)
{
    check_meeting(30, 20, 0); /* joined last itself */
    check_meeting(20, 30, 1); /* was waited for: on goes the path in what released the other */
    check_meeting(30, 30, 0); /* a tie: own stream */
}

static void
test_eager(void)
{
    /* The sender computes 10, sends (40 in the background) and computes on; the receiver computed 5
     * and waits until 50: from 10 to 50 the path is the transfer, told with the receive's tag, then
     * the sender's kernel. */
    g_autoptr(SimTemplate) a = sim_template_new(), b = sim_template_new();
    add(a, 0, 10, 1);
    add_joining(a, 0, 40, 2, SIM_JOIN_SEND, 0);
    add(a, 0, 3, 3);
    add(b, 0, 5, 4);
    add_joining(b, 0, 999, 5, SIM_JOIN_RECV, 0);
    add(b, 0, 8, 6);
    g_autoptr(SimProgram) p = sim_program_new(), q = sim_program_new();
    sim_program_call(p, a, 0, 0);
    sim_program_call(q, b, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 meeting = sim_engine_add_meetings(e, 2, 1);
    sim_engine_add_rank(e, p, &meeting, 1);
    sim_engine_add_rank(e, q, &meeting, 1);
    const Expected path[] = {{1, 6, 50, 58}, {1, 5, 10, 50}, {0, 1, 0, 10}};
    assert_path(e, path, G_N_ELEMENTS(path));
}

static void
test_message_was_there(void)
{
    /* The receiver computes 70 and finds the message: its own stream is the path. */
    g_autoptr(SimTemplate) a = sim_template_new(), b = sim_template_new();
    add_joining(a, 0, 40, 2, SIM_JOIN_SEND, 0);
    add(b, 0, 70, 4);
    add_joining(b, 0, 0, 5, SIM_JOIN_RECV, 0);
    g_autoptr(SimProgram) p = sim_program_new(), q = sim_program_new();
    sim_program_call(p, a, 0, 0);
    sim_program_call(q, b, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 meeting = sim_engine_add_meetings(e, 2, 1);
    sim_engine_add_rank(e, p, &meeting, 1);
    sim_engine_add_rank(e, q, &meeting, 1);
    const Expected path[] = {{1, 4, 0, 70}};
    assert_path(e, path, G_N_ELEMENTS(path));
}

static void
test_disturbed(void)
{
    /* Two activities of 100 s share one link and take 200 s: the segment is as long as it took. */
    g_autoptr(SimTemplate) t = sim_template_new();
    add(t, 0, 11, 1);
    add_joining(t, 0, 100000000000, 2, SIM_JOIN_ALL, 0);
    add(t, 0, 12, 3);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_call(p, t, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 meeting = sim_engine_add_meetings(e, 1, 1);
    sim_engine_use(e, meeting, 1, sim_engine_add_resource(e, 1e9), 0, 1);
    sim_engine_add_rank(e, p, &meeting, 1);
    sim_engine_add_rank(e, p, &meeting, 1);
    const Expected path[] = {
        {0, 3, 200000000011, 200000000023}, {0, 2, 11, 200000000011}, {0, 1, 0, 11}};
    assert_path(e, path, G_N_ELEMENTS(path));
}

static void
test_nothing(void)
{
    g_autoptr(SimEngine) e = sim_engine_new();
    assert_path(e, NULL, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sim/path/diamond-takes-the-longer-side", test_diamond);
    g_test_add_func("/sim/path/tie-goes-to-the-own-stream", test_tie);
    g_test_add_func("/sim/path/program-wait-leads-to-the-op-counted", test_program_wait);
    g_test_add_func("/sim/path/meeting-leads-to-the-last-member", test_meeting);
    g_test_add_func("/sim/path/receive-leads-to-the-send", test_eager);
    g_test_add_func("/sim/path/message-that-was-there-does-not-matter", test_message_was_there);
    g_test_add_func("/sim/path/disturbed-op-is-as-long-as-it-took", test_disturbed);
    g_test_add_func("/sim/path/nothing-ran-nothing-visited", test_nothing);
    return g_test_run();
}
