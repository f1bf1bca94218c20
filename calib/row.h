/* One row of a table: a case with its variants and their times. */
#pragma once

#include "calib/case.h"

/* An attention row is a forward and a backward; a collective's is out of place and in place; an overlap's is the four
 * times of CalibOverlap. All others have one time. */
typedef struct {
    CalibCase what;                 /* its first variant: forward, out of place */
    double us[CALIB_OVERLAP_TIMES]; /* NAN: could not be measured */
    double spread_frac;
    unsigned samples;
    bool steady;
} CalibRow;

/* Variant i of a row's case; false: it has no more. */
bool calib_row_variant(const CalibCase *what, unsigned i, CalibCase *ret);

/* --- tables: one struct a file ------------------------------------------------------------------ */

enum { CALIB_MAX_CELLS = 20 };
typedef struct {
    const char *name;    /* "gemm" for gemm.tsv */
    const char *about;   /* what its columns are: '#' lines, each with its \n */
    const char *columns; /* between tabs; calib_table_last_columns follow */
    bool (*holds)(const CalibCase *what);
    /* The cells of `columns`, between tabs. */
    void (*format)(const CalibRow *row, char *text, size_t size);
    /* From as many cells as there are columns; false: they are none of such a row. */
    bool (*parse)(char *const *cells, CalibRow *ret);
} CalibTable;

extern const CalibTable *const calib_tables[]; /* NULL-terminated */
extern const char *const calib_table_last_columns;
const CalibTable *calib_table_of(const CalibCase *what);
/* The whole line with its \n. */
void calib_table_format(const CalibTable *table, const CalibRow *row, char *text, size_t size);
/* A line without its \n, which is cut up. */
bool calib_table_parse(const CalibTable *table, char *line, CalibRow *ret);
/* As the row will be read again: with the digits that a table keeps. */
void calib_row_round(CalibRow *row);

/* --- cells -------------------------------------------------------------------------------------- */

/* Five digits without exponent; "-" for NAN. */
void calib_format_number(double value, char *text, size_t size);
bool calib_parse_number(const char *text, double *ret); /* "-": NAN */
bool calib_parse_count(const char *text, int64_t *ret); /* 0 and more */
bool calib_parse_int(const char *text, int *ret);
/* Cuts `text` at each `separator`; returns how many cells, at most `most` + 1. */
unsigned calib_split(char *text, char separator, char **cells, unsigned most);
