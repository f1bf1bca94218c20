/* Book-keeping of activities and resources; the components that changed are solved in settle. */
#include "config.h"

#include "sim/fluid.h"
#include "sim/layout.h"

#include <math.h>

#define NOTHING G_MAXUINT32
/* Demand above capacity by no more than rounding is not above it. */
#define TIGHT (1 + 1e-9)

void
sim_fluid_init(SimFluid *f)
{
    *f = (SimFluid){.free_activity = NOTHING};
    f->nodes = g_array_new(FALSE, FALSE, sizeof(SimUseNode));
    g_array_append_vals(f->nodes, &(SimUseNode){0}, 1);
    f->dirty = g_array_new(FALSE, FALSE, sizeof(guint32));
    f->changed = g_array_new(FALSE, FALSE, sizeof(guint32));
    f->members = g_array_new(FALSE, FALSE, sizeof(guint32));
    f->tight = g_array_new(FALSE, FALSE, sizeof(guint32));
    f->first = g_array_new(FALSE, FALSE, sizeof(guint32));
    f->uses = g_array_new(FALSE, FALSE, sizeof(SimUse));
    f->capacities = g_array_new(FALSE, FALSE, sizeof(double));
    f->caps = g_array_new(FALSE, FALSE, sizeof(double));
    f->speeds = g_array_new(FALSE, FALSE, sizeof(double));
}

void
sim_fluid_clear(SimFluid *f)
{
    for (guint32 i = 0; i < f->n_resources; i++)
        g_free(f->resources[i].users);
    for (guint32 j = 0; j < f->n_activities; j++)
        g_free(f->activities[j].uses);
    g_free(f->resources);
    g_free(f->activities);
    GArray *arrays[] = {f->nodes, f->dirty, f->changed,    f->members, f->tight,
                        f->first, f->uses,  f->capacities, f->caps,    f->speeds};
    for (guint i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    sim_maxmin_clear(&f->buffers);
}

guint32
sim_fluid_add_resource(SimFluid *f, double capacity_per_s)
{
    g_assert(capacity_per_s > 0 && capacity_per_s <= G_MAXDOUBLE);
    if (f->n_resources == f->n_resources_reserved) {
        f->n_resources_reserved = MAX(16, 2 * f->n_resources_reserved);
        f->resources = g_renew(SimResource, f->resources, f->n_resources_reserved);
    }
    f->resources[f->n_resources] = (SimResource){.capacity = capacity_per_s};
    return f->n_resources++;
}

guint32
sim_fluid_add_use(SimFluid *f, guint32 next, guint32 resource, guint kind, double weight)
{
    SimUseNode node = {.resource = resource, .kind = kind, .weight = weight, .next = next};
    g_array_append_val(f->nodes, node);
    return f->nodes->len - 1;
}

static gboolean
is_tight(const SimResource *r)
{
    return r->demand > r->capacity * TIGHT;
}

static void
mark_dirty(SimFluid *f, guint32 resource)
{
    if (f->resources[resource].dirty)
        return;
    f->resources[resource].dirty = TRUE;
    f->unsettled = TRUE;
    g_array_append_val(f->dirty, resource);
}

static void
mark_changed(SimFluid *f, guint32 id)
{
    if (f->activities[id].changed)
        return;
    f->activities[id].changed = TRUE;
    f->unsettled = TRUE;
    g_array_append_val(f->changed, id);
}

static guint32
take_activity(SimFluid *f)
{
    guint32 id = f->free_activity;
    if (id != NOTHING) {
        f->free_activity = f->activities[id].next_free;
        return id;
    }
    if (f->n_activities == f->n_activities_reserved) {
        f->n_activities_reserved = MAX(16, 2 * f->n_activities_reserved);
        f->activities = g_renew(SimActivity, f->activities, f->n_activities_reserved);
    }
    f->activities[f->n_activities] = (SimActivity){0};
    return f->n_activities++;
}

/* Adds to the activity's rate of a resource: several kinds of load may meet on one resource. */
static void
add_rate(SimFluid *f, guint32 id, guint32 resource, double rate)
{
    SimActivity *a = &f->activities[id];
    SimResource *r = &f->resources[resource];
    if (r->mark == f->mark) {
        a->uses[r->local].rate += rate;
        return;
    }
    r->mark = f->mark;
    r->local = a->n_uses;
    if (a->n_uses == a->capacity) {
        a->capacity = MAX(4, 2 * a->capacity);
        a->uses = g_renew(SimActivityUse, a->uses, a->capacity);
    }
    a->uses[a->n_uses++] = (SimActivityUse){.resource = resource, .rate = rate};
}

static void
attach(SimFluid *f, guint32 id, guint32 index, gint64 now_ns)
{
    SimActivityUse *use = &f->activities[id].uses[index];
    SimResource *r = &f->resources[use->resource];
    if (r->n_users == r->n_reserved) {
        r->n_reserved = MAX(4, 2 * r->n_reserved);
        r->users = g_renew(SimUser, r->users, r->n_reserved);
    }
    if (r->n_users == r->n_endless)
        r->busy_since_ns = now_ns;
    use->place = r->n_users;
    r->users[r->n_users++] = (SimUser){id, index};
    r->demand += use->rate;
}

static guint32
begin(SimFluid *f, gint64 now_ns, guint32 owner, gboolean single)
{
    guint32 id = take_activity(f);
    SimActivity *a = &f->activities[id];
    a->n_uses = 0;
    a->owner = owner;
    a->single = !!single;
    a->scheduled = a->changed = a->endless = FALSE;
    a->since_ns = now_ns;
    a->speed = -1;
    a->cap = 1;
    a->mark = 0;
    f->mark++;
    return id;
}

/* Adds the activity to the users of its resources; whether one of them is tight. */
static gboolean
attach_all(SimFluid *f, guint32 id, gint64 now_ns)
{
    const SimActivity *a = &f->activities[id];
    gboolean tight = FALSE;
    for (guint32 u = 0; u < a->n_uses; u++) {
        attach(f, id, u, now_ns);
        if (is_tight(&f->resources[a->uses[u].resource])) {
            mark_dirty(f, a->uses[u].resource);
            tight = TRUE;
        }
    }
    return tight;
}

guint32
sim_fluid_start(SimFluid *f, SimHeap *heap, gint64 now_ns, gint64 duration_ns, const double *load,
                guint32 uses, guint32 owner, gboolean single, gboolean hold)
{
    g_assert(duration_ns > 0);
    guint32 id = begin(f, now_ns, owner, single);
    for (guint32 u = uses; u;) {
        const SimUseNode *node = &g_array_index(f->nodes, SimUseNode, u);
        double amount = node->weight * load[node->kind];
        if (amount > 0) {
            f->resources[node->resource].load += amount;
            add_rate(f, id, node->resource, amount / ((double)duration_ns * 1e-9));
        }
        u = node->next;
    }
    gboolean tight = attach_all(f, id, now_ns);
    SimActivity *a = &f->activities[id];
    a->remaining_ns = (double)duration_ns;
    a->end_ns = now_ns + duration_ns;
    if (hold) {
        mark_changed(f, id);
    } else if (!tight) {
        a->speed = 1;
        a->scheduled = TRUE;
        sim_heap_push(heap, a->end_ns, SIM_EVENT_ACTIVITY, id, a->generation);
    }
    return id;
}

void
sim_fluid_add_background(SimFluid *f, guint32 resource, double rate_per_s)
{
    guint32 id = begin(f, 0, NOTHING, TRUE);
    f->activities[id].endless = TRUE;
    add_rate(f, id, resource, rate_per_s);
    attach_all(f, id, 0);
    f->resources[resource].n_endless++;
}

void
sim_fluid_set_cap(SimFluid *f, guint32 activity, double cap)
{
    g_assert(cap > 0 && cap <= 1);
    SimActivity *a = &f->activities[activity];
    double lower = MIN(a->cap, cap);
    gboolean binds = a->cap != cap && (a->speed < 0 || a->speed >= lower * (1 - 1e-9));
    a->cap = cap;
    if (binds) /* else a resource holds it below both caps, and the solution stands */
        mark_changed(f, activity);
}

void
sim_fluid_set_capacity(SimFluid *f, guint32 resource, double capacity_per_s)
{
    SimResource *r = &f->resources[resource];
    gboolean was_tight = is_tight(r);
    r->capacity = capacity_per_s;
    if (was_tight || is_tight(r))
        mark_dirty(f, resource);
}

gboolean
sim_fluid_is_current(const SimFluid *f, const SimEvent *event)
{
    return f->activities[event->id].generation == event->generation;
}

/* Sums the demand anew once as many users have left as stay: constant cost a removal, and the
 * rounding of the differences cannot build up. */
static void
refresh_demand(const SimFluid *f, SimResource *r)
{
    r->n_removals = 0;
    r->demand = 0;
    for (guint32 u = 0; u < r->n_users; u++)
        r->demand += f->activities[r->users[u].activity].uses[r->users[u].use].rate;
}

static void
detach(SimFluid *f, const SimActivityUse *use, gint64 now_ns)
{
    SimResource *r = &f->resources[use->resource];
    if (is_tight(r) && r->n_users > r->n_endless + 1)
        mark_dirty(f, use->resource);
    SimUser last = r->users[--r->n_users];
    r->users[use->place] = last;
    f->activities[last.activity].uses[last.use].place = use->place;
    r->demand -= use->rate;
    if (++r->n_removals >= r->n_users)
        refresh_demand(f, r);
    if (r->n_users == r->n_endless)
        r->busy_ns += now_ns - r->busy_since_ns;
}

void
sim_fluid_finish(SimFluid *f, gint64 now_ns, guint32 id)
{
    SimActivity *a = &f->activities[id];
    for (guint32 u = 0; u < a->n_uses; u++)
        detach(f, &a->uses[u], now_ns);
    a->n_uses = 0;
    a->generation++;
    a->next_free = f->free_activity;
    f->free_activity = id;
}

/* Gathers into `members` and `tight` all that hangs together with activity `id` through tight
 * resources. */
static void
gather(SimFluid *f, guint32 id)
{
    g_array_set_size(f->members, 0);
    g_array_set_size(f->tight, 0);
    f->activities[id].mark = f->mark;
    g_array_append_val(f->members, id);
    for (guint m = 0; m < f->members->len; m++) {
        const SimActivity *a = &f->activities[g_array_index(f->members, guint32, m)];
        for (guint32 u = 0; u < a->n_uses; u++) {
            SimResource *r = &f->resources[a->uses[u].resource];
            if (!is_tight(r) || r->mark == f->mark)
                continue;
            r->mark = f->mark;
            r->local = f->tight->len;
            g_array_append_val(f->tight, a->uses[u].resource);
            for (guint32 v = 0; v < r->n_users; v++) {
                guint32 other = r->users[v].activity;
                if (f->activities[other].mark == f->mark)
                    continue;
                f->activities[other].mark = f->mark;
                g_array_append_val(f->members, other);
            }
        }
    }
}

static void
solve(SimFluid *f)
{
    g_array_set_size(f->first, 0);
    g_array_set_size(f->uses, 0);
    g_array_set_size(f->speeds, f->members->len);
    g_array_set_size(f->capacities, 0);
    g_array_set_size(f->caps, 0);
    gboolean capped = FALSE;
    for (guint i = 0; i < f->tight->len; i++) {
        guint32 resource = g_array_index(f->tight, guint32, i);
        g_array_append_val(f->capacities, f->resources[resource].capacity);
    }
    for (guint m = 0; m <= f->members->len; m++) {
        guint32 at = f->uses->len;
        g_array_append_val(f->first, at);
        if (m == f->members->len)
            break;
        const SimActivity *a = &f->activities[g_array_index(f->members, guint32, m)];
        g_array_append_val(f->caps, a->cap);
        capped |= a->cap < 1;
        for (guint32 u = 0; u < a->n_uses; u++) {
            const SimResource *r = &f->resources[a->uses[u].resource];
            SimUse use = {.resource = r->local, .rate = a->uses[u].rate};
            if (is_tight(r))
                g_array_append_val(f->uses, use);
        }
    }
    f->n_solved++;
    sim_maxmin_solve_in(&f->buffers, f->members->len, (const guint32 *)(void *)f->first->data,
                        (const SimUse *)(void *)f->uses->data, f->tight->len,
                        (const double *)(void *)f->capacities->data,
                        capped ? (const double *)(void *)f->caps->data : NULL,
                        (double *)(void *)f->speeds->data);
}

static gint64
end_of(const SimActivity *a, gint64 now_ns)
{
    double left = MAX(a->remaining_ns, 0) / a->speed;
    if (left >= (double)SIM_TIME_LIMIT_NS) /* also when it is infinite */
        return SIM_TIME_LIMIT_NS + 1;
    /* Up to the next ns, but for what rounding of the sums may have added. */
    left = ceil(left - (1e-6 + left * 1e-14));
    return now_ns + (gint64)MAX(left, 0);
}

/* The event of its end, if there is one, is void from now on. */
static void
unschedule(SimFluid *f, SimActivity *a)
{
    if (!a->scheduled)
        return;
    a->scheduled = FALSE;
    a->generation++;
    f->n_stale++;
}

static void
set_speed(SimFluid *f, SimHeap *heap, gint64 now_ns, guint32 id, double speed)
{
    SimActivity *a = &f->activities[id];
    if (a->endless || fabs(speed - a->speed) <= 1e-12 * a->speed)
        return;
    gboolean is_first = a->speed < 0;
    f->n_standing += (speed == 0) - (a->speed == 0);
    if (!is_first)
        a->remaining_ns -= a->speed * (double)(now_ns - a->since_ns);
    a->since_ns = now_ns;
    a->speed = speed;
    if (speed == 0) {
        unschedule(f, a);
        return;
    }
    gint64 end_ns = is_first && speed == 1 ? a->end_ns : end_of(a, now_ns);
    if (a->scheduled && end_ns == a->end_ns)
        return;
    unschedule(f, a);
    a->scheduled = TRUE;
    a->end_ns = end_ns;
    sim_heap_push(heap, end_ns, SIM_EVENT_ACTIVITY, id, a->generation);
}

/* Solves for the component of the activity, unless this visit did. */
static void
settle_activity(SimFluid *f, SimHeap *heap, gint64 now_ns, guint32 id)
{
    if (f->activities[id].mark == f->mark)
        return;
    gather(f, id);
    if (f->tight->len == 0) {
        set_speed(f, heap, now_ns, id, f->activities[id].cap);
        return;
    }
    solve(f);
    for (guint m = 0; m < f->members->len; m++)
        set_speed(f, heap, now_ns, g_array_index(f->members, guint32, m),
                  g_array_index(f->speeds, double, m));
}

static gboolean
is_live(void *user, const SimEvent *event)
{
    return sim_event_kind(event) != SIM_EVENT_ACTIVITY || sim_fluid_is_current(user, event);
}

void
sim_fluid_settle(SimFluid *f, SimHeap *heap, gint64 now_ns)
{
    f->mark++;
    for (guint d = 0; d < f->dirty->len; d++) {
        SimResource *r = &f->resources[g_array_index(f->dirty, guint32, d)];
        r->dirty = FALSE;
        for (guint32 u = 0; u < r->n_users; u++)
            settle_activity(f, heap, now_ns, r->users[u].activity);
    }
    for (guint i = 0; i < f->changed->len; i++) {
        guint32 id = g_array_index(f->changed, guint32, i);
        f->activities[id].changed = FALSE;
        settle_activity(f, heap, now_ns, id);
    }
    g_array_set_size(f->dirty, 0);
    g_array_set_size(f->changed, 0);
    f->unsettled = FALSE;
    if (f->n_stale > 1024 && f->n_stale > heap->n / 2) {
        sim_heap_sweep(heap, is_live, f);
        f->n_stale = 0;
    }
}

guint32
sim_fluid_find_standing(const SimFluid *f, guint32 *ret_resource)
{
    for (guint32 i = 0; i < f->n_resources; i++) {
        const SimResource *r = &f->resources[i];
        for (guint32 u = 0; r->capacity == 0 && u < r->n_users; u++) {
            const SimActivity *a = &f->activities[r->users[u].activity];
            if (a->endless || a->speed != 0)
                continue;
            *ret_resource = i;
            return r->users[u].activity;
        }
    }
    g_assert_not_reached();
}
