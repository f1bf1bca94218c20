/* Random rank programs against an obvious twin that computes every op's time in launch order, and the
 * invariants that hold of any run: order of ends, bounds of the makespan, a path that tiles it. */
#include "config.h"

#include "sim/engine.h"

enum { N_RANKS = 5, N_SLOTS = 4, N_PIECES = 6, N_GROUPS = 3, N_MESSAGES = 400 };

/* What the twin knows of a template. */
typedef struct {
    guint slot;
    gint64 duration_ns;
    gint wait_op;   /* -1: none */
    gint wait_slot; /* -1: none */
} PieceOp;

typedef struct {
    SimTemplate *template;
    PieceOp ops[6];
    guint n;
} Piece;

typedef struct {
    gint64 end_ns[N_SLOTS][4096];
    guint n[N_SLOTS];
    gint64 barrier_ns[N_SLOTS]; /* set by program waits */
} Twin;

typedef struct {
    Piece pieces[N_PIECES];
    SimTemplate *group[N_GROUPS], *send[N_SLOTS], *receive[N_SLOTS];
    gint64 group_ns[N_GROUPS], send_ns[N_SLOTS];
    guint group_slot[N_GROUPS], members[N_GROUPS];
    SimProgram *programs[N_RANKS];
    Twin twin[N_RANKS];
    gint64 sum_ns;
    guint n_messages;
} Graph;

static gint64
random_ns(void)
{
    return g_test_rand_int_range(0, 4) ? g_test_rand_int_range(0, 50) : 0;
}

static void
piece_init(Piece *piece)
{
    piece->template = sim_template_new();
    piece->n = g_test_rand_int_range(1, 7);
    for (guint i = 0; i < piece->n; i++) {
        PieceOp op = {g_test_rand_int_range(0, N_SLOTS), random_ns(), -1, -1};
        sim_template_add(piece->template, op.slot, (SimWork){.duration_ns = op.duration_ns}, i);
        if (i > 0 && g_test_rand_bit()) {
            op.wait_op = g_test_rand_int_range(0, i);
            sim_template_wait_op(piece->template, i, op.wait_op);
        }
        if (g_test_rand_int_range(0, 3) == 0) {
            op.wait_slot = g_test_rand_int_range(0, N_SLOTS);
            sim_template_wait_slot(piece->template, i, op.wait_slot);
        }
        piece->ops[i] = op;
    }
}

static SimTemplate *
new_joining(guint slot, gint64 duration_ns, SimJoin join, guint port, guint32 tag)
{
    SimTemplate *t = sim_template_new();
    SimWork work = {.duration_ns = duration_ns, .load = {(double)duration_ns}};
    sim_template_join(t, sim_template_add(t, slot, work, tag), join, port, join != SIM_JOIN_ALL);
    return t;
}

static gint64
twin_last_ns(const Twin *twin, guint slot)
{
    return twin->n[slot] ? twin->end_ns[slot][twin->n[slot] - 1] : 0;
}

static gint64
twin_ready_ns(const Twin *twin, guint slot)
{
    return MAX(twin_last_ns(twin, slot), twin->barrier_ns[slot]);
}

static void
twin_push(Twin *twin, guint slot, gint64 end_ns)
{
    g_assert_cmpuint(twin->n[slot], <, 4096);
    twin->end_ns[slot][twin->n[slot]++] = end_ns;
}

static void
step_piece(Graph *g, guint rank)
{
    const Piece *piece = &g->pieces[g_test_rand_int_range(0, N_PIECES)];
    Twin *twin = &g->twin[rank];
    gint64 end_ns[6];
    sim_program_call(g->programs[rank], piece->template, 0, 0);
    for (guint i = 0; i < piece->n; i++) {
        const PieceOp *op = &piece->ops[i];
        gint64 ready_ns = twin_ready_ns(twin, op->slot);
        if (op->wait_op >= 0)
            ready_ns = MAX(ready_ns, end_ns[op->wait_op]);
        if (op->wait_slot >= 0)
            ready_ns = MAX(ready_ns, twin_last_ns(twin, op->wait_slot));
        end_ns[i] = ready_ns + op->duration_ns;
        g->sum_ns += op->duration_ns;
        twin_push(twin, op->slot, end_ns[i]);
    }
}

static void
step_program_wait(Graph *g, guint rank)
{
    Twin *twin = &g->twin[rank];
    guint slot = g_test_rand_int_range(0, N_SLOTS), on = g_test_rand_int_range(0, N_SLOTS);
    guint count = g_test_rand_int_range(0, sim_program_launched(g->programs[rank], on) + 1);
    sim_program_wait(g->programs[rank], slot, on, count);
    if (count > 0)
        twin->barrier_ns[slot] = MAX(twin->barrier_ns[slot], twin->end_ns[on][count - 1]);
}

static void
step_group(Graph *g)
{
    guint k = g_test_rand_int_range(0, N_GROUPS), slot = g->group_slot[k];
    gint64 start_ns = 0;
    for (guint rank = 0; rank < N_RANKS; rank++)
        if (g->members[k] & 1u << rank) {
            sim_program_call(g->programs[rank], g->group[k], 0, 0);
            start_ns = MAX(start_ns, twin_ready_ns(&g->twin[rank], slot));
        }
    for (guint rank = 0; rank < N_RANKS; rank++)
        if (g->members[k] & 1u << rank)
            twin_push(&g->twin[rank], slot, start_ns + g->group_ns[k]);
    g->sum_ns += g->group_ns[k];
}

static void
step_message(Graph *g)
{
    guint from = g_test_rand_int_range(0, N_RANKS), to = g_test_rand_int_range(0, N_RANKS);
    guint out = g_test_rand_int_range(0, N_SLOTS), in = g_test_rand_int_range(0, N_SLOTS);
    if (g->n_messages == N_MESSAGES)
        return;
    sim_program_call(g->programs[from], g->send[out], g->n_messages, 0);
    gint64 sent_ns = twin_ready_ns(&g->twin[from], out);
    twin_push(&g->twin[from], out, sent_ns);
    sim_program_call(g->programs[to], g->receive[in], g->n_messages, 0);
    gint64 ready_ns = twin_ready_ns(&g->twin[to], in);
    twin_push(&g->twin[to], in, MAX(ready_ns, sent_ns + g->send_ns[out]));
    g->sum_ns += g->send_ns[out];
    g->n_messages++;
}

static Graph *
graph_new(guint n_steps)
{
    Graph *g = g_new0(Graph, 1);
    for (guint i = 0; i < N_PIECES; i++)
        piece_init(&g->pieces[i]);
    for (guint k = 0; k < N_GROUPS; k++) {
        g->members[k] = g_test_rand_int_range(1, 1 << N_RANKS);
        g->group_slot[k] = g_test_rand_int_range(0, N_SLOTS);
        g->group_ns[k] = random_ns();
        g->group[k] = new_joining(g->group_slot[k], g->group_ns[k], SIM_JOIN_ALL, k, 10);
    }
    for (guint slot = 0; slot < N_SLOTS; slot++) {
        g->send_ns[slot] = random_ns();
        g->send[slot] = new_joining(slot, g->send_ns[slot], SIM_JOIN_SEND, N_GROUPS, 11);
        g->receive[slot] = new_joining(slot, 0, SIM_JOIN_RECV, N_GROUPS, 12);
    }
    for (guint rank = 0; rank < N_RANKS; rank++)
        g->programs[rank] = sim_program_new();
    for (guint step = 0; step < n_steps; step++) {
        gint dice = g_test_rand_int_range(0, 8);
        guint rank = g_test_rand_int_range(0, N_RANKS);
        if (dice < 4)
            step_piece(g, rank);
        else if (dice == 4)
            step_program_wait(g, rank);
        else if (dice == 5)
            step_message(g);
        else
            step_group(g);
    }
    return g;
}

static void
graph_free(Graph *g)
{
    for (guint i = 0; i < N_PIECES; i++)
        sim_template_free(g->pieces[i].template);
    for (guint k = 0; k < N_GROUPS; k++)
        sim_template_free(g->group[k]);
    for (guint slot = 0; slot < N_SLOTS; slot++) {
        sim_template_free(g->send[slot]);
        sim_template_free(g->receive[slot]);
    }
    for (guint rank = 0; rank < N_RANKS; rank++)
        sim_program_free(g->programs[rank]);
    g_free(g);
}

typedef struct {
    guint32 rank, tag;
    guint slot;
    gint64 start_ns, end_ns;
} Ran;

static void
note(void *user, guint32 rank, guint slot, guint32 tag, guint call, gint64 start_ns, gint64 end_ns)
{
    (void)call;
    Ran ran = {rank, tag, slot, start_ns, end_ns};
    g_array_append_val(user, ran);
}

/* Every resource carries `capacity` times what one activity asks; 0: no resources. */
static SimEngine *
graph_run(const Graph *g, double capacity, GArray *ran)
{
    SimEngine *e = sim_engine_new();
    guint32 ports[N_GROUPS + 1];
    for (guint k = 0; k < N_GROUPS; k++)
        ports[k] = sim_engine_add_meetings(e, (guint)__builtin_popcount(g->members[k]), 1);
    ports[N_GROUPS] = sim_engine_add_meetings(e, 2, N_MESSAGES);
    for (guint i = 0; capacity > 0 && i < 3; i++) {
        guint32 link = sim_engine_add_resource(e, capacity * 1e9);
        sim_engine_use(e, ports[i], 1, link, 0, 1);
        sim_engine_use(e, ports[N_GROUPS] + i * 100, 150, link, 0, 0.5);
    }
    for (guint rank = 0; rank < N_RANKS; rank++)
        sim_engine_add_rank(e, g->programs[rank], ports, N_GROUPS + 1);
    SimProbe probe = {note, ran};
    sim_engine_set_probe(e, &probe);
    g_autoptr(GError) error = NULL;
    g_assert_true(sim_engine_run(e, NULL, NULL, &error));
    g_assert_no_error(error);
    return e;
}

/* Ends by stream in order are the twin's, or later ones when disturbed. */
static void
check_twin(const Graph *g, const GArray *ran, gboolean disturbed)
{
    guint done[N_RANKS][N_SLOTS] = {0};
    gint64 busy_until_ns[N_RANKS][N_SLOTS] = {0}, last_ns = 0;
    for (guint i = 0; i < ran->len; i++) {
        const Ran *r = &g_array_index(ran, Ran, i);
        g_assert_cmpint(r->end_ns, >=, last_ns);
        last_ns = r->end_ns;
        g_assert_cmpint(r->start_ns, >=, busy_until_ns[r->rank][r->slot]);
        g_assert_cmpint(r->end_ns, >=, r->start_ns);
        busy_until_ns[r->rank][r->slot] = r->end_ns;
        gint64 twin_ns = g->twin[r->rank].end_ns[r->slot][done[r->rank][r->slot]++];
        if (disturbed)
            g_assert_cmpint(r->end_ns, >=, twin_ns);
        else
            g_assert_cmpint(r->end_ns, ==, twin_ns);
    }
    for (guint rank = 0; rank < N_RANKS; rank++)
        for (guint slot = 0; slot < N_SLOTS; slot++)
            g_assert_cmpuint(done[rank][slot], ==, g->twin[rank].n[slot]);
}

typedef struct {
    const GArray *ran;
    gint64 at_ns;
} Walk;

static void
visit(void *user, const SimSegment *segment)
{
    Walk *walk = user;
    g_assert_cmpint(segment->end_ns, ==, walk->at_ns);
    g_assert_cmpint(segment->start_ns, <, segment->end_ns);
    walk->at_ns = segment->start_ns;
    for (guint i = 0; i < walk->ran->len; i++) {
        const Ran *r = &g_array_index(walk->ran, Ran, i);
        if (r->rank == segment->rank && r->slot == segment->slot && r->tag == segment->tag &&
            r->end_ns == segment->end_ns && (r->start_ns == segment->start_ns || r->tag == 12))
            return;
    }
    g_assert_not_reached(); /* no such op ran */
}

static void
check_path(const SimEngine *e, const GArray *ran)
{
    Walk walk = {ran, sim_engine_now(e)};
    sim_engine_critical_path(e, visit, &walk);
    g_assert_cmpint(walk.at_ns, ==, 0);
}

static void
test_twin(void)
{
    for (guint round = 0; round < 150; round++) {
        Graph *g = graph_new(g_test_rand_int_range(1, 200));
        g_autoptr(GArray) ran = g_array_new(FALSE, FALSE, sizeof(Ran));
        g_autoptr(SimEngine) e = graph_run(g, 0, ran);
        check_twin(g, ran, FALSE);
        check_path(e, ran);
        g_assert_cmpint(sim_engine_now(e), <=, g->sum_ns);
        graph_free(g);
    }
}

static void
test_disturbed(void)
{
    for (guint round = 0; round < 150; round++) {
        Graph *g = graph_new(g_test_rand_int_range(1, 200));
        g_autoptr(GArray) ran = g_array_new(FALSE, FALSE, sizeof(Ran));
        g_autoptr(SimEngine) e = graph_run(g, g_test_rand_double_range(0.3, 3), ran);
        check_twin(g, ran, TRUE);
        check_path(e, ran);
        graph_free(g);
    }
}

static void
test_wide(void)
{
    /* Resources that nobody can fill change nothing: all times are the twin's to the ns. */
    for (guint round = 0; round < 50; round++) {
        Graph *g = graph_new(100);
        g_autoptr(GArray) ran = g_array_new(FALSE, FALSE, sizeof(Ran));
        g_autoptr(SimEngine) e = graph_run(g, 1000, ran);
        check_twin(g, ran, FALSE);
        check_path(e, ran);
        graph_free(g);
    }
}

static void
test_determinism(void)
{
    for (guint round = 0; round < 30; round++) {
        Graph *g = graph_new(150);
        g_autoptr(GArray) one = g_array_new(FALSE, TRUE, sizeof(Ran));
        g_autoptr(GArray) two = g_array_new(FALSE, TRUE, sizeof(Ran));
        g_autoptr(SimEngine) e = graph_run(g, 0.7, one);
        g_autoptr(SimEngine) f = graph_run(g, 0.7, two);
        g_assert_cmpuint(sim_engine_n_events(e), ==, sim_engine_n_events(f));
        g_assert_cmpuint(one->len, ==, two->len);
        for (guint i = 0; i < one->len; i++) {
            const Ran *a = &g_array_index(one, Ran, i), *b = &g_array_index(two, Ran, i);
            g_assert_true(a->rank == b->rank && a->slot == b->slot && a->tag == b->tag);
            g_assert_true(a->start_ns == b->start_ns && a->end_ns == b->end_ns);
        }
        graph_free(g);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sim/graphs/every-time-is-the-twins", test_twin);
    g_test_add_func("/sim/graphs/disturbed-runs-are-later-and-their-path-tiles", test_disturbed);
    g_test_add_func("/sim/graphs/wide-resources-change-nothing", test_wide);
    g_test_add_func("/sim/graphs/two-runs-are-equal-op-by-op", test_determinism);
    return g_test_run();
}
