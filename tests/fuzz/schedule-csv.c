/* Bytes as a schedule CSV: an error is set if and only if it fails; success survives a round trip. */
#include "config.h"

#include <stdint.h>

#include "schedule/schedule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(Schedule) s = schedule_parse_csv("fuzz.csv", text, &error);

    g_assert_true((s == NULL) == (error != NULL));
    if (s != NULL) {
        g_autofree char *written = schedule_format_csv(s);
        g_autoptr(Schedule) back = schedule_parse_csv("fuzz.csv", written, NULL);
        g_assert_nonnull(back);
    }
    return 0;
}
