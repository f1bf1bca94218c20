/* Text pictures of pipelines. */
#include "config.h"

#include "report/gantt.h"

static ScheduleToken
token(ScheduleKind kind, SchedulePair pair, guint microbatch)
{
    return (ScheduleToken){.kind = (guint8)kind, .pair = (guint8)pair, .microbatch = microbatch};
}

static void
boxes_are_as_long_as_their_operations(void)
{
    g_autoptr(ReportGantt) gantt = report_gantt_new(2);
    report_gantt_add(gantt, 0, token(SCHEDULE_F, SCHEDULE_SINGLE, 3), 0, 2);
    report_gantt_add(gantt, 0, token(SCHEDULE_I, SCHEDULE_SINGLE, 12), 4, 5);
    report_gantt_add(gantt, 1, token(SCHEDULE_W, SCHEDULE_SINGLE, 7), 2, 4);
    g_autoptr(GString) text = g_string_new(NULL);
    report_gantt_text(gantt, 1, 2, text);
    g_assert_cmpstr(text->str, ==, "   0 |F3--....I2|\n   1 |....W7--..|\n");
    g_assert_cmpint(report_gantt_end(gantt), ==, 5);
}

/* Whether a run reports the unit's whole time for both of its tokens, or one part for each. */
static void
a_pair_is_one_box_in_two_halves(void)
{
    const gint64 spans[][4] = {{1, 5, 1, 5}, {1, 3, 3, 5}, {1, 4, 2, 5}};
    for (guint i = 0; i < G_N_ELEMENTS(spans); i++) {
        g_autoptr(ReportGantt) gantt = report_gantt_new(1);
        report_gantt_add(gantt, 0, token(SCHEDULE_F, SCHEDULE_PAIR_FIRST, 1), spans[i][0],
                         spans[i][1]);
        report_gantt_add(gantt, 0, token(SCHEDULE_B, SCHEDULE_PAIR_SECOND, 0), spans[i][2],
                         spans[i][3]);
        g_autoptr(GString) text = g_string_new(NULL);
        report_gantt_text(gantt, 1, 2, text);
        g_assert_cmpstr(text->str, ==, "   0 |..F1--B0--|\n");
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/gantt/boxes-are-as-long-as-their-operations",
                    boxes_are_as_long_as_their_operations);
    g_test_add_func("/report/gantt/a-pair-is-one-box-in-two-halves",
                    a_pair_is_one_box_in_two_halves);
    return g_test_run();
}
