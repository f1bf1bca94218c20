/* What waits on the host or on NVMe: ZeRO-Offload and ZeRO-Infinity, Megatron's hybrid optimizer, FSDP's
 * CPUOffloadPolicy (SPEC.md 7.8). */
#include "config.h"

#include "plan/resolve.h"

static gboolean
check_optimizer_device(const PlanSpec *spec, GError **error)
{
    if (spec->optimizer_device == PLAN_DEVICE_GPU) {
        if (spec->offload_frac > 0)
            return plan_refuse(error, "--offload-fraction: no optimizer state leaves the GPU; add "
                                      "--offload-optimizer cpu");
        return TRUE;
    }
    if (plan_runs_pytorch(spec) && spec->offload_frac > 0 && spec->offload_frac < 1)
        return plan_refuse(error,
                           "--offload-fraction: FSDP steps all of its shard in one place, not %g "
                           "of it; leave it out",
                           spec->offload_frac);
    if (plan_runs_pytorch(spec) && spec->parameter_device == PLAN_DEVICE_GPU)
        return plan_refuse(error, "--offload-optimizer: FSDP keeps parameters, gradients and "
                                  "optimizer states in one place; add --offload-params cpu");
    if (spec->framework == PLAN_NANOTRON)
        return plan_refuse(error, "--offload-optimizer: nanotron has no such option; write "
                                  "--offload-optimizer none, or another --framework");
    if (spec->optimizer_device == PLAN_DEVICE_NVME && spec->framework != PLAN_DEEPSPEED)
        return plan_refuse(error, "--offload-optimizer nvme: only DeepSpeed does that; write "
                                  "--offload-optimizer cpu, or --framework deepspeed --zero 3");
    if (spec->optimizer_device == PLAN_DEVICE_NVME && spec->zero < 3)
        return plan_refuse(
            error,
            "--offload-optimizer nvme: DeepSpeed does that with ZeRO stage 3, not " PLAN_D
            "; write --zero 3, or --offload-optimizer cpu",
            spec->zero);
    if (spec->zero == 0)
        return plan_refuse(error, "--offload-optimizer: with --zero 0 every replica would keep all "
                                  "states; write --zero 1, 2 or 3");
    return TRUE;
}

static gboolean
check_parameter_device(const PlanSpec *spec, GError **error)
{
    if (spec->parameter_device == PLAN_DEVICE_GPU)
        return TRUE;
    if (spec->zero < 3)
        return plan_refuse(error,
                           "--offload-params: parameters leave the GPU between uses only where "
                           "they are cut, and --zero is " PLAN_D "; write --zero 3",
                           spec->zero);
    if (spec->parameter_device == PLAN_DEVICE_NVME && spec->framework != PLAN_DEEPSPEED)
        return plan_refuse(error, "--offload-params nvme: only DeepSpeed does that; write "
                                  "--offload-params cpu, or --framework deepspeed");
    if (!plan_runs_pytorch(spec) && spec->optimizer_device == PLAN_DEVICE_GPU)
        return plan_refuse(error, "--offload-params: the optimizer would update on the GPU what "
                                  "waits on the host; add --offload-optimizer cpu");
    return TRUE;
}

gboolean
plan_resolve_offload(PlanSpec *spec, const ClusterSystem *system, GError **error)
{
    if (!(spec->offload_frac >= 0 && spec->offload_frac <= 1))
        return plan_refuse(error, "--offload-fraction: %g is no share; write 0 to 1",
                           spec->offload_frac);
    if (plan_runs_pytorch(spec) && spec->parameter_device != PLAN_DEVICE_GPU &&
        spec->optimizer_device == PLAN_DEVICE_GPU)
        spec->optimizer_device = spec->parameter_device;
    if (!check_optimizer_device(spec, error) || !check_parameter_device(spec, error))
        return FALSE;
    gboolean nvme =
        spec->optimizer_device == PLAN_DEVICE_NVME || spec->parameter_device == PLAN_DEVICE_NVME;
    if (nvme && (system->nvme_read_Bps <= 0 || system->nvme_write_Bps <= 0))
        return plan_refuse(error,
                           "--offload-%s nvme: the nodes of %s have none; write cpu, or give "
                           "host.nvme-read and host.nvme-write with --set",
                           spec->optimizer_device == PLAN_DEVICE_NVME ? "optimizer" : "params",
                           system->name);
    gboolean offloads = spec->optimizer_device != PLAN_DEVICE_GPU ||
                        spec->parameter_device != PLAN_DEVICE_GPU || spec->offload_activations > 0;
    if (offloads && system->pcie_Bps <= 0)
        return plan_refuse(error,
                           "--offload-%s: the speed of PCIe on %s is not known; give "
                           "node.pcie-rate=25GBps with --set",
                           spec->optimizer_device != PLAN_DEVICE_GPU   ? "optimizer"
                           : spec->parameter_device != PLAN_DEVICE_GPU ? "params"
                                                                       : "activations",
                           system->name);
    if (spec->optimizer_device != PLAN_DEVICE_GPU && spec->offload_frac == 0)
        spec->offload_frac = 1;
    if (!offloads)
        spec->overlap_offload = FALSE;
    return TRUE;
}
