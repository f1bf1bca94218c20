/* Finding, refusing and checking schedules. */
#include "config.h"

#include "schedule/schedule.h"

#include <stdio.h>

static void
test_find(void)
{
    static const struct {
        const char *text, *name;
    } cases[] = {
        {"naive", "naive"},
        {"gpipe", "gpipe"},
        {"gpipe_lifo", "gpipe_lifo"},
        {"1f1b", "1f1b"},
        {"1F1B", "1f1b"},
        {"interleaved", "interleaved_megatron"},
        {"interleaved_megatron", "interleaved_megatron"},
        {"interleaved_torch", "interleaved_torch"},
        {"Interleaved-1F1B", "interleaved_megatron"},
        {"ep-overlap", "interleaved_ep_overlap"},
        {"bfs", "looped_bfs"},
        {"LoopedBFS", "looped_bfs"},
        {"ZB-H1", "zb_h1"},
        {"zbh2", "zb_h2"},
        {"InterleavedZeroBubble", "interleaved_zb_torch"},
        {"ZB-V", "zbv_torch"},
        {"ZBVZeroBubble", "zbv_torch"},
        {"DualPipe", "dualpipe"},
        {"dualpipe-v", "dualpipev"},
        {"Chimera", "chimera"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        GError *error = NULL;
        const ScheduleType *type = schedule_find(cases[i].text, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(type->name, ==, cases[i].name);
    }
}

static void
test_find_unknown(void)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(schedule_find("gpip", &error));
    g_assert_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_UNKNOWN);
    g_assert_nonnull(strstr(error->message, "did you mean 'gpipe'"));
    g_assert_nonnull(strstr(error->message, "1f1b"));
}

static void
test_refusals(void)
{
    static const struct {
        const char *name;
        ScheduleParams params;
        const char *says;
    } cases[] = {
        {"1f1b", {0, 4, 1, 0, .costs = {0}}, "0 pipeline ranks"},
        {"1f1b", {4, 0, 1, 0, .costs = {0}}, "0 microbatches"},
        {"1f1b", {4, 8, 2, 0, .costs = {0}}, "one chunk a rank and --vpp is 2"},
        {"1f1b", {4, 8, 1, 2, .costs = {0}}, "no microbatch groups"},
        {"1f1b", {60000, 60000, 1, 0, .costs = {0}}, "more than 33554432 operations"},
        {"interleaved", {4, 8, 1, 0, .costs = {0}}, "at least 2 chunks"},
        {"interleaved", {40000, 40000, 2, 0, .costs = {0}}, "more than 65535 stages"},
        {"interleaved", {1, 8, 2, 0, .costs = {0}}, "at least 2 pipeline ranks"},
        {"interleaved", {4, 8, 2, 3, .costs = {0}}, "group of 3 is smaller than the 4"},
        {"interleaved", {4, 2, 2, 0, .costs = {0}}, "groups of 4 and there are only 2"},
        {"interleaved",
         {4, 10, 2, 0, .costs = {0}},
         "last group of 2 (groups of 4), which is less than the 4 pipeline "
         "ranks; use 8 or 12 microbatches"},
        {"interleaved", {4, 7, 2, 5, .costs = {0}}, "use 5 or 9 microbatches"},
        {"interleaved_torch", {4, 9, 2, 0, .costs = {0}}, "use 8 or 12 microbatches"},
        {"interleaved_zb_torch", {4, 9, 2, 0, .costs = {0}}, "use 8 or 12 microbatches"},
        {"interleaved_ep_overlap", {4, 8, 1, 0, .costs = {0}}, "write --vpp 2"},
        {"interleaved_ep_overlap", {1, 8, 2, 0, .costs = {0}}, "at least 2 pipeline ranks"},
        {"interleaved_ep_overlap", {4, 10, 2, 0, .costs = {0}}, "use 8 or 12 microbatches"},
        {"looped_bfs", {4, 8, 2, 2, .costs = {0}}, "no microbatch groups"},
        {"zb_h1", {4, 8, 2, 0, .costs = {0}}, "write --vpp 1"},
        {"zb_h2", {4, 6, 1, 0, .costs = {0}}, "only 6; use at least 7 microbatches"},
        {"zbv", {4, 8, 1, 0, .costs = {0}}, "write --vpp 2"},
        {"zbv",
         {4, 8, 4, 0, .costs = {0}},
         "at most 2 chunks a rank and --vpp is 4; write --vpp 2"},
        {"dualpipe", {5, 20, 1, 0, .costs = {0}}, "5 pipeline ranks are odd; write --pp 4 or 6"},
        {"dualpipe", {4, 6, 1, 0, .costs = {0}}, "need at least 8 microbatches"},
        {"dualpipe", {4, 9, 1, 0, .costs = {0}}, "9 are odd; use 8 or 10 microbatches"},
        {"dualpipev", {4, 7, 2, 0, .costs = {0}}, "need at least 8 microbatches"},
        {"chimera", {3, 6, 1, 0, .costs = {0}}, "3 pipeline ranks are odd; write --pp 2 or 4"},
        {"chimera", {4, 2, 1, 0, .costs = {0}}, "only 2; use 4 microbatches"},
        {"chimera", {4, 10, 1, 0, .costs = {0}}, "use 8 or 12 microbatches"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        const ScheduleType *type = schedule_find(cases[i].name, NULL);
        g_assert_null(schedule_new(type, &cases[i].params, &error));
        g_assert_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_ILLEGAL);
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, cases[i].says));
    }
}

/* Advice must be good: the microbatch counts that a refusal names are accepted. */
static void
test_advice_is_legal(void)
{
    for (guint i = 0; schedule_types[i] != NULL; i++)
        for (guint pp = 2; pp <= 6; pp++)
            for (guint m = pp; m < 40; m++)
                for (guint n = pp; n <= (schedule_types[i]->grouped ? m : pp); n++) {
                    const ScheduleType *type = schedule_types[i];
                    ScheduleParams params = {.pp = pp, .microbatches = m, .vpp = 2, .group = n};
                    g_autofree char *why_not = type->refuse == NULL ? NULL : type->refuse(&params);
                    const char *at = why_not == NULL ? NULL : strstr(why_not, "use ");
                    guint low, high;
                    int end = 0;
                    if (at == NULL ||
                        sscanf(at, "use %u or %u microbatches%n", &low, &high, &end) != 2 ||
                        end == 0)
                        continue;
                    g_assert_true(low < m && m < high);
                    params.microbatches = low;
                    g_assert_null(type->refuse(&params));
                    params.microbatches = high;
                    g_assert_null(type->refuse(&params));
                }
}

static ScheduleToken *
token_at(Schedule *s, guint rank, guint i)
{
    return &g_array_index(s->ranks[rank], ScheduleToken, i);
}

/* 1F1B of 2 ranks and 2 microbatches: 0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1. */
static Schedule *
new_small(void)
{
    ScheduleParams params = {.pp = 2, .microbatches = 2, .vpp = 1};

    return schedule_new(schedule_find("1f1b", NULL), &params, NULL);
}

static void
assert_bad(const Schedule *s, int code, const char *says)
{
    g_autoptr(GError) error = NULL;

    g_assert_false(schedule_check(s, &error));
    g_assert_error(error, SCHEDULE_ERROR, code);
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, says));
}

static void
test_check_finds_faults(void)
{
    g_test_summary("a missing, repeated, misplaced, early or circular operation is named");
    {
        g_autoptr(Schedule) s = new_small();
        g_array_remove_index(s->ranks[0], 3);
        assert_bad(s, SCHEDULE_ERROR_INCOMPLETE, "too few");
    }
    {
        g_autoptr(Schedule) s = new_small();
        token_at(s, 0, 3)->microbatch = 0;
        assert_bad(s, SCHEDULE_ERROR_ILLEGAL, "row 1 (rank 0): 0B0 is there twice");
    }
    {
        g_autoptr(Schedule) s = new_small();
        *token_at(s, 0, 1) = (ScheduleToken){.kind = SCHEDULE_B, .microbatch = 1};
        assert_bad(s, SCHEDULE_ERROR_ILLEGAL, "0B1 comes before its forward");
    }
    {
        g_autoptr(Schedule) s = new_small();
        token_at(s, 1, 0)->stage = 0;
        assert_bad(s, SCHEDULE_ERROR_ILLEGAL, "row 2 (rank 1): 0F0 belongs to another rank");
    }
    {
        g_autoptr(Schedule) s = new_small();
        token_at(s, 0, 3)->kind = SCHEDULE_I;
        assert_bad(s, SCHEDULE_ERROR_INCOMPLETE, "0W1 is missing");
    }
    {
        g_autoptr(Schedule) s = new_small();
        token_at(s, 0, 3)->kind = SCHEDULE_W;
        assert_bad(s, SCHEDULE_ERROR_ILLEGAL, "0W1 has no input gradient");
    }
    {
        /* 0F0 0B0 0F1 0B1 | 1F1 1B1 1F0 1B0: rank 0 wants B0 before it gives F1, rank 1 wants F1
         * first. */
        g_autoptr(Schedule) s = new_small();
        *token_at(s, 0, 1) = (ScheduleToken){.kind = SCHEDULE_B, .microbatch = 0};
        *token_at(s, 0, 2) = (ScheduleToken){.kind = SCHEDULE_F, .microbatch = 1};
        for (guint i = 0; i < 4; i++)
            token_at(s, 1, i)->microbatch ^= 1;
        assert_bad(
            s, SCHEDULE_ERROR_ILLEGAL,
            "0B0 waits for 1B0 of row 2 behind 1F1, which waits for 0F1 of row 1 behind 0B0");
    }
}

static void
pair_up(Schedule *s, guint rank, guint i)
{
    token_at(s, rank, i)->pair = SCHEDULE_PAIR_FIRST;
    token_at(s, rank, i + 1)->pair = SCHEDULE_PAIR_SECOND;
}

static void
test_check_pairs(void)
{
    g_test_summary("a pair is a forward and another microbatch's backward, which both can start");
    {
        /* 0F0 (0F1;0B0) 0B1 | 1F0 1B0 1F1 1B1 */
        g_autoptr(Schedule) s = new_small();
        pair_up(s, 0, 1);
        g_assert_true(schedule_check(s, NULL));
    }
    {
        g_autoptr(Schedule) s = new_small();
        pair_up(s, 0, 2);
        assert_bad(s, SCHEDULE_ERROR_ILLEGAL, "0B0 is in a pair that is not a forward and then");
    }
    {
        g_autoptr(Schedule) s = new_small();
        pair_up(s, 1, 0);
        assert_bad(s, SCHEDULE_ERROR_ILLEGAL, "1F0 is in a pair with its own forward or backward");
    }
    {
        g_autoptr(Schedule) s = new_small();
        token_at(s, 0, 3)->pair = SCHEDULE_PAIR_FIRST;
        assert_bad(s, SCHEDULE_ERROR_ILLEGAL, "0B1 has no partner");
    }
    {
        g_autoptr(Schedule) s = new_small();
        token_at(s, 1, 0)->pair = SCHEDULE_PAIR_SECOND;
        assert_bad(s, SCHEDULE_ERROR_ILLEGAL, "1F0 has no partner");
    }
    {
        /* 0F0 (0F1;0B0) 0B1 | 1F0 1F1 1B0 1B1: the pair wants 1B0, and that stands behind 1F1. */
        g_autoptr(Schedule) s = new_small();
        pair_up(s, 0, 1);
        *token_at(s, 1, 1) = (ScheduleToken){.kind = SCHEDULE_F, .stage = 1, .microbatch = 1};
        *token_at(s, 1, 2) = (ScheduleToken){.kind = SCHEDULE_B, .stage = 1};
        assert_bad(
            s, SCHEDULE_ERROR_ILLEGAL,
            "0B0 waits for 1B0 of row 2 behind 1F1, which waits for 0F1 of row 1 behind 0B0");
    }
}

static void
test_two_copies(void)
{
    ScheduleParams params = {.pp = 4, .microbatches = 8, .vpp = 1};
    g_autoptr(Schedule) s = schedule_new(schedule_find("dualpipe", NULL), &params, NULL);

    g_test_summary("with two copies a microbatch's stages run from its own end of the pipe");
    g_assert_cmpuint(s->n_replicas, ==, 2);
    g_assert_cmpuint(s->n_stages, ==, 4);
    for (guint stage = 0; stage < 4; stage++) {
        g_assert_cmpuint(schedule_rank_of(s, stage, 3), ==, stage);
        g_assert_cmpuint(schedule_rank_of(s, stage, 4), ==, 3 - stage);
    }
    /* microbatch 4 comes in at rank 3: its forward of stage 0 on rank 0 is misplaced */
    token_at(s, 0, 0)->microbatch = 4;
    assert_bad(s, SCHEDULE_ERROR_ILLEGAL, "row 1 (rank 0): 0F4 belongs to another rank's stage");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/schedule/schedule/finds-names-and-aliases", test_find);
    g_test_add_func("/schedule/schedule/unknown-name-gets-a-hint", test_find_unknown);
    g_test_add_func("/schedule/schedule/refuses-with-numbers-and-advice", test_refusals);
    g_test_add_func("/schedule/schedule/advised-counts-are-legal", test_advice_is_legal);
    g_test_add_func("/schedule/schedule/check-finds-faults", test_check_finds_faults);
    g_test_add_func("/schedule/schedule/check-knows-pairs", test_check_pairs);
    g_test_add_func("/schedule/schedule/check-knows-two-copies", test_two_copies);
    return g_test_run();
}
