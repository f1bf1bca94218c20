/* Names of what selective recompute runs again, as Megatron's --recompute-modules has them; and one of ours for
 * PyTorch's policy by operator. */
#include "config.h"

#include "plan/plan.h"

#include <string.h>

#include "plan/resolve.h"

/* In the order of LlmModule's bits. */
static const char *const names[] = {"core_attn",      "layernorm",   "mlp", "moe",        "moe_act",
                                    "shared_experts", "mla_up_proj", "act", "second_gemm"};
G_STATIC_ASSERT(LLM_MODULE_ALL == (1 << G_N_ELEMENTS(names)) - 1);

static gboolean
parse_word(const char *word, guint *modules, GError **error)
{
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(names[i], word) == 0) {
            *modules |= 1U << i;
            return TRUE;
        }
    return plan_refuse(
        error,
        "--recompute-modules: there is no module '%.20s'; write some of core_attn, "
        "layernorm, mlp, moe, moe_act, shared_experts, mla_up_proj, act, second_gemm",
        word);
}

gboolean
plan_modules_parse(const char *text, guint *ret_modules, GError **error)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    guint modules = 0;

    for (guint i = 0; words[i] != NULL; i++)
        if (!parse_word(g_strstrip(words[i]), &modules, error))
            return FALSE;
    if ((modules & LLM_MODULE_SECOND_GEMM) != 0 && modules != LLM_MODULE_SECOND_GEMM)
        return plan_refuse(error, "--recompute-modules: second_gemm decides about the whole layer; "
                                  "write it alone");
    *ret_modules = modules;
    return TRUE;
}

char *
plan_modules_print(guint modules)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if ((modules & 1U << i) != 0)
            g_string_append_printf(text, "%s%s", text->len > 0 ? "," : "", names[i]);
    return g_string_free(text, FALSE);
}
