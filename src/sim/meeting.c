/* Meetings: rendezvous of all members, and the eager send with its receive. */
#include "config.h"

#include "sim/state.h"

guint32
sim_meeting_id(const SimEngine *e, const SimStream *s, const SimOp *op, guint32 arg)
{
    const SimRank *rank = &e->ranks[s->rank];
    g_assert(op->port < rank->n_ports);
    guint32 id = rank->ports[op->port] + (op->indexed ? arg : 0);
    g_assert(id < e->n_meetings);
    return id;
}

/* The last member has joined: those that came earlier were released by it. */
static void
start_together(SimEngine *e, guint32 meeting, guint32 last)
{
    SimMeeting *m = &e->meetings[meeting];
    m->start_ns = e->now_ns;
    e->round++;
    for (guint32 i = m->first; i != SIM_NONE; i = e->streams[i].next) {
        SimStream *s = &e->streams[i];
        /* A rank that came twice, from two slots, took the place of one that is missing. */
        g_assert(e->ranks[s->rank].round != e->round || m->members == 2);
        e->ranks[s->rank].round = e->round;
        if (s->start_ns == e->now_ns)
            continue;
        s->release = SIM_BY_MEETING;
        s->release_stream = last;
        s->release_op = e->streams[last].done + 1;
    }
    const SimStream *starter = &e->streams[last];
    guint32 activity = sim_stream_start_activity(e, starter, m->uses, meeting, FALSE);
    if (activity == SIM_NONE)
        return;
    for (guint32 i = m->first; i != SIM_NONE; i = e->streams[i].next) {
        const SimStream *s = &e->streams[i];
        g_assert(s->op->kind == starter->op->kind);
        if (s->rank != starter->rank)
            sim_stream_run_beside(e, activity, s->rank, s->op->kind);
    }
}

static void
join_all(SimEngine *e, guint32 stream, guint32 meeting)
{
    SimStream *s = &e->streams[stream];
    SimMeeting *m = &e->meetings[meeting];
    s->state = SIM_STREAM_MEETING;
    if (m->members == 1) { /* needs no state, so that several streams may use it at once */
        sim_stream_start_activity(e, s, m->uses, stream, TRUE);
        return;
    }
    g_assert(m->eager == 0 && m->joined < m->members);
    s->next = SIM_NONE;
    if (m->joined++ == 0) {
        m->first = stream;
    } else {
        g_assert(e->streams[m->first].op->duration_ns == s->op->duration_ns);
        e->streams[m->last].next = stream;
    }
    m->last = stream;
    if (m->joined == m->members)
        start_together(e, meeting, stream);
}

static void
send_eagerly(SimEngine *e, guint32 stream, guint32 meeting)
{
    SimStream *s = &e->streams[stream];
    SimMeeting *m = &e->meetings[meeting];
    g_assert(m->members == 2 && m->joined == 0 && !(m->eager & SIM_EAGER_SENT));
    m->eager |= SIM_EAGER_SENT;
    m->last = stream;
    m->send_op = s->done + 1;
    m->start_ns = e->now_ns;
    e->n_open_sends++;
    sim_stream_start_activity(e, s, m->uses, meeting, FALSE);
    sim_stream_complete(e, stream, e->now_ns, e->now_ns);
}

static void
finish_receive(SimEngine *e, SimMeeting *m)
{
    SimStream *s = &e->streams[m->first];
    gint64 path_start_ns = e->now_ns;
    e->n_open_sends--;
    if (s->start_ns < e->now_ns) { /* it waited: the time is the send's */
        s->release = SIM_BY_SEND;
        s->release_stream = m->last;
        s->release_op = m->send_op;
        path_start_ns = m->start_ns;
    }
    sim_stream_complete(e, m->first, s->start_ns, path_start_ns);
}

static void
receive_eagerly(SimEngine *e, guint32 stream, guint32 meeting)
{
    SimMeeting *m = &e->meetings[meeting];
    g_assert(m->members == 2 && m->joined == 0 && !(m->eager & SIM_EAGER_RECEIVED));
    m->eager |= SIM_EAGER_RECEIVED;
    m->first = stream;
    e->streams[stream].state = SIM_STREAM_MEETING;
    if (m->eager & SIM_EAGER_ENDED)
        finish_receive(e, m);
}

void
sim_meeting_join(SimEngine *e, guint32 stream)
{
    const SimStream *s = &e->streams[stream];
    guint32 meeting = sim_meeting_id(e, s, s->op, s->call->arg);
    switch ((SimJoin)s->op->join) {
    case SIM_JOIN_ALL:
        join_all(e, stream, meeting);
        break;
    case SIM_JOIN_SEND:
        send_eagerly(e, stream, meeting);
        break;
    case SIM_JOIN_RECV:
        receive_eagerly(e, stream, meeting);
        break;
    case SIM_JOIN_NONE:
        g_assert_not_reached();
    }
}

void
sim_meeting_end(SimEngine *e, guint32 meeting)
{
    SimMeeting *m = &e->meetings[meeting];
    if (m->eager) {
        m->eager |= SIM_EAGER_ENDED;
        if (m->eager & SIM_EAGER_RECEIVED)
            finish_receive(e, m);
        return;
    }
    guint32 next = m->first;
    m->joined = 0; /* the next round may begin as soon as a member goes on */
    while (next != SIM_NONE) {
        guint32 stream = next;
        next = e->streams[stream].next;
        sim_stream_complete(e, stream, m->start_ns, m->start_ns);
    }
}
