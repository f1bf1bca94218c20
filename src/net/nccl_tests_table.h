/* A table of nccl-tests while it is read, and what its columns say of the collective. */
#pragma once

#include "net/nccl_tests_line.h"

/* "Rank 3 Group 0 Pid 7 on HOST device 3 [0x3b] NAME" before a table. */
typedef struct {
    guint n_ranks;
    GPtrArray *hosts; /* of char*, each once; NULL: none yet */
    gboolean elided;  /* ranks are missing that may have been on other hosts */
    char *device;
} NetTestsRun;
gboolean net_tests_run_read(NetTestsRun *run, char **words); /* TRUE: it was such a line */
void net_tests_run_clear(NetTestsRun *run);

/* What all rows have in common, as far as it tells the collective. */
typedef struct {
    gint64 first_bytes, last_bytes;
    gboolean reduces; /* a redop that is not "none" */
    gboolean rooted;  /* a root >= 0 */
    gboolean sliced;  /* count x type is less than size: counts are per rank */
    guint fell_line;  /* where sizes fall back, and not to the first; 0: nowhere */
} NetTestsShape;

NetTestsTable *net_tests_table_new(guint line, const char *dtype);
void net_tests_table_free(NetTestsTable *table);
void net_tests_table_add(NetTestsTable *table, NetTestsShape *shape, guint line,
                         const NetTestsLine *row);
/* `program`: what the commands around it run, or NULL. The run's list of hosts goes over to the table. */
void net_tests_table_finish(NetTestsTable *table, const NetTestsShape *shape,
                            const NetTestsColumns *columns, NetTestsRun *run, const char *version,
                            const char *program);

/* "all_reduce" of "all_reduce", "alltoall" -> "all_to_all"; NULL: no collective of nccl-tests. Caller frees. */
char *net_tests_name(const char *text, gsize n);
/* "NCCL version 2.18.3+cuda12.2" or "nccl-library=22903" in a line: replaces *version. */
void net_tests_version(const char *line, char **version);
