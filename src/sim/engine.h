/* The discrete-event engine: runs the programs of many ranks.  It knows streams, meetings and shared
 * resources; it knows no GPU, layer or collective.
 *
 * Time is gint64 ns from 0.  Events are totally ordered by (when_ns, sequence of scheduling), so the
 * same input gives the same output to the byte on any machine.
 *
 * Meeting: where ops of several ranks come together (a collective; a send and its receive).
 * Fluid sharing: an activity of isolated duration D and loads L_k runs at speed x in (0, 1]; at speed
 * x it uses rate x * w_ik * L_k / D of resource i, w_ik being the weight that its meeting puts on
 * resource i for load kind k.  Speeds are the max-min fair solution under sum of rates <= capacity
 * (progressive filling with x <= cap), re-solved at every start, end and change of capacity or cap, and
 * only for the connected component of activities and resources that changed.  Alone, an activity takes
 * exactly D, unless its own rate exceeds a capacity C: then x = C / rate.  A disturbed end is rounded up
 * to the next ns.  Changes at one instant are solved together, once.
 *
 * Interference: work of kind k on rank r goes at most at cap_r(k) = product over kinds b of s_kb ^ n_b,
 * n_b being how many pieces of work of kind b run on the rank beside it, s_kb what was set for (k, b),
 * else 1.  A collective's cap is the least of its members', an eager send's that of the sender's rank, on
 * which it runs beside whatever its stream does next.  Work runs from its start (of a rendezvous: when
 * the last member joined) to its end; who waits disturbs nobody.
 *
 * Pace: work that is made to take D' instead of D moves the same loads, so at rates L_k / D'.
 *
 * At equal times events are taken in the order in which they were scheduled; when an op ends, the
 * slots that waited for it go on first, by slot, then its own stream; the members of a meeting go on
 * in the order in which they joined; ranks start in the order in which they were added.
 *
 * An engine is built, run once, and asked.  Misuse (unknown port, unequal work in one meeting, an
 * eager meeting used twice) is the programmer's error and asserts.
 */
#pragma once

#include "sim/program.h"

#define SIM_ERROR (sim_error_quark())
GQuark sim_error_quark(void);
typedef enum { SIM_ERROR_DEADLOCK, SIM_ERROR_LIMIT, SIM_ERROR_STANDSTILL } SimError;

typedef struct SimEngine SimEngine;

SimEngine *sim_engine_new(void);
void sim_engine_free(SimEngine *e);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimEngine, sim_engine_free)

/* Capacity in load units per second, > 0. Returns the resource's id. */
guint32 sim_engine_add_resource(SimEngine *e, double capacity_per_s);
/* `members`: how many simulated ranks must join (>= 1; for eager sends 2). Returns the id;
 * `n` consecutive ids are made at once for indexed ports.
 *   SIM_JOIN_ALL, 1 member: starts at once; several streams may use it at the same time.
 *   SIM_JOIN_ALL, more: may be used round after round by the same members; a stream in it waits for
 *     the round's end, so that a member joins again only then (from one slot of each rank;
 *     only a meeting of two may be of one rank's two slots).
 *   SIM_JOIN_SEND and _RECV: one message each; make as many as there are messages (indexed ports). */
guint32 sim_engine_add_meetings(SimEngine *e, guint members, guint n);
/* Meetings first..first+n-1 put `weight` (>= 0) times the activity's load of kind `kind` on `resource`.
 * Stored once for the range. Several kinds on one resource add. An activity of no duration is over
 * before it could disturb anyone, and its load is not counted. */
void sim_engine_use(SimEngine *e, guint32 first_meeting, guint n, guint32 resource, guint kind,
                    double weight);
/* A rank that runs `program` (borrowed); `ports` (copied) binds port -> meeting id. Returns its id. */
guint32 sim_engine_add_rank(SimEngine *e, const SimProgram *program, const guint32 *ports,
                            guint n_ports);

/* The only hook for traces and time lines. Called in order of end times. NULL costs nothing. */
typedef struct {
    /* op `tag` of `call` ran on (rank, slot) from start to end. A rendezvous starts when the last
     * member joined; a send starts and ends when it is at the head of its stream; a receive starts
     * then and ends with the message. */
    void (*op)(void *user, guint32 rank, guint slot, guint32 tag, guint call, gint64 start_ns,
               gint64 end_ns);
    void *user;
} SimProbe;
void sim_engine_set_probe(SimEngine *e, const SimProbe *probe);

/* The only hook on durations: called once for each op of a duration above 0 when it starts (for a meeting
 * once, with the member that joined last; for an eager send with the sender), returns how long it takes
 * alone (>= 0). NULL: as the templates say, which costs nothing. Called in the order of events. */
typedef struct {
    gint64 (*duration)(void *user, guint32 rank, guint slot, guint32 tag, guint call,
                       gint64 start_ns, gint64 duration_ns);
    void *user;
} SimPace;
void sim_engine_set_pace(SimEngine *e, const SimPace *pace);

/* Work of kind `kind` (SimWork.kind > 0) runs at most at `speed` (0 < speed <= 1) while work of kind
 * `beside` runs on another stream of the same rank; beside several, at most at the product. A meeting
 * goes at the least of its members'. Without any such call it costs nothing. Alone, work still takes
 * exactly its duration. Members of a meeting must be of one kind. */
void sim_engine_set_interference(SimEngine *e, guint kind, guint beside, double speed);
/* From `when_ns` on the resource has this capacity (>= 0; at 0 whoever uses it stands still, and when no
 * later change raises it the run ends in SIM_ERROR_STANDSTILL). Of several changes at one time the one
 * scheduled last holds. Changes after the last op do not prolong the run. */
void sim_engine_schedule_capacity(SimEngine *e, gint64 when_ns, guint32 resource,
                                  double capacity_per_s);
/* Somebody else uses the resource without end: at full speed so much of it, sharing max-min as every
 * activity does. Not counted in the resource's load and busy time. */
void sim_engine_add_background(SimEngine *e, guint32 resource, double rate_per_s);

/* Runs to the end; once. A deadlock (also a message that nobody receives) is an error that names each
 * stuck rank's call label and what it waits for (rank, slot, op index, meeting), at most eight of them,
 * with the cycle when there is one.
 * Labels and tags are turned into words by `name` (may be NULL): caller's text, transfer full. */
typedef char *(*SimNamer)(void *user, guint32 rank, guint call, guint32 label);
gboolean sim_engine_run(SimEngine *e, SimNamer namer, void *user,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;

gint64 sim_engine_now(const SimEngine *e); /* makespan after run */
guint64 sim_engine_n_events(const SimEngine *e);
guint64 sim_engine_n_ops(const SimEngine *e); /* ops completed */
gint64 sim_engine_rank_end(const SimEngine *e, guint32 rank);
/* Also while it runs, for a pace: when the last op on the slot ended; 0: none has. */
gint64 sim_engine_slot_end(const SimEngine *e, guint32 rank, guint slot);

/* When a call's ops on slot 0 ran: from the start of the first to the end of the last (both -1 when the
 * call has none on slot 0). Kept always: programs are short where op lists are long. */
void sim_engine_call_span(const SimEngine *e, guint32 rank, guint call, gint64 *ret_start_ns,
                          gint64 *ret_end_ns);
/* Total load that went through a resource, and the time it was used at all. */
double sim_engine_resource_load(const SimEngine *e, guint32 resource);
double sim_engine_resource_capacity(const SimEngine *e, guint32 resource);
/* After the run: counts what went through a resource without being simulated. */
void sim_engine_add_load(SimEngine *e, guint32 resource, double load, gint64 busy_ns);
gint64 sim_engine_resource_busy_ns(const SimEngine *e, guint32 resource);

/* Critical path: from the op that ended last (the lowest rank and slot of several), back over what
 * released each op last, to time 0. Segments come latest first, do not overlap, and cover 0..now
 * exactly; ops of no duration give none.
 *   after its stream's previous op: on to that op; also when something else ended at the same time
 *   after a wait: on to the op that was waited for last (the last of the count)
 *   rendezvous: the op's segment begins when the last member joined; from there on to what released
 *     that member, unless the op itself joined at that time
 *   receive that had to wait: a segment with the receive's tag from the time of sending to the
 *     message's arrival (it may begin before the receive was at the head of its stream), then on to
 *     what released the send
 *   op that took another time than alone (shared, paced, slowed, standing still): a segment as long
 *     as it took */
typedef struct {
    guint32 rank;
    guint slot;
    guint32 tag;
    guint call;
    gint64 start_ns, end_ns;
    gint64
        alone_ns; /* as the template says: what the op (of a receive, its message) takes undisturbed */
} SimSegment;
typedef void (*SimPathVisitor)(void *user, const SimSegment *segment);
void sim_engine_critical_path(const SimEngine *e, SimPathVisitor visit, void *user);
