/* What names of kernels say, on names as libraries make them. */
#include "config.h"

#include "calibrate/kernel.h"
#include "calibrate/machine.h"

static void
test_kinds(void)
{
    static const struct {
        const char *name;
        CalibrateKind kind;
    } cases[] = {
        {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", CALIBRATE_NCCL},
        {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", CALIBRATE_NCCL},
        {"rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)", CALIBRATE_NCCL},
        {"void deep_ep::internode::dispatch<false, 4, true>(int4*)", CALIBRATE_EXCHANGE},
        {"void deep_ep::intranode::combine<__nv_bfloat16, 8>(int4*)", CALIBRATE_EXCHANGE},
        {"void internode_ll::combine<true, 9, 7168>(void*)", CALIBRATE_EXCHANGE},
        {"nvshmemi_transfer_barrier", CALIBRATE_EXCHANGE},
        {"void deep_ep::layout::get_dispatch_layout<256, 32>(long const*)", CALIBRATE_MEMORY},
        {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas", CALIBRATE_GEMM},
        {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", CALIBRATE_GEMM},
        {"ampere_sgemm_128x64_nn", CALIBRATE_GEMM},
        {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align1>(Params)",
         CALIBRATE_GEMM},
        {"Cijk_Alik_Bljk_SB_Bias_AS_MT64x16x32", CALIBRATE_GEMM},
        {"void cublasLt::splitKreduce_kernel<32, 16, int>(cublasSplitKParams)", CALIBRATE_GEMM},
        {"void grouped_gemm::utils::transpose<512, 128>(unsigned char const*)", CALIBRATE_MEMORY},
        {"void fbgemm_gpu::permute_2D_data_kernel<false, int>(int)", CALIBRATE_MEMORY},
        {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>(Params)",
         CALIBRATE_ATTENTION},
        {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention)", CALIBRATE_ATTENTION},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob", CALIBRATE_ATTENTION},
        {"void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>(int)",
         CALIBRATE_MEMORY},
        {"triton_poi_fused_add_0", CALIBRATE_MEMORY},
        {"", CALIBRATE_MEMORY},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_test_message("%s", cases[i].name);
        g_assert_cmpstr(calibrate_kind_name(calibrate_kernel_kind(cases[i].name)), ==,
                        calibrate_kind_name(cases[i].kind));
    }
}

static void
test_passes(void)
{
    static const struct {
        const char *name;
        int pass; /* -1: it does not say */
    } cases[] = {
        {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas", COST_GEMM_FORWARD},
        {"ampere_sgemm_128x64_nn", COST_GEMM_DGRAD},
        {"cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align1>(P)",
         COST_GEMM_WGRAD},
        {"ampere_sgemm_128x128_tt", -1},
        {"nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNN", COST_GEMM_FORWARD},
        {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", COST_GEMM_DGRAD},
        {"nvjet_hsh_192x192_64x4_1x2_h_bz_NTT", COST_GEMM_WGRAD},
        {"Cijk_Alik_Bljk_SB_MT64x16x32", COST_GEMM_FORWARD},
        {"Cijk_Ailk_Bljk_SB_MT64x16x32", COST_GEMM_DGRAD},
        {"Cijk_Ailk_Bjlk_SB_MT64x16x16", COST_GEMM_WGRAD},
        {"triton_mm", -1},
        {"kernel_", -1},
        {"nvjet_", -1},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        CostGemmPass pass = COST_GEMM_FORWARD;
        g_test_message("%s", cases[i].name);
        g_assert_cmpint(calibrate_kernel_pass(cases[i].name, &pass), ==, cases[i].pass >= 0);
        if (cases[i].pass >= 0)
            g_assert_cmpint((int)pass, ==, cases[i].pass);
    }
}

static void
test_operations(void)
{
    static const char *const collectives[][2] = {
        {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "all_reduce"},
        {"_allgather_base", "all_gather"},
        {"_reduce_scatter_base", "reduce_scatter"},
        {"all_to_allv", "all_to_all"},
        {"allreduce_coalesced", "all_reduce"},
        {"ncclDevKernel_SendRecv", "send_recv"},
        {"reduce", "reduce"},
        {"mystery", "other"}};
    for (guint i = 0; i < G_N_ELEMENTS(collectives); i++)
        g_assert_cmpstr(calibrate_collective_name(collectives[i][0]), ==, collectives[i][1]);
    g_assert_cmpstr(calibrate_exchange_name("deep_ep::internode::notify_dispatch"), ==, "notify");
    g_assert_cmpstr(calibrate_exchange_name("deep_ep::intranode::combine"), ==, "combine");
    g_assert_true(calibrate_kernel_is_tf32("cutlass_80_tensorop_s1688gemm_128x64"));
    g_assert_false(calibrate_kernel_is_tf32("ampere_sgemm_128x64_nn"));
}

static void
test_machines(void)
{
    static const struct {
        const char *a, *b;
        gboolean agree;
    } cases[] = {
        {"NVIDIA H100 80GB HBM3", "H100-SXM5-80GB", TRUE},
        {"NVIDIA A100-SXM4-40GB", "A100-SXM-80GB", FALSE},
        {"NVIDIA A100-PCIE-40GB", "A100-SXM4-40GB", FALSE},
        {"NVIDIA A100-PG509-200", "A100-SXM4-40GB", TRUE},
        {"NVIDIA H200", "H200-SXM5-141GB", TRUE},
        {"NVIDIA H800", "H100-SXM5-80GB", FALSE},
        {"Tesla V100-SXM2-32GB", "V100-SXM2-32GB", TRUE},
        {"NVIDIA GH200 480GB", "GH200-96GB", TRUE},
        {"AMD Radeon Graphics", "amd radeon graphics", TRUE},
        {"AMD Radeon Graphics", "NVIDIA H100", FALSE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_test_message("%s, %s", cases[i].a, cases[i].b);
        g_assert_cmpint(calibrate_gpus_agree(cases[i].a, cases[i].b), ==, cases[i].agree);
        g_assert_cmpint(calibrate_gpus_agree(cases[i].b, cases[i].a), ==, cases[i].agree);
    }
    g_autofree char *gpu = calibrate_gpu_of_comment("# source: x\n# gpu: 8 x NVIDIA H100\n# more");
    g_assert_cmpstr(gpu, ==, "NVIDIA H100");
    g_assert_null(calibrate_gpu_of_comment("# a table\n# gpu: none"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("Names of kernels and GPUs say what they are");
    g_test_add_func("/calibrate/kernel/kinds", test_kinds);
    g_test_add_func("/calibrate/kernel/passes", test_passes);
    g_test_add_func("/calibrate/kernel/operations", test_operations);
    g_test_add_func("/calibrate/kernel/machines", test_machines);
    return g_test_run();
}
