/* A pipeline of blocking exchanges on the bare engine: its makespan has a closed form. */
#include "config.h"

#include "sim/engine.h"

/* One rank of blocking 1F1B: slot 0 computes, 1 sends, 2 receives; a batch waits for everything
 * before it and is waited for by everything after it. */
enum { PORT_F_IN, PORT_F_OUT, PORT_B_IN, PORT_B_OUT, N_PORTS };

typedef struct {
    SimTemplate *forward, *backward, *transfer[N_PORTS];
} Pieces;

static void
exchange(SimProgram *p, const Pieces *pieces, int out, int in)
{
    for (guint slot = 1; slot <= 2; slot++)
        for (guint on = 0; on <= 2; on++)
            sim_program_wait(p, slot, on, sim_program_launched(p, on));
    if (out >= 0)
        sim_program_call(p, pieces->transfer[out], 0, 0);
    if (in >= 0)
        sim_program_call(p, pieces->transfer[in], 0, 0);
    for (guint on = 1; on <= 2; on++)
        sim_program_wait(p, 0, on, sim_program_launched(p, on));
}

static SimProgram *
new_1f1b(const Pieces *pieces, guint rank, guint n_ranks, guint n_microbatches)
{
    SimProgram *p = sim_program_new();
    guint warm_up = MIN(n_ranks - 1 - rank, n_microbatches), steady = n_microbatches - warm_up;
    int f_in = rank > 0 ? PORT_F_IN : -1, b_out = rank > 0 ? PORT_B_OUT : -1;
    int f_out = rank + 1 < n_ranks ? PORT_F_OUT : -1, b_in = rank + 1 < n_ranks ? PORT_B_IN : -1;
    for (guint i = 0; i < warm_up; i++) {
        exchange(p, pieces, -1, f_in);
        sim_program_call(p, pieces->forward, 0, 0);
        exchange(p, pieces, f_out, -1);
    }
    if (steady > 0)
        exchange(p, pieces, -1, f_in);
    for (guint i = 0; i < steady; i++) {
        sim_program_call(p, pieces->forward, 0, 0);
        exchange(p, pieces, f_out, b_in);
        sim_program_call(p, pieces->backward, 0, 0);
        exchange(p, pieces, b_out, i + 1 < steady ? f_in : -1);
    }
    for (guint i = 0; i < warm_up; i++) {
        exchange(p, pieces, -1, b_in);
        sim_program_call(p, pieces->backward, 0, 0);
        exchange(p, pieces, b_out, -1);
    }
    return p;
}

static gint64
run_1f1b(guint n_ranks, guint n_microbatches, gint64 f_ns, gint64 b_ns, gint64 c_ns)
{
    Pieces pieces = {.forward = sim_template_new(), .backward = sim_template_new()};
    sim_template_add(pieces.forward, 0, (SimWork){.duration_ns = f_ns}, 1);
    sim_template_add(pieces.backward, 0, (SimWork){.duration_ns = b_ns}, 2);
    for (guint port = 0; port < N_PORTS; port++) {
        pieces.transfer[port] = sim_template_new();
        guint slot = port == PORT_F_OUT || port == PORT_B_OUT ? 1 : 2;
        guint op =
            sim_template_add(pieces.transfer[port], slot, (SimWork){.duration_ns = c_ns}, 3 + port);
        sim_template_join(pieces.transfer[port], op, SIM_JOIN_ALL, port, FALSE);
    }
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 forward = sim_engine_add_meetings(e, 2, n_ranks + 1);
    guint32 backward = sim_engine_add_meetings(e, 2, n_ranks + 1);
    g_autoptr(GPtrArray) programs =
        g_ptr_array_new_with_free_func((GDestroyNotify)sim_program_free);
    for (guint r = 0; r < n_ranks; r++) {
        guint32 ports[N_PORTS] = {[PORT_F_IN] = forward + r,
                                  [PORT_F_OUT] = forward + r + 1,
                                  [PORT_B_IN] = backward + r + 1,
                                  [PORT_B_OUT] = backward + r};
        g_ptr_array_add(programs, new_1f1b(&pieces, r, n_ranks, n_microbatches));
        sim_engine_add_rank(e, programs->pdata[r], ports, N_PORTS);
    }
    g_autoptr(GError) error = NULL;
    g_assert_true(sim_engine_run(e, NULL, NULL, &error));
    g_assert_no_error(error);
    gint64 makespan_ns = sim_engine_now(e);
    sim_template_free(pieces.forward);
    sim_template_free(pieces.backward);
    for (guint port = 0; port < N_PORTS; port++)
        sim_template_free(pieces.transfer[port]);
    return makespan_ns;
}

static void
test_1f1b(void)
{
    /* Makespans by an independent list executor. For P >= 3 and M >= P they are
     * (M+P-1)(F+B) + (2M+2P-5) c, for P = 2 (M+1)(F+B) + (M+1) c. */
    static const struct {
        guint p, m;
        gint64 f, b, c, makespan;
    } rows[] = {
        {2, 2, 2, 4, 1, 21},    {2, 2, 10, 20, 1, 93},  {2, 4, 3, 5, 1, 45}, {3, 3, 2, 4, 1, 37},
        {3, 3, 3, 5, 1, 47},    {3, 3, 10, 20, 1, 157}, {3, 4, 2, 4, 1, 45}, {3, 4, 3, 5, 1, 57},
        {3, 4, 10, 20, 1, 189}, {3, 6, 2, 4, 1, 61},
    };
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpint(run_1f1b(rows[i].p, rows[i].m, rows[i].f, rows[i].b, rows[i].c), ==,
                        rows[i].makespan);
    for (gint64 p = 2; p <= 6; p++)
        for (gint64 m = p; m <= 3 * p; m += 2) {
            gint64 transfers = p == 2 ? m + 1 : 2 * m + 2 * p - 5;
            g_assert_cmpint(run_1f1b(p, m, 1000, 2000, 10), ==,
                            (m + p - 1) * 3000 + transfers * 10);
            g_assert_cmpint(run_1f1b(p, m, 1000, 2000, 0), ==, (m + p - 1) * 3000);
        }
}

static void
test_determinism(void)
{
    g_assert_cmpint(run_1f1b(4, 9, 101, 203, 7), ==, run_1f1b(4, 9, 101, 203, 7));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sim/pipeline/blocking-1f1b-has-its-closed-form", test_1f1b);
    g_test_add_func("/sim/pipeline/two-runs-are-equal", test_determinism);
    return g_test_run();
}
