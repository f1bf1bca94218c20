/* What a rank does, written down without unrolling it: templates (op lists) and programs (calls).
 *
 * A rank has up to SIM_SLOTS in-order streams ("slots").  A *template* is a list of ops in launch
 * order, each on one slot; a *program* is a list of calls of templates in launch order.  A stream
 * runs, one at a time and in order, the ops that land on its slot.  Because streams are in order, an
 * event is (slot, how many ops of that slot are complete), so no event objects exist: an op may wait
 * until all ops launched before it on another slot (or up to a given earlier op) are complete.
 *
 * Programs are shared by all ranks that behave alike; what differs by rank (which meeting an op
 * joins) is bound by *ports*: see sim/engine.h.
 */
#pragma once

#include <glib.h>

#define SIM_SLOTS 16
#define SIM_LOADS 12 /* kinds of load an activity may put on resources */
#define SIM_KINDS 8  /* kinds of work that may slow each other down on a rank, with 0 */

/* Durations and times stay below this, so that one more duration cannot overflow (73 years); a run that
 * passes it is refused. */
#define SIM_TIME_LIMIT_NS (G_MAXINT64 / 4)

/* One piece of work: its duration when nothing disturbs it, and for shared resources the amount it
 * moves through each kind of resource during that time (e.g. bytes; unit is the caller's). */
typedef struct {
    gint64 duration_ns;
    double load[SIM_LOADS];
    guint kind; /* below SIM_KINDS: see sim_engine_set_interference; 0: no part in it */
} SimWork;

typedef enum {
    SIM_JOIN_NONE, /* plain work: takes duration_ns, disturbed only by kinds of work beside it */
    SIM_JOIN_ALL,  /* rendezvous: starts when every member joined; ends for all together */
    SIM_JOIN_SEND, /* eager send: the activity starts at once, the op itself takes no time */
    SIM_JOIN_RECV, /* ends when it has joined and the eager activity of its meeting has ended */
} SimJoin;

typedef struct SimTemplate SimTemplate;

SimTemplate *sim_template_new(void);
void sim_template_free(SimTemplate *t);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimTemplate, sim_template_free)

/* Appends an op in launch order and returns its index.  `tag` is the caller's own identity of the op
 * (name, kind), given back by probes and the critical path; tag < 2^24. */
guint sim_template_add(SimTemplate *t, guint slot, SimWork work, guint32 tag);
/* The op joins a meeting: the one bound to `port` of the rank, plus the call's argument when
 * `indexed` (one meeting per microbatch, say).  For SIM_JOIN_ALL all members must bring equal work. */
void sim_template_join(SimTemplate *t, guint op, SimJoin join, guint port, gboolean indexed);
/* `op` starts only after the earlier op `on` of the same template is complete. */
void sim_template_wait_op(SimTemplate *t, guint op, guint on);
/* `op` starts only after everything launched before it on `slot`, also by earlier calls, is complete.
 * Waiting for its own slot is what a stream does anyway. */
void sim_template_wait_slot(SimTemplate *t, guint op, guint slot);

guint sim_template_n_ops(const SimTemplate *t);
guint sim_template_n_ops_on(const SimTemplate *t, guint slot);
guint sim_template_slot(const SimTemplate *t, guint op);
guint32 sim_template_tag(const SimTemplate *t, guint op);
void sim_template_set_tag(SimTemplate *t, guint op, guint32 tag);
SimWork sim_template_work(const SimTemplate *t, guint op);

typedef struct SimProgram SimProgram;

/* Templates are borrowed, must outlive the program, and get no further ops once called. */
SimProgram *sim_program_new(void);
void sim_program_free(SimProgram *p);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimProgram, sim_program_free)

/* Appends a call; `arg` is added to indexed ports; `label` is the caller's identity of the call
 * (kind, chunk, microbatch).  Returns the call's index. */
guint sim_program_call(SimProgram *p, const SimTemplate *t, guint32 arg, guint32 label);
/* From here on `slot` waits until the first `count` ops ever launched on slot `on` are complete.
 * `count` may reach ahead of what is launched so far; if that many never come, the run deadlocks. */
void sim_program_wait(SimProgram *p, guint slot, guint on, guint count);
/* Ops launched so far on a slot: what `count` above is computed from. */
guint sim_program_launched(const SimProgram *p, guint slot);
guint sim_program_n_calls(const SimProgram *p);
guint64 sim_program_n_ops(const SimProgram *p);
guint32 sim_program_label(const SimProgram *p, guint call);
const SimTemplate *sim_program_called(const SimProgram *p, guint call);
