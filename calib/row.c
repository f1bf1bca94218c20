/* Cells, lines, and the list of tables. */
#include "config.h"

#include "calib/row.h"

#include "calib/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const CalibTable *const calib_tables[] = {
    &calib_table_gemm,      &calib_table_grouped,    &calib_table_memory,  &calib_table_device,
    &calib_table_attention, &calib_table_collective, &calib_table_overlap, NULL};
const char *const calib_table_last_columns = "spread_frac\tsamples\tflag";
enum { N_LAST = 3, DIGITS = 5 };

bool
calib_row_variant(const CalibCase *what, unsigned i, CalibCase *ret)
{
    bool two = what->kind == CALIB_CASE_ATTENTION || what->kind == CALIB_CASE_COLLECTIVE;
    *ret = *what;
    if (i == 0)
        return true;
    if (i > 1 || !two)
        return false;
    if (what->kind == CALIB_CASE_ATTENTION)
        ret->attention.backward = true;
    else
        ret->collective.in_place = true;
    return true;
}

void
calib_format_number(double value, char *text, size_t size)
{
    if (isnan(value)) {
        snprintf(text, size, "-");
        return;
    }
    int whole = value > 0 ? (int)floor(log10(value)) + 1 : 1;
    int decimals = DIGITS - whole;
    snprintf(text, size, "%.*f", decimals > 0 ? decimals : 0, value);
}

bool
calib_parse_number(const char *text, double *ret)
{
    char *end;
    if (strcmp(text, "-") == 0) {
        *ret = NAN;
        return true;
    }
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !isfinite(value) || value < 0)
        return false;
    *ret = value;
    return true;
}

bool
calib_parse_count(const char *text, int64_t *ret)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0)
        return false;
    *ret = value;
    return true;
}

bool
calib_parse_int(const char *text, int *ret)
{
    int64_t value;
    if (!calib_parse_count(text, &value) || value > INT32_MAX)
        return false;
    *ret = (int)value;
    return true;
}

unsigned
calib_split(char *text, char separator, char **cells, unsigned most)
{
    unsigned n = 0;
    for (;;) {
        if (n < most)
            cells[n] = text;
        n++;
        text = strchr(text, separator);
        if (text == NULL || n > most)
            return n;
        *text++ = '\0';
    }
}

/* --- lines ------------------------------------------------------------------------------------ */

const CalibTable *
calib_table_of(const CalibCase *what)
{
    for (int i = 0; calib_tables[i] != NULL; i++)
        if (calib_tables[i]->holds(what))
            return calib_tables[i];
    return NULL;
}

void
calib_table_format(const CalibTable *table, const CalibRow *row, char *text, size_t size)
{
    table->format(row, text, size);
    size_t length = strlen(text);
    snprintf(text + length, size - length, "\t%.4f\t%u\t%s\n", row->spread_frac, row->samples,
             row->steady ? "-" : "unsteady");
}

static unsigned
n_columns(const CalibTable *table)
{
    unsigned n = 1;
    for (const char *at = table->columns; *at != '\0'; at++)
        n += *at == '\t';
    return n;
}

bool
calib_table_parse(const CalibTable *table, char *line, CalibRow *ret)
{
    char *cells[CALIB_MAX_CELLS];
    unsigned n = n_columns(table);
    CalibRow row;
    memset(&row, 0, sizeof row);
    int64_t samples;
    if (calib_split(line, '\t', cells, CALIB_MAX_CELLS) != n + N_LAST ||
        !table->parse(cells, &row) || !calib_parse_number(cells[n], &row.spread_frac) ||
        !calib_parse_count(cells[n + 1], &samples))
        return false;
    row.samples = (unsigned)samples;
    row.steady = strcmp(cells[n + 2], "-") == 0;
    if (!row.steady && strcmp(cells[n + 2], "unsteady") != 0)
        return false;
    *ret = row;
    return true;
}

void
calib_row_round(CalibRow *row)
{
    char text[64];
    for (int i = 0; i < CALIB_OVERLAP_TIMES; i++) {
        calib_format_number(row->us[i], text, sizeof text);
        calib_parse_number(text, &row->us[i]);
    }
}
