/* Numbers for people, independent of the locale. */
#include "config.h"

#include "report/number.h"

#include <math.h>
#include <string.h>

ReportNumber
report_fixed(double x, int decimals)
{
    ReportNumber n = {"-"};
    if (isnan(x))
        return n;
    char format[8];
    g_snprintf(format, sizeof format, "%%.%df", decimals);
    g_ascii_formatd(n.text, 40, format, x);
    return n;
}

ReportNumber
report_plain(double x, int digits)
{
    ReportNumber n = {""};
    if (isnan(x))
        return n;
    char format[8];
    g_snprintf(format, sizeof format, "%%.%dg", digits);
    g_ascii_formatd(n.text, 40, format, x);
    return n;
}

/* Four significant digits for 0.1 <= x < 10000, and the unit. */
static ReportNumber
with_unit(double x, const char *unit)
{
    double size = fabs(x);
    ReportNumber n = report_fixed(x, size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 999.95 ? 1 : 0);
    g_strlcat(n.text, unit, sizeof n.text);
    return n;
}

ReportNumber
report_time(double s)
{
    double size = fabs(s);
    if (size == 0)
        return (ReportNumber){"0 s"};
    if (size >= 0.99995)
        return with_unit(s, " s");
    if (size >= 0.99995e-3)
        return with_unit(s * 1e3, " ms");
    if (size >= 0.99995e-6)
        return with_unit(s * 1e6, " us");
    return with_unit(s * 1e9, " ns");
}

ReportNumber
report_big(double x)
{
    double size = fabs(x);
    if (size >= 0.99995e12)
        return with_unit(x / 1e12, " T");
    if (size >= 0.99995e9)
        return with_unit(x / 1e9, " B");
    if (size >= 0.99995e6)
        return with_unit(x / 1e6, " M");
    return report_grouped(x);
}

ReportNumber
report_gb(double bytes)
{
    double gb = bytes / 1e9;
    ReportNumber n = report_fixed(gb, fabs(gb) < 1 ? 3 : 2);
    g_strlcat(n.text, " GB", sizeof n.text);
    return n;
}

ReportNumber
report_percent(double fraction)
{
    ReportNumber n = report_fixed(fraction * 100, 1);
    if (!isnan(fraction))
        g_strlcat(n.text, " %", sizeof n.text);
    return n;
}

ReportNumber
report_signed_percent(double fraction)
{
    ReportNumber n = report_percent(fraction);
    if (fraction > 0)
        g_snprintf(n.text, sizeof n.text, "+%s", report_percent(fraction).text);
    return n;
}

ReportNumber
report_grouped(double x)
{
    ReportNumber plain = report_fixed(x, 0), n = {""};
    gsize length = strlen(plain.text), at = 0;
    for (gsize i = 0; i < length && at + 2 < sizeof n.text; i++) {
        if (i > 0 && (length - i) % 3 == 0 && g_ascii_isdigit(plain.text[i - 1]))
            n.text[at++] = ' ';
        n.text[at++] = plain.text[i];
    }
    n.text[at] = '\0';
    return n;
}
