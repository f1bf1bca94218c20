/* Which schedules are compared, and with how many chunks. */
#include "config.h"

#include "cli/candidates.h"

#include <string.h>

static void
nothing_said_means_all(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) all = cli_candidates_parse(NULL, &error);
    g_assert_no_error(error);
    guint n = 0;
    while (schedule_types[n] != NULL)
        n++;
    g_assert_cmpuint(all->len, ==, n);
    for (guint i = 0; i < n; i++)
        g_assert_cmpstr(g_array_index(all, CliCandidate, i).name, ==, schedule_types[i]->name);
}

static void
names_and_files_are_told_apart(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) two = cli_candidates_parse("interleaved,a/b.csv", &error);
    g_assert_no_error(error);
    g_assert_cmpuint(two->len, ==, 2);
    const CliCandidate *first = &g_array_index(two, CliCandidate, 0), *second = first + 1;
    g_assert_cmpstr(first->name, ==, "interleaved_megatron");
    g_assert_nonnull(first->type);
    g_assert_cmpstr(second->name, ==, "a/b.csv");
    g_assert_null(second->type);
    static const char *const bad[] = {"", "1f1b,", ",", "1f1b;gpipe", "csv"};
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) refusal = NULL;
        g_autoptr(GArray) none = cli_candidates_parse(bad[i], &refusal);
        g_assert_null(none);
        g_assert_error(refusal, SCHEDULE_ERROR, SCHEDULE_ERROR_UNKNOWN);
    }
}

static void
chunks_are_as_wanted_where_they_can(void)
{
    const struct {
        guint min, max;
        gint64 wanted, chunks;
    } cases[] = {{1, 1, 0, 1},     {1, 1, 4, 1},     {2, 2, 0, 2},
                 {2, 2, 4, 2},     {2, 65535, 0, 2}, {2, 65535, 1, 2},
                 {2, 65535, 4, 4}, {1, 65535, 0, 2}, {1, 65535, 1, 1}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        ScheduleType type = {.min_vpp = cases[i].min, .max_vpp = cases[i].max};
        g_assert_cmpint(cli_candidate_chunks(&type, cases[i].wanted), ==, cases[i].chunks);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cli/candidates/nothing-said-means-all", nothing_said_means_all);
    g_test_add_func("/cli/candidates/names-and-files-are-told-apart",
                    names_and_files_are_told_apart);
    g_test_add_func("/cli/candidates/chunks-are-as-wanted-where-they-can",
                    chunks_are_as_wanted_where_they_can);
    return g_test_run();
}
