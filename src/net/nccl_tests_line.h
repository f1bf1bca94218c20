/* One line of a log of nccl-tests. */
#pragma once

#include "net/nccl_tests.h"

/* What the header says of the columns of its rows. */
typedef struct {
    gboolean seen;        /* there was a header */
    gboolean redop, root; /* has the column */
    guint places;         /* how many times "time" stands there */
    gboolean wrong;       /* "#wrong" or "error" behind each busbw */
    double us, GBps;      /* of the units that it names; 1 where it names none */
} NetTestsColumns;

typedef enum {
    NET_TESTS_OTHER, /* no row */
    NET_TESTS_ROW,
    NET_TESTS_HEAD,   /* a row up to before its first time: another line tore it */
    NET_TESTS_BROKEN, /* begins as a row and does not go on as one */
} NetTestsKind;

typedef struct {
    NetTestsRow row;
    const char *dtype; /* static */
    char redop[16];    /* "" where there is none */
    gint64 root;
    gboolean has_root;
} NetTestsLine;

/* "size count type ... time algbw busbw": the columns of the rows below. */
gboolean net_tests_header(char **words, NetTestsColumns *ret_columns);
/* "(B) (elements) (us) (GB/s)" below it; an unknown unit is an error. */
gboolean net_tests_units(char **words, NetTestsColumns *columns, GError **error);
NetTestsKind net_tests_row(char **words, const NetTestsColumns *columns, NetTestsLine *ret_line);
/* The rest of a torn row, alone in its line. */
gboolean net_tests_tail(char **words, const NetTestsColumns *columns, NetTestsLine *line);
/* Words of a line; free with g_strfreev. */
char **net_tests_words(const char *line);
