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
    static const char *const names[] = {"interleaved_megatron", "interleaved_torch"};

    for (guint i = 0; i < 2; i++)
        for (guint pp = 2; pp <= 6; pp++)
            for (guint m = pp; m < 40; m++)
                for (guint n = pp; n <= (i == 0 ? m : pp); n++) {
                    const ScheduleType *type = schedule_find(names[i], NULL);
                    ScheduleParams params = {.pp = pp, .microbatches = m, .vpp = 2, .group = n};
                    g_autofree char *why_not = type->refuse(&params);
                    const char *at = why_not == NULL ? NULL : strstr(why_not, "use ");
                    guint low, high;
                    if (at == NULL || sscanf(at, "use %u or %u microbatches", &low, &high) != 2)
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
        assert_bad(s, SCHEDULE_ERROR_ILLEGAL, "wait for each other");
    }
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
    return g_test_run();
}
