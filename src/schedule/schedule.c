/* The list of schedules, and a schedule built from one of them. */
#include "config.h"

#include "schedule/schedule.h"

#include "conf/complaint.h"
#include "schedule/csv_table.h"
#include "schedule/types.h"

#include <string.h>

G_DEFINE_QUARK(schedule_error_quark, schedule_error)

const ScheduleType *const schedule_types[] = {
    &schedule_1f1b,
    &schedule_interleaved_megatron,
    &schedule_interleaved_torch,
    &schedule_interleaved_ep_overlap,
    &schedule_looped_bfs,
    &schedule_zb_h1,
    &schedule_zb_h2,
    &schedule_interleaved_zb_torch,
    &schedule_zbv_torch,
    &schedule_dualpipe,
    &schedule_dualpipev,
    &schedule_chimera,
    &schedule_gpipe,
    &schedule_gpipe_lifo,
    &schedule_naive,
    &schedule_v_half,
    &schedule_v_min,
    &schedule_hanayo_greedy,
    &schedule_zb_1p,
    &schedule_zb_2p,
    &schedule_pipedream,
    &schedule_pipedream_2bw,
    NULL,
};

/* What people write for a schedule that has another name here. */
static const struct {
    const char *alias, *name;
} aliases[] = {
    {"interleaved", "interleaved_megatron"},
    {"interleaved_1f1b", "interleaved_megatron"},
    {"ep_overlap", "interleaved_ep_overlap"},
    {"afab", "gpipe"},
    {"hanayo", "hanayo_greedy"},
    {"bfs", "looped_bfs"},
    {"breadth_first", "looped_bfs"},
    {"h1", "zb_h1"},
    {"h2", "zb_h2"},
    {"interleaved_zb", "interleaved_zb_torch"},
    {"interleaved_zero_bubble", "interleaved_zb_torch"},
    {"zbv", "zbv_torch"},
    {"zbv_zero_bubble", "zbv_torch"},
};

/* Equal but for case, '-' and '_': "ZB-H1", "zbh1". */
static gboolean
same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "-_");
        b += strspn(b, "-_");
        if (g_ascii_tolower(*a) != g_ascii_tolower(*b))
            return FALSE;
        if (*a == '\0')
            return TRUE;
    }
}

const ScheduleType *
schedule_find(const char *name, GError **error)
{
    const char *names[G_N_ELEMENTS(schedule_types)] = {NULL};
    const char *wanted = name;

    for (guint i = 0; i < G_N_ELEMENTS(aliases); i++)
        if (same_name(name, aliases[i].alias))
            wanted = aliases[i].name;
    for (guint i = 0; schedule_types[i] != NULL; i++) {
        if (same_name(wanted, schedule_types[i]->name))
            return schedule_types[i];
        names[i] = schedule_types[i]->name;
    }

    g_autofree char *hint = conf_hint(name, names);
    g_autofree char *list = g_strjoinv(", ", (char **)names);
    g_set_error(
        error, SCHEDULE_ERROR, SCHEDULE_ERROR_UNKNOWN,
        "--schedule: there is no schedule '%s'%s; the schedules are %s, interleaved (short for "
        "interleaved_megatron), or a file ending in .csv",
        name, hint, list);
    return NULL;
}

void
schedule_place_in_loop(const ScheduleParams *p, guint *rank_of)
{
    for (guint s = 0; s < p->pp * p->vpp; s++)
        rank_of[s] = s % p->pp;
}

void
schedule_place_both_ways(const ScheduleParams *p, guint *rank_of)
{
    for (guint s = 0; s < p->pp; s++) {
        rank_of[s] = s;
        rank_of[p->pp + s] = p->pp - 1 - s;
    }
}

void
schedule_place_in_waves(const ScheduleParams *p, guint *rank_of)
{
    for (guint s = 0; s < p->pp * p->vpp; s++)
        rank_of[s] = s / p->pp % 2 == 0 ? s % p->pp : p->pp - 1 - s % p->pp;
}

void
schedule_append(GArray *tokens, ScheduleKind kind, guint stage, guint microbatch)
{
    ScheduleToken token = {.kind = (guint8)kind, .stage = (guint16)stage, .microbatch = microbatch};

    g_array_append_val(tokens, token);
}

void
schedule_append_pair(GArray *tokens, guint forward_stage, guint forward_microbatch,
                     guint backward_stage, guint backward_microbatch)
{
    schedule_append(tokens, SCHEDULE_F, forward_stage, forward_microbatch);
    g_array_index(tokens, ScheduleToken, tokens->len - 1).pair = SCHEDULE_PAIR_FIRST;
    schedule_append(tokens, SCHEDULE_B, backward_stage, backward_microbatch);
    g_array_index(tokens, ScheduleToken, tokens->len - 1).pair = SCHEDULE_PAIR_SECOND;
}

/* What holds for every schedule; NULL or why not. */
static char *
refuse_sizes(const ScheduleType *type, const ScheduleParams *p)
{
    if (p->pp < 1 || p->microbatches < 1 || p->vpp < 1)
        return g_strdup_printf(
            "%u pipeline ranks, %u chunks and %u microbatches: each must be at least 1", p->pp,
            p->vpp, p->microbatches);
    if (p->vpp < type->min_vpp)
        return g_strdup_printf(
            "it needs at least %u chunks a rank and --vpp is %u; write --vpp %u, or use "
            "--schedule 1f1b",
            type->min_vpp, p->vpp, type->min_vpp);
    if (p->vpp > type->max_vpp && type->max_vpp == 1)
        return g_strdup_printf(
            "it has one chunk a rank and --vpp is %u; write --vpp 1, or use --schedule "
            "interleaved",
            p->vpp);
    if (p->vpp > type->max_vpp)
        return g_strdup_printf("it has at most %u chunks a rank and --vpp is %u; write --vpp %u",
                               type->max_vpp, p->vpp, type->max_vpp);
    if ((guint64)p->pp * p->vpp > G_MAXUINT16)
        return g_strdup_printf("%u ranks of %u chunks are more than %u stages; lower --pp or --vpp",
                               p->pp, p->vpp, G_MAXUINT16);
    if ((guint64)p->pp * p->vpp * p->microbatches > SCHEDULE_MAX_TOKENS / 2)
        return g_strdup_printf(
            "%u microbatches through %u stages are more than %u operations; lower the "
            "number of microbatches",
            p->microbatches, p->pp * p->vpp, SCHEDULE_MAX_TOKENS);
    if (!type->grouped && p->group != 0 && p->group != p->pp)
        return g_strdup_printf(
            "it has no microbatch groups and a group of %u was given; leave it out, or "
            "use --schedule interleaved",
            p->group);
    return NULL;
}

Schedule *
schedule_new(const ScheduleType *type, const ScheduleParams *params, GError **error)
{
    g_autofree char *why_not = refuse_sizes(type, params);

    if (why_not == NULL && type->refuse != NULL)
        why_not = type->refuse(params);
    if (why_not != NULL) {
        g_set_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_ILLEGAL, "schedule %s: %s", type->name,
                    why_not);
        return NULL;
    }

    Schedule *s = g_new0(Schedule, 1);
    s->name = type->name;
    s->params = *params;
    s->n_stages = params->pp * params->vpp;
    s->n_replicas = type->replica != NULL ? 2 : 1;
    s->asynchronous = type->weight_versions != NULL;
    s->rank_of = g_new(guint, s->n_replicas * s->n_stages);
    type->placement(params, s->rank_of);
    s->replica_of = g_new0(guint8, params->microbatches);
    for (guint m = 0; type->replica != NULL && m < params->microbatches; m++)
        s->replica_of[m] = (guint8)type->replica(params, m);
    s->ranks = g_new0(GArray *, params->pp);
    for (guint r = 0; r < params->pp; r++) {
        s->ranks[r] = g_array_sized_new(FALSE, FALSE, sizeof(ScheduleToken),
                                        2 * params->microbatches * params->vpp);
        if (type->build != NULL)
            type->build(params, r, s->ranks[r]);
    }
    if (type->build_all != NULL)
        type->build_all(params, s->ranks);
    return s;
}

guint
schedule_rank_of(const Schedule *s, guint stage, guint microbatch)
{
    return s->rank_of[(gsize)s->replica_of[microbatch] * s->n_stages + stage];
}

void
schedule_free(Schedule *s)
{
    if (s == NULL)
        return;
    for (guint r = 0; s->ranks != NULL && r < s->params.pp; r++)
        if (s->ranks[r] != NULL)
            g_array_unref(s->ranks[r]);
    g_free(s->ranks);
    g_free(s->rank_of);
    g_free(s->replica_of);
    schedule_table_free(s->table);
    g_free(s);
}
