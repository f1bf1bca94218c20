/* What the llm tests share: shapes and cuts from a few words, and tables of expected figures. */
#pragma once

#include "llm/ops.h"

#include <string.h>

/* The cut that the figures are about: bf16, flash, nothing recomputed, fused kernels, dropout as
 * the shape. */
static inline LlmCut
cut_of(const LlmShape *shape, gint64 tp, gboolean sequence_parallel, gint64 seq)
{
    return (LlmCut){.tp = tp,
                    .cp = 1,
                    .sequence_parallel = sequence_parallel,
                    .micro_batch = 1,
                    .seq = seq,
                    .dtype = CLUSTER_BF16,
                    .attention = LLM_ATTENTION_FLASH,
                    .recompute = LLM_RECOMPUTE_NONE,
                    .dropout = shape->dropout,
                    .gradient_fp32 = TRUE,
                    .vocab_padded = shape->vocab,
                    .fused_kernels = TRUE};
}

static inline LlmShape *
shipped(const char *name)
{
    GError *error = NULL;
    LlmShape *shape = llm_shape_load(name, NULL, &error);
    g_assert_no_error(error);
    return shape;
}

/* Rows of tests/data/llm/FILE as arrays of fields; '#' lines and names are skipped. */
static inline GPtrArray *
rows_of(const char *file)
{
    const char *data = g_getenv("DTSIM_TEST_DATA");
    g_autofree char *path = g_build_filename(data != NULL ? data : "tests/data", "llm", file, NULL);
    g_autofree char *text = NULL;
    GError *error = NULL;
    g_file_get_contents(path, &text, NULL, &error);
    g_assert_no_error(error);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    GPtrArray *rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    gboolean names_seen = FALSE;
    for (guint i = 0; lines[i] != NULL; i++) {
        if (lines[i][0] == '#' || lines[i][0] == '\0') {
            continue;
        }
        if (names_seen) {
            g_ptr_array_add(rows, g_strsplit(lines[i], "\t", -1));
        }
        names_seen = TRUE;
    }
    g_assert_cmpuint(rows->len, >, 0);
    return rows;
}

static inline gint64
whole(const char *text)
{
    return g_ascii_strtoll(text, NULL, 10);
}
