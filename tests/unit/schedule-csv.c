/* Schedules read from and written to CSV. */
#include "config.h"

#include "schedule/schedule.h"

#include <string.h>

static void
test_round_trip(void)
{
    g_test_summary("what is written reads back to the same schedule, placement inferred");
    for (guint i = 0; schedule_types[i] != NULL; i++)
        for (guint pp = 2; pp <= 4; pp++) {
            ScheduleParams params = {
                .pp = pp, .microbatches = 2 * pp, .vpp = schedule_types[i]->min_vpp};
            g_autoptr(Schedule) s = schedule_new(schedule_types[i], &params, NULL);
            if (s == NULL)
                continue; /* an odd number of ranks */
            g_autofree char *text = schedule_format_csv(s);
            GError *error = NULL;
            g_autoptr(Schedule) back = schedule_parse_csv("file.csv", text, &error);
            g_assert_no_error(error);
            g_autofree char *again = schedule_format_csv(back);
            g_assert_cmpstr(again, ==, text);
            g_assert_cmpuint(back->params.vpp, ==, params.vpp);
            g_assert_cmpuint(back->params.microbatches, ==, params.microbatches);
            g_assert_cmpuint(back->n_replicas, ==, s->n_replicas);
            g_assert_cmpmem(back->rank_of, back->n_replicas * back->n_stages * sizeof(guint),
                            s->rank_of, s->n_replicas * s->n_stages * sizeof(guint));
            g_assert_cmpmem(back->replica_of, params.microbatches, s->replica_of,
                            params.microbatches);
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

/* Read, checked a second time by the other checker, written as compute operations and as read. */
static void
assert_reads(const char *text, const char *compute, const char *as_read)
{
    GError *error = NULL;
    g_autoptr(Schedule) s = schedule_parse_csv("file.csv", text, &error);

    g_assert_no_error(error);
    g_assert_true(schedule_check(s, &error));
    g_assert_no_error(error);
    g_autofree char *csv = schedule_format_csv(s), *same = schedule_format_as_read(s);
    g_assert_cmpstr(csv, ==, compute);
    g_assert_cmpstr(same, ==, as_read);
}

static void
test_dialects(void)
{
    static const struct {
        const char *text, *compute, *as_read;
    } cases[] = {
        {"0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "0F0,0B0\n1F0,1B0\n",
         "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n"},
        /* the older letters: B is the input gradient, BW the whole backward */
        {"0F0,0F1,0B1,0BW0,0W1\n", "0F0,0F1,0I1,0B0,0W1\n", "0F0,0F1,0B1,0BW0,0W1\n"},
        {"0F0,0B0,0W0\n", "0F0,0I0,0W0\n", "0F0,0B0,0W0\n"},
        {"0UNSHARD,0F0,0B0,0REDUCE_GRAD,0RESHARD\n", "0F0,0B0\n",
         "0UNSHARD,0F0,0B0,0REDUCE_GRAD,0RESHARD\n"},
        {"0F0,(0F1;0B0)OVERLAP_F_B,0B1\n", "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n",
         "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n"},
        {"\xEF\xBB\xBF\"0F0\", \"( 0F1;0B0)OVERLAP_F_B\"", NULL, NULL},
        {"\xEF\xBB\xBF\"0F0\",, \"(0F1;0I0)OVERLAP_F_B\" ,0B1,\t 0W0,,\r\n,,\r\n", NULL, NULL},
        {"\xEF\xBB\xBF\"0F0\",, \"(0F1;0I0)OVERLAP_F_B\" ,0B1,\t 0W0,,\r\n\r\n",
         "0F0,(0F1;0I0)OVERLAP_F_B,0B1,0W0\n", "0F0,(0F1;0I0)OVERLAP_F_B,0B1,0W0\n"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        if (cases[i].compute != NULL)
            assert_reads(cases[i].text, cases[i].compute, cases[i].as_read);
        else
            g_assert_null(schedule_parse_csv("file.csv", cases[i].text, NULL));
}

static void
test_placements(void)
{
    static const struct {
        const char *text, *placement;
        guint vpp, n_stages, n_replicas;
    } cases[] = {
        {"0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0\n", "loop", 2, 4, 1},
        {"0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n", "v", 2, 4, 1},
        {"0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n", "0,1,1,0", 2, 4, 1},
        {"0F0,2F0,2B0,0B0\n1F0,1B0\n", "0, 1, 0", 2, 3, 1}, /* unequal: vpp is the largest */
        {"0F0,1F1,1B1,0B0\n0F1,1F0,1B0,0B1\n", "bidirectional", 1, 2, 2},
        {"0F0,1F1,1B1,0B0\n0F1,1F0,1B0,0B1\n", "0,1/1,0", 1, 2, 2},
        {"1F0,1B0\n0F0,0B0\n", "1,0", 1, 2, 1},
        {"0F0,0B0\n", "loop", 1, 1, 1},
    };

    g_test_summary("a given placement is the one inferred");
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        GError *error = NULL;
        g_autoptr(Schedule) given =
            schedule_parse_csv_placed("f.csv", cases[i].text, cases[i].placement, &error);
        g_assert_no_error(error);
        g_autoptr(Schedule) inferred = schedule_parse_csv("f.csv", cases[i].text, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(given->params.vpp, ==, cases[i].vpp);
        g_assert_cmpuint(given->n_stages, ==, cases[i].n_stages);
        g_assert_cmpuint(given->n_replicas, ==, cases[i].n_replicas);
        gsize n = given->n_replicas * given->n_stages * sizeof(guint);
        g_assert_cmpmem(given->rank_of, n, inferred->rank_of, n);
        g_assert_cmpmem(given->replica_of, given->params.microbatches, inferred->replica_of,
                        inferred->params.microbatches);
    }
}

static void
assert_refused(const char *text, const char *placement, const char *says)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(schedule_parse_csv_placed("bad.csv", text, placement, &error));
    g_assert_nonnull(error);
    g_test_message("%s", error->message);
    if (strstr(error->message, says) == NULL)
        g_error("'%s' does not say '%s'", error->message, says);
}

static void
test_bad_placements(void)
{
    static const struct {
        const char *text, *placement, *says;
    } cases[] = {
        {"0F0,0B0\n1F0,1B0\n", "1,0", "row 1, column 1: 0F0 belongs on row 2 by --placement 1,0"},
        {"0F0,0B0\n1F0,1B0\n", "0,2", "--placement: '0,2' is not a list of ranks 0 to 1"},
        {"0F0,0B0\n1F0,1B0\n", "0", "places 1 stages and the file has 2; write loop"},
        {"0F0,0B0\n1F0,1B0\n", "0,1,1", "row 2: 2F0 is missing"},
        {"0F0,0RECV_B0,0B0\n1UNSHARD\n", "0,1", "row 2: 1F0 is missing"},
        {"0F0,0RECV_B0,0B0\n", "0,0", "row 1, column 2: 0RECV_B0 is for a stage on the same row"},
        {"0F0,0B0\n1F0,1B0\n", "wave", "is not a list of ranks"},
        {"0F0,0B0\n1F0,1B0\n", "", "is not"},
        {"0F0,0B0\n1F0,1B0\n", "0,1/1", "different numbers of stages"},
        {"0F0,0B0\n1F0,1B0\n", "0,1/1,0/0,1", "one or two lists"},
        {"0F0,2F0,2B0,0B0\n1F0,1B0\n", "bidirectional", "3 stages on 2 rows"},
        {"0F0,2F0,2B0,0B0\n1F0,1B0\n", "v", "row 1, column 2: 2F0 belongs on row 2"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        assert_refused(cases[i].text, cases[i].placement, cases[i].says);
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
        {"0F0,0UNSHARD1\n", "column 2: '0UNSHARD1' is not"},
        {"0F0,0SEND_F\n", "column 2: '0SEND_F' is not"},
        {"0F0,(0F1;0B0)OVERLAP\n", "column 2: '(0F1;0B0)OVERLAP' is not an operation; write an"},
        {"0F0,(0F1)OVERLAP_F_B\n", "column 2"},
        {"0F0,()OVERLAP_F_B;\n", "column 2"},
        {"0F0,(0B0;0F1)OVERLAP_F_B\n", "a forward and a backward (B or I), in this order"},
        {"0F0,(0F1;0W0)OVERLAP_F_B\n", "a forward and a backward (B or I), in this order"},
        {"0F0,0I0,0BW0\n", "column 2: 0I0 is today's letter"},
        {"99999F0\n", "'99999F0' is not"},
        {"0F99999999999999999999\n", "is not an operation"},
        {"0F0,0B0\n2F0,2B0\n", "stage 1 is on no row"},
        {"0F0,0B0\n\n1F0,1B0\n", "row 2 holds no stage"},
        {"0F16000000,0B16000000\n", "too few for 1 stages and 16000001 microbatches"},
        {"65534F16777215,0B0\n", "too few for 65535 stages"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        assert_refused(cases[i].text, NULL, cases[i].says);
}

static void
test_bad_lists(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"0F0,0B0\n0F1,0B1\n",
         "row 2, column 1: 0F1 is on another row than stage 0 of microbatch 0, which is on row 1"},
        {"0F0,1B0,0B0\n1F0,1B0\n", "row 1, column 2: 1B0 belongs on row 2"},
        {"0F0,0B0,0F1\n", "row 1: 0B1 is missing; every stage"},
        {"0F0,0I0\n", "row 1: 0W0 is missing"},
        {"0F1,0B1\n", "row 1: 0F0 is missing"},
        {"0F0,0F0,0B0\n", "column 2: 0F0 is there twice"},
        {"0B0,0F0\n", "column 1: 0B0 comes before its forward; move it behind 0F0"},
        {"0F0,0B0,0I0,0W0\n", "column 3: 0I0 repeats a backward"},
        {"0F0,0B0,0W0,0F1,0I1,0W1\n", "column 3: 0W0 repeats a backward"},
        {"0F0,0F1,0I0,0W1,0I1,0W0\n", "column 4: 0W1 has no input gradient before it; put 0I1"},
        {"0F0,(0F1;0B1)OVERLAP_F_B,0B0\n", "column 2: 0B1 waits for 0F1, which overlaps it"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        assert_refused(cases[i].text, NULL, cases[i].says);
}

/* Two ranks of one stage; the first row of each case is rank 0. */
static void
test_bad_messages(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "row 1, column 3: 0B0 waits for 0RECV_B0, which is not on its row"},
        {"0F0,0SEND_F0,0B0,0RECV_B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "row 1, column 3: 0B0 waits for 0RECV_B0, which comes after it in column 4"},
        {"0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "row 2, column 1: 1RECV_F0 waits for 0SEND_F0, which is not on row 1"},
        {"0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0\n",
         "row 1, column 3: 0RECV_B0 waits for 1SEND_B0, which is not on row 2"},
        {"0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "row 1, column 1: 0SEND_F0 comes before the F of stage 0"},
        {"0F0,0SEND_F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "row 1, column 3: 0SEND_F0 is there twice"},
        {"0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1RECV_F0,1B0,1SEND_B0\n",
         "row 2, column 3: 1RECV_F0 is there twice"},
        {"0F0,0SEND_F0,0RECV_B0,0B0,0SEND_B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "row 1, column 5: 0SEND_B0 has no stage to exchange with"},
        {"0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1RECV_F7,1B0,1SEND_B0\n",
         "row 2, column 3: 1RECV_F7 is out of range"},
        {"0F0,0SEND_F0,1SEND_B0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "row 1, column 3: 1SEND_B0 is on a row that does not hold its stage; move it to row 2"},
        {"0F0,0SEND_F0,1RECV_F0,1F0,1B0,0B0\n",
         "column 2: 0SEND_F0 is for a stage on the same row"},
        {"0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
         "1RECV_F1,1RECV_F0,1F0,1F1,1B0,1SEND_B0,1B1,1SEND_B1\n",
         "row 2, column 1: 1RECV_F1 is message 1 between rows 2 and 1 here, and 0SEND_F1 is message "
         "2 there"},
        {"0UNSHARD,0F0,0RESHARD,0B0\n", "column 4: 0B0 runs on a stage that is not gathered"},
        {"0UNSHARD,0UNSHARD,0F0,0B0\n", "column 2: 0UNSHARD gathers a stage that is gathered"},
        {"0RESHARD,0F0,0B0\n", "column 1: 0RESHARD drops a stage that is not"},
        {"0F0,0REDUCE_GRAD,0B0\n", "column 2: 0REDUCE_GRAD comes before 1 backwards"},
        {"0F0,0B0,0REDUCE_GRAD,0REDUCE_GRAD\n", "column 4: 0REDUCE_GRAD is there twice"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        assert_refused(cases[i].text, NULL, cases[i].says);
}

static void
test_circles(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n",
         "row 1, column 2: 0B0 waits for 1B0 (row 2, column 3), which comes after 1F1 (column 2), "
         "which waits for 0F1 (row 1, column 3), which comes after 0B0 (column 2): a circle"},
        {"1F0,0F0,0B0,1B0\n",
         "column 1: 1F0 waits for 0F0 (row 1, column 2), which comes after 1F0 (column 1): a circle"},
        {"0F0,0F1,0RECV_B0,0B0,0SEND_F0,0SEND_F1,0RECV_B1,0B1\n"
         "1RECV_F0,1RECV_F1,1F0,1F1,1B0,1SEND_B0,1B1,1SEND_B1\n",
         "0B0 waits for 1SEND_B0 (row 2, column 6), which comes after 1F0 (column 3), which waits "
         "for 0SEND_F0 (row 1, column 5), which comes after 0B0 (column 4): a circle"},
        /* the pair of row 1 waits for row 2, which waits for the forward inside it */
        {"0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1F1,1B0,1B1\n",
         "row 1, column 2: 0B0 waits for 1B0 (row 2, column 3), which comes after 1F1 (column 2), "
         "which waits for 0F1 (row 1, column 2), which comes after 0B0 (column 2): a circle"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        assert_refused(cases[i].text, NULL, cases[i].says);
}

/* Ten ranks in a ring: rank 0 wants stage 10 first, each other the stage before its own. */
static void
test_long_circle(void)
{
    g_autoptr(GString) text = g_string_new("10F0,0F0,10B0,0B0\n");

    for (guint s = 1; s < 10; s++)
        g_string_append_printf(text, "%uF0,%uB0\n", s, s);
    assert_refused(text->str, NULL,
                   "row 1, column 1: 10F0 waits for 9F0 (row 10, column 1), which waits for 8F0");
    assert_refused(text->str, NULL, ", and so on over 4 more rows: a circle");
}

/* Swap, drop or double random tokens of a good schedule: the file is refused if and only if
 * schedule_check, which knows no columns, refuses the lists. */
static void
test_disturbed(void)
{
    static const char *const names[] = {"1f1b", "interleaved", "zb_h1", "dualpipev", "chimera"};
    guint n_good = 0, n_bad = 0;

    for (guint i = 0; i < 400; i++) {
        const ScheduleType *type = schedule_find(names[i % G_N_ELEMENTS(names)], NULL);
        ScheduleParams params = {.pp = 2 * (guint)g_test_rand_int_range(1, 3),
                                 .vpp = type->min_vpp};
        params.microbatches = 2 * params.pp;
        g_autoptr(Schedule) s = schedule_new(type, &params, NULL);
        GArray *list = s->ranks[g_test_rand_int_range(0, (gint32)params.pp)];
        for (guint k = 0; k < list->len; k++) /* pairs cannot be torn in text */
            g_array_index(list, ScheduleToken, k).pair = SCHEDULE_SINGLE;
        guint a = (guint)g_test_rand_int_range(0, (gint32)list->len - 1);
        ScheduleToken *tokens = &g_array_index(list, ScheduleToken, a), first = tokens[0];
        if (i % 4 == 0) {
            tokens[0] = tokens[1];
        } else {
            tokens[0] = tokens[1];
            tokens[1] = first;
        }
        g_autoptr(GError) error = NULL, plain = NULL;
        g_autofree char *text = schedule_format_csv(s);
        g_autoptr(Schedule) read = schedule_parse_csv("file.csv", text, &error);
        gboolean good = schedule_check(s, &plain);
        if ((read != NULL) != good)
            g_error("'%s' against '%s' for\n%s", error != NULL ? error->message : "read",
                    plain != NULL ? plain->message : "good", text);
        n_good += good;
        n_bad += !good;
    }
    g_assert_cmpuint(n_good, >, 0);
    g_assert_cmpuint(n_bad, >, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/schedule/csv/round-trip", test_round_trip);
    g_test_add_func("/schedule/csv/split-backward-and-idle-slots",
                    test_split_backward_and_idle_slots);
    g_test_add_func("/schedule/csv/messages-letters-quotes-and-pairs", test_dialects);
    g_test_add_func("/schedule/csv/placement-inferred-equals-given", test_placements);
    g_test_add_func("/schedule/csv/bad-placements", test_bad_placements);
    g_test_add_func("/schedule/csv/bad-text-names-row-and-column", test_bad_text);
    g_test_add_func("/schedule/csv/bad-lists-name-row-and-column", test_bad_lists);
    g_test_add_func("/schedule/csv/bad-messages-name-what-they-wait-for", test_bad_messages);
    g_test_add_func("/schedule/csv/deadlock-tells-its-circle", test_circles);
    g_test_add_func("/schedule/csv/long-circle-is-cut", test_long_circle);
    g_test_add_func("/schedule/csv/disturbed-lists-are-refused-as-by-check", test_disturbed);
    return g_test_run();
}
