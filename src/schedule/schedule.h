/* A pipeline schedule: for each pipeline rank, the order of its ops. No times, no hardware.
 * Notation of SPEC.md 1: P ranks, M microbatches, V chunks per rank, S = P*V global stages. */
#pragma once

#include <glib.h>

#define SCHEDULE_ERROR (schedule_error_quark())
GQuark schedule_error_quark(void);
typedef enum { SCHEDULE_ERROR_ILLEGAL, SCHEDULE_ERROR_UNKNOWN, SCHEDULE_ERROR_INCOMPLETE } ScheduleError;

typedef enum { SCHEDULE_F, SCHEDULE_B, SCHEDULE_I, SCHEDULE_W } ScheduleKind; /* B = I and W in one */

typedef struct {
    guint8 kind; /* ScheduleKind */
    guint16 stage; /* global stage 0..S-1 */
    guint32 microbatch;
} ScheduleToken;

typedef struct {
    guint pp, microbatches, vpp;
    guint group; /* Megatron's microbatch group size N; 0: default (= pp) */
} ScheduleParams;

typedef struct {
    const char *name;   /* as on the command line and in JSON */
    ScheduleParams params;
    guint n_stages;
    guint *rank_of;     /* [n_stages] */
    GArray **ranks;     /* [pp] of GArray of ScheduleToken */
} Schedule;

typedef struct {
    const char *name;
    const char *summary; /* one line */
    guint min_vpp, max_vpp;
    /* NULL, or why not: a sentence with the numbers and what to change; caller frees. */
    char *(*refuse)(const ScheduleParams *p);
    void (*placement)(const ScheduleParams *p, guint *rank_of);
    void (*build)(const ScheduleParams *p, guint rank, GArray *ret_tokens);
    /* Closed forms for equal stages, per-chunk times F, B (M0): makespan, or < 0 when there is none. */
    double (*makespan)(const ScheduleParams *p, double F, double B);
    /* Promised peak of live chunk activations on a rank (freed at the end of B). */
    guint (*peak)(const ScheduleParams *p, guint rank);
} ScheduleType;

/* All types in the order they are listed; NULL-terminated. */
extern const ScheduleType *const schedule_types[];
const ScheduleType *schedule_find(const char *name, GError **error); /* near-miss hint */

Schedule *schedule_new(const ScheduleType *type, const ScheduleParams *params, GError **error);
void schedule_free(Schedule *s);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Schedule, schedule_free)

/* Every stage runs each F and each B (or I and W) once, on its rank, B after F, W after I. */
gboolean schedule_check(const Schedule *s, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* PyTorch's compute-only CSV: one line per rank, "0F0,0F1,...". Caller frees. */
char *schedule_format_csv(const Schedule *s);
/* Most live chunk activations on each rank when freed at I (or B), and at W (or B); [pp] each. */
void schedule_peaks(const Schedule *s, guint *ret_at_input_grad, guint *ret_at_weight_grad);
