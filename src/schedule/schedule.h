/* A pipeline schedule: for each pipeline rank, the order of its ops. No times, no hardware.
 * Notation of SPEC.md 1: P ranks, M microbatches, V chunks per rank, S = P*V global stages. */
#pragma once

#include <glib.h>

#define SCHEDULE_ERROR (schedule_error_quark())
GQuark schedule_error_quark(void);
typedef enum {
    SCHEDULE_ERROR_ILLEGAL,
    SCHEDULE_ERROR_UNKNOWN,
    SCHEDULE_ERROR_INCOMPLETE
} ScheduleError;

typedef enum {
    SCHEDULE_F,
    SCHEDULE_B,
    SCHEDULE_I,
    SCHEDULE_W
} ScheduleKind; /* B = I and W in one */

typedef struct {
    guint8 kind;   /* ScheduleKind */
    guint16 stage; /* global stage 0..S-1 */
    guint32 microbatch;
} ScheduleToken;

typedef struct {
    guint pp, microbatches, vpp;
    guint group; /* Megatron's microbatch group size N; 0: default (= pp) */
} ScheduleParams;

typedef struct {
    const char *name; /* as on the command line and in JSON */
    ScheduleParams params;
    guint n_stages;
    guint *rank_of; /* [n_stages] */
    GArray **ranks; /* [pp] of GArray of ScheduleToken */
} Schedule;

typedef struct {
    const char *name;
    const char *summary; /* one line */
    guint min_vpp, max_vpp;
    /* NULL, or why not: a sentence with the numbers and what to change; caller frees. */
    char *(*refuse)(const ScheduleParams *p);
    void (*placement)(const ScheduleParams *p, guint *rank_of);
    void (*build)(const ScheduleParams *p, guint rank, GArray *ret_tokens);
    /* Closed forms for equal stages, per-chunk times F, B (M0): makespan, or < 0 when there is
     * none. */
    double (*makespan)(const ScheduleParams *p, double F, double B);
    /* Promised peak of live chunk activations on a rank (freed at the end of B). */
    guint (*peak)(const ScheduleParams *p, guint rank);
    gboolean grouped; /* reads params.group; the others refuse any but 0 and pp */
} ScheduleType;

/* All types in the order they are listed; NULL-terminated. */
extern const ScheduleType *const schedule_types[];
/* By name; "interleaved" is Megatron's. Unknown: near-miss hint and the list. */
const ScheduleType *schedule_find(const char *name, GError **error);

Schedule *schedule_new(const ScheduleType *type, const ScheduleParams *params, GError **error);
void schedule_free(Schedule *s);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Schedule, schedule_free)

/* At most this many tokens in all: 2*P*V*M is bounded before anything is allocated. */
#define SCHEDULE_MAX_TOKENS (1u << 25)

/* Every stage runs each F and each B (or I and W) once, on its rank, B after F, W after I, and the
 * ranks together reach the end (no cycle of waits between them). */
gboolean schedule_check(const Schedule *s, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* PyTorch's compute-only CSV: one line per rank, "0F0,0F1,...". Caller frees. */
char *schedule_format_csv(const Schedule *s);
/* The same text read back. A stage lives on the rank whose line holds it; empty tokens (idle slots)
 * are skipped. Errors name row and column. `name` becomes the schedule's. The result has passed
 * schedule_check. */
Schedule *schedule_parse_csv(const char *name, const char *text, GError **error);
Schedule *schedule_load_csv(const char *path, GError **error);
/* 'F', 'B', 'I' or 'W'. */
char schedule_kind_letter(ScheduleKind kind);
/* Most live chunk activations on each rank when freed at I (or B), and at W (or B); [pp] each. */
void schedule_peaks(const Schedule *s, guint *ret_at_input_grad, guint *ret_at_weight_grad);
