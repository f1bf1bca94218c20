/* Coordinates and covariates of a GEMM's tiles.
 *
 * Coordinates, where waves = tiles/SMs of the better of a tile and its transpose:
 *   lost(256x128), lost(128x128): share log2(ceil(waves)/waves), at most a doubling
 *   cached: (1 - share) x what of the operands lay in the L2 cache
 *   ragged: m is no multiple of 64
 * share: of compute in compute^4 + memory^4, as in the reference: a kernel bound by memory does not care for waves,
 * one bound by compute not for caches.
 *
 * Cached: measuring programs rotate weights so that each call finds its own cold, but not always enough of them. The
 * public sweeps keep as many as fill the cache, ROTATED at most, so that small ones, and those of which a whole number
 * fills the cache, are read from there: GPUs with a large cache and slow memory show it plainly (L40S and RTX PRO
 * 6000, m = 16, n k at 96 MiB: 2 to 2.4 times the rate of memory; at 105 MiB: 0.8 times). */
#include "config.h"

#include "cost/tiling.h"

#include "cost/roofline.h"

#include <math.h>

#define ROTATED 5
/* So much more than the cache holds, and nothing of it is left when its turn comes. */
#define THRASHES 0.1
/* The cache's rate over that of memory; its factor in the end is fitted. */
#define CACHE_RATE 3
/* Coordinates that differ so much are so many doublings of a shape apart: least error of rows left out of an A100,
 * H200, B200 and L40S, and flat around. */
#define CACHED 2.5
#define RAGGED 0.6
#define RAGGED_OF 64

static const struct {
    gint64 m, n;
} tiles[] = {{256, 128}, {192, 128}, {128, 128}, {64, 64}};

static double
lost(const ClusterSystem *system, const CostGemm *g, gint64 m, gint64 n)
{
    double waves = cost_gemm_tiles(g, m, n) / (double)system->n_sms;
    return MIN(1, log2(ceil(waves) / waves));
}

static double
cached(const ClusterSystem *system, const CostGemm *g)
{
    if (system->l2_bytes == 0)
        return 0;
    double bytes = cluster_dtype_bytes(g->dtype), cache = (double)system->l2_bytes;
    double weights = (double)g->batch * (double)g->n * (double)g->k * bytes;
    double used = MIN(ROTATED, ceil(cache / weights)) * weights + cost_gemm_bytes(g) - weights;
    return CLAMP(1 - (used / cache - 1) / THRASHES, 0, 1);
}

void
cost_tiling_axes(const ClusterSystem *system, const CostGemm *g, double ret[COST_TILING_AXES])
{
    double share = cost_gemm_compute_share(system, g);
    ret[0] = share * lost(system, g, 256, 128);
    ret[1] = share * lost(system, g, 128, 128);
    ret[2] = CACHED * (1 - share) * cached(system, g);
    ret[3] = g->m % RAGGED_OF != 0 ? RAGGED : 0;
}

/* With as much from the cache as is there; mostly that is nothing, and a reference is not found twice. */
static double
cached_reference_ns(const ClusterSystem *system, const CostGemm *g, double reference_ns)
{
    double in_cache = cached(system, g);
    if (in_cache <= 0)
        return reference_ns;
    ClusterSystem faster = *system; /* shallow: only read */
    double slower = 1 - in_cache * (1 - 1.0 / CACHE_RATE);
    faster.memory_Bps = (gint64)((double)system->memory_Bps / slower);
    return cost_gemm_reference_ns(&faster, g);
}

void
cost_tiling_covariates(const ClusterSystem *system, const CostGemm *g, double reference_ns,
                       double ret[COST_TILING_COVARIATES])
{
    G_STATIC_ASSERT(COST_TILING_COVARIATES == 2 * G_N_ELEMENTS(tiles) + 2);
    guint n = 0;
    for (guint i = 0; i < G_N_ELEMENTS(tiles); i++)
        for (int last_wave = 0; last_wave <= 1; last_wave++)
            ret[n++] = log(cost_gemm_tiled_ns(system, g, tiles[i].m, tiles[i].n, last_wave) /
                           reference_ns);
    ret[n++] = log(1 - 2 * (double)system->kernel_floor_ns / reference_ns);
    ret[n] = log(cached_reference_ns(system, g, reference_ns) / reference_ns);
}
