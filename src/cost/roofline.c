/* Rooflines with tile and wave quantisation.
 *
 * GEMM: C[m,n] is cut into tiles of tm x tn, one tile occupies one SM:
 *   tiles   = batch ceil(m/tm) ceil(n/tn) s          s: ways the sum over k is split
 *   waves   = tiles/SMs, rounded up by a part (LAST_WAVE) of what is missing; at least 1
 *   compute = waves SMs tm tn 2 (k/s) / (peak e)     e: what the tile's shape can reach
 *   memory  = (m k + k n + m n) batch bytes / HBM rate (+ partial sums when s > 1)
 *   roofline = min over tile shapes and s of max(compute, memory)
 * What measured times are compared with, so that little is left to interpolate, has more:
 *   reference = start + min of (compute^4 + memory^4)^(1/4), k/s + fill for k/s
 * start: what does not depend on the shape; fill: what the first loads and the stores of a tile take;
 * where compute and memory take as long neither hides the other wholly.
 * cuBLAS picks tile shape and split the same way in spirit; the constants e are fitted so that
 * measured efficiency against this roofline varies smoothly from shape to shape (least error of
 * rows left out, and of shapes between those of the shipped tables); fill, start and the fourth power:
 * least error of 90 % of the rows of five GPUs from the other 10 %, README.md, dtsim validate).
 * An fp32 accumulation into C reads and writes 4 bytes an element at the tile's end, when nothing
 * of that tile is left to compute: a part of it adds to the time instead of hiding behind the
 * multiplications. */
#include "config.h"

#include "cost/roofline.h"

#include <math.h>

static const struct {
    int m, n;
    double reach; /* of the peak, relative to the best tile */
} tiles[] = {{256, 128, 1.0}, {128, 256, 1.0}, {192, 128, 0.97}, {128, 192, 0.97}, {128, 128, 0.93},
             {128, 64, 0.80}, {64, 128, 0.80}, {64, 64, 0.68},   {32, 64, 0.40},   {64, 32, 0.40}};

/* How hard the last wave counts: 1 = as a full one, 0 = as the share of SMs it fills. Its tiles
 * have caches and HBM to themselves and newer kernels share a tile among SMs. Fitted like e. */
#define LAST_WAVE 0.4

/* Share of the accumulation's bytes that is not hidden: fitted to wgrad rows of an A100 with k =
 * 4096. */
#define ACCUMULATE_EXPOSED 0.3

double
cost_peak_flops(const ClusterSystem *system, ClusterDtype dtype)
{
    static const ClusterDtype wider[CLUSTER_N_DTYPES][4] = {
        [CLUSTER_FP32] = {CLUSTER_FP32, CLUSTER_FP32, CLUSTER_FP32, CLUSTER_FP32},
        [CLUSTER_TF32] = {CLUSTER_TF32, CLUSTER_FP32, CLUSTER_FP32, CLUSTER_FP32},
        [CLUSTER_FP16] = {CLUSTER_FP16, CLUSTER_FP32, CLUSTER_FP32, CLUSTER_FP32},
        [CLUSTER_BF16] = {CLUSTER_BF16, CLUSTER_FP32, CLUSTER_FP32, CLUSTER_FP32},
        [CLUSTER_FP8] = {CLUSTER_FP8, CLUSTER_FP16, CLUSTER_BF16, CLUSTER_FP32},
    };
    for (guint i = 0; i < 4; i++)
        if (system->peak_flops[wider[dtype][i]] > 0)
            return (double)system->peak_flops[wider[dtype][i]];
    g_assert_not_reached(); /* loading checked that fp32 has a peak */
}

/* In elements of k, of every tile. */
#define FILL 64.0
/* In launch intervals: a lone small GEMM is as long as one, with what all GEMMs have in common the
 * efficiency of small ones varies less. */
#define START 3.0
#define ATTENTION_START 6.0 /* of a fused attention; fitted to forward passes of nine GPUs */

static double
waves_with(double tiles_per_sm, double last_wave)
{
    return MAX(1, tiles_per_sm + last_wave * (ceil(tiles_per_sm) - tiles_per_sm));
}

static double
waves_of(double tiles_per_sm)
{
    return waves_with(tiles_per_sm, LAST_WAVE);
}

/* (a^4 + b^4)^(1/4) */
static double
sum4(double a, double b)
{
    double a2 = a * a, b2 = b * b;
    return sqrt(sqrt(a2 * a2 + b2 * b2));
}

double
cost_gemm_bytes(const CostGemm *g)
{
    double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    return (double)g->batch * (m * k + k * n + m * n) * cluster_dtype_bytes(g->dtype);
}

/* The least time over tile shapes and ways of splitting, in s; `as_measured`: of the reference. */
static double
least_s(const ClusterSystem *system, const CostGemm *g, double sms, gboolean as_measured)
{
    double rate = (double)system->memory_Bps * system->memory_efficiency;
    double flops_per_sm = cost_peak_flops(system, g->dtype) / (double)system->n_sms;
    double outputs = (double)g->batch * (double)g->m * (double)g->n;
    double fill = as_measured ? FILL : 0, best = HUGE_VAL;
    for (guint i = 0; i < G_N_ELEMENTS(tiles); i++) {
        double count =
            (double)g->batch * ceil((double)g->m / tiles[i].m) * ceil((double)g->n / tiles[i].n);
        double area = 2.0 * tiles[i].m * tiles[i].n;
        for (int split = 1; split <= 16; split *= 2) {
            if (split > 1 && (g->k / split < 512 || count * split > 2 * sms))
                break;
            double tile_flops = area * (double)g->k / split + area * fill;
            double compute =
                waves_of(count * split / sms) * tile_flops / flops_per_sm / tiles[i].reach;
            double partial =
                split > 1 ? 8.0 * outputs * split : 0; /* fp32 sums, written and read */
            double memory = (cost_gemm_bytes(g) + partial) / rate;
            best = MIN(best, as_measured ? sum4(compute, memory) : MAX(compute, memory));
        }
    }
    if (g->accumulate_fp32)
        best += ACCUMULATE_EXPOSED * outputs * (8.0 - cluster_dtype_bytes(g->dtype)) / rate;
    return best;
}

double
cost_gemm_roofline_on(const ClusterSystem *system, const CostGemm *g, double sms)
{
    return least_s(system, g, sms, FALSE) * 1e9;
}

double
cost_gemm_roofline_ns(const ClusterSystem *system, const CostGemm *g)
{
    return cost_gemm_roofline_on(system, g, (double)system->n_sms);
}

double
cost_gemm_reference_ns(const ClusterSystem *system, const CostGemm *g)
{
    return least_s(system, g, (double)system->n_sms, TRUE) * 1e9 +
           START * (double)system->kernel_floor_ns;
}

static double
tiles_of(const CostGemm *g, gint64 tm, gint64 tn)
{
    return (double)g->batch * ceil((double)g->m / (double)tm) * ceil((double)g->n / (double)tn);
}

double
cost_gemm_tiles(const CostGemm *g, gint64 tm, gint64 tn)
{
    return MIN(tiles_of(g, tm, tn), tiles_of(g, tn, tm));
}

double
cost_gemm_tiled_ns(const ClusterSystem *system, const CostGemm *g, gint64 tm, gint64 tn,
                   double last_wave)
{
    double sms = (double)system->n_sms;
    double tile_flops = 2.0 * (double)tm * (double)tn * ((double)g->k + FILL);
    double waves = waves_with(cost_gemm_tiles(g, tm, tn) / sms, last_wave);
    double compute = waves * tile_flops * sms / cost_peak_flops(system, g->dtype);
    double memory = cost_gemm_bytes(g) / ((double)system->memory_Bps * system->memory_efficiency);
    return sum4(compute, memory) * 1e9 + START * (double)system->kernel_floor_ns;
}

double
cost_gemm_compute_share(const ClusterSystem *system, const CostGemm *g)
{
    double flops = 2.0 * (double)g->batch * (double)g->m * (double)g->n * (double)g->k;
    double compute = flops / cost_peak_flops(system, g->dtype);
    double memory = cost_gemm_bytes(g) / ((double)system->memory_Bps * system->memory_efficiency);
    double compute2 = compute * compute, memory2 = memory * memory;
    return compute2 * compute2 / (compute2 * compute2 + memory2 * memory2);
}

static gint64
alignment_of(gint64 a, gint64 b)
{
    gint64 bits = a | b | 16;
    return bits & -bits; /* the largest power of two, up to 16, that divides both */
}

double
cost_gemm_misalignment(const CostGemm *g)
{
    /* Distance between rows as PyTorch stores them: forward x[m,k] W[n,k] y[m,n]; dgrad dy[m,k]
     * W[k,n] dx[m,n]; wgrad dy[k,m] x[k,n] dW[m,n]. m of a forward GEMM may be anything. */
    gint64 rows = g->pass == COST_GEMM_WGRAD ? alignment_of(g->m, g->n) : alignment_of(g->k, g->n);
    gint64 bytes = rows * cluster_dtype_bytes(g->dtype);
    /* Tensor cores are fed by 16-byte loads; shorter ones cost issue slots. That a vocabulary of
     * 50257 instead of 50304 makes the bf16 head of a GPT-2 about twice as slow on A100 fixes the
     * last step, the others lie between
     * (NVIDIA's matrix multiplication guide shows the order, not the sizes). fp32 units do not
     * care. */
    if (g->dtype == CLUSTER_FP32 || bytes >= 16)
        return 1;
    return bytes >= 8 ? 1.15 : bytes >= 4 ? 1.5 : 2.0;
}

static double
value_dim(const CostAttention *a)
{
    return (double)(a->v_dim > 0 ? a->v_dim : a->head_dim);
}

/* Two products forward: q k^T over head_dim, p v over v_dim; five backward: q k^T again, dq and dk over
 * head_dim, do v^T and dv over v_dim. */
double
cost_attention_flops(const CostAttention *a)
{
    double pairs = (double)a->batch * (double)a->heads * (double)a->seq_q * (double)a->seq_kv;
    double d = (double)a->head_dim, v = value_dim(a);
    return 2.0 * pairs * (a->backward ? 3.0 * d + 2.0 * v : d + v) * (a->causal ? 0.5 : 1.0);
}

/* forward reads q k v, writes o; backward reads q k v o do and writes dq dk dv */
double
cost_attention_bytes(const CostAttention *a)
{
    double width = (double)a->head_dim + value_dim(a);
    double q = (double)a->batch * (double)a->heads * (double)a->seq_q * width;
    double kv = (double)a->batch * (double)a->kv_heads * (double)a->seq_kv * width;
    return (a->backward ? 2 * q + 2 * kv : q + kv) * cluster_dtype_bytes(a->dtype);
}

/* Flash kernels exist for head dims in steps of 32; one block of 128 rows occupies one SM. */
static double
attention_compute_s(const ClusterSystem *system, const CostAttention *a, double sms)
{
    double rows = (double)(a->backward ? a->seq_kv : a->seq_q);
    double blocks = (double)a->batch * (double)a->heads * ceil(rows / 128);
    double width = (double)a->head_dim + value_dim(a);
    double padded = (ceil((double)a->head_dim / 32) * 32 + ceil(value_dim(a) / 32) * 32) / width;
    double idle = waves_of(blocks / sms) * (double)system->n_sms / blocks;
    return cost_attention_flops(a) * padded * idle / cost_peak_flops(system, a->dtype);
}

static double
attention_memory_s(const ClusterSystem *system, const CostAttention *a)
{
    return cost_attention_bytes(a) / ((double)system->memory_Bps * system->memory_efficiency);
}

double
cost_attention_roofline_on(const ClusterSystem *system, const CostAttention *a, double sms)
{
    return MAX(attention_compute_s(system, a, sms), attention_memory_s(system, a)) * 1e9;
}

double
cost_attention_roofline_ns(const ClusterSystem *system, const CostAttention *a)
{
    return cost_attention_roofline_on(system, a, (double)system->n_sms);
}

/* The first block loads before it multiplies, the last stores when all else is done, and writing a cache of keys
 * is beside the multiplications in no kernel that was measured. */
double
cost_attention_reference_ns(const ClusterSystem *system, const CostAttention *a)
{
    double compute = attention_compute_s(system, a, (double)system->n_sms);
    return (compute + attention_memory_s(system, a)) * 1e9 +
           ATTENTION_START * (double)system->kernel_floor_ns;
}
