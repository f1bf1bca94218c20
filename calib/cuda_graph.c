/* cuDNN's descriptors. */
#include "config.h"

#ifdef CALIB_CUDNN

#include "calib/cuda_graph.h"

#include "calib/cuda_error.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef cudnnBackendDescriptor_t Descriptor;
enum { MOST_CONFIGS = 8, ALIGNMENT = 16 };

/* --- descriptors ------------------------------------------------------------------------------ */

static bool
check(CalibGraph *g, cudnnStatus_t code, const char *call, int line)
{
    if (code == CUDNN_STATUS_SUCCESS || g->status != CALIB_OK)
        return g->status == CALIB_OK;
    g->status = calib_call_failed(g->rank, call, g->cudnn->text(code), __FILE__, line, &g->error);
    /* 3000 and above: not supported (cuDNN 9's categories of codes) */
    if ((int)code / 1000 == 3)
        g->status = CALIB_CANNOT;
    return false;
}

static Descriptor
create(CalibGraph *g, cudnnBackendDescriptorType_t type)
{
    Descriptor d = NULL;
    assert(g->n_descriptors < CALIB_GRAPH_DESCRIPTORS);
    if (g->status == CALIB_OK &&
        check(g, g->cudnn->create_descriptor(type, &d), "cudnnBackendCreateDescriptor", __LINE__))
        g->descriptors[g->n_descriptors++] = d;
    return d;
}

static void
set(CalibGraph *g, Descriptor d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
    int64_t n, const void *values)
{
    if (g->status == CALIB_OK)
        check(g, g->cudnn->set(d, name, type, n, values), "cudnnBackendSetAttribute", __LINE__);
}

static void
set_descriptor(CalibGraph *g, Descriptor d, cudnnBackendAttributeName_t name, Descriptor value)
{
    set(g, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void
finalize(CalibGraph *g, Descriptor d)
{
    if (g->status == CALIB_OK)
        check(g, g->cudnn->finalize(d), "cudnnBackendFinalize", __LINE__);
}

void
calib_graph_init(CalibGraph *graph, const CalibCudnn *cudnn, cudnnHandle_t handle, int rank)
{
    memset(graph, 0, sizeof *graph);
    graph->cudnn = cudnn;
    graph->handle = handle;
    graph->rank = rank;
}

/* What was made of others goes before them. */
void
calib_graph_clear(CalibGraph *g)
{
    while (g->n_descriptors > 0)
        g->cudnn->destroy_descriptor(g->descriptors[--g->n_descriptors]);
    g->plan = NULL;
}

/* --- tensors ---------------------------------------------------------------------------------- */

CalibShape4
calib_shape4(int64_t batch, int64_t heads, int64_t rows, int64_t columns)
{
    return (CalibShape4){{batch, heads, rows, columns},
                         {heads * rows * columns, rows * columns, columns, 1}};
}

CalibShape4
calib_shape4_transposed(CalibShape4 shape)
{
    CalibShape4 s = shape;
    s.dims[2] = shape.dims[3];
    s.dims[3] = shape.dims[2];
    s.strides[2] = shape.strides[3];
    s.strides[3] = shape.strides[2];
    return s;
}

CalibTensor
calib_graph_tensor(CalibGraph *g, cudnnDataType_t type, CalibShape4 shape, CalibTensorKind kind)
{
    Descriptor d = create(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    int64_t uid = ++g->last_uid, alignment = ALIGNMENT;
    bool yes = true;
    set(g, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(g, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, shape.dims);
    set(g, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, shape.strides);
    set(g, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
    set(g, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    if (kind == CALIB_TENSOR_VIRTUAL)
        set(g, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes);
    if (kind == CALIB_TENSOR_VALUE)
        set(g, d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &yes);
    finalize(g, d);
    if (kind != CALIB_TENSOR_VIRTUAL) {
        assert(g->n_uids < CALIB_GRAPH_TENSORS);
        g->uids[g->n_uids++] = uid;
    }
    return d;
}

/* --- operations ------------------------------------------------------------------------------- */

static void
add_operation(CalibGraph *g, Descriptor operation)
{
    finalize(g, operation);
    assert(g->n_operations < CALIB_GRAPH_OPERATIONS);
    g->operations[g->n_operations++] = operation;
}

void
calib_graph_multiply(CalibGraph *g, CalibTensor a, CalibTensor b, CalibTensor c)
{
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    Descriptor how = create(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    set(g, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    finalize(g, how);
    Descriptor d = create(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    add_operation(g, d);
}

void
calib_graph_pointwise(CalibGraph *g, const CalibPointwise *p)
{
    Descriptor how = create(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(g, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &p->mode);
    set(g, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &p->compute);
    if (p->axis >= 0)
        set(g, how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &p->axis);
    finalize(g, how);
    Descriptor d = create(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, p->x);
    if (p->b != NULL)
        set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, p->b);
    if (p->t != NULL)
        set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, p->t);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, p->y);
    add_operation(g, d);
}

void
calib_graph_reduce(CalibGraph *g, cudnnReduceTensorOp_t how, CalibTensor x, CalibTensor y)
{
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    Descriptor reduction = create(g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    set(g, reduction, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &how);
    set(g, reduction, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    finalize(g, reduction);
    Descriptor d = create(g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction);
    add_operation(g, d);
}

void
calib_graph_reshape(CalibGraph *g, CalibTensor x, CalibTensor y)
{
    Descriptor d = create(g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    add_operation(g, d);
}

/* --- plan ------------------------------------------------------------------------------------- */

static Descriptor
make_graph(CalibGraph *g)
{
    Descriptor d = create(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(g, d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->n_operations,
        g->operations);
    if (g->device == NULL)
        set(g, d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->handle);
    finalize(g, d);
    return d;
}

/* Engines with their settings, the most promising one first. */
static int
ask_heuristic(CalibGraph *g, Descriptor graph, Descriptor *configs)
{
    cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    int64_t n = 0;
    Descriptor d = create(g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    set_descriptor(g, d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    set(g, d, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (g->device != NULL)
        set_descriptor(g, d, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, g->device);
    finalize(g, d);
    for (int i = 0; i < MOST_CONFIGS; i++)
        configs[i] = create(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (g->status == CALIB_OK)
        check(g,
              g->cudnn->get(d, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                            MOST_CONFIGS, &n, configs),
              "cudnnBackendGetAttribute", __LINE__);
    return (int)(n < MOST_CONFIGS ? n : MOST_CONFIGS);
}

static Descriptor
make_plan(CalibGraph *g, Descriptor config)
{
    Descriptor d = create(g, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set_descriptor(g, d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    if (g->device != NULL)
        set_descriptor(g, d, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, g->device);
    else
        set(g, d, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->handle);
    finalize(g, d);
    return d;
}

CalibStatus
calib_graph_finish(CalibGraph *g, CalibError *error)
{
    Descriptor configs[MOST_CONFIGS];
    Descriptor graph = make_graph(g);
    int n = ask_heuristic(g, graph, configs);
    if (g->status == CALIB_OK && n == 0)
        g->status = calib_cannot(&g->error, "cuDNN has no engine for this attention");
    for (int i = 0; i < n && g->plan == NULL; i++) {
        if (g->status == CALIB_CANNOT)
            g->status = CALIB_OK; /* the next one may */
        Descriptor plan = make_plan(g, configs[i]);
        if (g->status == CALIB_OK)
            g->plan = plan;
    }
    if (g->status == CALIB_OK)
        check(g,
              g->cudnn->get(g->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                            NULL, &g->workspace_bytes),
              "cudnnBackendGetAttribute", __LINE__);
    *error = g->error;
    return g->status;
}

cudnnBackendDescriptor_t
calib_graph_pack(CalibGraph *g, void *const *pointers, void *workspace)
{
    Descriptor d = create(g, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set(g, d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, g->n_uids, g->uids);
    set(g, d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, g->n_uids, pointers);
    set(g, d, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    finalize(g, d);
    return d;
}

#endif
