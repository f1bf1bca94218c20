/* Number formats a GPU computes in: names and sizes. */
#include "config.h"

#include "cluster/system.h"

#include "cluster/error.h"
#include "conf/complaint.h"

static const struct {
    const char *name;
    guint bytes;
} dtypes[CLUSTER_N_DTYPES] = {
    [CLUSTER_FP32] = {"fp32", 4}, [CLUSTER_TF32] = {"tf32", 4}, [CLUSTER_FP16] = {"fp16", 2},
    [CLUSTER_BF16] = {"bf16", 2}, [CLUSTER_FP8] = {"fp8", 1},
};

const char *
cluster_dtype_name(ClusterDtype dtype)
{
    g_assert(dtype < CLUSTER_N_DTYPES);
    return dtypes[dtype].name;
}

guint
cluster_dtype_bytes(ClusterDtype dtype)
{
    g_assert(dtype < CLUSTER_N_DTYPES);
    return dtypes[dtype].bytes;
}

gboolean
cluster_dtype_parse(const char *text, ClusterDtype *ret, GError **error)
{
    const char *names[CLUSTER_N_DTYPES + 1] = {NULL};
    for (guint i = 0; i < CLUSTER_N_DTYPES; i++) {
        names[i] = dtypes[i].name;
        if (g_str_equal(text, names[i])) {
            *ret = (ClusterDtype)i;
            return TRUE;
        }
    }
    g_autofree char *hint = conf_hint(text, names);
    g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_UNKNOWN,
                "dtype: '%s' is not known%s; write fp32, tf32, fp16, bf16 or fp8", text, hint);
    return FALSE;
}
