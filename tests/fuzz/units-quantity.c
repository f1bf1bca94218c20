/* Quantities of every kind from arbitrary bytes: an error iff it failed, and a round trip. */
#include "config.h"

#include "units/quantity.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    for (int kind = UNITS_TIME; kind <= UNITS_COUNT; kind++) {
        g_autoptr(GError) error = NULL;
        gint64 value = -1, back = -2;
        gboolean done = units_parse((UnitsKind)kind, text, &value, &error);
        g_assert_true(done == (error == NULL));
        if (!done)
            continue;
        g_assert_cmpint(value, >=, 0);
        g_autofree char *again = units_format_exact((UnitsKind)kind, value);
        g_assert_true(units_parse((UnitsKind)kind, again, &back, NULL));
        g_assert_cmpint(back, ==, value);
    }
    g_autoptr(GError) error = NULL;
    double fraction = -1;
    gboolean done = units_parse_fraction(text, &fraction, &error);
    g_assert_true(done == (error == NULL));
    return 0;
}
