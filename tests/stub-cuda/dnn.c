/* cuDNN of a GPU that computes nothing: graphs are held together, their products' operations counted, and the memory of
 * their tensors checked. */
#include "device.h"

#include <cudnn.h>
#include <stdlib.h>
#include <string.h>

#define WORKSPACE_BYTES 4096

struct StubDnn {
    cudaStream_t stream;
};
struct StubDescriptor {
    cudnnBackendDescriptorType_t type;
    bool final;
    struct {
        void *values;
        int64_t n;
    } attributes[CUDNN_N_ATTRIBUTES];
};
typedef cudnnBackendDescriptor_t Descriptor;

static const int64_t *
numbers(Descriptor d, cudnnBackendAttributeName_t name)
{
    return d->attributes[name].values;
}

static Descriptor
link_of(Descriptor d, cudnnBackendAttributeName_t name)
{
    Descriptor *to = d->attributes[name].values;
    return to != NULL ? *to : NULL;
}

static bool
is_final(Descriptor d)
{
    return d != NULL && d->final;
}

static bool
is_marked(Descriptor tensor, cudnnBackendAttributeName_t name)
{
    bool *mark = tensor->attributes[name].values;
    return mark != NULL && *mark;
}

/* --- what a graph computes and needs ----------------------------------------------------------- */

static bool
is_tensor_whole(Descriptor d)
{
    return numbers(d, CUDNN_ATTR_TENSOR_DIMENSIONS) != NULL &&
           numbers(d, CUDNN_ATTR_TENSOR_STRIDES) != NULL &&
           numbers(d, CUDNN_ATTR_TENSOR_UNIQUE_ID) != NULL &&
           d->attributes[CUDNN_ATTR_TENSOR_DATA_TYPE].values != NULL;
}

/* c = a b: heads of a and c agree, those of b divide them. */
static bool
is_product_right(Descriptor d)
{
    Descriptor a = link_of(d, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    Descriptor b = link_of(d, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    Descriptor c = link_of(d, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    if (!is_final(a) || !is_final(b) || !is_final(c))
        return false;
    const int64_t *x = numbers(a, CUDNN_ATTR_TENSOR_DIMENSIONS);
    const int64_t *y = numbers(b, CUDNN_ATTR_TENSOR_DIMENSIONS);
    const int64_t *z = numbers(c, CUDNN_ATTR_TENSOR_DIMENSIONS);
    return x[0] == y[0] && x[0] == z[0] && x[1] == z[1] && x[1] % y[1] == 0 && x[2] == z[2] &&
           x[3] == y[2] && y[3] == z[3];
}

static double
product_flops(Descriptor d)
{
    const int64_t *x =
        numbers(link_of(d, CUDNN_ATTR_OPERATION_MATMUL_ADESC), CUDNN_ATTR_TENSOR_DIMENSIONS);
    const int64_t *z =
        numbers(link_of(d, CUDNN_ATTR_OPERATION_MATMUL_CDESC), CUDNN_ATTR_TENSOR_DIMENSIONS);
    return 2.0 * (double)z[0] * (double)z[1] * (double)z[2] * (double)z[3] * (double)x[3];
}

static const cudnnBackendAttributeName_t places[] = {
    CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
    CUDNN_ATTR_OPERATION_POINTWISE_TDESC, CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
    CUDNN_ATTR_OPERATION_MATMUL_ADESC,    CUDNN_ATTR_OPERATION_MATMUL_BDESC,
    CUDNN_ATTR_OPERATION_MATMUL_CDESC,    CUDNN_ATTR_OPERATION_REDUCTION_XDESC,
    CUDNN_ATTR_OPERATION_REDUCTION_YDESC, CUDNN_ATTR_OPERATION_RESHAPE_XDESC,
    CUDNN_ATTR_OPERATION_RESHAPE_YDESC};

static void
check_memory(Descriptor tensor, const char *at)
{
    const int64_t *dims = numbers(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
    const int64_t *strides = numbers(tensor, CUDNN_ATTR_TENSOR_STRIDES);
    cudnnDataType_t type =
        *(cudnnDataType_t *)tensor->attributes[CUDNN_ATTR_TENSOR_DATA_TYPE].values;
    int64_t last = 0;
    for (int i = 0; i < 4; i++)
        last += (dims[i] - 1) * strides[i];
    stub_check("cudnnBackendExecute", at, (size_t)(last + 1) * (type == CUDNN_DATA_FLOAT ? 4 : 2));
}

/* The pack's pointer of a tensor; false: it has none. */
static bool
check_tensor(Descriptor tensor, Descriptor pack)
{
    if (tensor == NULL || is_marked(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL))
        return true;
    const int64_t *uids = numbers(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    char **pointers = pack->attributes[CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS].values;
    for (int64_t i = 0; i < pack->attributes[CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS].n; i++)
        if (uids[i] == *numbers(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID)) {
            if (!is_marked(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE))
                check_memory(tensor, pointers[i]);
            return true;
        }
    return false;
}

/* --- descriptors ------------------------------------------------------------------------------ */

size_t
cudnnGetVersion(void)
{
    return getenv("DTSIM_STUB_CUDNN") != NULL ? (size_t)atol(getenv("DTSIM_STUB_CUDNN")) : 91900;
}

const char *
cudnnGetErrorString(cudnnStatus_t status)
{
    return status == CUDNN_STATUS_BAD_PARAM ? "CUDNN_STATUS_BAD_PARAM"
                                            : "a failure that was asked for";
}

cudnnStatus_t
cudnnCreate(cudnnHandle_t *handle)
{
    STUB_ENTER(cudnnStatus_t);
    *handle = calloc(1, sizeof **handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    STUB_ENTER(cudnnStatus_t);
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                             cudnnBackendDescriptor_t *descriptor)
{
    STUB_ENTER(cudnnStatus_t);
    *descriptor = calloc(1, sizeof **descriptor);
    (*descriptor)->type = type;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    for (int i = 0; i < CUDNN_N_ATTRIBUTES; i++)
        free(descriptor->attributes[i].values);
    free(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t n, const void *values)
{
    STUB_ENTER(cudnnStatus_t);
    static const size_t sizes[] = {
        [CUDNN_TYPE_HANDLE] = sizeof(void *),
        [CUDNN_TYPE_DATA_TYPE] = sizeof(cudnnDataType_t),
        [CUDNN_TYPE_BOOLEAN] = sizeof(bool),
        [CUDNN_TYPE_INT64] = sizeof(int64_t),
        [CUDNN_TYPE_VOID_PTR] = sizeof(void *),
        [CUDNN_TYPE_HEUR_MODE] = sizeof(cudnnBackendHeurMode_t),
        [CUDNN_TYPE_POINTWISE_MODE] = sizeof(cudnnPointwiseMode_t),
        [CUDNN_TYPE_BACKEND_DESCRIPTOR] = sizeof(void *),
        [CUDNN_TYPE_REDUCTION_OPERATOR_TYPE] = sizeof(cudnnReduceTensorOp_t),
    };
    if (descriptor->final || n <= 0)
        return CUDNN_STATUS_BAD_PARAM;
    size_t bytes = (size_t)n * sizes[type];
    descriptor->attributes[name].values = memcpy(malloc(bytes), values, bytes);
    descriptor->attributes[name].n = n;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnBackendFinalize(cudnnBackendDescriptor_t d)
{
    STUB_ENTER(cudnnStatus_t);
    if (d->final || (d->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR && !is_tensor_whole(d)) ||
        (d->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR && !is_product_right(d)))
        return CUDNN_STATUS_BAD_PARAM;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (link_of(d, places[i]) != NULL && !is_final(link_of(d, places[i])))
            return CUDNN_STATUS_BAD_PARAM;
    d->final = true;
    return CUDNN_STATUS_SUCCESS;
}

/* The heuristic knows two engines, which keep the graph for their plans. */
cudnnStatus_t
cudnnBackendGetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t most, int64_t *n, void *values)
{
    (void)type;
    STUB_ENTER(cudnnStatus_t);
    if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
        *(int64_t *)values = WORKSPACE_BYTES;
        return CUDNN_STATUS_SUCCESS;
    }
    Descriptor graph = link_of(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    if (name != CUDNN_ATTR_ENGINEHEUR_RESULTS || !is_final(graph))
        return CUDNN_STATUS_BAD_PARAM;
    *n = most < 2 ? most : 2;
    for (int64_t i = 0; i < *n; i++)
        cudnnBackendSetAttribute(((Descriptor *)values)[i], CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                    cudnnBackendDescriptor_t pack)
{
    STUB_ENTER(cudnnStatus_t);
    if (!is_final(plan) || !is_final(pack))
        return CUDNN_STATUS_BAD_PARAM;
    Descriptor graph = link_of(link_of(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG),
                               CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    Descriptor *operations = graph->attributes[CUDNN_ATTR_OPERATIONGRAPH_OPS].values;
    char **workspace = pack->attributes[CUDNN_ATTR_VARIANT_PACK_WORKSPACE].values;
    double flops = 0;
    stub_check(__func__, *workspace, WORKSPACE_BYTES);
    for (int64_t i = 0; i < graph->attributes[CUDNN_ATTR_OPERATIONGRAPH_OPS].n; i++) {
        for (size_t p = 0; p < sizeof places / sizeof *places; p++)
            if (!check_tensor(link_of(operations[i], places[p]), pack))
                return CUDNN_STATUS_BAD_PARAM;
        if (operations[i]->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
            flops += product_flops(operations[i]);
    }
    stub_spend(handle->stream, STUB_FLOOR_US + flops / STUB_PEAK_FLOP_US);
    return CUDNN_STATUS_SUCCESS;
}
