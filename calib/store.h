/* What has been measured: rows in memory, and the same in a directory, so that nothing is lost.
 *
 * While measuring, each row is added to DIR/TABLE.tsv.part and is on the disk before the next is measured. At the end
 * a table's rows go sorted to DIR/TABLE.tsv (written beside it and renamed), and the .part is gone. A directory may
 * hold both: rows of an earlier, finished run and what a later one added. */
#pragma once

#include "calib/row.h"

typedef struct CalibStore CalibStore;

/* Where the rows come from: goes into each file's head; rows of differing machines are never mixed. */
typedef struct {
    const char *directory, *version, *name;
    const CalibMachine *machine;
    bool resume;
} CalibStoreSpec;

typedef enum {
    CALIB_STORE_OK,
    CALIB_STORE_REFUSED, /* the user's: not empty, another machine, unreadable */
    CALIB_STORE_FAILED   /* the disk's */
} CalibStoreStatus;

/* Makes the directory. With `resume` reads what is there, also a last line that was cut off, which is dropped; without
 * it, tables that are there already are refused. */
CalibStoreStatus calib_store_open(const CalibStoreSpec *spec, CalibStore **ret, CalibError *error);
void calib_store_free(CalibStore *store);

/* Row of exactly this case (its first variant); NULL: none. Valid until the next add. */
const CalibRow *calib_store_find(const CalibStore *store, const CalibCase *what);
unsigned calib_store_n_rows(const CalibStore *store);
const CalibRow *calib_store_row(const CalibStore *store, unsigned i);

/* Rounds the row to the table's digits and writes it. When that fails the file ends with the row before. */
CalibStoreStatus calib_store_add(CalibStore *store, CalibRow *row, CalibError *error);
/* Why a case could not be measured: a line in its table; each reason is written once, with a count at the end. */
CalibStoreStatus calib_store_note(CalibStore *store, const CalibCase *what, const char *reason,
                                  CalibError *error);
/* All tables are done. */
CalibStoreStatus calib_store_finish(CalibStore *store, CalibError *error);

/* DIR/NAME with `text`, written beside it and renamed. Another text that was there, which somebody may have edited, is
 * kept as DIR/NAME.old. */
CalibStoreStatus calib_store_write_text(const CalibStore *store, const char *name, const char *text,
                                        CalibError *error);
/* "# source: ...", one line each, for any file of this store. */
const char *calib_store_head(const CalibStore *store);
