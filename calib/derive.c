/* Efficiencies from the largest copies and collectives, latencies from the smallest. */
#include "config.h"

#include "calib/derive.h"

#include <math.h>

/* Long copies: beyond caches, and launches do not count. */
#define LONG_BYTES ((int64_t)1 << 27)
#define SMALL_BYTES 4096

static double
rate_Bps(double bytes, double us)
{
    return us > 0 ? bytes / us * 1e6 : 0;
}

static void
raise(double *most, double value)
{
    if (value > *most)
        *most = value;
}

typedef struct {
    double least_us, most_us; /* of a small all-gather, in place or not */
    int least_ranks, most_ranks;
} Hops;

static void
read_memory(const CalibRow *row, CalibFigures *f, double *h2d_Bps, double *d2h_Bps, double *p2p_Bps)
{
    double rate = rate_Bps((double)row->what.memory.bytes, row->us[0]);
    switch (row->what.memory.kernel) {
    case CALIB_LAUNCH:
        f->floor_us = row->us[0];
        return;
    case CALIB_SYNC:
        f->sync_us = row->us[0];
        return;
    case CALIB_COPY:
    case CALIB_TRIAD:
        if (row->what.memory.bytes >= LONG_BYTES)
            raise(&f->copy_Bps, rate);
        return;
    case CALIB_H2D:
        raise(h2d_Bps, rate);
        return;
    case CALIB_D2H:
        raise(d2h_Bps, rate);
        return;
    case CALIB_P2P:
        raise(p2p_Bps, rate);
        return;
    default:
        return;
    }
}

/* Rings of all-gather and reduce-scatter: an all-reduce may be done by switches, beyond what links carry. A ring of
 * all GPUs crosses to the next node on each card once: what each rank sends is what all cards of a node carry. */
static void
read_collective(const CalibMachine *m, const CalibRow *row, CalibFigures *f, Hops *hops)
{
    const CalibCollective *c = &row->what.collective;
    bool ring = c->op == CALIB_ALL_GATHER || c->op == CALIB_REDUCE_SCATTER;
    double rate = rate_Bps(calib_collective_sent_bytes(c), row->us[0]);
    if (ring && c->nodes == 1 && c->ranks == m->gpus)
        raise(&f->node_Bps, rate);
    if (ring && c->nodes > 1 && c->ranks == c->nodes * m->gpus)
        raise(&f->network_Bps, rate);
    if (c->op == CALIB_SEND_RECV && c->nodes > 1 && c->ranks == c->nodes &&
        (f->message_us <= 0 || row->us[0] < f->message_us))
        f->message_us = row->us[0];
    if (c->op != CALIB_ALL_GATHER || c->nodes > 1 || c->bytes > SMALL_BYTES)
        return;
    if (hops->least_ranks == 0 || c->ranks < hops->least_ranks ||
        (c->ranks == hops->least_ranks && row->us[0] < hops->least_us)) {
        hops->least_ranks = c->ranks;
        hops->least_us = row->us[0];
    }
    if (c->ranks > hops->most_ranks ||
        (c->ranks == hops->most_ranks && row->us[0] < hops->most_us)) {
        hops->most_ranks = c->ranks;
        hops->most_us = row->us[0];
    }
}

CalibFigures
calib_derive(const CalibMachine *m, const CalibStore *rows)
{
    CalibFigures f = {0};
    Hops hops = {0};
    double h2d = 0, d2h = 0, p2p = 0;
    for (unsigned i = 0; i < calib_store_n_rows(rows); i++) {
        const CalibRow *row = calib_store_row(rows, i);
        if (row->what.kind == CALIB_CASE_MEMORY)
            read_memory(row, &f, &h2d, &d2h, &p2p);
        else if (row->what.kind == CALIB_CASE_COLLECTIVE)
            read_collective(m, row, &f, &hops);
    }
    f.host_Bps = h2d > 0 && d2h > 0 ? fmin(h2d, d2h) : fmax(h2d, d2h);
    if (!(f.node_Bps > 0))
        f.node_Bps = p2p;
    /* a ring of n ranks has n - 1 hops; the launch is in both */
    if (hops.most_ranks > hops.least_ranks)
        f.hop_us = (hops.most_us - hops.least_us) / (hops.most_ranks - hops.least_ranks);
    return f;
}
