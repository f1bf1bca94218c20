/* The engine's state while it runs: streams, meetings, ranks.  Private to sim. */
#pragma once

#include "sim/engine.h"
#include "sim/fluid.h"
#include "sim/heap.h"
#include "sim/interference.h"
#include "sim/layout.h"

#define SIM_NONE G_MAXUINT32

/* What let an op start; codes 1..SIM_SLOTS: a wait for slot code - 1. */
typedef enum {
    SIM_BY_STREAM = 0,
    SIM_BY_MEETING = SIM_SLOTS + 1, /* the member that joined last */
    SIM_BY_SEND,                    /* RECV: the activity of its send */
} SimRelease;

/* The sparse record of one stream for the critical path: see sim/path.c. */
typedef struct {
    guint32 *words;
    guint32 n, capacity;
    guint32 last; /* number of the op logged last */
} SimLog;

typedef enum {
    SIM_STREAM_READY,   /* in the queue of streams to advance */
    SIM_STREAM_RUNNING, /* its end is scheduled */
    SIM_STREAM_WAITING, /* for `need` ops of slot `on` */
    SIM_STREAM_MEETING, /* in a meeting: for members or for its end */
    SIM_STREAM_FINISHED,
} SimStreamState;

typedef struct {
    const SimOp *op, *op_end; /* the next op to end and the end of the slot's ops in this call */
    const SimCall *call;
    gint64 free_ns;  /* when the previous op ended */
    gint64 start_ns; /* when the current op started, or joined its meeting */
    guint32 rank;
    guint32 done; /* ops completed */
    guint32 need;
    guint32 next; /* next member of the meeting */
    guint32 program_wait;
    guint32 release_stream, release_op; /* for SIM_BY_MEETING and SIM_BY_SEND */
    guint32 generation;                 /* of its event in the heap; an older one is void */
    guint16 waiters;                    /* slots of the rank that wait for this one */
    guint8 slot, on, state, release;
    SimLog log;
} SimStream;

typedef enum {
    SIM_EAGER_SENT = 1,
    SIM_EAGER_ENDED = 2,
    SIM_EAGER_RECEIVED = 4,
} SimEagerState;

typedef struct {
    gint64 start_ns;
    guint32 members, joined;
    guint32 uses;        /* list in the fluid; 0: none */
    guint32 first, last; /* members in order of joining; eager: receiver and sender */
    guint32 send_op;     /* eager: number of the send in its stream */
    guint32 eager;       /* SimEagerState bits */
} SimMeeting;

typedef struct {
    gint64 start_ns, end_ns;
} SimSpan;

typedef struct {
    const SimProgram *program;
    guint32 *ports;
    SimSpan *spans; /* by call */
    guint32 n_ports;
    guint32 first_stream;
    guint64 round; /* of a meeting, that it joined last */
} SimRank;

/* From `when_ns` on the resource has this capacity. */
typedef struct {
    gint64 when_ns;
    guint32 resource, order;
    double capacity;
} SimChange;

struct SimEngine {
    gint64 now_ns;
    SimHeap heap;
    SimFluid fluid;
    SimStream *streams;
    SimMeeting *meetings;
    SimRank *ranks;
    guint32 n_streams, n_streams_reserved, n_meetings, n_meetings_reserved;
    guint32 n_ranks, n_ranks_reserved;
    guint32 *queue; /* streams to advance at `now_ns`, first in first out */
    gsize queue_head, queue_tail, queue_reserved;
    const SimProbe *probe; /* NULL or &probe_copy */
    SimProbe probe_copy;
    const SimPace *pace; /* NULL or &pace_copy */
    SimPace pace_copy;
    SimInterference *interference; /* NULL: no kinds of work disturb each other */
    GArray *changes;               /* of SimChange; NULL: none */
    guint next_change;
    gsize n_void; /* events of streams in the heap whose work became an activity */
    guint64 n_events, n_ops;
    guint64 round;        /* rounds of meetings so far */
    guint32 n_unfinished; /* streams */
    guint32 n_open_sends;
    gboolean has_run;
    gboolean watched; /* there are paces or interference */
};

void sim_stream_enqueue(SimEngine *e, guint32 stream);
/* The current op of the stream ran from start_ns to now; for SIM_BY_SEND the time on the critical
 * path starts at `path_start_ns` instead. Its waiters and the stream itself are put in the queue. */
void sim_stream_complete(SimEngine *e, guint32 stream, gint64 start_ns, gint64 path_start_ns);
/* Advances all queued streams until each runs or is blocked. */
void sim_stream_drain(SimEngine *e);
/* An activity of kind `kind` has a member on `rank`: what runs there alone becomes an activity, too. */
void sim_stream_run_beside(SimEngine *e, guint32 activity, guint32 rank, guint kind);
/* Starts the activity of the stream's current op, on the stream's rank; `owner` is a stream when
 * `single`, else a meeting. Returns its id in the fluid when kinds of work matter to it, else SIM_NONE. */
guint32 sim_stream_start_activity(SimEngine *e, const SimStream *s, guint32 uses, guint32 owner,
                                  gboolean single);

/* The stream's current op has become ready now and joins its meeting. */
void sim_meeting_join(SimEngine *e, guint32 stream);
guint32 sim_meeting_id(const SimEngine *e, const SimStream *s, const SimOp *op, guint32 arg);
/* The activity of a meeting has ended. */
void sim_meeting_end(SimEngine *e, guint32 meeting);

/* Logs that op number `op` (from 1) was released by something other than its own stream, or took
 * `elapsed_ns` rather than its isolated time (-1: it did not). */
void sim_path_log(SimLog *log, guint32 op, guint release, guint32 by_stream, guint32 by_op,
                  gint64 elapsed_ns);
/* Room for so many ops that all take another time than in isolation. */
void sim_path_reserve(SimLog *log, guint32 n_ops);
/* The isolated time of an op on the path: sends and receives are instants. */
static inline gint64
sim_path_isolated_ns(const SimOp *op)
{
    return op->join == SIM_JOIN_SEND || op->join == SIM_JOIN_RECV ? 0 : op->duration_ns;
}

void sim_deadlock_describe(SimEngine *e, SimNamer namer, void *user, GError **error);
/* Someone stands still on a resource of capacity 0, and nothing will change that. */
void sim_deadlock_describe_standstill(SimEngine *e, SimNamer namer, void *user, GError **error);
