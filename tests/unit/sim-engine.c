/* The engine: streams, waits, rendezvous, eager transfers, misuse. */
#include "config.h"

#include "sim/engine.h"

/* All ops that ran, in order of their ends. */
typedef struct {
    guint32 rank, tag;
    guint slot, call;
    gint64 start_ns, end_ns;
} Ran;

static void
note(void *user, guint32 rank, guint slot, guint32 tag, guint call, gint64 start_ns, gint64 end_ns)
{
    Ran ran = {rank, tag, slot, call, start_ns, end_ns};
    g_array_append_val(user, ran);
}

static GArray *
run(SimEngine *e)
{
    GArray *ran = g_array_new(FALSE, FALSE, sizeof(Ran));
    SimProbe probe = {note, ran};
    sim_engine_set_probe(e, &probe);
    g_autoptr(GError) error = NULL;
    gboolean done = sim_engine_run(e, NULL, NULL, &error);
    g_assert_no_error(error);
    g_assert_true(done);
    for (guint i = 1; i < ran->len; i++)
        g_assert_cmpint(g_array_index(ran, Ran, i - 1).end_ns, <=,
                        g_array_index(ran, Ran, i).end_ns);
    g_assert_cmpuint(sim_engine_n_ops(e), ==, ran->len);
    return ran;
}

/* The only op with this tag on this rank ran from start to end. */
static void
assert_ran(const GArray *ran, guint32 rank, guint32 tag, gint64 start_ns, gint64 end_ns)
{
    guint n = 0;
    for (guint i = 0; i < ran->len; i++) {
        const Ran *r = &g_array_index(ran, Ran, i);
        if (r->rank != rank || r->tag != tag)
            continue;
        g_assert_cmpint(r->start_ns, ==, start_ns);
        g_assert_cmpint(r->end_ns, ==, end_ns);
        n++;
    }
    g_assert_cmpuint(n, ==, 1);
}

static guint
add(SimTemplate *t, guint slot, gint64 duration_ns, guint32 tag)
{
    return sim_template_add(t, slot, (SimWork){.duration_ns = duration_ns}, tag);
}

static guint
add_joining(SimTemplate *t, guint slot, gint64 duration_ns, guint32 tag, SimJoin join, guint port)
{
    guint op = add(t, slot, duration_ns, tag);
    sim_template_join(t, op, join, port, FALSE);
    return op;
}

static void
test_empty(void)
{
    g_autoptr(SimProgram) p = sim_program_new();
    g_autoptr(SimEngine) e = sim_engine_new();
    sim_engine_add_rank(e, p, NULL, 0);
    g_autoptr(GArray) ran = run(e);
    g_assert_cmpuint(ran->len, ==, 0);
    g_assert_cmpint(sim_engine_now(e), ==, 0);
    g_assert_cmpint(sim_engine_rank_end(e, 0), ==, 0);
    sim_engine_free(NULL);
}

static void
test_streams(void)
{
    /* Slot 0: 10, 20, 30 one after the other. Slot 1: 15 beside them. */
    g_autoptr(SimTemplate) t = sim_template_new();
    add(t, 0, 10, 1);
    add(t, 1, 15, 2);
    add(t, 0, 20, 3);
    add(t, 0, 30, 4);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_call(p, t, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    sim_engine_add_rank(e, p, NULL, 0);
    g_autoptr(GArray) ran = run(e);
    assert_ran(ran, 0, 1, 0, 10);
    assert_ran(ran, 0, 2, 0, 15);
    assert_ran(ran, 0, 3, 10, 30);
    assert_ran(ran, 0, 4, 30, 60);
    g_assert_cmpint(sim_engine_now(e), ==, 60);
    g_assert_cmpint(sim_engine_rank_end(e, 0), ==, 60);
    g_assert_cmpuint(sim_engine_n_events(e), ==, 4);
}

static void
test_equal_times(void)
{
    /* Three ranks, all ending at 10 and 20: always in the order in which the ops were scheduled,
     * although the last one of each round could run ahead of the queue. */
    g_autoptr(SimTemplate) t = sim_template_new();
    add(t, 0, 10, 1);
    add(t, 0, 10, 2);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_call(p, t, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    for (guint i = 0; i < 3; i++)
        sim_engine_add_rank(e, p, NULL, 0);
    g_autoptr(GArray) ran = run(e);
    for (guint i = 0; i < 6; i++)
        g_assert_cmpuint(g_array_index(ran, Ran, i).rank, ==, i % 3);
}

static void
test_waits(void)
{
    /* Compute 10, then 40; a copy on slot 1 waits for the first only and ends at 15; the third
     * compute waits for the copy, which is long done; slot 2 waits for all of slot 0 before it. */
    g_autoptr(SimTemplate) t = sim_template_new();
    guint first = add(t, 0, 10, 1);
    add(t, 0, 40, 2);
    guint copy = add(t, 1, 5, 3);
    sim_template_wait_op(t, copy, first);
    guint third = add(t, 0, 1, 4);
    sim_template_wait_op(t, third, copy);
    guint last = add(t, 2, 7, 5);
    sim_template_wait_slot(t, last, 0);
    sim_template_wait_slot(t, last, 1);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_call(p, t, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    sim_engine_add_rank(e, p, NULL, 0);
    g_autoptr(GArray) ran = run(e);
    assert_ran(ran, 0, 3, 10, 15);
    assert_ran(ran, 0, 4, 50, 51);
    assert_ran(ran, 0, 5, 51, 58);
}

static void
test_waits_across_calls(void)
{
    /* Call 0 puts 30 on slot 1. Call 1's op on slot 0 waits for everything launched before on slot 1
     * (30), its second op on slot 1 is not waited for. Then a program wait: from call 2 on slot 0
     * waits until two ops of slot 1 are done (30 + 100). */
    g_autoptr(SimTemplate) a = sim_template_new(), b = sim_template_new(), c = sim_template_new();
    add(a, 1, 30, 1);
    sim_template_wait_slot(b, add(b, 0, 5, 2), 1);
    add(b, 1, 100, 3);
    add(c, 0, 1, 4);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_call(p, a, 0, 0);
    sim_program_call(p, b, 0, 0);
    sim_program_wait(p, 0, 1, sim_program_launched(p, 1));
    sim_program_call(p, c, 0, 0);
    sim_program_wait(p, 0, 1, 2); /* nothing comes after it: no effect */
    g_autoptr(SimEngine) e = sim_engine_new();
    sim_engine_add_rank(e, p, NULL, 0);
    g_autoptr(GArray) ran = run(e);
    assert_ran(ran, 0, 2, 30, 35);
    assert_ran(ran, 0, 3, 30, 130);
    assert_ran(ran, 0, 4, 130, 131);
    gint64 start_ns, end_ns;
    sim_engine_call_span(e, 0, 0, &start_ns, &end_ns); /* has nothing on slot 0 */
    g_assert_cmpint(start_ns, ==, -1);
    g_assert_cmpint(end_ns, ==, -1);
    sim_engine_call_span(e, 0, 1, &start_ns, &end_ns);
    g_assert_cmpint(start_ns, ==, 30);
    g_assert_cmpint(end_ns, ==, 35);
}

static void
test_rendezvous(void)
{
    /* Eight ranks compute 10, 20 ... 80 and meet for 5: all run 80..85. They meet again in the same
     * meeting after 1 more ns each: 86..91. */
    g_autoptr(SimTemplate) meet = sim_template_new();
    add_joining(meet, 0, 5, 2, SIM_JOIN_ALL, 0);
    add(meet, 0, 1, 3);
    add_joining(meet, 0, 5, 4, SIM_JOIN_ALL, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 meeting = sim_engine_add_meetings(e, 8, 1);
    SimTemplate *own[8];
    SimProgram *programs[8];
    for (guint i = 0; i < 8; i++) {
        own[i] = sim_template_new();
        add(own[i], 0, 10 * (i + 1), 1);
        programs[i] = sim_program_new();
        sim_program_call(programs[i], own[i], 0, 0);
        sim_program_call(programs[i], meet, 0, 0);
        sim_engine_add_rank(e, programs[i], &meeting, 1);
    }
    g_autoptr(GArray) ran = run(e);
    for (guint i = 0; i < 8; i++) {
        assert_ran(ran, i, 2, 80, 85);
        assert_ran(ran, i, 4, 86, 91);
        gint64 start_ns, end_ns;
        sim_engine_call_span(e, i, 1, &start_ns, &end_ns);
        g_assert_cmpint(start_ns, ==, 80);
        g_assert_cmpint(end_ns, ==, 91);
        sim_program_free(programs[i]);
        sim_template_free(own[i]);
    }
}

static void
test_lone_meeting(void)
{
    /* A meeting of one member starts at once, also from two streams at the same time. */
    g_autoptr(SimTemplate) t = sim_template_new();
    add_joining(t, 0, 10, 1, SIM_JOIN_ALL, 0);
    add_joining(t, 1, 20, 2, SIM_JOIN_ALL, 0);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_call(p, t, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 meeting = sim_engine_add_meetings(e, 1, 1);
    sim_engine_add_rank(e, p, &meeting, 1);
    g_autoptr(GArray) ran = run(e);
    assert_ran(ran, 0, 1, 0, 10);
    assert_ran(ran, 0, 2, 0, 20);
}

static void
test_eager(void)
{
    /* Sender: 10, send (takes 50 in the background), 10, so it ends at 20. Receiver A joins at 0 and
     * ends at 60 with the transfer; receiver B computes 100 first and takes its message at once. */
    g_autoptr(SimTemplate) send = sim_template_new(), early = sim_template_new(),
                           late = sim_template_new();
    add(send, 0, 10, 1);
    add_joining(send, 0, 50, 2, SIM_JOIN_SEND, 0);
    add_joining(send, 0, 50, 3, SIM_JOIN_SEND, 1);
    add(send, 0, 10, 4);
    add_joining(early, 0, 0, 5, SIM_JOIN_RECV, 0);
    add(late, 0, 100, 6);
    add_joining(late, 0, 0, 7, SIM_JOIN_RECV, 0);
    g_autoptr(SimProgram) sender = sim_program_new(), a = sim_program_new(), b = sim_program_new();
    sim_program_call(sender, send, 0, 0);
    sim_program_call(a, early, 0, 0);
    sim_program_call(b, late, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 first = sim_engine_add_meetings(e, 2, 2);
    guint32 ports[] = {first, first + 1};
    sim_engine_add_rank(e, sender, ports, 2);
    sim_engine_add_rank(e, a, &ports[0], 1);
    sim_engine_add_rank(e, b, &ports[1], 1);
    g_autoptr(GArray) ran = run(e);
    assert_ran(ran, 0, 2, 10, 10);
    assert_ran(ran, 0, 4, 10, 20);
    assert_ran(ran, 1, 5, 0, 60);
    assert_ran(ran, 2, 7, 100, 100);
    g_assert_cmpint(sim_engine_rank_end(e, 0), ==, 20);
    g_assert_cmpint(sim_engine_now(e), ==, 100);
}

static void
test_indexed(void)
{
    /* Three messages through indexed meetings, received in the opposite order of sending. */
    g_autoptr(SimTemplate) send = sim_template_new(), receive = sim_template_new();
    add(send, 0, 10, 1);
    sim_template_join(send, add(send, 0, 5, 2), SIM_JOIN_SEND, 0, TRUE);
    sim_template_join(receive, add(receive, 0, 0, 3), SIM_JOIN_RECV, 0, TRUE);
    g_autoptr(SimProgram) a = sim_program_new(), b = sim_program_new();
    for (guint i = 0; i < 3; i++) {
        sim_program_call(a, send, i, 0);
        sim_program_call(b, receive, 2 - i, 0);
    }
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 first = sim_engine_add_meetings(e, 2, 3);
    sim_engine_add_rank(e, a, &first, 1);
    sim_engine_add_rank(e, b, &first, 1);
    g_autoptr(GArray) ran = run(e);
    gint64 start_ns, end_ns;
    sim_engine_call_span(e, 1, 0, &start_ns, &end_ns);
    g_assert_cmpint(start_ns, ==, 0);
    g_assert_cmpint(end_ns, ==, 35); /* sent at 30 */
    sim_engine_call_span(e, 1, 2, &start_ns, &end_ns);
    g_assert_cmpint(start_ns, ==, 35);
    g_assert_cmpint(end_ns, ==, 35);
}

static void
test_limit(void)
{
    /* 73 years is too much, not an overflow. */
    g_autoptr(SimTemplate) t = sim_template_new();
    add(t, 0, G_MAXINT64 / 4 - 1, 0);
    g_autoptr(SimProgram) p = sim_program_new();
    for (guint i = 0; i < 20; i++)
        sim_program_call(p, t, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    sim_engine_add_rank(e, p, NULL, 0);
    g_autoptr(GError) error = NULL;
    g_assert_false(sim_engine_run(e, NULL, NULL, &error));
    g_assert_error(error, SIM_ERROR, SIM_ERROR_LIMIT);
}

/* Each case misuses the engine; the run must stop at the spot, not go on with wrong times. */
enum {
    TWICE_SENT,
    TWICE_RECEIVED,
    UNEQUAL_WORK,
    UNKNOWN_PORT,
    TWO_SLOTS,
    GROWN_TEMPLATE,
    N_MISUSES
};

static void
misuse(guint which)
{
    g_autoptr(SimTemplate) t = sim_template_new(), u = sim_template_new();
    guint members = 2;
    switch (which) {
    case TWICE_SENT:
        add_joining(t, 0, 5, 1, SIM_JOIN_SEND, 0);
        add_joining(t, 0, 5, 1, SIM_JOIN_SEND, 0);
        break;
    case TWICE_RECEIVED:
        add_joining(t, 0, 5, 1, SIM_JOIN_SEND, 0);
        add_joining(u, 0, 5, 1, SIM_JOIN_RECV, 0);
        add_joining(u, 0, 5, 1, SIM_JOIN_RECV, 0);
        break;
    case UNEQUAL_WORK:
        add_joining(t, 0, 5, 1, SIM_JOIN_ALL, 0);
        add_joining(u, 0, 6, 1, SIM_JOIN_ALL, 0);
        break;
    case UNKNOWN_PORT:
        add_joining(t, 0, 5, 1, SIM_JOIN_ALL, 1);
        break;
    case TWO_SLOTS:
        members = 3;
        add_joining(t, 0, 5, 1, SIM_JOIN_ALL, 0);
        add_joining(t, 1, 5, 1, SIM_JOIN_ALL, 0);
        add_joining(u, 0, 5, 1, SIM_JOIN_ALL, 0);
        break;
    default:
        break;
    }
    g_autoptr(SimProgram) p = sim_program_new(), q = sim_program_new();
    sim_program_call(p, t, 0, 0);
    sim_program_call(q, u, 0, 0);
    if (which == GROWN_TEMPLATE)
        add(t, 0, 1, 1);
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 meeting = sim_engine_add_meetings(e, members, 1);
    sim_engine_add_rank(e, p, &meeting, 1);
    sim_engine_add_rank(e, q, &meeting, 1);
    g_autoptr(GError) error = NULL;
    if (!sim_engine_run(e, NULL, NULL, &error))
        g_printerr("%s\n", error->message);
}

static void
test_misuse(void)
{
    if (g_test_subprocess())
        return;
    for (guint which = 0; which < N_MISUSES; which++) {
        g_autofree char *path = g_strdup_printf("/sim/engine/subprocess/misuse-%u", which);
        g_test_trap_subprocess(path, 0, 0);
        g_test_trap_assert_failed();
        g_test_trap_assert_stderr("*assertion failed*");
    }
}

static void
test_one_misuse(const void *which)
{
    misuse(GPOINTER_TO_UINT(which));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sim/engine/an-empty-program-takes-no-time", test_empty);
    g_test_add_func("/sim/engine/streams-run-in-order-beside-each-other", test_streams);
    g_test_add_func("/sim/engine/equal-times-in-order-of-scheduling", test_equal_times);
    g_test_add_func("/sim/engine/waits-hold-an-op-until-others-are-complete", test_waits);
    g_test_add_func("/sim/engine/waits-count-across-calls", test_waits_across_calls);
    g_test_add_func("/sim/engine/rendezvous-starts-with-the-last-member", test_rendezvous);
    g_test_add_func("/sim/engine/meeting-of-one-is-used-by-many", test_lone_meeting);
    g_test_add_func("/sim/engine/eager-send-takes-no-time", test_eager);
    g_test_add_func("/sim/engine/indexed-ports-follow-the-argument", test_indexed);
    g_test_add_func("/sim/engine/time-has-a-limit", test_limit);
    g_test_add_func("/sim/engine/misuse-asserts", test_misuse);
    for (guint which = 0; which < N_MISUSES; which++) {
        g_autofree char *path = g_strdup_printf("/sim/engine/subprocess/misuse-%u", which);
        g_test_add_data_func(path, GUINT_TO_POINTER(which), test_one_misuse);
    }
    return g_test_run();
}
