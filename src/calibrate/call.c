/* Packs and reads calls.
 *
 * A packed call is words with a unit separator between them: of an op its name, dimensions, types, strides and values
 * of its inputs; of a collective "*", its name, elements in and out, type, group size and ranks. */
#include "config.h"

#include "calibrate/call.h"

#include <string.h>

#define SEPARATOR '\x1f'
#define MAX_DIMS 8
#define MAX_EXTENT (1 << 30)

/* Which inputs of an op matter: A and B; query, key and value; the tensors of a kernel bound by memory. */
typedef struct {
    const char *name;
    CalibrateCallKind kind;
    guint first; /* index of A, of the query, of the tensor that says the size */
    int causal;  /* index of is_causal */
    gboolean heads_last,
        backward; /* [batch, seq, heads, dim] rather than [batch, heads, seq, dim] */
    CostMemoryKernel memory;
    guint tensors; /* of that size that one ideal pass reads and writes */
} Op;

/* Signatures as in PyTorch's native_functions.yaml and in flash-attn 2's custom ops. */
static const Op ops[] = {
    {.name = "aten::mm", .kind = CALIBRATE_CALL_GEMM, .first = 0},
    {.name = "aten::bmm", .kind = CALIBRATE_CALL_GEMM, .first = 0},
    {.name = "aten::addmm", .kind = CALIBRATE_CALL_GEMM, .first = 1},
    {.name = "aten::baddbmm", .kind = CALIBRATE_CALL_GEMM, .first = 1},
    {.name = "aten::_scaled_mm", .kind = CALIBRATE_CALL_GEMM, .first = 0},
    {"aten::_scaled_dot_product_flash_attention", CALIBRATE_CALL_ATTENTION, 0, 4, FALSE, FALSE, 0,
     0},
    {"aten::_scaled_dot_product_flash_attention_backward", CALIBRATE_CALL_ATTENTION, 1, 11, FALSE,
     TRUE, 0, 0},
    {"aten::_scaled_dot_product_cudnn_attention", CALIBRATE_CALL_ATTENTION, 0, 6, FALSE, FALSE, 0,
     0},
    {"aten::_scaled_dot_product_cudnn_attention_backward", CALIBRATE_CALL_ATTENTION, 1, 14, FALSE,
     TRUE, 0, 0},
    {"aten::_scaled_dot_product_efficient_attention", CALIBRATE_CALL_ATTENTION, 0, 6, FALSE, FALSE,
     0, 0},
    {"aten::_scaled_dot_product_efficient_attention_backward", CALIBRATE_CALL_ATTENTION, 1, 11,
     FALSE, TRUE, 0, 0},
    {"flash_attn::_flash_attn_forward", CALIBRATE_CALL_ATTENTION, 0, 5, TRUE, FALSE, 0, 0},
    {"flash_attn::_flash_attn_backward", CALIBRATE_CALL_ATTENTION, 1, 11, TRUE, TRUE, 0, 0},
    {.name = "aten::native_layer_norm",
     .kind = CALIBRATE_CALL_MEMORY,
     .memory = COST_NORM,
     .tensors = 2},
    {.name = "aten::native_layer_norm_backward",
     .kind = CALIBRATE_CALL_MEMORY,
     .memory = COST_NORM_BACKWARD,
     .tensors = 3},
    {.name = "aten::_fused_rms_norm",
     .kind = CALIBRATE_CALL_MEMORY,
     .memory = COST_NORM,
     .tensors = 2},
    {.name = "aten::_fused_rms_norm_backward",
     .kind = CALIBRATE_CALL_MEMORY,
     .memory = COST_NORM_BACKWARD,
     .tensors = 3},
    {.name = "aten::_softmax", .kind = CALIBRATE_CALL_MEMORY, .memory = COST_SOFTMAX, .tensors = 2},
    {.name = "aten::_softmax_backward_data",
     .kind = CALIBRATE_CALL_MEMORY,
     .memory = COST_SOFTMAX_BACKWARD,
     .tensors = 3},
    {.name = "aten::gelu", .kind = CALIBRATE_CALL_MEMORY, .memory = COST_ACTIVATION, .tensors = 2},
    {.name = "aten::gelu_backward",
     .kind = CALIBRATE_CALL_MEMORY,
     .memory = COST_ACTIVATION_BACKWARD,
     .tensors = 3},
    {.name = "aten::add", .kind = CALIBRATE_CALL_MEMORY, .memory = COST_ADD, .tensors = 3},
    {.name = "aten::add_", .kind = CALIBRATE_CALL_MEMORY, .memory = COST_ADD, .tensors = 3},
};

static const Op *
find_op(const char *name)
{
    if (name[0] != 'a' && name[0] != 'f')
        return NULL;
    for (guint i = 0; i < G_N_ELEMENTS(ops); i++)
        if (strcmp(name, ops[i].name) == 0)
            return &ops[i];
    return NULL;
}

gboolean
calibrate_call_pack(const CalibrateEvent *e, GString *out)
{
    if (*e->args[CALIBRATE_ARG_COLLECTIVE_NAME] != '\0') {
        static const CalibrateArg parts[] = {
            CALIBRATE_ARG_COLLECTIVE_NAME, CALIBRATE_ARG_IN_NELEMS,  CALIBRATE_ARG_OUT_NELEMS,
            CALIBRATE_ARG_DTYPE,           CALIBRATE_ARG_GROUP_SIZE, CALIBRATE_ARG_GROUP_RANKS};
        g_string_append_c(out, '*');
        for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
            g_string_append_c(out, SEPARATOR);
            g_string_append(out, e->args[parts[i]]);
        }
        return TRUE;
    }
    if (find_op(e->name) == NULL || *e->args[CALIBRATE_ARG_INPUT_DIMS] == '\0')
        return FALSE;
    static const CalibrateArg parts[] = {CALIBRATE_ARG_INPUT_DIMS, CALIBRATE_ARG_INPUT_TYPE,
                                         CALIBRATE_ARG_INPUT_STRIDES,
                                         CALIBRATE_ARG_CONCRETE_INPUTS};
    g_string_append(out, e->name);
    for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
        g_string_append_c(out, SEPARATOR);
        g_string_append(out, e->args[parts[i]]);
    }
    return TRUE;
}

/* --- parts -------------------------------------------------------------------------------------- */

typedef struct {
    guint n;
    gint64 at[MAX_DIMS];
} Dims;

/* Element `index` of a list with tabs, trimmed; "" where there is none. Caller frees. */
static char *
element(const char *list, guint index)
{
    for (; index > 0 && list != NULL; index--)
        list = strchr(list, '\t') != NULL ? strchr(list, '\t') + 1 : NULL;
    return list == NULL ? g_strdup("") : g_strstrip(g_strndup(list, strcspn(list, "\t")));
}

/* "[2,2048]" */
static gboolean
dims_of(const char *list, guint index, Dims *ret)
{
    g_autofree char *text = element(list, index);
    *ret = (Dims){0};
    gsize length = strlen(text);
    if (length < 3 || text[0] != '[' || text[length - 1] != ']')
        return FALSE;
    text[length - 1] = '\0';
    g_auto(GStrv) words = g_strsplit(text + 1, ",", -1);
    for (guint i = 0; words[i] != NULL; i++)
        if (i == MAX_DIMS || !g_ascii_string_to_signed(g_strstrip(words[i]), 10, 0, MAX_EXTENT,
                                                       &ret->at[ret->n++], NULL))
            return FALSE;
    return TRUE;
}

/* C++'s names of types and the profile's of messages. */
static const struct {
    const char *torch, *name;
    guint bytes;
    int dtype; /* ClusterDtype of a GEMM's or attention's operands, or -1 */
} types[] = {
    {"c10::BFloat16", "bf16", 2, CLUSTER_BF16},
    {"BFloat16", "bf16", 2, CLUSTER_BF16},
    {"c10::Half", "fp16", 2, CLUSTER_FP16},
    {"Half", "fp16", 2, CLUSTER_FP16},
    {"float", "fp32", 4, CLUSTER_FP32},
    {"Float", "fp32", 4, CLUSTER_FP32},
    {"c10::Float8_e4m3fn", "fp8", 1, CLUSTER_FP8},
    {"Float8_e4m3fn", "fp8", 1, CLUSTER_FP8},
    {"c10::Float8_e5m2", "fp8", 1, CLUSTER_FP8},
    {"Float8_e5m2", "fp8", 1, CLUSTER_FP8},
    {"double", "fp64", 8, -1},
    {"Double", "fp64", 8, -1},
    {"Byte", "uint8", 1, -1},
    {"Char", "int8", 1, -1},
    {"Int", "int32", 4, -1},
    {"Long", "int64", 8, -1},
    {"Bool", "uint8", 1, -1},
};

static int
type_of(const char *name)
{
    for (guint i = 0; i < G_N_ELEMENTS(types); i++)
        if (strcmp(types[i].torch, name) == 0)
            return (int)i;
    return -1;
}

guint
calibrate_call_type_bytes(const char *type)
{
    int index = type_of(type);
    return index >= 0 ? types[index].bytes : 0;
}

const char *
calibrate_call_type_name(const char *dtype)
{
    for (guint i = 0; i < G_N_ELEMENTS(types); i++)
        if (strcmp(types[i].name, dtype) == 0)
            return types[i].torch;
    return "";
}

static int
type_at(const char *list, guint index)
{
    g_autofree char *name = element(list, index);
    return type_of(name);
}

/* --- kinds -------------------------------------------------------------------------------------- */

typedef enum { ORDER_UNKNOWN, ORDER_ROWS, ORDER_COLUMNS } Order;

/* Of the last two dimensions. */
static Order
order_of(const char *strides, guint index, const Dims *dims)
{
    Dims s;
    if (!dims_of(strides, index, &s) || s.n != dims->n || s.n < 2)
        return ORDER_UNKNOWN;
    gint64 rows = dims->at[s.n - 2], columns = dims->at[s.n - 1];
    gboolean by_rows = s.at[s.n - 1] == 1 && s.at[s.n - 2] >= columns;
    gboolean by_columns = s.at[s.n - 2] == 1 && s.at[s.n - 1] >= rows;
    if (by_rows == by_columns) /* of one row or column, or with gaps */
        return ORDER_UNKNOWN;
    return by_rows ? ORDER_ROWS : ORDER_COLUMNS;
}

static void
read_gemm(const Op *op, char **parts, CalibrateCall *call)
{
    Dims a, b;
    int type = type_at(parts[2], op->first);
    if (!dims_of(parts[1], op->first, &a) || !dims_of(parts[1], op->first + 1, &b) || a.n != b.n ||
        (a.n != 2 && a.n != 3) || a.at[a.n - 1] != b.at[a.n - 2] || type < 0 ||
        types[type].dtype < 0) {
        call->refusal = "products of other sizes or types than those of matrices";
        return;
    }
    call->gemm = (CostGemm){.dtype = (ClusterDtype)types[type].dtype,
                            .m = a.at[a.n - 2],
                            .n = b.at[a.n - 1],
                            .k = a.at[a.n - 1],
                            .batch = a.n == 3 ? a.at[0] : 1};
    if (call->gemm.m < 1 || call->gemm.n < 1 || call->gemm.k < 1 || call->gemm.batch < 1)
        call->refusal = "empty matrices";
    call->is_fp32 = types[type].dtype == CLUSTER_FP32;
    Order of_a = order_of(parts[3], op->first, &a), of_b = order_of(parts[3], op->first + 1, &b);
    call->has_pass = of_a != ORDER_UNKNOWN && of_b != ORDER_UNKNOWN;
    if (of_a == ORDER_COLUMNS && of_b == ORDER_COLUMNS)
        call->refusal = "products with both operands transposed";
    call->gemm.pass = of_a == ORDER_COLUMNS   ? COST_GEMM_WGRAD
                      : of_b == ORDER_COLUMNS ? COST_GEMM_FORWARD
                                              : COST_GEMM_DGRAD;
}

static void
read_attention(const Op *op, char **parts, CalibrateCall *call)
{
    Dims q, k, v;
    int type = type_at(parts[2], op->first);
    guint heads = op->heads_last ? 2 : 1, seq = op->heads_last ? 1 : 2;
    g_autofree char *causal = element(parts[4], (guint)op->causal);
    if (!dims_of(parts[1], op->first, &q) || !dims_of(parts[1], op->first + 1, &k) ||
        !dims_of(parts[1], op->first + 2, &v) || q.n != 4 || k.n != 4 || v.n != 4 || type < 0 ||
        types[type].dtype < 0) {
        call->refusal = "attention of other sizes or types than those of whole batches";
        return;
    }
    call->attention = (CostAttention){.dtype = (ClusterDtype)types[type].dtype,
                                      .batch = q.at[0],
                                      .heads = q.at[heads],
                                      .kv_heads = k.at[heads],
                                      .head_dim = q.at[3],
                                      .seq_q = q.at[seq],
                                      .seq_kv = k.at[seq],
                                      .causal = strcmp(causal, "True") == 0,
                                      .backward = op->backward};
    if (strcmp(causal, "True") != 0 && strcmp(causal, "False") != 0)
        call->refusal = "attention that may or may not be causal (PyTorch before 2.1)";
    else if (q.at[seq] != k.at[seq] || q.at[3] != v.at[3])
        call->refusal = "attention with lengths or widths that differ";
    else if (q.at[0] < 1 || q.at[1] < 1 || q.at[2] < 1 || q.at[3] < 1 || k.at[heads] < 1)
        call->refusal = "empty matrices";
}

static void
read_memory(const Op *op, char **parts, CalibrateCall *call)
{
    Dims first, second;
    int type = type_at(parts[2], op->first);
    double bytes = type < 0 ? 0 : (double)types[type].bytes * op->tensors;
    if (!dims_of(parts[1], op->first, &first))
        bytes = 0;
    for (guint i = 0; i < first.n; i++)
        bytes *= (double)first.at[i];
    if (op->memory == COST_ADD &&
        (!dims_of(parts[1], 1, &second) || memcmp(&first, &second, sizeof first) != 0 ||
         type_at(parts[2], 1) != type))
        bytes = 0; /* broadcasts move less */
    call->memory = op->memory;
    if (bytes < 1 || bytes > 1e15)
        call->refusal = "kernels whose bytes do not follow from sizes and types";
    else
        call->bytes = (gint64)bytes;
}

static void
read_collective(char **parts, CalibrateCall *call)
{
    const char *name = call->name = calibrate_collective_name(parts[1]);
    gint64 in = 0, out = 0;
    int type = type_of(parts[4]);
    gboolean numbers =
        g_ascii_string_to_signed(parts[2], 10, 0, G_GINT64_CONSTANT(1) << 40, &in, NULL) &&
        g_ascii_string_to_signed(parts[3], 10, 0, G_GINT64_CONSTANT(1) << 40, &out, NULL) &&
        g_ascii_string_to_signed(parts[5], 10, 1, 1 << 20, &call->group_size, NULL);
    int op = -1;
    for (int i = 0; i < NET_N_OPS; i++)
        if (strcmp(net_op_name((NetOp)i), name) == 0)
            op = i;
    if (op >= 0)
        call->op = (NetOp)op;
    g_strlcpy(call->ranks, parts[6], sizeof call->ranks);
    if (op < 0 || op == NET_SEND_RECV)
        call->refusal = "collectives that are none of collective.tsv, or wait for one peer";
    else if (!numbers || type < 0)
        call->refusal = "collectives without elements, type or group size; for a Chakra trace "
                        "write --dtype bf16 --ranks N";
    else if (call->group_size < 2)
        call->refusal = "groups of one rank";
    if (call->refusal != NULL)
        return;
    g_strlcpy(call->dtype, types[type].name, sizeof call->dtype);
    gint64 whole = out > 0 ? out : in * call->group_size;
    call->bytes = (call->op == NET_ALL_GATHER ? whole : in) * types[type].bytes;
    if (call->bytes < 1)
        call->refusal = "empty collectives";
}

CalibrateCall
calibrate_call_read(const char *packed)
{
    CalibrateCall call = {.kind = CALIBRATE_CALL_NONE};
    const char separator[] = {SEPARATOR, '\0'};
    g_auto(GStrv) parts = g_strsplit(packed, separator, 8);
    guint n = g_strv_length(parts);
    if (n == 7 && strcmp(parts[0], "*") == 0) {
        call.kind = CALIBRATE_CALL_COLLECTIVE;
        read_collective(parts, &call);
        return call;
    }
    const Op *op = n == 5 ? find_op(parts[0]) : NULL;
    if (op == NULL)
        return call;
    call.kind = op->kind;
    if (op->kind == CALIBRATE_CALL_GEMM)
        read_gemm(op, parts, &call);
    else if (op->kind == CALIBRATE_CALL_ATTENTION)
        read_attention(op, parts, &call);
    else
        read_memory(op, parts, &call);
    return call;
}

/* --- ranks -------------------------------------------------------------------------------------- */

/* Lists of more than some 30 ranks end in "...": the distance of the first two goes on. */
guint
calibrate_call_nodes(const CalibrateCall *call, guint per_node)
{
    guint n = 0;
    gint64 before = -1, first = 0, step = 0, node = -1;
    if (per_node == 0)
        return 0;
    for (const char *at = call->ranks; *at != '\0'; n++) {
        at += strspn(at, "[], \t");
        gsize digits = strspn(at, "0123456789");
        if (digits == 0 || digits > 9)
            break;
        gint64 rank = g_ascii_strtoll(at, NULL, 10);
        if (rank <= before)
            return 0; /* not in order: the count of nodes would need a set */
        at += digits;
        if (n == 0)
            first = rank;
        else if (n == 1)
            step = rank - first;
        before = rank;
    }
    if (n < 2 || n > call->group_size)
        return 0;
    guint nodes = 0;
    const char *at = call->ranks;
    for (gint64 i = 0; i < call->group_size; i++) {
        gint64 rank = first + i * step;
        if (i < n) {
            at += strspn(at, "[], \t");
            rank = g_ascii_strtoll(at, NULL, 10);
            at += strspn(at, "0123456789");
        }
        if (rank / per_node != node)
            nodes++;
        node = rank / per_node;
    }
    return nodes;
}
