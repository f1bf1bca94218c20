/* How fast the engine runs: ops and events a second of CPU time, ns an op, peak memory so far.
 * Usage: engine [SCALE]; 1 takes a few seconds in all, 12 runs 1024 ranks of 70 000 ops each. */
#include "config.h"

#include "sim/engine.h"

#include <stdio.h>
#include <sys/resource.h>

/* A layer-like template: compute on slot 0, a meeting on slot 1 after every second kernel, and the
 * next kernel waits for it. */
static SimTemplate *
new_layers(guint n_ops, guint port)
{
    SimTemplate *t = sim_template_new();
    guint met = G_MAXUINT;
    for (guint i = 0; i < n_ops; i++) {
        if (i % 3 == 2) {
            SimWork work = {.duration_ns = 20000 + 7 * (i % 11), .load = {1e6}};
            guint op = sim_template_add(t, 1, work, 2);
            sim_template_join(t, op, SIM_JOIN_ALL, port, FALSE);
            sim_template_wait_slot(t, op, 0);
            met = op;
            continue;
        }
        guint op = sim_template_add(t, 0, (SimWork){.duration_ns = 10000 + 13 * (i % 17)}, 1);
        if (i % 3 == 0 && met != G_MAXUINT)
            sim_template_wait_op(t, op, met);
    }
    return t;
}

static double
cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void
run(const char *what, SimEngine *e)
{
    g_autoptr(GError) error = NULL;
    double begin = cpu_seconds();
    if (!sim_engine_run(e, NULL, NULL, &error))
        g_error("%s", error->message);
    double seconds = cpu_seconds() - begin;
    double n_ops = (double)sim_engine_n_ops(e), n_events = (double)sim_engine_n_events(e);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%-37s %9.0f ops %7.3f s %6.2f Mops/s %6.2f Mevents/s %6.1f ns/op peak %ld MB\n", what,
           n_ops, seconds, n_ops / seconds * 1e-6, n_events / seconds * 1e-6, seconds / n_ops * 1e9,
           usage.ru_maxrss / 1024);
}

static void
bench_plain(double scale)
{
    g_autoptr(SimTemplate) t = sim_template_new();
    for (guint i = 0; i < 200; i++)
        sim_template_add(t, 0, (SimWork){.duration_ns = 1000 + i}, i);
    g_autoptr(SimProgram) p = sim_program_new();
    for (guint i = 0; i < (guint)(50000 * scale); i++)
        sim_program_call(p, t, 0, i);
    g_autoptr(SimEngine) e = sim_engine_new();
    sim_engine_add_rank(e, p, NULL, 0);
    run("1 rank, plain kernels", e);
}

/* `n_ranks` in groups of eight that meet; each meeting uses its eight links. */
static void
bench_groups(const char *what, guint n_ranks, guint n_calls, gboolean shared, guint n_skew)
{
    g_autoptr(SimTemplate) t = new_layers(300, 0);
    g_autoptr(SimEngine) e = sim_engine_new();
    SimProgram **programs = g_new0(SimProgram *, n_skew);
    g_autoptr(SimTemplate) skew = sim_template_new();
    sim_template_add(skew, 0, (SimWork){.duration_ns = 7001}, 3);
    for (guint k = 0; k < n_skew; k++) {
        programs[k] = sim_program_new();
        for (guint i = 0; i < k; i++)
            sim_program_call(programs[k], skew, 0, 0);
        for (guint i = 0; i < n_calls; i++)
            sim_program_call(programs[k], t, i, i);
    }
    for (guint group = 0; group < n_ranks / 8; group++) {
        guint32 meeting = sim_engine_add_meetings(e, 8, 1);
        for (guint i = 0; shared && i < 8; i++)
            sim_engine_use(e, meeting, 1, sim_engine_add_resource(e, 1e12), 0, 1);
        for (guint i = 0; i < 8; i++)
            sim_engine_add_rank(e, programs[(group * 8 + i) % n_skew], &meeting, 1);
    }
    run(what, e);
    g_clear_pointer(&e, sim_engine_free);
    for (guint k = 0; k < n_skew; k++)
        sim_program_free(programs[k]);
    g_free(programs);
}

/* Pairs of groups whose meetings contend for one link: every start and end is solved. */
static void
bench_contended(double scale)
{
    g_autoptr(SimTemplate) t = new_layers(300, 0);
    g_autoptr(SimProgram) p = sim_program_new();
    for (guint i = 0; i < (guint)(1000 * scale); i++)
        sim_program_call(p, t, i, i);
    g_autoptr(SimTemplate) skew = sim_template_new();
    sim_template_add(skew, 0, (SimWork){.duration_ns = 17001}, 3);
    g_autoptr(SimProgram) late = sim_program_new();
    sim_program_call(late, skew, 0, 0);
    for (guint i = 0; i < (guint)(1000 * scale); i++)
        sim_program_call(late, t, i, i);
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 link = sim_engine_add_resource(e, 7e10);
    for (guint group = 0; group < 4; group++) {
        guint32 meeting = sim_engine_add_meetings(e, 8, 1);
        sim_engine_use(e, meeting, 1, link, 0, 1);
        for (guint i = 0; i < 8; i++)
            sim_engine_add_rank(e, group % 2 ? late : p, &meeting, 1);
    }
    run("32 ranks, 4 groups on one short link", e);
}

/* 1024 ranks compute without a break, of 97 different lengths of kernels, beside collectives of eight on one
 * stream and of `wide` on another; each slows the other when `disturbed`. */
static void
bench_beside(const char *what, double scale, guint wide, gboolean disturbed)
{
    g_autoptr(SimEngine) e = sim_engine_new();
    g_autoptr(GPtrArray) templates =
        g_ptr_array_new_with_free_func((GDestroyNotify)sim_template_free);
    g_autoptr(GPtrArray) programs =
        g_ptr_array_new_with_free_func((GDestroyNotify)sim_program_free);
    for (guint k = 0; k < 97; k++) {
        SimTemplate *t = sim_template_new();
        SimProgram *p = sim_program_new();
        g_ptr_array_add(templates, t);
        g_ptr_array_add(programs, p);
        for (guint i = 0; i < 90; i++)
            sim_template_add(t, 0, (SimWork){.duration_ns = 10000 + 97 * i + k, .kind = 1}, 1);
        for (guint i = 0; i < 9; i++) {
            guint slot = i % 3 ? 1 : 2;
            SimWork work = {.duration_ns = slot * 40000, .load = {1e6}, .kind = 2};
            sim_template_join(t, sim_template_add(t, slot, work, 2), SIM_JOIN_ALL, slot - 1, FALSE);
        }
        for (guint i = 0; i < (guint)(50 * scale); i++)
            sim_program_call(p, t, 0, 0);
    }
    guint32 eights = sim_engine_add_meetings(e, 8, 128);
    guint32 wides = sim_engine_add_meetings(e, wide, 1024 / wide);
    for (guint rank = 0; rank < 1024; rank++) {
        const guint32 ports[] = {eights + rank / 8, wides + rank % (1024 / wide)};
        sim_engine_add_rank(e, programs->pdata[rank % 97], ports, 2);
    }
    if (disturbed) {
        sim_engine_set_interference(e, 1, 2, 0.85);
        sim_engine_set_interference(e, 2, 1, 0.9);
        sim_engine_set_interference(e, 2, 2, 0.95);
    }
    run(what, e);
}

int
main(int argc, char **argv)
{
    double scale = argc > 1 ? g_ascii_strtod(argv[1], NULL) : 1;
    bench_plain(scale);
    bench_groups("8 ranks, rendezvous of 8 with uses", 8, (guint)(2000 * scale), TRUE, 1);
    bench_groups("8 ranks, rendezvous of 8 without uses", 8, (guint)(2000 * scale), FALSE, 1);
    bench_groups("1024 ranks, 128 groups of 8, skewed", 1024, (guint)(20 * scale), TRUE, 5);
    bench_contended(scale);
    bench_beside("1024 ranks beside collectives, apart", scale, 128, FALSE);
    bench_beside("the same, slowed, groups of 8 and 128", scale, 128, TRUE);
    bench_beside("the same, slowed, groups of 8 and 1024", scale, 1024, TRUE);
    return 0;
}
