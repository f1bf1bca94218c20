/* Templates and programs: what was put in comes out, and counts add up without unrolling. */
#include "config.h"

#include "sim/program.h"

static SimWork
work(gint64 duration_ns)
{
    return (SimWork){.duration_ns = duration_ns, .load = {1, 2, 3, 4}};
}

static void
test_template(void)
{
    g_autoptr(SimTemplate) t = sim_template_new();
    g_assert_cmpuint(sim_template_add(t, 0, work(10), 100), ==, 0);
    g_assert_cmpuint(sim_template_add(t, 15, work(20), (1 << 24) - 1), ==, 1);
    g_assert_cmpuint(sim_template_add(t, 0, work(30), 102), ==, 2);
    sim_template_wait_op(t, 2, 1);
    sim_template_wait_op(t, 2, 0);
    sim_template_wait_slot(t, 1, 0);
    sim_template_join(t, 1, SIM_JOIN_ALL, 3, TRUE);
    g_assert_cmpuint(sim_template_n_ops(t), ==, 3);
    g_assert_cmpuint(sim_template_n_ops_on(t, 0), ==, 2);
    g_assert_cmpuint(sim_template_n_ops_on(t, 1), ==, 0);
    g_assert_cmpuint(sim_template_n_ops_on(t, 15), ==, 1);
    g_assert_cmpuint(sim_template_slot(t, 1), ==, 15);
    g_assert_cmpuint(sim_template_slot(t, 2), ==, 0);
    g_assert_cmpuint(sim_template_tag(t, 1), ==, (1 << 24) - 1);
    g_assert_cmpint(sim_template_work(t, 2).duration_ns, ==, 30);
    g_assert_cmpfloat(sim_template_work(t, 2).load[3], ==, 4);
}

static void
test_program(void)
{
    g_autoptr(SimTemplate) a = sim_template_new(), b = sim_template_new();
    sim_template_add(a, 0, work(1), 0);
    sim_template_add(a, 0, work(1), 0);
    sim_template_add(a, 3, work(1), 0);
    sim_template_add(b, 3, work(1), 0);
    g_autoptr(SimProgram) p = sim_program_new();
    g_assert_cmpuint(sim_program_n_calls(p), ==, 0);
    g_assert_cmpuint(sim_program_call(p, a, 0, 70), ==, 0);
    g_assert_cmpuint(sim_program_call(p, b, 0, 71), ==, 1);
    g_assert_cmpuint(sim_program_call(p, a, 0, 72), ==, 2);
    g_assert_cmpuint(sim_program_launched(p, 0), ==, 4);
    g_assert_cmpuint(sim_program_launched(p, 3), ==, 3);
    g_assert_cmpuint(sim_program_launched(p, 7), ==, 0);
    g_assert_cmpuint(sim_program_n_calls(p), ==, 3);
    g_assert_cmpuint(sim_program_n_ops(p), ==, 7);
    g_assert_cmpuint(sim_program_label(p, 1), ==, 71);
}

static void
test_free_null(void)
{
    sim_template_free(NULL);
    sim_program_free(NULL);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sim/program/template-keeps-its-ops", test_template);
    g_test_add_func("/sim/program/counts-launches-by-slot", test_program);
    g_test_add_func("/sim/program/free-accepts-null", test_free_null);
    return g_test_run();
}
