/* Megatron's pipeline layout strings: stages between '|', in each a list of E (embedding), t (transformer
 * layer), L (loss), a factor behind '*': "E,t*3|t*4|t*4|t*3,L". A factor of a stage repeats it:
 * "E|(t*2|)*6,L" repeats what stands in brackets.  Commas are optional. Stage order is chunk-major
 * (SPEC.md 6.2). */
#include "config.h"

#include <string.h>

#include "plan/resolve.h"

#define MAX_LAYOUT 65536 /* letters after all factors are written out */

/* Writes out factors: "t*3" becomes "ttt", "(t|)*2" becomes "t|t|". NULL with *ret_why when it cannot. */
static gboolean
expand(const char **at, guint depth, GString *out, const char **ret_why)
{
    while (**at != '\0' && **at != ')') {
        gsize begin = out->len;
        char c = *(*at)++;
        if (c == '(') {
            if (depth > 8 || !expand(at, depth + 1, out, ret_why))
                return FALSE;
            if (**at != ')') {
                *ret_why = "a bracket is not closed";
                return FALSE;
            }
            (*at)++;
        } else if (strchr("EtL|", c) != NULL) {
            g_string_append_c(out, c);
        } else if (c == 'm') {
            *ret_why = "multi-token prediction layers (m) are not supported yet";
            return FALSE;
        } else if (c != ',' && c != ' ') {
            *ret_why = "write E, t, L, '|', brackets and factors as in t*3";
            return FALSE;
        }
        if (**at != '*')
            continue;
        char *end;
        guint64 factor = g_ascii_strtoull(*at + 1, &end, 10);
        gsize length = out->len - begin;
        if (end == *at + 1 || factor == 0 || length == 0 || factor > MAX_LAYOUT ||
            begin + length * factor > MAX_LAYOUT) {
            *ret_why = "a factor must be a number from 1, and all together stay reasonable";
            return FALSE;
        }
        g_autofree char *unit = g_strndup(out->str + begin, length);
        for (guint64 i = 1; i < factor; i++)
            g_string_append(out, unit);
        *at = end;
    }
    return TRUE;
}

static const char *
misplaced(const char *stage, gint64 s, gint64 stages)
{
    const char *embedding = strchr(stage, 'E'), *loss = strchr(stage, 'L');
    if ((embedding != NULL) != (s == 0) || (embedding != NULL && embedding != stage) ||
        (embedding != NULL && strchr(embedding + 1, 'E') != NULL))
        return "E must be the first of the first stage, once";
    if ((loss != NULL) != (s == stages - 1) || (loss != NULL && loss[1] != '\0'))
        return "L must be the last of the last stage, once";
    return NULL;
}

gboolean
plan_fill_layout(const PlanSpec *spec, gint64 layers, gint64 *ret, GError **error)
{
    gint64 stages = spec->pp * spec->vpp, sum = 0;
    g_autoptr(GString) text = g_string_new(NULL);
    const char *at = spec->layout, *why = NULL;

    if (!expand(&at, 0, text, &why) || *at != '\0')
        return plan_refuse(error, "--pipeline-layout: '%.60s': %s", spec->layout,
                           why != NULL ? why : "a bracket is closed that was not opened");
    g_auto(GStrv) parts = g_strsplit(text->str, "|", -1);
    if ((gint64)g_strv_length(parts) != stages)
        return plan_refuse(error,
                           "--pipeline-layout: %u stages for " PLAN_D " (pp x vpp = " PLAN_D
                           " x " PLAN_D "); write one part for each",
                           g_strv_length(parts), stages, spec->pp, spec->vpp);
    for (gint64 s = 0; s < stages; s++) {
        why = misplaced(parts[s], s, stages);
        if (why != NULL)
            return plan_refuse(error, "--pipeline-layout: stage " PLAN_D " ('%.20s'): %s", s,
                               parts[s], why);
        ret[s] = 0;
        for (const char *c = parts[s]; *c != '\0'; c++)
            ret[s] += *c == 't';
        sum += ret[s];
    }
    if (sum != layers)
        return plan_refuse(error,
                           "--pipeline-layout: it places " PLAN_D
                           " layers and the model has " PLAN_D "; change it by " PLAN_D,
                           sum, layers, layers - sum);
    return TRUE;
}
