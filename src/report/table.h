/* Columns of text, aligned. */
#pragma once

#include <glib.h>

typedef struct ReportTable ReportTable;

/* One letter a column: 'l' left, 'r' right. `heads`: as many, NULL-terminated; NULL: no head line. */
ReportTable *report_table_new(const char *align, const char *const *heads);
void report_table_free(ReportTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReportTable, report_table_free)

/* The next cell, row by row. */
void report_table_cell(ReportTable *table, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Lines start with `indent` spaces, columns stand two spaces apart, no spaces end a line. */
void report_table_print(const ReportTable *table, guint indent, GString *out);
