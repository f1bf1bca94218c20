/* The event queue: a total order by (time, sequence). */
#include "config.h"

#include "sim/heap.h"

static void
test_order(void)
{
    /* Many events at few times: pops must equal a stable sort of the pushes, also when pushes and
     * pops alternate (then each pop is the least of what is inside). */
    SimHeap heap = {0};
    guint n_in = 0;
    guint32 next_id = 0;
    gint64 now_ns = 0;
    guint64 last_order = 0;
    for (guint step = 0; step < 20000 || n_in > 0; step++) {
        if (step < 20000 && g_test_rand_int_range(0, 5) < 3) {
            sim_heap_push(&heap, now_ns + g_test_rand_int_range(0, 8), SIM_EVENT_STREAM, next_id++,
                          0);
            n_in++;
            continue;
        }
        SimEvent event;
        gboolean found = sim_heap_pop(&heap, &event);
        g_assert_cmpint(found, ==, n_in > 0);
        if (!found)
            continue;
        n_in--;
        g_assert_cmpint(event.when_ns, >=, now_ns);
        if (event.when_ns == now_ns && last_order)
            g_assert_cmpuint(event.order, >, last_order);
        now_ns = event.when_ns;
        last_order = event.order;
    }
    g_assert_cmpint(sim_heap_next_ns(&heap), ==, G_MAXINT64);
    sim_heap_clear(&heap);
}

static int
compare_events(const void *a, const void *b)
{
    const SimEvent *x = a, *y = b;
    if (x->when_ns != y->when_ns)
        return x->when_ns < y->when_ns ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void
test_sorted(void)
{
    SimHeap heap = {0};
    guint n = 3000;
    g_autofree SimEvent *twin = g_new0(SimEvent, n);
    for (guint i = 0; i < n; i++) {
        twin[i] = (SimEvent){.when_ns = g_test_rand_int_range(0, 200), .id = i};
        sim_heap_push(&heap, twin[i].when_ns, SIM_EVENT_MEETING, i, 0);
    }
    qsort(twin, n, sizeof(SimEvent), compare_events);
    for (guint i = 0; i < n; i++) {
        SimEvent event;
        g_assert_true(sim_heap_pop(&heap, &event));
        g_assert_cmpint(event.when_ns, ==, twin[i].when_ns);
        g_assert_cmpuint(event.id, ==, twin[i].id);
        g_assert_cmpint(sim_event_kind(&event), ==, SIM_EVENT_MEETING);
    }
    sim_heap_clear(&heap);
}

static gboolean
is_odd(void *user, const SimEvent *event)
{
    ++*(guint *)user;
    return event->id % 2 == 1;
}

static void
test_sweep(void)
{
    for (guint n = 0; n < 70; n++) {
        SimHeap heap = {0};
        for (guint i = 0; i < n; i++)
            sim_heap_push(&heap, g_test_rand_int_range(0, 20), SIM_EVENT_ACTIVITY, i, 0);
        guint n_asked = 0;
        sim_heap_sweep(&heap, is_odd, &n_asked);
        g_assert_cmpuint(n_asked, ==, n);
        SimEvent event, before = {0};
        guint n_left = 0;
        for (; sim_heap_pop(&heap, &event); n_left++, before = event) {
            g_assert_cmpuint(event.id % 2, ==, 1);
            if (n_left > 0)
                g_assert_cmpint(compare_events(&before, &event), <, 0);
        }
        g_assert_cmpuint(n_left, ==, n / 2);
        sim_heap_clear(&heap);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sim/heap/pops-never-go-back-in-time-or-sequence", test_order);
    g_test_add_func("/sim/heap/equals-a-sort-of-the-pushes", test_sorted);
    g_test_add_func("/sim/heap/sweep-keeps-order", test_sweep);
    return g_test_run();
}
