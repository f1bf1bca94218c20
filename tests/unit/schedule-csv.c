/* Schedules read from and written to CSV. */
#include "config.h"

#include "schedule/schedule.h"

static void
test_round_trip(void)
{
    g_test_summary("what is written reads back to the same schedule, placement inferred");
    for (guint i = 0; schedule_types[i] != NULL; i++)
        for (guint pp = 2; pp <= 4; pp++) {
            ScheduleParams params = {
                .pp = pp, .microbatches = 2 * pp, .vpp = schedule_types[i]->min_vpp};
            g_autoptr(Schedule) s = schedule_new(schedule_types[i], &params, NULL);
            g_autofree char *text = schedule_format_csv(s);
            GError *error = NULL;
            g_autoptr(Schedule) back = schedule_parse_csv("file.csv", text, &error);
            g_assert_no_error(error);
            g_autofree char *again = schedule_format_csv(back);
            g_assert_cmpstr(again, ==, text);
            g_assert_cmpuint(back->params.vpp, ==, params.vpp);
            g_assert_cmpuint(back->params.microbatches, ==, params.microbatches);
            g_assert_cmpmem(back->rank_of, back->n_stages * sizeof(guint), s->rank_of,
                            s->n_stages * sizeof(guint));
        }
}

static void
test_split_backward_and_idle_slots(void)
{
    GError *error = NULL;
    /* V placement: rank 0 holds stages 0 and 3, rank 1 stages 1 and 2. */
    g_autoptr(Schedule) s = schedule_parse_csv(
        "v.csv", "0F0,,,3F0,3I0,,,0I0,3W0,0W0\n 1F0 ,2F0,,,2I0,1I0,2W0,1W0\r\n\n", &error);
    guint at_i[2], at_w[2];

    g_assert_no_error(error);
    g_assert_cmpuint(s->params.pp, ==, 2);
    g_assert_cmpuint(s->params.vpp, ==, 2);
    g_assert_cmpuint(s->rank_of[2], ==, 1);
    g_assert_cmpuint(s->rank_of[3], ==, 0);
    schedule_peaks(s, at_i, at_w);
    g_assert_cmpuint(at_i[0], ==, 2);
    g_assert_cmpuint(at_w[0], ==, 2);
}

static void
test_bad_text(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "holds 0 rows"},
        {"\n\n", "holds 0 rows"},
        {"0F0,0X0\n", "row 1, column 2: '0X0' is not an operation; write STAGE"},
        {"0F0,0B0\n1F0,1B\n", "row 2, column 2: '1B' is not"},
        {"0F0,0B0,7\n", "column 3: '7' is not"},
        {"0F0,0B-1\n", "column 2: '0B-1' is not"},
        {"0F0 0B0\n", "column 1: '0F0 0B0' is not"},
        {"0F0,(0F1;0B0)OVERLAP_F_B\n", "overlapped pairs are not supported"},
        {"99999F0\n", "'99999F0' is not"},
        {"0F99999999999999999999\n", "is not an operation"},
        {"0F0,0B0\n0F1,0B1\n", "row 2: stage 0 is also on row 1"},
        {"0F0,0B0\n2F0,2B0\n", "stage 1 is on no row"},
        {"0F0,2F0,2B0,0B0\n1F0,1B0\n", "row 2 holds 1 stages and row 1 holds 2"},
        {"0F0,0B0\n\n1F0,1B0\n", "row 2 holds 0 stages"},
        {"0F0,0B0,0F1\n", "too few for 1 stages and 2 microbatches"},
        {"0F16000000,0B16000000\n", "too few for 1 stages and 16000001 microbatches"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(schedule_parse_csv("bad.csv", cases[i].text, &error));
        g_assert_nonnull(error);
        g_test_message("%s", error->message);
        g_assert_true(g_str_has_prefix(error->message, "bad.csv: "));
        g_assert_nonnull(strstr(error->message, cases[i].says));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/schedule/csv/round-trip", test_round_trip);
    g_test_add_func("/schedule/csv/split-backward-and-idle-slots",
                    test_split_backward_and_idle_slots);
    g_test_add_func("/schedule/csv/bad-text-names-row-and-column", test_bad_text);
    return g_test_run();
}
