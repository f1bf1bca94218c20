/* Interference on one GPU.
 *
 * A collective is a kernel of one thread block a channel; a channel has an SM to itself (NVIDIA/nccl issue 689),
 * and its data cross HBM several times. With c of n SMs taken, and HBM shares (of what a long copy achieves) u of
 * the kernel and v of the collective, each as it is alone:
 *
 *   kernel      t/t0 = s(c) (1 + v)
 *   collective  t/t0 = 1 + u
 *
 *   s(c)   the kernel on n - c SMs: by tiles and waves of its shape (roofline.c); n / (n - c) for kernels bound by
 *          memory, which need the SMs for enough bytes in flight
 *   1 + v  each memory request of the one finds those of the other before it. The two never use more of HBM than
 *          there is: u/(1+v) + v/(1+u) <= 1 for all u, v in 0..1
 *   v      bytes that the collective sends from a GPU, times PASSES, over time and HBM rate. PASSES: what arrives
 *          is written, read again, and user data are read or written: 3 (a maintainer in NVIDIA/nccl issue 1428:
 *          at least 2, up to 3). Copy engines read here and write there: 2
 *
 * Nothing here is fitted to training runs. Against what was measured (24 channels and link rates of
 * collective.tsv where the source names none):
 *
 *   beside                                        measured          model
 *   A100, AllGather in a node: attention          1.83              1.81    nccl issue 1428
 *                              GEMM, 1.18 ms      1.76              1.81
 *                              elementwise        2.5 (1.8 .. 3.7)  1.81    0.02 -> 0.05 ms, as rounded there
 *   H100, AllGather on 24 SMs: GEMM, many waves   -                 1.67
 *                              GEMM, 132 blocks   1.70              2.09    MFU 80 -> 47 %, NVIDIA forum 337991
 *   V100, all-reduce: batch norm backward         2 .. 4            1.75     nccl issue 338 (12 channels)
 *
 *   FSDP on 4 A100 or H100: compute slowed by    19 % (40 at most) 8 .. 50 %  arXiv 2507.03114, averages over
 *     one after the other takes longer by         10 % (27 at most) 3 .. 31 %  models and batches (ours: 7 and 13 B,
 *                                                                              1 to 8 sequences of 1024 a GPU)
 *
 * So it errs by 5 % for GEMM and attention, is too kind to short memory-bound kernels, and too hard on GEMMs of
 * exactly one wave. That GEMMs lose to HBM traffic although they need little of HBM themselves is what the A100
 * figures say (SMs alone give 1.29). What it leaves out: thread blocks of a collective that waits for late ranks
 * hold their SMs, too; clocks fall under the load of both; a kernel that runs already keeps its SMs. */
#include "config.h"

#include "cost/book.h"
#include "cost/roofline.h"

static const struct {
    const char *name;
    double passes;
} traffics[COST_N_TRAFFICS] = {
    [COST_TRAFFIC_NVLINK] = {"nvlink", 3},
    [COST_TRAFFIC_NETWORK] = {"network", 3},
    [COST_TRAFFIC_SEND_RECV] = {"send_recv", 3},
    [COST_TRAFFIC_COPY] = {"copy", 2},
};

const char *
cost_work_name(CostWork work)
{
    static const char *const names[COST_N_WORKS] = {"gemm", "attention", "memory"};
    g_assert(work < COST_N_WORKS);
    return names[work];
}

const char *
cost_traffic_name(CostTraffic traffic)
{
    g_assert(traffic < COST_N_TRAFFICS);
    return traffics[traffic].name;
}

/* At least one is left: a collective never stops all others. */
static double
free_sms(const ClusterSystem *system, double channels)
{
    return MAX((double)system->n_sms - channels, 1);
}

double
cost_gemm_sm_slowdown(const ClusterSystem *system, const CostGemm *gemm, double channels)
{
    double beside = cost_gemm_roofline_on(system, gemm, free_sms(system, channels));
    return MAX(beside / cost_gemm_roofline_ns(system, gemm), 1);
}

double
cost_attention_sm_slowdown(const ClusterSystem *system, const CostAttention *attention,
                           double channels)
{
    double beside = cost_attention_roofline_on(system, attention, free_sms(system, channels));
    return MAX(beside / cost_attention_roofline_ns(system, attention), 1);
}

double
cost_memory_sm_slowdown(const ClusterSystem *system, double channels)
{
    return (double)system->n_sms / free_sms(system, channels);
}

double
cost_hbm_frac(const ClusterSystem *system, double bytes, double ns)
{
    double rate = (double)system->memory_Bps * system->memory_efficiency;
    return ns > 0 ? CLAMP(bytes / (ns * 1e-9) / rate, 0, 1) : 0;
}

double
cost_traffic_hbm_frac(const ClusterSystem *system, CostTraffic kind, double sent_bytes, double ns)
{
    g_assert(kind < COST_N_TRAFFICS);
    return cost_hbm_frac(system, sent_bytes * traffics[kind].passes, ns);
}

CostSlowdown
cost_slowdown(const CostBook *book, CostBusy work, CostBeside traffic)
{
    g_assert(work.sm_slowdown >= 1 && work.hbm_frac >= 0 && traffic.hbm_frac >= 0);
    CostSlowdown slowdown = {work.sm_slowdown * (1 + traffic.hbm_frac), 1 + work.hbm_frac,
                             COST_MODELLED};
    double measured = 0;
    if (book->overlap && cost_overlap_table_excess(book->overlap, work.kind, traffic.kind,
                                                   traffic.channels, &measured)) {
        slowdown.work = 1 + (slowdown.work - 1) * measured;
        slowdown.basis = COST_INTERPOLATED;
    }
    if (book->overlap && cost_overlap_table_slowdown(book->overlap, work.kind, traffic.kind,
                                                     traffic.channels, &measured))
        slowdown.traffic = measured;
    return slowdown;
}

guint
cost_book_overlap_rows(const CostBook *book)
{
    return book->overlap ? cost_overlap_table_n_rows(book->overlap) : 0;
}
