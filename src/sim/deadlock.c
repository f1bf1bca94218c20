/* Words for a run that got stuck: who waits for what, and in which circle. */
#include "config.h"

#include "sim/state.h"

#define MOST_NAMED 8

/* Where the words come from. */
typedef struct {
    const SimEngine *e;
    SimNamer namer;
    void *user;
    guint32 *joiner; /* by meeting: a stuck stream that would have joined it later */
} Account;

/* Notes which meetings a stuck stream would still have joined. */
static void
note_later_joins(Account *account, guint32 stream)
{
    const SimEngine *e = account->e;
    const SimStream *s = &e->streams[stream];
    const SimProgram *p = e->ranks[s->rank].program;
    const SimOp *op = s->op, *op_end = s->op_end;
    guint32 in = SIM_NONE; /* already joined */
    if (s->state == SIM_STREAM_MEETING) {
        in = sim_meeting_id(e, s, op, s->call->arg);
        op++;
    }
    const SimCall *call = s->call, *end = sim_program_at(p, 0) + p->calls->len;
    while (call < end) {
        for (; op < op_end; op++) {
            if (op->join == SIM_JOIN_NONE || op->join == SIM_JOIN_RECV)
                continue; /* nobody waits for a receive */
            guint32 id = sim_meeting_id(e, s, op, call->arg);
            if (id != in && account->joiner[id] == SIM_NONE)
                account->joiner[id] = stream;
        }
        if (++call < end) {
            op = sim_template_ops(call->template, s->slot);
            op_end = op + sim_template_count(call->template, s->slot);
        }
    }
}

/* The stream that a stuck one waits for; SIM_NONE when nobody could ever help. */
static guint32
find_blocker(const Account *account, guint32 stream)
{
    const SimEngine *e = account->e;
    const SimStream *s = &e->streams[stream];
    if (s->state == SIM_STREAM_MEETING)
        return account->joiner[sim_meeting_id(e, s, s->op, s->call->arg)];
    guint32 other = stream - s->slot + s->on;
    return e->streams[other].state == SIM_STREAM_FINISHED ? SIM_NONE : other;
}

static void
say_stream(GString *text, const SimEngine *e, guint32 stream)
{
    g_string_append_printf(text, "rank %u slot %u", e->streams[stream].rank,
                           e->streams[stream].slot);
}

static void
say_place(GString *text, const Account *account, guint32 stream)
{
    const SimEngine *e = account->e;
    const SimStream *s = &e->streams[stream];
    guint call = s->call - sim_program_at(e->ranks[s->rank].program, 0);
    say_stream(text, e, stream);
    g_autofree char *name =
        account->namer ? account->namer(account->user, s->rank, call, s->call->label) : NULL;
    if (name)
        g_string_append_printf(text, " at op %u of call %u '%s'", s->op->index, call, name);
    else
        g_string_append_printf(text, " at op %u of call %u (label %u)", s->op->index, call,
                               s->call->label);
}

static void
say_stuck(GString *text, const Account *account, guint32 stream)
{
    const SimEngine *e = account->e;
    const SimStream *s = &e->streams[stream];
    say_place(text, account, stream);
    if (s->state == SIM_STREAM_WAITING) {
        const SimStream *other = s - s->slot + s->on;
        g_string_append_printf(
            text, " waits until slot %u has completed %u ops (%u so far%s)", s->on, s->need,
            other->done, other->state == SIM_STREAM_FINISHED ? ", and there are no more" : "");
        return;
    }
    guint32 id = sim_meeting_id(e, s, s->op, s->call->arg);
    if (e->meetings[id].eager)
        g_string_append_printf(text, " waits for the send of meeting %u", id);
    else
        g_string_append_printf(text, " waits in meeting %u (%u of %u joined)", id,
                               e->meetings[id].joined, e->meetings[id].members);
    if (account->joiner[id] == SIM_NONE) {
        g_string_append(text, ", which nobody else would join");
    } else {
        g_string_append(text, " for ");
        say_stream(text, e, account->joiner[id]);
    }
}

/* Follows the blockers from each stuck stream; the first circle found is told. */
static void
say_cycle(GString *text, const Account *account)
{
    const SimEngine *e = account->e;
    g_autofree guint32 *visit = g_new0(guint32, e->n_streams); /* by which start it was reached */
    for (guint32 start = 0; start < e->n_streams; start++) {
        guint32 at = start;
        if (e->streams[at].state == SIM_STREAM_FINISHED)
            continue;
        for (; at != SIM_NONE && visit[at] == 0; at = find_blocker(account, at))
            visit[at] = start + 1;
        if (at == SIM_NONE || visit[at] != start + 1)
            continue;
        g_string_append(text, "; cycle: ");
        say_stream(text, e, at);
        guint32 next = at;
        for (guint n = 1;; n++) {
            next = find_blocker(account, next);
            if (n > MOST_NAMED && next != at)
                continue;
            g_string_append(text, n > MOST_NAMED ? " -> ... -> " : " -> ");
            say_stream(text, e, next);
            if (next == at)
                return;
        }
    }
}

static void
say_open_send(GString *text, const SimEngine *e)
{
    for (guint32 i = 0; i < e->n_meetings; i++) {
        guint32 eager = e->meetings[i].eager;
        if (!(eager & SIM_EAGER_SENT) || eager & SIM_EAGER_RECEIVED)
            continue;
        g_string_append_printf(text, "sends never received: %u, the first by ", e->n_open_sends);
        say_stream(text, e, e->meetings[i].last);
        g_string_append_printf(text, " into meeting %u", i);
        return;
    }
}

/* Of each rank one stream: one that stands in a meeting, which tells more, else the first. */
static guint32
choose_stream(const SimEngine *e, const SimRank *rank)
{
    guint32 chosen = SIM_NONE;
    for (guint i = 0; i < rank->program->n_slots; i++) {
        guint32 stream = rank->first_stream + i;
        if (e->streams[stream].state == SIM_STREAM_MEETING)
            return stream;
        if (e->streams[stream].state == SIM_STREAM_WAITING && chosen == SIM_NONE)
            chosen = stream;
    }
    return chosen;
}

void
sim_deadlock_describe(SimEngine *e, SimNamer namer, void *user, GError **error)
{
    g_autofree guint32 *joiner = g_new(guint32, e->n_meetings);
    for (guint32 i = 0; i < e->n_meetings; i++)
        joiner[i] = SIM_NONE;
    Account account = {e, namer, user, joiner};
    for (guint32 i = 0; i < e->n_streams; i++)
        if (e->streams[i].state != SIM_STREAM_FINISHED)
            note_later_joins(&account, i);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "deadlock at %" G_GINT64_FORMAT " ns: ", e->now_ns);
    guint n_stuck = 0;
    for (guint32 i = 0; i < e->n_ranks; i++) {
        guint32 stream = choose_stream(e, &e->ranks[i]);
        if (stream == SIM_NONE || n_stuck++ >= MOST_NAMED)
            continue;
        g_string_append(text, n_stuck > 1 ? "; " : "");
        say_stuck(text, &account, stream);
    }
    if (n_stuck > MOST_NAMED)
        g_string_append_printf(text, "; and %u more ranks", n_stuck - MOST_NAMED);
    if (n_stuck > 0)
        say_cycle(text, &account);
    else
        say_open_send(text, e);
    g_set_error_literal(error, SIM_ERROR, SIM_ERROR_DEADLOCK, text->str);
}

void
sim_deadlock_describe_standstill(SimEngine *e, SimNamer namer, void *user, GError **error)
{
    Account account = {e, namer, user, NULL};
    guint32 resource;
    const SimActivity *a = &e->fluid.activities[sim_fluid_find_standing(&e->fluid, &resource)];
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text,
                           "standstill at %" G_GINT64_FORMAT
                           " ns: resource %u has capacity 0 and no later change raises it; ",
                           e->now_ns, resource);
    const SimMeeting *m = a->single ? NULL : &e->meetings[a->owner];
    if (m && m->eager) { /* the sender has gone on */
        g_string_append(text, "a send of ");
        say_stream(text, e, m->last);
        g_string_append_printf(text, " into meeting %u", a->owner);
    } else {
        say_place(text, &account, m ? m->last : a->owner);
    }
    g_string_append(text, " stands still on it");
    if (e->fluid.n_standing > 1)
        g_string_append_printf(text, ", and %u more", e->fluid.n_standing - 1);
    g_set_error_literal(error, SIM_ERROR, SIM_ERROR_STANDSTILL, text->str);
}
