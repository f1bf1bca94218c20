/* Time of a kernel bound by memory: max(floor, bytes / rate of that kernel). */
#include "config.h"

#include "cost/book.h"

/* A kernel without rows runs at memory_Bps x memory_efficiency (a long copy) x its factor here,
 * read off the kernels that were measured on A100 and H100: fused kernels come close to a copy;
 * the backward of a norm also sums over rows;
 * PyTorch's embedding kernels gather and, backward, sort. Adam reads and writes many arrays and
 * little else happens. Permutation of tokens: MooreThreads/SimuMax fitted 0.188 of the rate to an A100 (0.91
 * its copies) and 0.50 to a B200 (0.67 its copies); this is the geometric mean of both, over copies. Casts
 * are elementwise; one that finds the scale first reads once more. */
static const struct {
    const char *name;
    double factor;
} kernels[COST_N_MEMORY_KERNELS] = {
    [COST_COPY] = {"copy", 1.00},
    [COST_NORM] = {"norm", 0.90},
    [COST_NORM_BACKWARD] = {"norm_backward", 0.65},
    [COST_SOFTMAX] = {"softmax", 0.85},
    [COST_SOFTMAX_BACKWARD] = {"softmax_backward", 0.85},
    [COST_ACTIVATION] = {"activation", 0.95},
    [COST_ACTIVATION_BACKWARD] = {"activation_backward", 0.95},
    [COST_ADD] = {"add", 1.00},
    [COST_DROPOUT] = {"dropout", 0.95},
    [COST_ROPE] = {"rope", 0.90},
    [COST_EMBEDDING] = {"embedding", 0.40},
    [COST_EMBEDDING_BACKWARD] = {"embedding_backward", 0.20},
    [COST_CROSS_ENTROPY] = {"cross_entropy", 0.85},
    [COST_CROSS_ENTROPY_BACKWARD] = {"cross_entropy_backward", 0.90},
    [COST_ADAM] = {"adam", 0.90},
    [COST_REDUCE] = {"reduce", 1.00},
    [COST_PERMUTE] = {"permute", 0.40},
    [COST_CAST] = {"cast", 0.85},
};

#define ERROR_MODELLED 0.15

const char *
cost_memory_kernel_name(CostMemoryKernel kernel)
{
    g_assert(kernel < COST_N_MEMORY_KERNELS);
    return kernels[kernel].name;
}

static double
copy_rate(const ClusterSystem *system)
{
    return (double)system->memory_Bps * system->memory_efficiency;
}

double
cost_memory_rate(const ClusterSystem *system, CostMemoryKernel kernel)
{
    return copy_rate(system) * kernels[kernel].factor;
}

CostTime
cost_memory(const CostBook *book, CostMemoryKernel kernel, double bytes)
{
    g_assert(kernel < COST_N_MEMORY_KERNELS && bytes >= 0);
    double floor_ns = (double)book->system->kernel_floor_ns;
    CostTime time;
    if (book->memory && cost_memory_table_time(
                            book->memory, kernel, bytes,
                            (double)book->measured[CLUSTER_TABLE_MEMORY]->kernel_floor_ns, &time)) {
        double change = copy_rate(book->measured[CLUSTER_TABLE_MEMORY]) / copy_rate(book->system);
        CostTime changed = cost_measured_time(time.ns, change);
        if (changed.basis != COST_MEASURED)
            time = changed;
    } else {
        time = (CostTime){bytes / cost_memory_rate(book->system, kernel) * 1e9, COST_MODELLED,
                          ERROR_MODELLED, ERROR_MODELLED};
    }
    time.ns = MAX(time.ns, floor_ns);
    return time;
}
