/* GEMMs: plain, strided batched, and grouped as one product a group over several streams. */
#include "config.h"

#include "calib/cuda_work.h"

#include "calib/case.h"
#include "calib/cuda_error.h"
#include "calib/cuda_product.h"

#include <stdlib.h>

/* Rows (of wgrad: the inner size) are spread evenly, so that groups have one of two sizes: [0] the larger. */
typedef struct {
    CalibCudaWork work;
    CalibGpu *gpu;
    CalibGemm gemm;
    CalibProduct products[2];
    int64_t larger; /* groups of the larger size */
    int64_t sizes[2];
    char *a, *b, *c;
    int64_t a_bytes, b_bytes, c_bytes; /* of one copy */
    unsigned copies;
} Gemm;

static void
free_gemm(CalibCudaWork *work)
{
    Gemm *g = (Gemm *)work;
    calib_product_clear(&g->products[0]);
    calib_product_clear(&g->products[1]);
    free(g);
}

/* --- launch ----------------------------------------------------------------------------------- */

static CalibStatus
launch_plain(Gemm *g, const char *a, const char *b, char *c, CalibError *error)
{
    return calib_product_launch(g->gpu, &g->products[0], a, b, c, 0, error);
}

/* Of group 0, 1, ...: rows of A and C follow each other, and so do the groups' B; of wgrad rows of A and B, and the
 * groups' C. */
static CalibStatus
launch_groups(Gemm *g, const char *a, const char *b, char *c, CalibError *error)
{
    int64_t each = calib_dtype_bytes(g->gemm.dtype);
    int64_t output = calib_product_output_bytes(&g->products[0].spec);
    bool wgrad = g->gemm.pass == CALIB_WGRAD;
    for (int64_t i = 0; i < g->gemm.groups; i++) {
        int which = i < g->larger ? 0 : 1;
        int64_t size = g->sizes[which];
        if (size == 0)
            return CALIB_OK; /* only the smaller ones, which come last */
        CALIB_TRY(calib_product_launch(g->gpu, &g->products[which], a, b, c,
                                       (int)(i % CALIB_GPU_STREAMS), error));
        a += size * (wgrad ? g->gemm.m : g->gemm.k) * each;
        b += (wgrad ? size : g->gemm.k) * g->gemm.n * each;
        c += (wgrad ? g->gemm.m : size) * g->gemm.n * output;
    }
    return CALIB_OK;
}

/* All streams begin after what is in the first one, which goes on after all of them. */
static CalibStatus
launch_grouped(Gemm *g, const char *a, const char *b, char *c, CalibError *error)
{
    CalibGpu *gpu = g->gpu;
    CALIB_CUDA(gpu, cudaEventRecord(gpu->fork, gpu->streams[0]));
    for (int i = 1; i < CALIB_GPU_STREAMS; i++)
        CALIB_CUDA(gpu, cudaStreamWaitEvent(gpu->streams[i], gpu->fork, 0));
    CALIB_TRY(launch_groups(g, a, b, c, error));
    for (int i = 1; i < CALIB_GPU_STREAMS; i++) {
        CALIB_CUDA(gpu, cudaEventRecord(gpu->joins[i], gpu->streams[i]));
        CALIB_CUDA(gpu, cudaStreamWaitEvent(gpu->streams[0], gpu->joins[i], 0));
    }
    return CALIB_OK;
}

static CalibStatus
launch(CalibCudaWork *work, unsigned turn, CalibError *error)
{
    Gemm *g = (Gemm *)work;
    int64_t copy = turn % g->copies;
    const char *a = g->a + copy * g->a_bytes, *b = g->b + copy * g->b_bytes;
    char *c = g->c + copy * g->c_bytes;
    return g->gemm.groups > 1 ? launch_grouped(g, a, b, c, error) : launch_plain(g, a, b, c, error);
}

/* --- make ------------------------------------------------------------------------------------- */

static CalibStatus
make_products(Gemm *g, CalibError *error)
{
    const CalibGemm *gemm = &g->gemm;
    bool wgrad = gemm->pass == CALIB_WGRAD;
    int64_t split = wgrad ? gemm->k : gemm->m;
    g->larger = split % gemm->groups;
    g->sizes[0] = split / gemm->groups + (g->larger > 0);
    g->sizes[1] = split / gemm->groups;
    if (g->larger == 0)
        g->larger = gemm->groups;
    for (int i = 0; i < 2; i++) {
        if (i == 1 && (g->larger == gemm->groups || g->sizes[1] == 0))
            break;
        CalibProductSpec spec = {.dtype = gemm->dtype,
                                 .layout = gemm->pass,
                                 .m = wgrad ? gemm->m : g->sizes[i],
                                 .n = gemm->n,
                                 .k = wgrad ? g->sizes[i] : gemm->k,
                                 .batch = gemm->batch,
                                 .accumulate = wgrad,
                                 .fast_sums = gemm->pass == CALIB_FORWARD};
        CALIB_TRY(calib_product_init(g->gpu, &spec, &g->products[i], error));
    }
    return CALIB_OK;
}

static CalibStatus
make_buffers(Gemm *g, CalibError *error)
{
    const CalibGemm *gemm = &g->gemm;
    int64_t each = calib_dtype_bytes(gemm->dtype);
    int64_t output = calib_product_output_bytes(&g->products[0].spec);
    bool wgrad = gemm->pass == CALIB_WGRAD;
    CalibCase what = {.kind = CALIB_CASE_GEMM, .gemm = *gemm};
    g->copies = calib_gpu_rotation(g->gpu, calib_case_footprint_bytes(&what));
    g->a_bytes = calib_gpu_after(0, gemm->m * gemm->k * gemm->batch * each);
    g->b_bytes =
        calib_gpu_after(0, gemm->k * gemm->n * gemm->batch * each * (wgrad ? 1 : gemm->groups));
    g->c_bytes =
        calib_gpu_after(0, gemm->m * gemm->n * gemm->batch * output * (wgrad ? gemm->groups : 1));
    char *arena;
    CALIB_TRY(calib_gpu_reserve(g->gpu, g->copies * (g->a_bytes + g->b_bytes + g->c_bytes), &arena,
                                error));
    g->a = arena;
    g->b = g->a + g->copies * g->a_bytes;
    g->c = g->b + g->copies * g->b_bytes;
    CALIB_TRY(
        calib_gpu_fill(g->gpu, g->a, g->copies * (g->a_bytes + g->b_bytes), gemm->dtype, error));
    if (wgrad)
        return calib_gpu_fill(g->gpu, g->c, g->copies * g->c_bytes, CALIB_FP32, error);
    return CALIB_OK;
}

CalibStatus
calib_cuda_gemm_new(CalibGpu *gpu, const CalibGemm *gemm, CalibCudaWork **ret, CalibError *error)
{
    Gemm *g = calloc(1, sizeof *g);
    if (g == NULL)
        return calib_cannot(error, "no host memory");
    g->work.launch = launch;
    g->work.free = free_gemm;
    g->gpu = gpu;
    g->gemm = *gemm;
    CalibStatus status = make_products(g, error);
    if (status == CALIB_OK)
        status = make_buffers(g, error);
    if (status != CALIB_OK) {
        free_gemm(&g->work);
        return status;
    }
    *ret = &g->work;
    return CALIB_OK;
}
