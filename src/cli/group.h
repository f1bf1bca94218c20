/* The members of one collective that the user names by counts. */
#pragma once

#include "net/collective.h"

typedef struct {
    gint64 gpus, nodes; /* 0: not given */
} CliGroupWish;

/* `gpus` alone: nodes are filled one after the other. Both: the nodes get as many each, the first ones one more where
 * that does not come out even. `nodes` alone: all their GPUs. Neither: all nodes that a
 * one-line system names, else one. */
gboolean cli_group_place(const CliGroupWish *wish, const ClusterSystem *system, NetGroup *ret_group,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* "all_reduce", "AllReduce", "alltoall", "sendrecv", "all_reduce_perf" ... */
gboolean cli_op_parse(const char *text, int *ret_op, GError **error) G_GNUC_WARN_UNUSED_RESULT;
