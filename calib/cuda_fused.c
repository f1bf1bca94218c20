/* Runs graphs of fused attention. */
#include "config.h"

#include "calib/cuda_fused.h"

#ifdef CALIB_CUDNN

#include "calib/cuda_attention_graph.h"
#include "calib/cuda_error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct CalibFused {
    CalibCudnn cudnn;
    cudnnHandle_t handle;
};

typedef struct {
    CalibCudaWork work;
    CalibGpu *gpu;
    CalibAttention attention;
    CalibGraph graph;
    CalibFusedSlots slots;
    cudnnBackendDescriptor_t *packs; /* one a copy */
    unsigned copies;
    char *arena;
    int64_t at[CALIB_FUSED_TENSORS], copy_bytes;
    float scale, masked, one;
} Fused;

/* --- open and close --------------------------------------------------------------------------- */

static CalibStatus
failed(const CalibGpu *gpu, const char *call, cudnnStatus_t code, int line, CalibError *error)
{
    return calib_call_failed(gpu->rank, call, gpu->fused->cudnn.text(code), __FILE__, line, error);
}

CalibStatus
calib_fused_open(CalibGpu *gpu, CalibError *error)
{
    CalibCudnn cudnn;
    if (gpu->compute_capability < 80 || !calib_cudnn_load(&cudnn))
        return CALIB_OK;
    gpu->fused = calloc(1, sizeof *gpu->fused);
    if (gpu->fused == NULL) {
        calib_cudnn_unload(&cudnn);
        return calib_cannot(error, "no host memory");
    }
    gpu->fused->cudnn = cudnn;
    cudnnStatus_t code = cudnn.create(&gpu->fused->handle);
    if (code != CUDNN_STATUS_SUCCESS)
        return failed(gpu, "cudnnCreate", code, __LINE__, error);
    code = cudnn.set_stream(gpu->fused->handle, gpu->streams[0]);
    if (code != CUDNN_STATUS_SUCCESS)
        return failed(gpu, "cudnnSetStream", code, __LINE__, error);
    return CALIB_OK;
}

void
calib_fused_close(CalibGpu *gpu)
{
    if (gpu->fused == NULL)
        return;
    if (gpu->fused->handle != NULL)
        gpu->fused->cudnn.destroy(gpu->fused->handle);
    calib_cudnn_unload(&gpu->fused->cudnn);
    free(gpu->fused);
    gpu->fused = NULL;
}

/* 91900 is 9.19.0. */
void
calib_fused_version(const CalibGpu *gpu, char *text, size_t size)
{
    size_t v = gpu->fused != NULL ? gpu->fused->cudnn.version() : 0;
    snprintf(text, size, v > 0 ? "%zu.%zu.%zu" : "", v / 10000, v / 100 % 100, v % 100);
}

/* --- launch ----------------------------------------------------------------------------------- */

static void
free_fused(CalibCudaWork *work)
{
    Fused *f = (Fused *)work;
    calib_graph_clear(&f->graph);
    free(f->packs);
    free(f);
}

static CalibStatus
launch(CalibCudaWork *work, unsigned turn, CalibError *error)
{
    Fused *f = (Fused *)work;
    const struct CalibFused *fused = f->gpu->fused;
    cudnnStatus_t code =
        fused->cudnn.execute(fused->handle, f->graph.plan, f->packs[turn % f->copies]);
    if (code != CUDNN_STATUS_SUCCESS)
        return failed(f->gpu, "cudnnBackendExecute", code, __LINE__, error);
    return CALIB_OK;
}

/* --- make ------------------------------------------------------------------------------------- */

/* Scores are normal random numbers: the sum of seq exponentials is seq sqrt(e) about. */
static CalibStatus
fill_statistics(const Fused *f, char *at, CalibError *error)
{
    size_t bytes = (size_t)calib_fused_bytes(&f->attention, CALIB_FUSED_STATISTICS);
    float *values = malloc(bytes), value = logf((float)f->attention.seq) + 0.5f;
    if (values == NULL)
        return calib_cannot(error, "no host memory for %zu bytes", bytes);
    for (size_t i = 0; i < bytes / sizeof *values; i++)
        values[i] = value;
    cudaError_t code = cudaMemcpy(at, values, bytes, cudaMemcpyHostToDevice);
    free(values);
    if (code != cudaSuccess)
        return calib_cuda_failed(f->gpu->rank, "cudaMemcpy", code, __FILE__, __LINE__, error);
    return CALIB_OK;
}

static CalibStatus
make_buffers(Fused *f, CalibError *error)
{
    for (int i = 0; i < f->slots.n; i++) {
        CalibFusedTensor tensor = f->slots.slots[i];
        f->at[tensor] = f->copy_bytes;
        f->copy_bytes = calib_gpu_after(f->copy_bytes, calib_fused_bytes(&f->attention, tensor));
    }
    f->copies = calib_gpu_rotation(f->gpu, f->copy_bytes);
    int64_t all = f->copies * f->copy_bytes;
    CALIB_TRY(calib_gpu_reserve(f->gpu, all + f->graph.workspace_bytes, &f->arena, error));
    CALIB_TRY(calib_gpu_fill(f->gpu, f->arena, all, f->attention.dtype, error));
    CALIB_CUDA(f->gpu, cudaStreamSynchronize(f->gpu->streams[0]));
    for (unsigned i = 0; i < f->copies && f->attention.backward; i++)
        CALIB_TRY(fill_statistics(f, f->arena + i * f->copy_bytes + f->at[CALIB_FUSED_STATISTICS],
                                  error));
    return CALIB_OK;
}

static void *
pointer_of(Fused *f, char *copy, CalibFusedTensor tensor)
{
    switch (tensor) {
    case CALIB_FUSED_SCALE:
        return &f->scale;
    case CALIB_FUSED_MASKED:
        return &f->masked;
    case CALIB_FUSED_ONE:
        return &f->one;
    default:
        return copy + f->at[tensor];
    }
}

static CalibStatus
make_packs(Fused *f, CalibError *error)
{
    f->packs = calloc(f->copies, sizeof(cudnnBackendDescriptor_t));
    if (f->packs == NULL)
        return calib_cannot(error, "no host memory");
    for (unsigned i = 0; i < f->copies; i++) {
        void *pointers[CALIB_GRAPH_TENSORS];
        for (int t = 0; t < f->slots.n; t++)
            pointers[t] = pointer_of(f, f->arena + i * f->copy_bytes, f->slots.slots[t]);
        f->packs[i] = calib_graph_pack(&f->graph, pointers, f->arena + f->copies * f->copy_bytes);
    }
    *error = f->graph.error;
    return f->graph.status;
}

static CalibStatus
make(Fused *f, CalibError *error)
{
    if (f->attention.backward)
        calib_fused_backward(&f->graph, &f->attention, &f->slots);
    else
        calib_fused_forward(&f->graph, &f->attention, &f->slots);
    CALIB_TRY(calib_graph_finish(&f->graph, error));
    CALIB_TRY(make_buffers(f, error));
    return make_packs(f, error);
}

CalibStatus
calib_fused_new(CalibGpu *gpu, const CalibAttention *attention, CalibCudaWork **ret,
                CalibError *error)
{
    if (attention->dtype != CALIB_FP16 && attention->dtype != CALIB_BF16)
        return calib_cannot(error, "fused attention: fp16 and bf16 only");
    Fused *f = calloc(1, sizeof *f);
    if (f == NULL)
        return calib_cannot(error, "no host memory");
    f->work.launch = launch;
    f->work.free = free_fused;
    f->gpu = gpu;
    f->attention = *attention;
    f->scale = 1 / sqrtf((float)attention->head_dim);
    f->masked = -1e9f;
    f->one = 1;
    calib_graph_init(&f->graph, &gpu->fused->cudnn, gpu->fused->handle, gpu->rank);
    CalibStatus status = make(f, error);
    if (status != CALIB_OK) {
        free_fused(&f->work);
        return status;
    }
    *ret = &f->work;
    return CALIB_OK;
}

#else

#include "calib/cuda_error.h"

CalibStatus
calib_fused_open(CalibGpu *gpu, CalibError *error)
{
    (void)gpu;
    (void)error;
    return CALIB_OK;
}

void
calib_fused_close(CalibGpu *gpu)
{
    (void)gpu;
}

void
calib_fused_version(const CalibGpu *gpu, char *text, size_t size)
{
    (void)gpu;
    if (size > 0)
        *text = '\0';
}

CalibStatus
calib_fused_new(CalibGpu *gpu, const CalibAttention *attention, CalibCudaWork **ret,
                CalibError *error)
{
    (void)gpu;
    (void)attention;
    (void)ret;
    return calib_cannot(error, "built without cuDNN");
}

#endif
