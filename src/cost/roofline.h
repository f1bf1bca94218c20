/* The least time a GPU's peak, its tiles and its memory allow a kernel: what efficiency is
 * measured against. */
#pragma once

#include "cost/kernel.h"

/* Peak of `dtype` in flop/s. A dtype that the GPU has no unit for runs in the next wider one it
 * has: fp8 as fp16, bf16 or fp32; bf16, fp16 and tf32 as fp32 (the legality check is the
 * caller's). */
double cost_peak_flops(const ClusterSystem *system, ClusterDtype dtype);

double cost_gemm_roofline_ns(const ClusterSystem *system, const CostGemm *gemm);
/* What measured times are compared with, and times of shapes between them derived from: longer than the
 * roofline by what a GEMM and its tiles take whatever their size. */
double cost_gemm_reference_ns(const ClusterSystem *system, const CostGemm *gemm);
/* The reference if all tiles were tm x tn, or all tn x tm, k never split, and the last wave counted as `last_wave`
 * says: 1 as a full one, 0 as the share of the SMs that it fills. */
double cost_gemm_tiled_ns(const ClusterSystem *system, const CostGemm *gemm, gint64 tm, gint64 tn,
                          double last_wave);
/* Fewest tiles of tm x tn or tn x tm. */
double cost_gemm_tiles(const CostGemm *gemm, gint64 tm, gint64 tn);
/* Of compute^4 in compute^4 + memory^4 with the whole GPU busy: 0 bound by memory, 1 by compute. */
double cost_gemm_compute_share(const ClusterSystem *system, const CostGemm *gemm);
/* The roofline with only so many (> 0) of the GPU's SMs. */
double cost_gemm_roofline_on(const ClusterSystem *system, const CostGemm *gemm, double sms);
double cost_gemm_bytes(const CostGemm *gemm); /* each matrix once */
/* 1 when the rows that the kernel loads and stores start at multiples of 16 bytes, else more. */
double cost_gemm_misalignment(const CostGemm *gemm);

/* Causal halves the work; so it does for the ranks of a load-balanced context-parallel group, with
 * seq_q < seq_kv. Backward counts 2.5 times the forward. */
double cost_attention_flops(const CostAttention *attention);
double cost_attention_roofline_ns(const ClusterSystem *system, const CostAttention *attention);
/* As of a GEMM. */
double cost_attention_reference_ns(const ClusterSystem *system, const CostAttention *attention);
double cost_attention_roofline_on(const ClusterSystem *system, const CostAttention *attention,
                                  double sms);
double cost_attention_bytes(const CostAttention *attention); /* each tensor once */
