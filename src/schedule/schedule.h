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

/* An overlapped pair is two consecutive tokens that run as one unit: an F and a backward. */
typedef enum { SCHEDULE_SINGLE, SCHEDULE_PAIR_FIRST, SCHEDULE_PAIR_SECOND } SchedulePair;

typedef struct {
    guint8 kind;   /* ScheduleKind */
    guint8 pair;   /* SchedulePair */
    guint16 stage; /* global stage 0..S-1 */
    guint32 microbatch;
} ScheduleToken;

/* What a schedule that is searched for (zb_1p, zb_2p) needs to know: times of one chunk and of one
 * message in any one unit, and how many chunk activations a rank may hold. All 0: F = I = W, no cap
 * but the type's own. The same for every stage when `stage_*` are NULL, else [pp * vpp] each. */
typedef struct {
    gint64 F, I, W, comm;
    const gint64 *stage_F, *stage_I, *stage_W; /* borrowed */
    guint memory_cap;
} ScheduleCosts;

typedef struct {
    guint pp, microbatches, vpp;
    guint group; /* Megatron's microbatch group size N; 0: default (= pp) */
    ScheduleCosts costs;
} ScheduleParams;

/* With two replicas (DualPipe, Chimera) every rank holds a stage of each; a microbatch runs through the
 * replica replica_of[m], and stage s of replica d lives on rank rank_of[d * n_stages + s]. */
typedef struct {
    const char *name; /* as on the command line and in JSON */
    ScheduleParams params;
    guint n_stages;
    guint n_replicas;      /* of the model within one pipeline: 1 or 2 */
    guint *rank_of;        /* [n_replicas * n_stages] */
    guint8 *replica_of;    /* [microbatches] */
    GArray **ranks;        /* [pp] of GArray of ScheduleToken */
    gboolean asynchronous; /* no flush: the steady state repeats; see ScheduleType */
    struct ScheduleTable
        *table; /* what a file says beside the ranks (messages, gathers); or NULL */
} Schedule;

guint schedule_rank_of(const Schedule *s, guint stage, guint microbatch);

typedef struct {
    const char *name;
    const char *summary; /* one line */
    guint min_vpp, max_vpp;
    /* NULL, or why not: a sentence with the numbers and what to change; caller frees. */
    char *(*refuse)(const ScheduleParams *p);
    void (*placement)(const ScheduleParams *p, guint *rank_of);
    /* One rank's list; or, where lists depend on each other, `build_all` makes all of them. */
    void (*build)(const ScheduleParams *p, guint rank, GArray *ret_tokens);
    void (*build_all)(const ScheduleParams *p, GArray **ret_ranks);
    /* Replica of a microbatch (0 or 1); NULL: one replica. `placement` then fills both. */
    guint (*replica)(const ScheduleParams *p, guint microbatch);
    /* Closed forms for equal stages, per-chunk times (M0): makespan, or < 0 when there is none.
     * B = I + W; schedules that do not split the backward use only F and I + W. */
    double (*makespan)(const ScheduleParams *p, double F, double I, double W);
    /* Promised peak of live chunk activations on a rank (freed at the end of W or B). */
    guint (*peak)(const ScheduleParams *p, guint rank);
    gboolean grouped; /* reads params.group; the others refuse any but 0 and pp */
    /* No flush between iterations (PipeDream): an iteration takes the steady period; weights are kept
     * in this many versions on a rank. NULL: synchronous, one version. */
    guint (*weight_versions)(const ScheduleParams *p, guint rank);
    gboolean reconstruction; /* not checked against its authors' own list */
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
/* PyTorch's compute-only CSV: one line per rank, "0F0,0F1,...", pairs as "(0F3;3B5)OVERLAP_F_B".
 * Caller frees. */
char *schedule_format_csv(const Schedule *s);
/* The list that PyTorch's runtime would make of it (SPEC.md 4): I and W that follow each other merged, SEND
 * and RECV where stages of two ranks meet; `_sharded` with UNSHARD, RESHARD and REDUCE_GRAD too. Of a
 * schedule that has passed schedule_check. Caller frees. */
char *schedule_format_comms(const Schedule *s);
char *schedule_format_comms_sharded(const Schedule *s);
/* A schedule read from a file as it stood there, with its messages and letters, less idle slots; others as
 * schedule_format_csv. Caller frees. */
char *schedule_format_as_read(const Schedule *s);
/* Such a text read back, compute-only or with messages, today's letters or the older ones (BW for B, B
 * for I); messages and gathers are checked and then set aside. A stage lives on the rank whose line holds
 * it, with two model copies on two mirrored ranks; empty tokens (idle slots) are skipped. Ranks may hold
 * different numbers of stages: vpp is then the largest, and n_stages < pp * vpp. Errors name row, column
 * and token, what it waits for, and the circle of a deadlock. `name` becomes the schedule's. The result has
 * passed what schedule_check checks. */
Schedule *schedule_parse_csv(const char *name, const char *text, GError **error);
Schedule *schedule_load_csv(const char *path, GError **error);
/* The same with the placement given: "loop", "v" (waves), "bidirectional" (one stage a rank and copy) or
 * the rank of each stage, "0,1,1,0" (two copies: "0,1/1,0"). NULL: from the rows. */
Schedule *schedule_parse_csv_placed(const char *name, const char *text, const char *placement,
                                    GError **error);
Schedule *schedule_load_csv_placed(const char *path, const char *placement, GError **error);
/* 'F', 'B', 'I' or 'W'. */
char schedule_kind_letter(ScheduleKind kind);
/* Most live chunk activations on each rank when freed at I (or B), and at W (or B); [pp] each. */
void schedule_peaks(const Schedule *s, guint *ret_at_input_grad, guint *ret_at_weight_grad);
