/* Quantities in text: time, bytes, rates, FLOP rates, frequencies, counts, fractions.
 *
 * Every quantity but a count needs its unit in the text; a bare number is an error whose message
 * says what to write ("'1555' has no unit; write 1555GBps").  Parsing takes the whole text (no
 * trailing junk), accepts decimals and exponents, and treats NaN, infinities, negative values and
 * overflow of gint64 as errors.  On failure *ret_ is untouched.
 *
 *   time      ns us ms s min h d
 *   bytes     B KB MB GB TB (powers of 1000)  KiB MiB GiB TiB (powers of 1024)
 *   rate      Bps KBps MBps GBps TBps and GB/s ... (bytes)   Gbps Mbps Tbps and Gb/s (bits)
 *             in memory always bytes per second
 *   flops     FLOPS GFLOPS TFLOPS PFLOPS and TFLOP/s
 *   frequency Hz kHz MHz GHz
 *   count     digits, optionally with K M G (powers of 1000) or Ki Mi Gi
 */
#pragma once

#include <glib.h>

#define UNITS_ERROR (units_error_quark())
GQuark units_error_quark(void);

typedef enum {
    UNITS_ERROR_NO_UNIT,
    UNITS_ERROR_UNKNOWN_UNIT,
    UNITS_ERROR_NOT_A_NUMBER,
    UNITS_ERROR_RANGE,
} UnitsError;

typedef enum {
    UNITS_TIME,      /* gint64 ns */
    UNITS_BYTES,     /* gint64 bytes */
    UNITS_RATE,      /* gint64 bytes per second */
    UNITS_FLOPS,     /* gint64 flop per second */
    UNITS_FREQUENCY, /* gint64 Hz */
    UNITS_COUNT,     /* gint64 */
} UnitsKind;

gboolean units_parse(UnitsKind kind, const char *text, gint64 *ret_value,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* A plain fraction 0..1 or a percentage "12%". */
gboolean units_parse_fraction(const char *text, double *ret_value,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Shortest text in the largest unit that is exact to `digits` significant digits (2..17):
 * units_format(UNITS_TIME, 1500000, 4) = "1.5ms".  Caller frees. */
char *units_format(UnitsKind kind, gint64 value, int digits);
/* Exact: units_parse(units_format_exact(x)) = x. */
char *units_format_exact(UnitsKind kind, gint64 value);

/* ceil(bytes / rate) in ns with a 128-bit product; rate_Bps > 0; 0 bytes cost 0. */
gint64 units_duration_ns(gint64 bytes, gint64 rate_Bps);
/* double ns -> gint64 ns, rounded up to the next ns (-1e-6 tolerance); saturates at G_MAXINT64. */
gint64 units_round_up_ns(double ns);
