/* Single figures from many rows. Each is 0 where the rows do not say it. */
#pragma once

#include "calib/nominal.h"
#include "calib/store.h"

typedef struct {
    double floor_us; /* launch interval */
    double sync_us;  /* launch and synchronise */
    double copy_Bps; /* the fastest long copy */
    double host_Bps; /* the slower of the fastest to and from the host */
    double
        node_Bps; /* what a GPU sends in a large collective of all GPUs of a node, or in a copy to a peer */
    double hop_us;      /* in a node: what one more rank adds to a small all-gather */
    double network_Bps; /* of all cards of a node, in a large collective over nodes */
    double message_us;  /* smallest send and receive over nodes */
} CalibFigures;

CalibFigures calib_derive(const CalibMachine *machine, const CalibStore *rows);
