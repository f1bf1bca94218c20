/* Bytes as a schedule file: an error is set if and only if it fails. What is read passes the other checker
 * too, and every way of writing it reads back to the same lists. */
#include "config.h"

#include <stdint.h>

#include "schedule/schedule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
assert_reads_back(char *written, char *(*format)(const Schedule *))
{
    g_autofree char *text = written;
    GError *error = NULL;
    g_autoptr(Schedule) back = schedule_parse_csv("fuzz.csv", text, &error);

    g_assert_no_error(error);
    g_autofree char *again = format(back);
    g_assert_cmpstr(again, ==, text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const placements[] = {NULL, "loop", "v", "bidirectional", "0,1,1,0"};
    const char *placement = size > 0 ? placements[data[0] % G_N_ELEMENTS(placements)] : NULL;
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(Schedule) placed = schedule_parse_csv_placed("fuzz.csv", text, placement, NULL);
    g_autoptr(Schedule) s = schedule_parse_csv("fuzz.csv", text, &error);

    g_assert_true((s == NULL) == (error != NULL));
    g_assert_true(placed == NULL || schedule_check(placed, NULL));
    if (s == NULL)
        return 0;
    g_assert_true(schedule_check(s, &error));
    g_assert_no_error(error);
    assert_reads_back(schedule_format_csv(s), schedule_format_csv);
    assert_reads_back(schedule_format_as_read(s), schedule_format_as_read);
    assert_reads_back(schedule_format_comms(s), schedule_format_comms);
    assert_reads_back(schedule_format_comms_sharded(s), schedule_format_comms_sharded);
    return 0;
}
