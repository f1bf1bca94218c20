/* What a book holds, for the files that make it and answer from it. */
#pragma once

#include "net/rows.h"

#define NET_GRID 70 /* half octaves from 8 B to 2^37.5 B */
#define NET_GRID_FIRST_BYTES 8.0
#define NET_MODEL_DISTANCE 1.5

typedef struct {
    NetSweep sweep;
    NetCurve *asked; /* the sweep's curve, with overrides owned and scaled by what they change */
    gboolean speaks_for_others;
    double log_ratio[NET_GRID]; /* ln(measured / model) of the system as measured */
    /* Mean |ln| of what was measured over what the other sweeps say, and how near the nearest of these is. */
    double off, off_distance;
} NetAnchor;

/* Looked up, never iterated. */
typedef struct {
    GMutex lock;
    GHashTable *prepared; /* set of Prepared, owned */
} NetCache;

struct NetBook {
    NetFabric measured; /* system.conf without overrides: what the tables were measured on */
    NetFabric asked;
    gboolean changed; /* the two differ */
    NetFit fit;
    GArray *sweeps;     /* of NetSweep, owned */
    NetAnchor *anchors; /* one for each sweep, owned; their curves belong to `sweeps` */
    guint n_rows;
    NetCache *cache; /* owned; changes behind const */
    double nvlink_capacity_Bps, nic_capacity_Bps;
};

/* The model of an op and group, ready; neighbours.c. */
typedef struct NetPrepared NetPrepared;

NetCache *net_cache_new(void);
void net_cache_free(NetCache *cache);
/* What was prepared for the op and group, now or before; callers may be threads. */
const NetPrepared *net_prepared_of(const NetBook *book, NetOp op, const NetGroup *group);
const NetPlan *net_prepared_plan(const NetPrepared *prepared);
/* The sweep of that very op and group; NULL: none. */
const NetAnchor *net_prepared_own(const NetPrepared *prepared);
/* As the sweeps near it correct the model; one sigma, as sweeps tell that are left out. */
double net_prepared_ns(const NetBook *book, const NetPrepared *prepared, double bytes,
                       double *ret_error_frac);
/* Fills in how far each sweep is off when it is left out. */
void net_anchors_leave_out(const NetBook *book);

double net_grid_bytes(guint i);
/* How far the bytes are outside a sweep. */
double net_octaves_outside(const NetCurve *curve, double bytes);
