/* Kernels bound by memory: which arrays each has, and how many elements make up the bytes that are asked for. */
#include "config.h"

#include "calib/cuda_work.h"

#include "calib/case.h"
#include "calib/cuda_error.h"
#ifdef CALIB_KERNELS
#include "calib/kernels.h"
#endif

#include <stdlib.h>
#include <string.h>

#ifdef CALIB_KERNELS

typedef enum {
    NOTHING, /* written before it is read, or never read */
    BF16,
    FP32,
    ONES,       /* fp32 */
    PERMUTATION /* of the rows, int */
} Content;

typedef struct {
    Content content;
    int element, row, column; /* bytes an element, a row, a column */
} Array;

enum { MOST_ARRAYS = 7 };
typedef struct {
    int moved; /* bytes an element, as calib/backend.h has them */
    int grain; /* that divides a row */
    Array arrays[MOST_ARRAYS];
} Kernel;

static const Kernel kernels[CALIB_N_KERNELS] = {
    [CALIB_COPY] = {4, 8, {{BF16, .element = 2}, {NOTHING, .element = 2}}},
    [CALIB_TRIAD] = {12, 8, {{FP32, .element = 4}, {FP32, .element = 4}, {NOTHING, .element = 4}}},
    [CALIB_NORM] =
        {4,
         8,
         {{BF16, .element = 2}, {NOTHING, .element = 2}, {BF16, .column = 2}, {NOTHING, .row = 4}}},
    [CALIB_NORM_BACKWARD] = {6,
                             8,
                             {{BF16, .element = 2},
                              {BF16, .element = 2},
                              {NOTHING, .element = 2},
                              {BF16, .column = 2},
                              {ONES, .row = 4},
                              {NOTHING, .column = 4 * CALIB_NORM_PARTS},
                              {NOTHING, .column = 4}}},
    [CALIB_SOFTMAX] = {4, 8, {{BF16, .element = 2}, {NOTHING, .element = 2}}},
    [CALIB_SOFTMAX_BACKWARD] =
        {6, 8, {{BF16, .element = 2}, {BF16, .element = 2}, {NOTHING, .element = 2}}},
    [CALIB_ACTIVATION] = {6,
                          8,
                          {{BF16, .element = 2}, {BF16, .element = 2}, {NOTHING, .element = 2}}},
    [CALIB_ACTIVATION_BACKWARD] = {10,
                                   8,
                                   {{BF16, .element = 2},
                                    {BF16, .element = 2},
                                    {BF16, .element = 2},
                                    {NOTHING, .element = 2},
                                    {NOTHING, .element = 2}}},
    [CALIB_ADD] = {6, 8, {{BF16, .element = 2}, {BF16, .element = 2}, {NOTHING, .element = 2}}},
    [CALIB_DROPOUT] = {5,
                       8,
                       {{BF16, .element = 2}, {NOTHING, .element = 2}, {NOTHING, .element = 1}}},
    [CALIB_ROPE] = {4,
                    CALIB_ROPE_HEAD,
                    {{BF16, .element = 2},
                     {NOTHING, .element = 2},
                     {FP32, .row = 4 * CALIB_ROPE_HEAD}}},
    [CALIB_EMBEDDING] = {4,
                         8,
                         {{BF16, .element = 2}, {NOTHING, .element = 2}, {PERMUTATION, .row = 4}}},
    [CALIB_EMBEDDING_BACKWARD] =
        {6, 8, {{BF16, .element = 2}, {FP32, .element = 4}, {PERMUTATION, .row = 4}}},
    [CALIB_CROSS_ENTROPY] =
        {38,
         8,
         {{BF16, .element = 2}, {NOTHING, .element = 4}, {NOTHING, .row = 4}, {NOTHING, .row = 4}}},
    [CALIB_CROSS_ENTROPY_BACKWARD] =
        {14, 8, {{FP32, .element = 4}, {NOTHING, .element = 2}, {ONES, .row = 4}}},
    [CALIB_ADAM] = {30,
                    8,
                    {{FP32, .element = 4},
                     {FP32, .element = 4},
                     {FP32, .element = 4},
                     {FP32, .element = 4},
                     {NOTHING, .element = 2}}},
    [CALIB_REDUCE] = {2, 8, {{BF16, .element = 2}, {NOTHING, .column = 4}}},
    [CALIB_PERMUTE] = {4,
                       8,
                       {{BF16, .element = 2}, {NOTHING, .element = 2}, {PERMUTATION, .row = 4}}},
    [CALIB_CAST] = {3, 8, {{BF16, .element = 2}, {NOTHING, .element = 1}}},
};

typedef struct {
    CalibCudaWork work;
    CalibGpu *gpu;
    CalibKernel kernel;
    int64_t rows, width;
    int64_t copy_bytes; /* of all arrays */
    unsigned copies;
    char *arena;
    int64_t at[MOST_ARRAYS]; /* of arrays in a copy */
} Memory;

static void
free_memory(CalibCudaWork *work)
{
    free(work);
}

static CalibStatus
launch(CalibCudaWork *work, unsigned turn, CalibError *error)
{
    Memory *m = (Memory *)work;
    void *arrays[MOST_ARRAYS];
    for (int i = 0; i < MOST_ARRAYS; i++)
        arrays[i] = m->arena + turn % m->copies * m->copy_bytes + m->at[i];
    CALIB_CUDA(m->gpu,
               calib_kernel_launch(m->kernel, arrays, m->rows, m->width, m->gpu->streams[0]));
    return CALIB_OK;
}

/* --- contents --------------------------------------------------------------------------------- */

static void
make_rows(Content content, int64_t n, uint32_t *values)
{
    const float one = 1;
    uint64_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        if (content == ONES) {
            memcpy(&values[i], &one, sizeof one);
            continue;
        }
        /* Durstenfeld's shuffle, from the inside out; Knuth's linear congruential numbers */
        state = state * 6364136223846793005u + 1442695040888963407u;
        int64_t j = (int64_t)((state >> 33) % (uint64_t)(i + 1));
        values[i] = values[j];
        values[j] = (uint32_t)i;
    }
}

static CalibStatus
fill_rows(const Memory *m, Content content, char *at, CalibError *error)
{
    size_t bytes = (size_t)m->rows * sizeof(uint32_t);
    uint32_t *values = calloc(1, bytes);
    if (values == NULL)
        return calib_cannot(error, "no host memory for %zu bytes", bytes);
    make_rows(content, m->rows, values);
    cudaError_t code = cudaMemcpy(at, values, bytes, cudaMemcpyHostToDevice);
    free(values);
    if (code != cudaSuccess)
        return calib_cuda_failed(m->gpu->rank, "cudaMemcpy", code, __FILE__, __LINE__, error);
    return CALIB_OK;
}

static int64_t
array_bytes(const Memory *m, const Array *array)
{
    return array->element * m->rows * m->width + array->row * m->rows + array->column * m->width;
}

static CalibStatus
fill_copy(const Memory *m, char *copy, CalibError *error)
{
    for (int i = 0; i < MOST_ARRAYS; i++) {
        const Array *array = &kernels[m->kernel].arrays[i];
        char *at = copy + m->at[i];
        if (array->content == BF16 || array->content == FP32)
            CALIB_TRY(calib_gpu_fill(m->gpu, at, array_bytes(m, array),
                                     array->content == BF16 ? CALIB_BF16 : CALIB_FP32, error));
        else if (array->content != NOTHING)
            CALIB_TRY(fill_rows(m, array->content, at, error));
    }
    return CALIB_OK;
}

/* --- make ------------------------------------------------------------------------------------- */

/* Rows as long as they may be, and as equal as whole grains let them. */
static CalibStatus
choose_shape(Memory *m, int64_t bytes, CalibError *error)
{
    const Kernel *kernel = &kernels[m->kernel];
    if (kernel->moved == 0) { /* CALIB_LAUNCH */
        m->rows = m->width = 0;
        return CALIB_OK;
    }
    int64_t elements = bytes / kernel->moved;
    m->rows = (elements + CALIB_MOST_WIDTH - 1) / CALIB_MOST_WIDTH;
    m->width = m->rows > 0 ? elements / m->rows / kernel->grain * kernel->grain : 0;
    if (m->width == 0)
        return calib_cannot(error, "%s: fewer bytes than one row has",
                            calib_kernel_name(m->kernel));
    return CALIB_OK;
}

static CalibStatus
make_buffers(Memory *m, int64_t bytes, CalibError *error)
{
    CALIB_TRY(choose_shape(m, bytes, error));
    for (int i = 0; i < MOST_ARRAYS; i++) {
        m->at[i] = m->copy_bytes;
        m->copy_bytes =
            calib_gpu_after(m->copy_bytes, array_bytes(m, &kernels[m->kernel].arrays[i]));
    }
    m->copies = calib_gpu_rotation(m->gpu, bytes);
    CALIB_TRY(calib_gpu_reserve(m->gpu, m->copies * m->copy_bytes, &m->arena, error));
    for (unsigned i = 0; i < m->copies; i++)
        CALIB_TRY(fill_copy(m, m->arena + i * m->copy_bytes, error));
    return CALIB_OK;
}

CalibStatus
calib_cuda_memory_new(CalibGpu *gpu, const CalibMemory *memory, CalibCudaWork **ret,
                      CalibError *error)
{
    Memory *m = calloc(1, sizeof *m);
    if (m == NULL)
        return calib_cannot(error, "no host memory");
    m->work.launch = launch;
    m->work.free = free_memory;
    m->gpu = gpu;
    m->kernel = memory->kernel;
    CalibStatus status = make_buffers(m, memory->bytes, error);
    if (status != CALIB_OK) {
        free_memory(&m->work);
        return status;
    }
    *ret = &m->work;
    return CALIB_OK;
}

#else

CalibStatus
calib_cuda_memory_new(CalibGpu *gpu, const CalibMemory *memory, CalibCudaWork **ret,
                      CalibError *error)
{
    (void)gpu;
    (void)ret;
    return calib_cannot(error, "%s: built without nvcc, which compiles its kernel",
                        calib_kernel_name(memory->kernel));
}

#endif
