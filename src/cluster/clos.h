/* Leaf switches, spines above them, and with three levels cores above these: what rail and fat tree fabrics share.
 *
 *     core        (v, u)                       width W = parallel uplinks of a leaf (ideal: 1, of the summed rate),
 *     spines  u = 0 .. W-1 of each pod         spine width V = uplinks of one spine
 *     leaves      sets x rails
 *
 * Uplink u of a leaf goes to spine u of its pod, uplink v of spine u to core (u, v): so the way down follows from
 * the way up. Links: for each leaf and u up, down; then for each pod, u and v up, down. Rates: what is below over
 * the oversubscription; of a set that is not full as of a full one. */
#pragma once

#include "cluster/parts.h"

/* `rails` leaves for each set of nodes, each of which joins `cards` cards of each node. */
gboolean cluster_clos_plan(ClusterTopology *t, guint rails, guint cards, GError **error);
ClusterTopoLink cluster_clos_link(const ClusterTopology *t, guint link);
/* Caller frees; `of_rails`: names say the rail. */
char *cluster_clos_name(const ClusterTopology *t, guint link, gboolean of_rails);
/* From leaf to leaf. */
void cluster_clos_route(const ClusterTopology *t, guint leaf, guint other, const ClusterPair *pair,
                        ClusterWay *way);
/* `leaf[i]` is of ends[i]. */
void cluster_clos_spread(const ClusterTopology *t, const ClusterEnd *ends, const guint *leaf,
                         guint n, double *load);
guint cluster_clos_distance(const ClusterTopology *t, guint leaf, guint other);
