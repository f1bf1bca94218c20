/* The schedules that a command compares. */
#include "config.h"

#include "cli/candidates.h"

#include "cli/command.h"

#include <string.h>

static void
candidate_clear(gpointer candidate)
{
    g_free(((CliCandidate *)candidate)->name);
}

static void
candidate_add(GArray *candidates, const char *name, const ScheduleType *type)
{
    CliCandidate candidate = {g_strdup(type != NULL ? type->name : name), type};
    g_array_append_val(candidates, candidate);
}

GArray *
cli_candidates_parse(const char *names, GError **error)
{
    g_autoptr(GArray) candidates = g_array_new(FALSE, FALSE, sizeof(CliCandidate));
    g_array_set_clear_func(candidates, candidate_clear);
    for (guint i = 0; names == NULL && schedule_types[i] != NULL; i++)
        candidate_add(candidates, NULL, schedule_types[i]);
    g_auto(GStrv) parts = g_strsplit(names == NULL || names[0] == '\0' ? " " : names, ",", -1);
    for (guint i = 0; names != NULL && parts[i] != NULL; i++) {
        gboolean file = g_str_has_suffix(parts[i], ".csv");
        const ScheduleType *type = file ? NULL : schedule_find(parts[i], error);
        if (type == NULL && !file)
            return NULL;
        candidate_add(candidates, parts[i], type);
    }
    return g_steal_pointer(&candidates);
}

gint64
cli_candidate_chunks(const ScheduleType *type, gint64 wanted)
{
    if (wanted == 0)
        wanted = type->max_vpp > 1 ? 2 : 1;
    return CLAMP(wanted, (gint64)type->min_vpp, (gint64)type->max_vpp);
}

char *
cli_candidate_reason(const GError *refusal)
{
    const char *colon = refusal->domain == SCHEDULE_ERROR ? strstr(refusal->message, ": ") : NULL;
    return g_strdelimit(g_strdup(colon != NULL ? colon + 2 : refusal->message), "\r\n\t", ' ');
}
