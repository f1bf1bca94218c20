/* A schedule file as cells: what stands in each row, with the messages and gathers beside the compute
 * operations, in the notation of PyTorch's pipeline CSV. Not for other layers. */
#pragma once

#include "schedule/schedule.h"

/* The first four are ScheduleKind's. */
typedef enum {
    TABLE_F = SCHEDULE_F,
    TABLE_B = SCHEDULE_B,
    TABLE_I = SCHEDULE_I,
    TABLE_W = SCHEDULE_W,
    TABLE_SEND_F,
    TABLE_RECV_F,
    TABLE_SEND_B,
    TABLE_RECV_B,
    TABLE_UNSHARD,
    TABLE_RESHARD,
    TABLE_REDUCE_GRAD,
    TABLE_N_OPS
} TableOp;

#define TABLE_COMPUTE (1u << TABLE_F | 1u << TABLE_B | 1u << TABLE_I | 1u << TABLE_W)
#define TABLE_MESSAGES                                                                             \
    (1u << TABLE_SEND_F | 1u << TABLE_RECV_F | 1u << TABLE_SEND_B | 1u << TABLE_RECV_B)
#define TABLE_GATHERS (1u << TABLE_UNSHARD | 1u << TABLE_RESHARD)

/* Two cells of a pair follow each other and share a column. */
typedef struct {
    guint8 op;   /* TableOp */
    guint8 pair; /* SchedulePair */
    guint16 stage;
    guint32 microbatch; /* 0 for the last three ops */
    guint32 column;     /* from 0, idle slots counted */
} TableCell;

typedef struct ScheduleTable {
    const char *name; /* interned; begins every complaint */
    guint n_rows;
    GArray **rows;  /* of TableCell */
    guint ops;      /* bit set of the TableOps that occur */
    gboolean older; /* written with PyTorch's older letters: BW for B, B for I */
} ScheduleTable;

ScheduleTable *schedule_table_new(const char *name, guint n_rows);
/* From text: cells one by one; nothing is checked between them. */
ScheduleTable *schedule_table_parse(const char *name, const char *text, GError **error);
/* The compute operations of a schedule. */
ScheduleTable *schedule_table_of(const Schedule *s);
char *schedule_table_format(const ScheduleTable *t);
void schedule_table_free(ScheduleTable *t);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ScheduleTable, schedule_table_free)

#define TABLE_CELL(t, row, i) (&g_array_index((t)->rows[row], TableCell, i))

/* "3SEND_F0"; into a buffer that holds any. */
#define TABLE_TOKEN_SIZE 32
const char *schedule_table_token(const TableCell *cell, char buffer[TABLE_TOKEN_SIZE]);
/* Sets "NAME: row R, column C: TOKEN ..." and returns FALSE. */
gboolean schedule_table_complain(const ScheduleTable *t, guint row, const TableCell *cell,
                                 ScheduleError code, GError **error, const char *format, ...)
    G_GNUC_PRINTF(6, 7);
/* Where a cell of this op, stage and microbatch stands in a row, or NULL. */
const TableCell *schedule_table_find(const ScheduleTable *t, guint row, TableOp op, guint stage,
                                     guint microbatch);

/* placement.c: fills n_stages, n_replicas, rank_of, replica_of, microbatches and vpp of `s`, whose pp is
 * the number of rows. `placement` NULL: inferred. */
gboolean schedule_place(Schedule *s, const ScheduleTable *t, const char *placement, GError **error);
/* csv_verify.c: each row by itself, then completeness. */
gboolean schedule_table_verify(const ScheduleTable *t, const Schedule *s, GError **error);
/* csv_run.c: the rows together, on a verified table. */
gboolean schedule_table_run(const ScheduleTable *t, const Schedule *s, GError **error);
