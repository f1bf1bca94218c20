/* Quantities: text with a unit in, exact integers in memory, short text out. */
#include "config.h"

#include "units/quantity.h"

#include <math.h>
#include <string.h>

G_DEFINE_QUARK(units_error_quark, units_error)

/* value = number * factor / divisor; `shown` units are the ones that format writes, smallest first. */
typedef struct {
    UnitsKind kind;
    const char *name;
    gint64 factor;
    int divisor;
    enum { HIDDEN, DECIMAL, BINARY, CLOCK } shown;
} Unit;

#define KI G_GINT64_CONSTANT(1024)
#define K G_GINT64_CONSTANT(1000)
#define MINUTE (60 * K * K * K)

static const Unit units[] = {
    {UNITS_TIME, "ns", 1, 1, DECIMAL},
    {UNITS_TIME, "us", K, 1, DECIMAL},
    {UNITS_TIME, "ms", K *K, 1, DECIMAL},
    {UNITS_TIME, "s", K *K *K, 1, DECIMAL},
    {UNITS_TIME, "min", MINUTE, 1, CLOCK},
    {UNITS_TIME, "h", 60 * MINUTE, 1, CLOCK},
    {UNITS_TIME, "d", 1440 * MINUTE, 1, CLOCK},
    {UNITS_TIME, "\302\265s", K, 1, HIDDEN}, /* micro sign */
    {UNITS_TIME, "\316\274s", K, 1, HIDDEN}, /* Greek mu */

    {UNITS_BYTES, "B", 1, 1, DECIMAL},
    {UNITS_BYTES, "KB", K, 1, DECIMAL},
    {UNITS_BYTES, "MB", K *K, 1, DECIMAL},
    {UNITS_BYTES, "GB", K *K *K, 1, DECIMAL},
    {UNITS_BYTES, "TB", K *K *K *K, 1, DECIMAL},
    {UNITS_BYTES, "KiB", KI, 1, BINARY},
    {UNITS_BYTES, "MiB", KI *KI, 1, BINARY},
    {UNITS_BYTES, "GiB", KI *KI *KI, 1, BINARY},
    {UNITS_BYTES, "TiB", KI *KI *KI *KI, 1, BINARY},

    {UNITS_RATE, "Bps", 1, 1, DECIMAL},
    {UNITS_RATE, "KBps", K, 1, DECIMAL},
    {UNITS_RATE, "MBps", K *K, 1, DECIMAL},
    {UNITS_RATE, "GBps", K *K *K, 1, DECIMAL},
    {UNITS_RATE, "TBps", K *K *K *K, 1, DECIMAL},
    {UNITS_RATE, "B/s", 1, 1, HIDDEN},
    {UNITS_RATE, "KB/s", K, 1, HIDDEN},
    {UNITS_RATE, "MB/s", K *K, 1, HIDDEN},
    {UNITS_RATE, "GB/s", K *K *K, 1, HIDDEN},
    {UNITS_RATE, "TB/s", K *K *K *K, 1, HIDDEN},
    {UNITS_RATE, "KiB/s", KI, 1, HIDDEN},
    {UNITS_RATE, "MiB/s", KI *KI, 1, HIDDEN},
    {UNITS_RATE, "GiB/s", KI *KI *KI, 1, HIDDEN},
    {UNITS_RATE, "TiB/s", KI *KI *KI *KI, 1, HIDDEN},
    {UNITS_RATE, "Kbps", K, 8, HIDDEN},
    {UNITS_RATE, "Mbps", K *K, 8, HIDDEN},
    {UNITS_RATE, "Gbps", K *K *K, 8, HIDDEN},
    {UNITS_RATE, "Tbps", K *K *K *K, 8, HIDDEN},
    {UNITS_RATE, "Kb/s", K, 8, HIDDEN},
    {UNITS_RATE, "Mb/s", K *K, 8, HIDDEN},
    {UNITS_RATE, "Gb/s", K *K *K, 8, HIDDEN},
    {UNITS_RATE, "Tb/s", K *K *K *K, 8, HIDDEN},

    {UNITS_FLOPS, "FLOPS", 1, 1, DECIMAL},
    {UNITS_FLOPS, "MFLOPS", K *K, 1, DECIMAL},
    {UNITS_FLOPS, "GFLOPS", K *K *K, 1, DECIMAL},
    {UNITS_FLOPS, "TFLOPS", K *K *K *K, 1, DECIMAL},
    {UNITS_FLOPS, "PFLOPS", K *K *K *K *K, 1, DECIMAL},
    {UNITS_FLOPS, "EFLOPS", K *K *K *K *K *K, 1, DECIMAL},
    {UNITS_FLOPS, "FLOP/s", 1, 1, HIDDEN},
    {UNITS_FLOPS, "MFLOP/s", K *K, 1, HIDDEN},
    {UNITS_FLOPS, "GFLOP/s", K *K *K, 1, HIDDEN},
    {UNITS_FLOPS, "TFLOP/s", K *K *K *K, 1, HIDDEN},
    {UNITS_FLOPS, "PFLOP/s", K *K *K *K *K, 1, HIDDEN},
    {UNITS_FLOPS, "EFLOP/s", K *K *K *K *K *K, 1, HIDDEN},

    {UNITS_FREQUENCY, "Hz", 1, 1, DECIMAL},
    {UNITS_FREQUENCY, "kHz", K, 1, DECIMAL},
    {UNITS_FREQUENCY, "MHz", K *K, 1, DECIMAL},
    {UNITS_FREQUENCY, "GHz", K *K *K, 1, DECIMAL},

    {UNITS_COUNT, "", 1, 1, DECIMAL},
    {UNITS_COUNT, "K", K, 1, DECIMAL},
    {UNITS_COUNT, "M", K *K, 1, DECIMAL},
    {UNITS_COUNT, "G", K *K *K, 1, DECIMAL},
    {UNITS_COUNT, "T", K *K *K *K, 1, DECIMAL},
    {UNITS_COUNT, "Ki", KI, 1, HIDDEN},
    {UNITS_COUNT, "Mi", KI *KI, 1, HIDDEN},
    {UNITS_COUNT, "Gi", KI *KI *KI, 1, HIDDEN},
    {UNITS_COUNT, "Ti", KI *KI *KI *KI, 1, HIDDEN},
};

static const struct {
    const char *noun;
    const char *usual; /* the unit a bare number most likely meant */
    const char *choice;
} kinds[] = {
    [UNITS_TIME] = {"a time", "us", "ns us ms s min h d"},
    [UNITS_BYTES] = {"a size", "GB", "B KB MB GB TB KiB MiB GiB TiB"},
    [UNITS_RATE] = {"a rate", "GBps", "KBps MBps GBps TBps (bytes) Mbps Gbps Tbps (bits)"},
    [UNITS_FLOPS] = {"a FLOP rate", "TFLOPS", "GFLOPS TFLOPS PFLOPS"},
    [UNITS_FREQUENCY] = {"a frequency", "MHz", "Hz kHz MHz GHz"},
    [UNITS_COUNT] = {"a count", "", "K M G T Ki Mi Gi Ti or none"},
};

/* A decimal number as read: digits * 10^exponent. */
typedef struct {
    unsigned __int128 digits;
    int exponent;
} Decimal;

#define MAX_DIGITS 19 /* as many as gint64 has; digits * factor stays below 1e37 */

static void
add_digit(Decimal *number, int digit, int *n_digits, gboolean after_point)
{
    if (*n_digits < MAX_DIGITS) {
        number->digits = number->digits * 10 + (unsigned)digit;
        *n_digits += number->digits > 0;
        number->exponent -= after_point;
    } else if (!after_point) {
        number->exponent++;
    }
}

/* Digits, optional point and exponent, as in "1.5e3"; returns the first character after it, or NULL
 * when `text` does not begin with a number. */
static const char *
scan_number(const char *text, Decimal *ret_number)
{
    Decimal number = {0, 0};
    int n_digits = 0;
    gboolean any = FALSE, after_point = FALSE;
    const char *at = text;
    for (;; at++) {
        if (*at == '.' && !after_point) {
            after_point = TRUE;
        } else if (g_ascii_isdigit(*at)) {
            add_digit(&number, *at - '0', &n_digits, after_point);
            any = TRUE;
        } else {
            break;
        }
    }
    if (!any)
        return NULL;
    const char *sign = at + 1;
    gboolean negative = (*at == 'e' || *at == 'E') && *sign == '-';
    if ((*at == 'e' || *at == 'E') && g_ascii_isdigit(sign[*sign == '-' || *sign == '+'])) {
        int exponent = 0;
        for (at = sign + (*sign == '-' || *sign == '+'); g_ascii_isdigit(*at); at++)
            exponent = MIN(exponent * 10 + (*at - '0'), 100000);
        number.exponent += negative ? -exponent : exponent;
    }
    *ret_number = number;
    return at;
}

/* The number at the head of `text`, and where its unit begins. */
static const char *
parse_number(const char *text, const char *noun, Decimal *ret_number, GError **error)
{
    const char *unit = scan_number(text, ret_number);
    if (unit == NULL && *text == '-' && scan_number(text + 1, ret_number) != NULL)
        g_set_error(error, UNITS_ERROR, UNITS_ERROR_RANGE,
                    "'%s' is negative; write %s of 0 or more", text, noun);
    else if (unit == NULL)
        g_set_error(error, UNITS_ERROR, UNITS_ERROR_NOT_A_NUMBER,
                    "'%s' is not a number; write %s as digits with a unit", text, noun);
    while (unit != NULL && *unit == ' ')
        unit++;
    return unit;
}

static const Unit *
find_unit(UnitsKind kind, const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
        if (units[i].kind == kind && strcmp(units[i].name, name) == 0)
            return &units[i];
    return NULL;
}

static void
complain_unit(UnitsKind kind, const char *text, const char *unit, GError **error)
{
    int length = (int)(unit - text);
    if (*unit == '\0') {
        g_set_error(error, UNITS_ERROR, UNITS_ERROR_NO_UNIT, "'%s' has no unit; write %.*s%s", text,
                    length, text, kinds[kind].usual);
        return;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (find_unit((UnitsKind)i, unit) == NULL)
            continue;
        g_set_error(error, UNITS_ERROR, UNITS_ERROR_UNKNOWN_UNIT,
                    "'%s' is %s, not %s; use one of the units %s", text, kinds[i].noun,
                    kinds[kind].noun, kinds[kind].choice);
        return;
    }
    /* Only the case is wrong: name every unit it can have meant, as Gbps and GBps differ by 8. */
    g_autoptr(GString) meant = g_string_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
        if (units[i].kind == kind && g_ascii_strcasecmp(units[i].name, unit) == 0)
            g_string_append_printf(meant, "%s%.*s%s", meant->len > 0 ? " or " : "", length, text,
                                   units[i].name);
    if (meant->len > 0)
        g_set_error(error, UNITS_ERROR, UNITS_ERROR_UNKNOWN_UNIT,
                    "'%s' has the unknown unit '%s'; write %s", text, unit, meant->str);
    else
        g_set_error(error, UNITS_ERROR, UNITS_ERROR_UNKNOWN_UNIT,
                    "'%s' has the unknown unit '%s'; %s takes %s", text, unit, kinds[kind].noun,
                    kinds[kind].choice);
}

/* number * factor / divisor to the nearest integer; FALSE when that passes gint64. */
static gboolean
scale(const Decimal *number, const Unit *unit, gint64 *ret_value, gboolean *ret_exact)
{
    const unsigned __int128 limit = (unsigned __int128)G_MAXINT64 * 8;
    unsigned __int128 product = number->digits * (unsigned __int128)unit->factor;
    unsigned __int128 divisor = (unsigned)unit->divisor;
    for (int i = 0; i < number->exponent && product > 0; i++) {
        if (product > limit)
            return FALSE;
        product *= 10;
    }
    if (number->exponent < -37) { /* below 0.1 whatever the digits */
        *ret_value = 0;
        *ret_exact = product == 0;
        return TRUE;
    }
    for (int i = 0; i > number->exponent; i--)
        divisor *= 10;
    unsigned __int128 value = product / divisor, rest = product % divisor;
    if (rest >= divisor - rest)
        value++;
    if (value > (unsigned __int128)G_MAXINT64)
        return FALSE;
    *ret_value = (gint64)value;
    *ret_exact = rest == 0;
    return TRUE;
}

gboolean
units_parse(UnitsKind kind, const char *text, gint64 *ret_value, GError **error)
{
    Decimal number;
    const char *name = parse_number(text, kinds[kind].noun, &number, error);
    if (name == NULL)
        return FALSE;
    const Unit *unit = find_unit(kind, name);
    if (unit == NULL) {
        complain_unit(kind, text, name, error);
        return FALSE;
    }
    gint64 value;
    gboolean exact;
    if (!scale(&number, unit, &value, &exact)) {
        g_autofree char *most = units_format(kind, G_MAXINT64, 3);
        g_set_error(error, UNITS_ERROR, UNITS_ERROR_RANGE, "'%s' is too large; %s ends near %s",
                    text, kinds[kind].noun, most);
        return FALSE;
    }
    if (kind == UNITS_COUNT && !exact) {
        g_set_error(error, UNITS_ERROR, UNITS_ERROR_NOT_A_NUMBER,
                    "'%s' is not a whole number; write digits", text);
        return FALSE;
    }
    if (value == 0 && !exact) {
        g_autofree char *least = units_format(kind, 1, 3);
        g_set_error(error, UNITS_ERROR, UNITS_ERROR_RANGE,
                    "'%s' is too small; write 0%s or at least %s", text, name, least);
        return FALSE;
    }
    *ret_value = value;
    return TRUE;
}

gboolean
units_parse_fraction(const char *text, double *ret_value, GError **error)
{
    Decimal number;
    const char *unit = parse_number(text, "a fraction", &number, error);
    if (unit == NULL)
        return FALSE;
    gboolean percent = strcmp(unit, "%") == 0;
    if (*unit != '\0' && !percent) {
        g_set_error(error, UNITS_ERROR, UNITS_ERROR_UNKNOWN_UNIT,
                    "'%s' is not a fraction; write one as 0.12 or 12%%", text);
        return FALSE;
    }
    double value = g_ascii_strtod(text, NULL) / (percent ? 100 : 1);
    if (!(value >= 0 && value <= 1)) {
        g_set_error(error, UNITS_ERROR, UNITS_ERROR_RANGE,
                    "'%s' is outside 0..1; write a fraction as 0.12 or 12%%", text);
        return FALSE;
    }
    *ret_value = value;
    return TRUE;
}

/* value / factor in decimals without trailing zeros, or NULL when the unit does not fit: less than
 * one of it, or (`digits` = 0, exact) no finite expansion. */
static char *
format_in(gint64 value, const Unit *unit, int digits)
{
    unsigned __int128 whole = (guint64)(value / unit->factor);
    unsigned __int128 rest = (guint64)(value % unit->factor), scale_up = 1;
    int n_whole = 0, n_fraction = 0;
    for (unsigned __int128 left = whole; left > 0; left /= 10)
        n_whole++;
    int most = digits == 0 ? 18 : digits - n_whole;
    for (; n_fraction < most && rest * scale_up % (guint64)unit->factor != 0; n_fraction++)
        scale_up *= 10;
    unsigned __int128 tail = rest * scale_up;
    if (digits == 0 && tail % (guint64)unit->factor != 0)
        return NULL;
    unsigned __int128 scaled =
        whole * scale_up + (tail + (guint64)unit->factor / 2) / (guint64)unit->factor;
    if (scaled < scale_up && unit->factor > 1)
        return NULL;
    while (n_fraction > 0 && scaled % 10 == 0) {
        scaled /= 10;
        scale_up /= 10;
        n_fraction--;
    }
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%" G_GUINT64_FORMAT, (guint64)(scaled / scale_up));
    if (n_fraction > 0)
        g_string_append_printf(text, ".%0*" G_GUINT64_FORMAT, n_fraction,
                               (guint64)(scaled % scale_up));
    g_string_append(text, unit->name);
    return g_string_free(text, FALSE);
}

/* Decimal units: the largest of which there is at least one.  A binary unit is taken when it is
 * whole and shorter (80GiB, not 85.9GB), a clock unit when it is shorter (2h, but 90s). */
static char *
format(UnitsKind kind, gint64 value, int digits)
{
    if (value < 0) {
        g_autofree char *text = format(kind, value == G_MININT64 ? G_MAXINT64 : -value, digits);
        return g_strconcat("-", text, NULL);
    }
    char *best = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
        const Unit *unit = &units[i];
        if (unit->kind != kind || unit->shown == HIDDEN)
            continue;
        if (unit->shown == BINARY && (value == 0 || value % unit->factor != 0))
            continue;
        char *text = format_in(value, unit, digits);
        gboolean better = text != NULL && (best == NULL || strlen(text) < strlen(best) ||
                                           (unit->shown == DECIMAL && kind != UNITS_COUNT));
        g_free(better ? best : text);
        best = better ? text : best;
    }
    return best;
}

char *
units_format(UnitsKind kind, gint64 value, int digits)
{
    g_assert(digits >= 2 && digits <= 17);
    return format(kind, value, digits);
}

char *
units_format_exact(UnitsKind kind, gint64 value)
{
    return format(kind, value, 0);
}

gint64
units_duration_ns(gint64 bytes, gint64 rate_Bps)
{
    g_assert(bytes >= 0 && rate_Bps > 0);
    unsigned __int128 product = (unsigned __int128)bytes * 1000000000u;
    unsigned __int128 ns = (product + (guint64)rate_Bps - 1) / (guint64)rate_Bps;
    return ns > (unsigned __int128)G_MAXINT64 ? G_MAXINT64 : (gint64)ns;
}

gint64
units_round_up_ns(double ns)
{
    g_assert(!isnan(ns));
    double up = ceil(ns - 1e-6);
    if (up >= 0x1p63)
        return G_MAXINT64;
    return up <= -0x1p63 ? G_MININT64 : (gint64)up;
}
