/* Which nodes of a fabric a job gets.
 *
 *   contiguous     the first n
 *   random         n of N, each choice as likely; ascending, as batch systems hand them out
 *   fragmented:K   runs of K neighbours (the last may be shorter) with others between them; runs and free nodes in
 *                  random order, at least one node between two runs */
#include "config.h"

#include <string.h>

#include "plan/resolve.h"
#include "sim/random.h"

/* n of N things, ascending: the i-th is taken with probability (still wanted) / (still there). */
static GArray *
draw(SimRandom *random, guint n, guint all)
{
    GArray *taken = g_array_sized_new(FALSE, FALSE, sizeof(guint), n);

    for (guint i = 0; i < all && taken->len < n; i++)
        if (sim_random_below(random, all - i) < n - taken->len)
            g_array_append_val(taken, i);
    return taken;
}

static GArray *
draw_runs(SimRandom *random, guint n, guint run, guint all)
{
    guint runs = (n + run - 1) / run;
    /* each run, with the one node that must be behind it, is one thing among free nodes */
    g_autoptr(GArray) places = draw(random, runs, all + 1 - n);
    GArray *taken = g_array_sized_new(FALSE, FALSE, sizeof(guint), n);

    for (guint i = 0; i < runs; i++) {
        guint node = g_array_index(places, guint, i) + taken->len;
        for (guint k = 0; k < run && taken->len < n; k++, node++)
            g_array_append_val(taken, node);
    }
    return taken;
}

/* The K of "fragmented:K". */
static gboolean
read_run(const char *text, gint64 *ret, GError **error)
{
    guint64 value;

    if (!g_ascii_string_to_unsigned(text, 10, 1, PLAN_MAX_GPUS, &value, NULL))
        return plan_refuse(error,
                           "--allocation: 'fragmented:%s' has no count of nodes in a run; "
                           "write fragmented:4",
                           text);
    *ret = (gint64)value;
    return TRUE;
}

static gboolean
check_fabric(PlanSpec *spec, gint64 n, gint64 least, GError **error)
{
    if (spec->fabric_nodes == 0 && strcmp(spec->allocation, "contiguous") != 0)
        spec->fabric_nodes = 2 * n;
    if (spec->fabric_nodes != 0 && spec->fabric_nodes < least)
        return plan_refuse(error,
                           "--fabric-nodes: " PLAN_D
                           " nodes are too few for --allocation %s of " PLAN_D
                           " nodes; write " PLAN_D " or more",
                           spec->fabric_nodes, spec->allocation, n, least);
    return TRUE;
}

GArray *
plan_allocate_nodes(PlanSpec *spec, gint64 n, GError **error)
{
    if (spec->allocation == NULL)
        spec->allocation = "contiguous";
    gboolean runs = g_str_has_prefix(spec->allocation, "fragmented:");
    gboolean random = strcmp(spec->allocation, "random") == 0;
    gint64 run = n;
    if (!runs && !random && strcmp(spec->allocation, "contiguous") != 0) {
        plan_refuse(error,
                    "--allocation: '%s' is not known; write contiguous, random or fragmented:4",
                    spec->allocation);
        return NULL;
    }
    if (runs && !read_run(spec->allocation + strlen("fragmented:"), &run, error))
        return NULL;
    gint64 least = n + (n + run - 1) / run - 1;
    if (!check_fabric(spec, n, least, error))
        return NULL;
    SimRandom stream = sim_random_init((guint64)spec->seed, "allocation", 0);
    if (random)
        return draw(&stream, (guint)n, (guint)spec->fabric_nodes);
    return draw_runs(&stream, (guint)n, (guint)run, runs ? (guint)spec->fabric_nodes : (guint)n);
}
