/* A 4-ary heap of events: half the depth of a binary one, and the four children lie together. */
#include "config.h"

#include "sim/heap.h"

void
sim_heap_clear(SimHeap *h)
{
    g_free(h->events);
    *h = (SimHeap){0};
}

static inline gboolean
is_before(const SimEvent *a, const SimEvent *b)
{
    return a->when_ns != b->when_ns ? a->when_ns < b->when_ns : a->order < b->order;
}

static void
sift_up(SimEvent *events, gsize i, SimEvent event)
{
    while (i > 0) {
        gsize parent = (i - 1) / 4;
        if (!is_before(&event, &events[parent]))
            break;
        events[i] = events[parent];
        i = parent;
    }
    events[i] = event;
}

static void
sift_down(SimEvent *events, gsize n, gsize i, SimEvent event)
{
    for (;;) {
        gsize child = 4 * i + 1;
        if (child >= n)
            break;
        gsize least = child, end = MIN(child + 4, n);
        while (++child < end)
            if (is_before(&events[child], &events[least]))
                least = child;
        if (!is_before(&events[least], &event))
            break;
        events[i] = events[least];
        i = least;
    }
    events[i] = event;
}

void
sim_heap_push(SimHeap *h, gint64 when_ns, SimEventKind kind, guint32 id, guint32 generation)
{
    if (h->n == h->capacity) {
        h->capacity = MAX(64, 2 * h->capacity);
        h->events = g_renew(SimEvent, h->events, h->capacity);
    }
    SimEvent event = {when_ns, h->sequence++ << 2 | kind, id, generation};
    sift_up(h->events, h->n++, event);
}

gboolean
sim_heap_pop(SimHeap *h, SimEvent *ret_event)
{
    if (h->n == 0)
        return FALSE;
    *ret_event = h->events[0];
    if (--h->n > 0)
        sift_down(h->events, h->n, 0, h->events[h->n]);
    return TRUE;
}

void
sim_heap_sweep(SimHeap *h, gboolean (*keep)(void *user, const SimEvent *event), void *user)
{
    gsize n = 0;
    for (gsize i = 0; i < h->n; i++)
        if (keep(user, &h->events[i]))
            h->events[n++] = h->events[i];
    h->n = n;
    for (gsize i = n / 4 + 1; i-- > 0;)
        if (i < n)
            sift_down(h->events, n, i, h->events[i]);
}
