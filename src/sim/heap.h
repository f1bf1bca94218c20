/* The event queue: a 4-ary heap, totally ordered by (when_ns, sequence of scheduling).  Private to
 * sim.  An activity whose end moves is scheduled anew; its old event is told by its generation and
 * counted as stale, and the heap is swept when more than half of it is stale. */
#pragma once

#include <glib.h>

typedef enum {
    SIM_EVENT_STREAM,   /* id: the stream whose op ends */
    SIM_EVENT_MEETING,  /* id: the meeting whose undisturbed activity ends */
    SIM_EVENT_ACTIVITY, /* id: an activity of the fluid */
    SIM_EVENT_CAPACITY, /* the next change of a capacity is due */
} SimEventKind;

typedef struct {
    gint64 when_ns;
    guint64 order; /* sequence << 2 | kind */
    guint32 id;
    guint32 generation;
} SimEvent;

typedef struct {
    SimEvent *events;
    gsize n, capacity;
    guint64 sequence;
} SimHeap;

void sim_heap_clear(SimHeap *h);
void sim_heap_push(SimHeap *h, gint64 when_ns, SimEventKind kind, guint32 id, guint32 generation);
/* FALSE when empty. */
gboolean sim_heap_pop(SimHeap *h, SimEvent *ret_event);
/* Drops the events for which `keep` is FALSE. */
void sim_heap_sweep(SimHeap *h, gboolean (*keep)(void *user, const SimEvent *event), void *user);

static inline SimEventKind
sim_event_kind(const SimEvent *event)
{
    return (SimEventKind)(event->order & 3);
}

/* The time of the next event; G_MAXINT64 when there is none. */
static inline gint64
sim_heap_next_ns(const SimHeap *h)
{
    return h->n ? h->events[0].when_ns : G_MAXINT64;
}
