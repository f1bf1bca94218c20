/* Least and guessed times.
 *
 * GEMM, as src/cost/roofline.c: C is cut into tiles, one to an SM; tiles / SMs are rounded up by a part of the last wave;
 * the sum over k may be split; the best of all tiles and splits, each the longer of computing and moving. */
#include "config.h"

#include "calib/nominal.h"

#include <math.h>

static const struct {
    int m, n;
    double reach; /* of the peak, relative to the best tile */
} tiles[] = {{256, 128, 1.0}, {128, 256, 1.0}, {192, 128, 0.97}, {128, 192, 0.97}, {128, 128, 0.93},
             {128, 64, 0.80}, {64, 128, 0.80}, {64, 64, 0.68},   {32, 64, 0.40},   {64, 32, 0.40}};
#define LAST_WAVE 0.4
#define ACCUMULATE_EXPOSED 0.3 /* of a wgrad's fp32 sums: not hidden */

/* What runs instead where there is no such unit. */
static double
peak(const CalibNominal *gpu, CalibDtype dtype)
{
    if (gpu->peak_flops[dtype] > 0)
        return gpu->peak_flops[dtype];
    if (dtype == CALIB_FP8 && gpu->peak_flops[CALIB_FP16] > 0)
        return gpu->peak_flops[CALIB_FP16];
    return gpu->peak_flops[CALIB_FP32];
}

static double
waves_of(double tiles_per_sm)
{
    double waves = tiles_per_sm + LAST_WAVE * (ceil(tiles_per_sm) - tiles_per_sm);
    return waves < 1 ? 1 : waves;
}

/* A grouped GEMM is a batch of as many, each of its share. */
static CalibGemm
batch_of(const CalibGemm *gemm)
{
    CalibGemm g = *gemm;
    if (g.groups > 1) {
        int64_t *rows = g.pass == CALIB_WGRAD ? &g.k : &g.m;
        *rows = (*rows + g.groups - 1) / g.groups;
        g.batch *= g.groups;
        g.groups = 1;
    }
    return g;
}

double
calib_gemm_roofline_us(const CalibNominal *gpu, const CalibGemm *gemm)
{
    CalibGemm g = batch_of(gemm);
    double m = (double)g.m, n = (double)g.n, k = (double)g.k, batch = (double)g.batch;
    double rate = gpu->memory_Bps * gpu->memory_frac, best = HUGE_VAL;
    double each = calib_dtype_bytes(g.dtype), moved = batch * (m * k + k * n + m * n) * each;
    double flops_per_sm = peak(gpu, g.dtype) / gpu->sms;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        double count = batch * ceil(m / tiles[i].m) * ceil(n / tiles[i].n);
        double tile_flops = 2.0 * tiles[i].m * tiles[i].n * k;
        for (int split = 1; split <= 16; split *= 2) {
            if (split > 1 && (k / split < 512 || count * split > 2 * gpu->sms))
                break;
            double compute = waves_of(count * split / gpu->sms) * tile_flops / split /
                             flops_per_sm / tiles[i].reach;
            double partial = split > 1 ? 8.0 * batch * m * n * split : 0;
            double memory = (moved + partial) / rate;
            double longer = compute > memory ? compute : memory;
            best = longer < best ? longer : best;
        }
    }
    if (g.pass == CALIB_WGRAD)
        best += ACCUMULATE_EXPOSED * batch * m * n * (8 - each) / rate;
    return best * 1e6;
}

/* --- guesses ------------------------------------------------------------------------------------ */

/* Usual shares of rooflines, and NCCL's time of a small message per halving of the group. */
#define GEMM_FRAC 0.7
#define ATTENTION_FRAC 0.5
#define LINK_FRAC 0.8
#define HOP_US 6.0
#define NETWORK_HOP_US 20.0

static double
guess_memory(const CalibNominal *gpu, const CalibMemory *m)
{
    double rate = gpu->memory_Bps * gpu->memory_frac;
    if (m->kernel == CALIB_H2D || m->kernel == CALIB_D2H)
        rate = gpu->pcie_Bps;
    if (m->kernel == CALIB_P2P)
        rate = gpu->nvlink_Bps > 0 ? gpu->nvlink_Bps * LINK_FRAC : gpu->pcie_Bps;
    return gpu->floor_us + (double)m->bytes / rate * 1e6;
}

static double
guess_attention(const CalibNominal *gpu, const CalibAttention *a)
{
    return gpu->floor_us + calib_attention_flops(a) / (peak(gpu, a->dtype) * ATTENTION_FRAC) * 1e6;
}

static double
guess_collective(const CalibNominal *gpu, const CalibCollective *c)
{
    if (c->op == CALIB_COPY_ENGINE)
        return gpu->floor_us + (double)c->bytes / gpu->pcie_Bps * 1e6;
    double rate = gpu->nvlink_Bps > 0 ? gpu->nvlink_Bps : gpu->pcie_Bps;
    if (c->nodes > 1 && gpu->nic_Bps < rate)
        rate = gpu->nic_Bps;
    double hops = ceil(log2(c->ranks)) * (c->nodes > 1 ? NETWORK_HOP_US : HOP_US);
    return hops + calib_collective_sent_bytes(c) / (rate * LINK_FRAC) * 1e6;
}

static double
guess_gemm(const CalibNominal *gpu, const CalibGemm *g)
{
    return gpu->floor_us + calib_gemm_roofline_us(gpu, g) / GEMM_FRAC;
}

double
calib_case_guess_us(const CalibNominal *gpu, const CalibCase *what)
{
    switch (what->kind) {
    case CALIB_CASE_GEMM:
        return guess_gemm(gpu, &what->gemm);
    case CALIB_CASE_MEMORY:
        return guess_memory(gpu, &what->memory);
    case CALIB_CASE_ATTENTION:
        return guess_attention(gpu, &what->attention);
    case CALIB_CASE_COLLECTIVE:
        return guess_collective(gpu, &what->collective);
    case CALIB_CASE_OVERLAP: {
        const CalibOverlap *o = &what->overlap;
        double work = o->work == CALIB_WORK_GEMM        ? guess_gemm(gpu, &o->gemm)
                      : o->work == CALIB_WORK_ATTENTION ? guess_attention(gpu, &o->attention)
                                                        : guess_memory(gpu, &o->memory);
        /* alone, and beside each other until the longer one has ended some times */
        return 6 * (work + guess_collective(gpu, &o->traffic));
    }
    case CALIB_N_CASES:
        break;
    }
    return 0;
}
