/* Chakra execution traces (MLCommons): a length and GlobalMetadata, then a length and a Node for each node. Its kernels
 * come as events of a profile do, so that one code makes rows of both. */
#pragma once

#include "calibrate/chakra_node.h"
#include "calibrate/event.h"

typedef struct {
    char *type;   /* "all_reduce"; "collective": it does not say */
    gint64 bytes; /* comm_size; -1: it does not say */
    guint n;
} CalibrateChakraCollective;

/* What the user says of traces that do not. */
typedef struct {
    gint64 ranks;      /* of a collective; 0 */
    const char *dtype; /* of what is sent; NULL */
} CalibrateChakraWish;

typedef struct {
    char *schema; /* "0.0.4"; NULL: it does not say */
    guint64 n_nodes, n_of[CALIBRATE_CHAKRA_N_TYPES];
    guint64 n_timed; /* that have a duration */
    guint64
        n_given; /* of those computing that name no op, shape or stream: a generator gave it, nothing ran */
    guint64 n_kernels;    /* of those the GPU's */
    guint64 n_begun;      /* of those that say when they began */
    guint n_streams;      /* of the GPU's, at most 2 are counted */
    gint64 first_stream;  /* -1 */
    GArray *collectives;  /* of CalibrateChakraCollective, the first kinds; each once */
    gboolean is_leavings; /* no trace, but what macOS put beside one: nothing was read */
} CalibrateChakra;
void calibrate_chakra_init(CalibrateChakra *about);
void calibrate_chakra_clear(CalibrateChakra *about);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CalibrateChakra, calibrate_chakra_clear)

/* Complaints say the byte of the (unpacked) file. A trace of which no node has a duration is an error that says how many
 * nodes of which type there are. `ret_header` is to be cleared in any case, as is `ret_about`. */
gboolean calibrate_chakra_load(const char *path, const CalibrateChakraWish *wish,
                               CalibrateEventFunc func, gpointer user, CalibrateHeader *ret_header,
                               CalibrateChakra *ret_about,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean calibrate_chakra_parse(const char *name, const void *bytes, gsize n,
                                const CalibrateChakraWish *wish, CalibrateEventFunc func,
                                gpointer user, CalibrateHeader *ret_header,
                                CalibrateChakra *ret_about,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* "35 nodes: 14 send, 14 recv, 7 compute"; "1 node: 1 collective (all_reduce 1MiB)". Caller frees. */
char *calibrate_chakra_text(const CalibrateChakra *about);
