/* Deadlocks are told in words: who, at which op, waits for what, and the cycle. */
#include "config.h"

#include "sim/engine.h"

static guint
add(SimTemplate *t, guint slot, SimJoin join, guint port)
{
    guint op = sim_template_add(t, slot, (SimWork){.duration_ns = 10}, 0);
    if (join != SIM_JOIN_NONE)
        sim_template_join(t, op, join, port, FALSE);
    return op;
}

static char *
name_call(void *user, guint32 rank, guint call, guint32 label)
{
    return g_strdup_printf("%s%u of rank %u in call %u", (const char *)user, label, rank, call);
}

static void
assert_stuck(SimEngine *e, const char *expected)
{
    g_autoptr(GError) error = NULL;
    char prefix[] = "F";
    g_assert_false(sim_engine_run(e, name_call, prefix, &error));
    g_assert_error(error, SIM_ERROR, SIM_ERROR_DEADLOCK);
    g_assert_cmpstr(error->message, ==, expected);
}

static void
test_opposite_order(void)
{
    /* Two ranks take two meetings in opposite order. */
    g_autoptr(SimTemplate) a = sim_template_new(), b = sim_template_new();
    add(a, 0, SIM_JOIN_NONE, 0);
    add(a, 0, SIM_JOIN_ALL, 0);
    add(a, 0, SIM_JOIN_ALL, 1);
    add(b, 0, SIM_JOIN_ALL, 1);
    add(b, 0, SIM_JOIN_ALL, 0);
    g_autoptr(SimProgram) p = sim_program_new(), q = sim_program_new();
    sim_program_call(p, a, 0, 3);
    sim_program_call(q, b, 0, 4);
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 first = sim_engine_add_meetings(e, 2, 2);
    const guint32 ports[] = {first, first + 1};
    sim_engine_add_rank(e, p, ports, 2);
    sim_engine_add_rank(e, q, ports, 2);
    assert_stuck(e,
                 "deadlock at 10 ns: rank 0 slot 0 at op 1 of call 0 'F3 of rank 0 in call 0' "
                 "waits in meeting 0 (1 of 2 joined) for rank 1 slot 0; rank 1 slot 0 at op 0 of "
                 "call 0 'F4 of rank 1 in call 0' waits in meeting 1 (1 of 2 joined) for rank 0 "
                 "slot 0; cycle: rank 0 slot 0 -> rank 1 slot 0 -> rank 0 slot 0");
}

static void
test_nobody_comes(void)
{
    /* A meeting of three that only two ranks know; that they would join it again does not help. */
    g_autoptr(SimTemplate) t = sim_template_new();
    add(t, 0, SIM_JOIN_ALL, 0);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_call(p, t, 0, 0);
    sim_program_call(p, t, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 meeting = sim_engine_add_meetings(e, 3, 1);
    sim_engine_add_rank(e, p, &meeting, 1);
    sim_engine_add_rank(e, p, &meeting, 1);
    g_autoptr(GError) error = NULL;
    g_assert_false(sim_engine_run(e, NULL, NULL, &error));
    g_assert_error(error, SIM_ERROR, SIM_ERROR_DEADLOCK);
    g_assert_cmpstr(
        error->message, ==,
        "deadlock at 0 ns: rank 0 slot 0 at op 0 of call 0 (label 0) waits in meeting 0 "
        "(2 of 3 joined), which nobody else would join; rank 1 slot 0 at op 0 of call 0 "
        "(label 0) waits in meeting 0 (2 of 3 joined), which nobody else would join");
}

static void
test_never_sent(void)
{
    /* A receive whose sender waits, on another slot, for an op that follows the receive. */
    g_autoptr(SimTemplate) t = sim_template_new();
    add(t, 0, SIM_JOIN_RECV, 0);
    guint after = add(t, 0, SIM_JOIN_NONE, 0);
    sim_template_wait_op(t, add(t, 1, SIM_JOIN_SEND, 0), after);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_call(p, t, 0, 7);
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 meeting = sim_engine_add_meetings(e, 2, 1);
    sim_engine_add_rank(e, p, &meeting, 1);
    assert_stuck(e, "deadlock at 0 ns: rank 0 slot 0 at op 0 of call 0 'F7 of rank 0 in call 0' "
                    "waits for the send of meeting 0 for rank 0 slot 1; cycle: rank 0 slot 0 -> "
                    "rank 0 slot 1 -> rank 0 slot 0");
}

static void
test_never_received(void)
{
    g_autoptr(SimTemplate) t = sim_template_new();
    add(t, 2, SIM_JOIN_SEND, 0);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_call(p, t, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 meeting = sim_engine_add_meetings(e, 2, 1);
    sim_engine_add_rank(e, p, &meeting, 1);
    assert_stuck(e, "deadlock at 10 ns: sends never received: 1, the first by rank 0 slot 2 into "
                    "meeting 0");
}

static void
test_wait_for_too_many(void)
{
    g_autoptr(SimTemplate) t = sim_template_new();
    add(t, 0, SIM_JOIN_NONE, 0);
    add(t, 1, SIM_JOIN_NONE, 0);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_wait(p, 1, 0, 2);
    sim_program_call(p, t, 0, 5);
    g_autoptr(SimEngine) e = sim_engine_new();
    sim_engine_add_rank(e, p, NULL, 0);
    assert_stuck(e, "deadlock at 10 ns: rank 0 slot 1 at op 1 of call 0 'F5 of rank 0 in call 0' "
                    "waits until slot 0 has completed 2 ops (1 so far, and there are no more)");
}

static void
test_many(void)
{
    /* Of many stuck ranks eight are named. */
    g_autoptr(SimTemplate) t = sim_template_new();
    add(t, 0, SIM_JOIN_ALL, 0);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_call(p, t, 0, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 meeting = sim_engine_add_meetings(e, 100, 1);
    for (guint i = 0; i < 99; i++)
        sim_engine_add_rank(e, p, &meeting, 1);
    g_autoptr(GError) error = NULL;
    g_assert_false(sim_engine_run(e, NULL, NULL, &error));
    g_assert_nonnull(strstr(error->message, "rank 7 slot 0"));
    g_assert_null(strstr(error->message, "rank 8 slot 0"));
    g_assert_true(g_str_has_suffix(error->message, "; and 91 more ranks"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sim/deadlock/meetings-in-opposite-order", test_opposite_order);
    g_test_add_func("/sim/deadlock/meeting-that-nobody-joins", test_nobody_comes);
    g_test_add_func("/sim/deadlock/receive-before-its-own-send", test_never_sent);
    g_test_add_func("/sim/deadlock/send-never-received", test_never_received);
    g_test_add_func("/sim/deadlock/wait-for-more-than-there-is", test_wait_for_too_many);
    g_test_add_func("/sim/deadlock/eight-are-named", test_many);
    return g_test_run();
}
