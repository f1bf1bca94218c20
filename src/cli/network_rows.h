/* Published measurements of collectives, as sweeps of one machine each.
 *
 * Columns that must be there: source collective gpu gpus nodes bytes time_us. Read when there: interconnect
 * nccl_version value_kind busbw_GBps notes quality. Rows of one source, GPU, collective, interconnect, version and
 * setup (notes: "env setup (3)") are one machine's; rows of the same size and group become their geometric mean. */
#pragma once

#include "conf/table.h"
#include "net/collective.h"

typedef struct {
    double bytes, us, log_sum;
    guint n; /* rows behind it */
} CliNetworkSample;

typedef struct {
    guint ranks, nodes;
    GArray *samples; /* of CliNetworkSample, ascending in bytes */
} CliNetworkSweep;

typedef struct {
    const char *source, *gpu, *collective, *network, *version; /* borrowed from the table */
    char *setup;                                               /* "" where notes name none */
    gboolean broken; /* quality C: a broken or unknown fabric, by who collected the rows */
    NetOp op;
    guint most_per_node; /* of its rows' ranks over nodes */
    GPtrArray *sweeps;   /* of CliNetworkSweep, by nodes, then ranks */
} CliNetworkGroup;

GPtrArray *cli_network_groups_new(void);
/* Groups in order of first appearance are added to `groups`, and rows that say nothing counted in `skipped` (array of
 * ReportSkipped). */
gboolean cli_network_read(const ConfTable *table, GPtrArray *groups, GArray *skipped,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The machine of a group: a shipped system by name, and what must be set on it. NULL and why not (static) for a GPU
 * that nothing is known of. `ret_shipped`: the shipped system has this very GPU, or one with the same links. */
const char *cli_network_system(const CliNetworkGroup *group, GPtrArray *overrides,
                               gboolean *ret_shipped, const char **ret_why);
/* An NVL72 rack is one node, whatever the source counts. */
guint cli_network_nodes(const CliNetworkGroup *group, guint ranks, guint nodes);
