/* Schedules with the messages and gathers that PyTorch's runtime would add. */
#include "config.h"

#include "schedule/schedule.h"

#include "schedule-executor.h"

#include <string.h>

static char *
read_data(const char *folder, const char *name)
{
    const char *root = g_getenv("DTSIM_TEST_DATA");
    g_autofree char *path =
        g_build_filename(root != NULL ? root : "tests/data", "schedule", folder, name, NULL);
    char *text = NULL;
    GError *error = NULL;

    g_file_get_contents(path, &text, NULL, &error);
    g_assert_no_error(error);
    return text;
}

static Schedule *
parse(const char *text)
{
    GError *error = NULL;
    Schedule *s = schedule_parse_csv("file.csv", text, &error);

    g_assert_no_error(error);
    return s;
}

static void
test_vectors(void)
{
    static const char *const names[] = {
        "1f1b_P4_M4.csv",
        "1f1b_P4_M8.csv",
        "dualpipev_P4_M10_V2.csv",
        "gpipe_P4_M4.csv",
        "interleaved_megatron_P2_M4_V2_N2.csv",
        "interleaved_megatron_P4_M8_V2_N4.csv",
        "looped_bfs_P4_M4_V2.csv",
        "v_half_P4_M8_V2.csv",
        "zb_h1_P4_M8.csv",
        "zb_h2_P4_M8.csv",
        "zbv_torch_P4_M8_V2.csv",
    };

    g_test_summary("eleven op lists, lowered, are the lists of the vectors letter by letter");
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *ops = read_data("ops", names[i]), *want = read_data("comms", names[i]);
        g_autoptr(Schedule) s = parse(ops);
        g_autofree char *lowered = schedule_format_comms(s);
        g_assert_cmpstr(lowered, ==, want);

        g_autoptr(Schedule) back = parse(want);
        g_autofree char *as_read = schedule_format_as_read(back);
        g_assert_cmpstr(as_read, ==, want);
        g_autofree char *again = schedule_format_comms(back);
        g_assert_cmpstr(again, ==, want);
    }
}

/* Two ranks, one stage each, one microbatch: SEND behind the op, RECV where the turn of the sender
 * puts it. With three stages ahead at most, each stage is gathered once and its gradient reduced at
 * the end. */
static void
test_by_hand(void)
{
    static const struct {
        const char *ops, *comms, *sharded;
    } cases[] = {
        {"0F0,0I0,0W0\n1F0,1I0,1W0\n", "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD\n"
         "1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD\n"},
        /* neighbours on one rank hand over directly; I and W apart are not merged */
        {"0F0,1F0,1I0,0I0,1W0,0W0\n", "0F0,1F0,1I0,0I0,1W0,0W0\n",
         "0UNSHARD,1UNSHARD,0F0,1F0,1I0,0I0,1W0,1REDUCE_GRAD,1RESHARD,0W0,0REDUCE_GRAD\n"},
        /* five stages on a rank, three gathered at a time; drops come before gathers */
        {"0F0,1F0,2F0,3F0,4F0,4B0,3B0,2B0,1B0,0B0\n", "0F0,1F0,2F0,3F0,4F0,4B0,3B0,2B0,1B0,0B0\n",
         "0UNSHARD,1UNSHARD,2UNSHARD,0F0,0RESHARD,3UNSHARD,1F0,1RESHARD,4UNSHARD,2F0,"
         "3F0,4F0,4B0,4REDUCE_GRAD,4RESHARD,1UNSHARD,3B0,3REDUCE_GRAD,3RESHARD,0UNSHARD,2B0,"
         "2REDUCE_GRAD,2RESHARD,1B0,1REDUCE_GRAD,1RESHARD,0B0,0REDUCE_GRAD\n"},
        /* two model copies: a message goes to the rank of its microbatch's copy */
        {"0F0,1F1,1B1,0B0\n0F1,1F0,1B0,0B1\n",
         "0F0,0SEND_F0,1RECV_F1,1F1,1B1,1SEND_B1,0RECV_B0,0B0\n"
         "1RECV_F0,0F1,0SEND_F1,1F0,0RECV_B1,1B0,1SEND_B0,0B1\n",
         "0UNSHARD,1UNSHARD,0F0,0SEND_F0,1RECV_F1,1F1,1B1,1SEND_B1,0RECV_B0,1REDUCE_GRAD,1RESHARD,"
         "0B0,0REDUCE_GRAD\n"
         "0UNSHARD,1UNSHARD,1RECV_F0,0F1,0SEND_F1,1F0,0RECV_B1,1B0,1SEND_B0,1REDUCE_GRAD,1RESHARD,"
         "0B1,0REDUCE_GRAD\n"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Schedule) s = parse(cases[i].ops);
        g_autofree char *comms = schedule_format_comms(s);
        g_autofree char *sharded = schedule_format_comms_sharded(s);
        g_assert_cmpstr(comms, ==, cases[i].comms);
        g_assert_cmpstr(sharded, ==, cases[i].sharded);
    }
}

static void
assert_survives(const Schedule *s, char *(*format)(const Schedule *))
{
    g_autofree char *text = format(s);
    g_autoptr(Schedule) back = parse(text);
    g_autofree char *as_read = schedule_format_as_read(back), *again = format(back);

    g_assert_cmpstr(as_read, ==, text);
    g_assert_cmpstr(again, ==, text);
}

static void
test_every_schedule(void)
{
    g_test_summary("what is lowered passes the checks of messages and gathers, and reads back");
    for (guint i = 0; schedule_types[i] != NULL; i++)
        for (guint n = 0; n < 8; n++) {
            ScheduleParams params = {.pp = (guint)g_test_rand_int_range(1, 9),
                                     .vpp = schedule_types[i]->min_vpp};
            params.microbatches = params.pp * (guint)g_test_rand_int_range(1, 4);
            g_autoptr(Schedule) s = schedule_new(schedule_types[i], &params, NULL);
            if (s == NULL)
                continue;
            assert_survives(s, schedule_format_comms);
            assert_survives(s, schedule_format_comms_sharded);
        }
}

/* Makespans of lists from files, on paper: two ranks in a V, F = B = 1: 4 forwards and 4 backwards,
 * one after the other: 8. Five stages on ranks 0 0 1 1 0: 10. */
static void
test_times(void)
{
    static const struct {
        const char *text;
        ScheduleTimes times;
        gint64 makespan, busy;
    } cases[] = {
        {"0F0,,,3F0,3B0,,,0B0\n,1F0,2F0,,,2B0,1B0,\n", {.F = 1, .I = 1}, 8, 4},
        {"0F0,1F0,,,4F0,4B0,,,1B0,0B0\n,,2F0,3F0,,,3B0,2B0,,\n", {.F = 1, .I = 1}, 10, 6},
        {"dualpipev_P4_M10_V2.csv", {.F = 2, .I = 2, .W = 2, .pair = 6}, 132, 120},
        {"dualpipev_P4_M10_V2.csv", {.F = 2, .I = 2, .W = 2, .pair = 5}, 118, 111},
        {"interleaved_zb_torch_P2_M8_V2.csv", {.F = 1, .I = 1, .W = 1}, 49, 48},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        gboolean file = g_str_has_suffix(cases[i].text, ".csv");
        g_autofree char *text = file ? read_data("ops", cases[i].text) : g_strdup(cases[i].text);
        g_autoptr(Schedule) s = parse(text);
        g_autoptr(ScheduleRun) run = schedule_run(s, &cases[i].times);
        g_assert_cmpint(run->makespan, ==, cases[i].makespan);
        g_assert_cmpint(run->max_busy, ==, cases[i].busy);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/schedule/lowering/vectors", test_vectors);
    g_test_add_func("/schedule/lowering/by-hand", test_by_hand);
    g_test_add_func("/schedule/lowering/every-schedule-reads-back", test_every_schedule);
    g_test_add_func("/schedule/lowering/times-of-files", test_times);
    return g_test_run();
}
