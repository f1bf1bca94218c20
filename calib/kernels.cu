// Launches a kernel, whichever file has it.
#include "calib/kernels.cuh"

cudaError_t
calib_kernel_launch(CalibKernel kernel, void *const *arrays, int64_t rows, int64_t width,
                    cudaStream_t stream)
{
    int64_t n = rows * width;
    Task t = {arrays, rows, n, int(width), unsigned((n / 8 + THREADS - 1) / THREADS), stream};
    if (!calib_kernels_elements(kernel, t) && !calib_kernels_rows(kernel, t))
        calib_kernels_entropy(kernel, t);
    return cudaGetLastError();
}
