/* Numbers for people: a unit, and as many digits as mean something. */
#pragma once

#include <glib.h>

/* By value, so that report_time(x).text can stand in a printf. */
typedef struct {
    char text[48];
} ReportNumber;

ReportNumber report_time(double s);                  /* "17.83 s", "412.0 ms", "9.100 us" */
ReportNumber report_big(double x);                   /* "174.6 B" (1e9), "3.146 M", "812" */
ReportNumber report_gb(double bytes);                /* "63.42 GB": 1 GB = 1e9 bytes */
ReportNumber report_percent(double fraction);        /* "44.2 %"; "-" for NAN */
ReportNumber report_signed_percent(double fraction); /* "+44.2 %": of an error */
ReportNumber report_grouped(double x);               /* "1 234 567", rounded */
ReportNumber report_fixed(double x, int decimals);
/* For TSV and JSON text: shortest to `digits` significant digits, "." always; "" for NAN. */
ReportNumber report_plain(double x, int digits);
