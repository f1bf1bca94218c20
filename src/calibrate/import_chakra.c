/* Chakra execution traces -> rows, as of a profile; their durations are whole microseconds. */
#include "config.h"

#include "calibrate/chakra.h"
#include "calibrate/import.h"

typedef struct {
    CalibrateChakraWish wish;
    CalibrateChakra about;
} Gathering;

static gboolean
gather(const char *path, CalibrateEventFunc func, gpointer func_user, CalibrateHeader *header,
       gpointer user, GError **error)
{
    Gathering *g = user;
    return calibrate_chakra_load(path, &g->wish, func, func_user, header, &g->about, error);
}

/* What rows rest on that a profile would say. */
static void
note_doubts(CalibrateImport *import, const char *path, const CalibrateChakra *about)
{
    if (about->n_given > 0)
        calibrate_import_note(import,
                              "%s: %" G_GUINT64_FORMAT " nodes have a duration that a generator of "
                              "traces gave, and are left out",
                              path, about->n_given);
    if (about->n_begun < about->n_kernels && about->n_streams > 1)
        calibrate_import_note(import,
                              "%s: kernels of several streams do not say when they began: taken as "
                              "if each had run alone",
                              path);
}

/* Ranks and nodes that the user says are GPUs of a node, which profiles count nodes by. */
static void
take_nodes(CalibrateImport *import)
{
    if (import->per_node == 0 && import->nodes > 0 && import->ranks % import->nodes == 0)
        import->per_node = import->ranks / import->nodes;
}

gboolean
calibrate_import_chakra(CalibrateImport *import, const char *path, CalibrateTrace **ret_trace,
                        GError **error)
{
    Gathering g = {.wish = {import->ranks, import->dtype}};
    g_autoptr(CalibrateTrace) trace = calibrate_trace_gather(path, gather, &g, error);
    g_auto(CalibrateChakra) about = g.about;
    if (trace == NULL)
        return FALSE;
    if (about.is_leavings) {
        calibrate_import_note(import, "%s: is what macOS puts beside files, and left out", path);
        *ret_trace = NULL;
        return TRUE;
    }
    trace->n_events = about.n_nodes;
    note_doubts(import, path, &about);
    take_nodes(import);
    if (!import->tells_only && !calibrate_import_trace(import, trace, error))
        return FALSE;
    *ret_trace = g_steal_pointer(&trace);
    return TRUE;
}
