/* What is wrong with the machine, held and read from text. */
#include "config.h"

#include "step/noise.h"

#include "conf/complaint.h"

#include <math.h>
#include <string.h>

static const char *const where_names[STEP_N_WHERES] = {"gpu", "node", "nic", "nvlink", "link"};
static const char *const victim_names[STEP_N_DAEMONS] = {"node", "rank", "gpu"};

#define MOST_PER_HOUR 36000 /* ten a second, drawn for half an hour and each card */

static void
clear_slow(gpointer data)
{
    g_clear_pointer(&((StepSlow *)data)->where.link, g_free);
}

static void
clear_flap(gpointer data)
{
    g_clear_pointer(&((StepFlap *)data)->where.link, g_free);
}

StepNoise *
step_noise_new(void)
{
    StepNoise *noise = g_new0(StepNoise, 1);
    noise->slow = g_array_new(FALSE, TRUE, sizeof(StepSlow));
    noise->flaps = g_array_new(FALSE, TRUE, sizeof(StepFlap));
    noise->daemons = g_array_new(FALSE, TRUE, sizeof(StepDaemon));
    noise->sample = 1;
    g_array_set_clear_func(noise->slow, clear_slow);
    g_array_set_clear_func(noise->flaps, clear_flap);
    return noise;
}

void
step_noise_free(StepNoise *noise)
{
    if (noise == NULL)
        return;
    g_array_unref(noise->slow);
    g_array_unref(noise->flaps);
    g_array_unref(noise->daemons);
    g_free(noise);
}

static gboolean
refuse(GError **error, const char *option, const char *text, const char *remedy)
{
    g_set_error(error, CONF_ERROR, CONF_ERROR_VALUE, "--%s: '%s' %s", option, text, remedy);
    return FALSE;
}

gboolean
step_noise_parse_share(const char *option, const char *text, double *ret_frac, GError **error)
{
    double frac;
    if (!units_parse_fraction(text, &frac, NULL) || frac >= 0.5)
        return refuse(error, option, text,
                      "is no standard deviation below 50%; write for example 2%");
    *ret_frac = frac;
    return TRUE;
}

/* "17" or "5.2": one or two whole numbers, nothing behind them. */
static gboolean
parse_numbers(const char *text, guint n, guint ret[2])
{
    for (guint i = 0; i < n; i++) {
        char *end;
        if (!g_ascii_isdigit(*text))
            return FALSE;
        guint64 value = g_ascii_strtoull(text, &end, 10);
        if (value > G_MAXINT32 || *end != (i + 1 < n ? '.' : '\0'))
            return FALSE;
        ret[i] = (guint)value;
        text = end + 1;
    }
    return TRUE;
}

/* "gpu:17", "nic:5.2", else the name of a link. */
static gboolean
parse_where(const char *option, const char *text, StepWhere *ret, GError **error)
{
    static const char *const remedies[] = {
        "names no GPU; write gpu: and its number from 0, as gpu:17",
        "names no node; write node: and its number from 0, as node:3",
        "names no card; write nic: with node and card from 0, as nic:5.2",
        "names no port; write nvlink: and the GPU's number from 0, as nvlink:17"};
    StepWhere where = {.kind = STEP_WHERE_LINK};
    for (guint kind = 0; kind < STEP_WHERE_LINK; kind++) {
        gsize n = strlen(where_names[kind]);
        if (strncmp(text, where_names[kind], n) != 0 || text[n] != ':')
            continue;
        guint numbers[2] = {0};
        if (!parse_numbers(text + n + 1, kind == STEP_WHERE_NIC ? 2 : 1, numbers))
            return refuse(error, option, text, remedies[kind]);
        *ret = (StepWhere){.kind = kind, .index = numbers[0], .nic = numbers[1]};
        return TRUE;
    }
    if (g_str_has_prefix(text, "link:"))
        text += strlen("link:");
    if (strchr(text, ' ') == NULL)
        return refuse(error, option, text,
                      "is no place; write gpu:17, node:3, nic:5.2, nvlink:17 or link:NAME, a link "
                      "as the report names it");
    where.link = g_strdup(text);
    *ret = where;
    return TRUE;
}

/* Items between commas; the names of links have commas too, so an item ends only behind its `mark`. */
static GPtrArray *
split(const char *text, char mark)
{
    GPtrArray *items = g_ptr_array_new_with_free_func(g_free);
    g_auto(GStrv) pieces = g_strsplit(text, ",", -1);
    g_autoptr(GString) item = g_string_new(NULL);
    if (pieces[0] == NULL)
        g_ptr_array_add(items, g_strdup(text)); /* nothing is no item that can be read */
    for (guint i = 0; pieces[i] != NULL; i++) {
        g_string_append_printf(item, "%s%s", item->len > 0 ? "," : "", pieces[i]);
        if (strchr(item->str, mark) == NULL && pieces[i + 1] != NULL)
            continue;
        g_ptr_array_add(items, g_strdup(g_strstrip(item->str)));
        g_string_truncate(item, 0);
    }
    return items;
}

/* A number of times, or "50%" of its speed. */
static gboolean
parse_times(const char *text, double *ret)
{
    double value;
    char *end;
    if (g_str_has_suffix(text, "%")) {
        if (!units_parse_fraction(text, &value, NULL) || value < 1e-6)
            return FALSE;
        *ret = 1 / value;
        return TRUE;
    }
    value = g_ascii_strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 1 && value <= 1e6))
        return FALSE;
    *ret = value;
    return TRUE;
}

gboolean
step_noise_parse_slow(StepNoise *noise, const char *text, GError **error)
{
    g_autoptr(GPtrArray) items = split(text, '=');
    guint before = noise->slow->len;
    for (guint i = 0; i < items->len; i++) {
        char *item = items->pdata[i], *equals = strrchr(item, '=');
        StepSlow slow = {0};
        gboolean ok = equals != NULL && parse_times(equals + 1, &slow.times);
        if (!ok) {
            refuse(error, "slow", item,
                   "says not how slow; write gpu:17=1.3 (takes 1.3 times as long) or gpu:17=75% "
                   "(of its speed)");
        } else {
            *equals = '\0';
            ok = parse_where("slow", item, &slow.where, error);
        }
        if (!ok) {
            g_array_set_size(noise->slow, before);
            return FALSE;
        }
        g_array_append_val(noise->slow, slow);
    }
    return TRUE;
}

/* "WHERE@100ms+50ms" or "nic@2/h+50ms". */
static gboolean
parse_flap(const char *item, StepFlap *ret, GError **error)
{
    static const char remedy[] = "is no failure; write nic:5.2@100ms+50ms (from 100 ms on for 50 "
                                 "ms) or nic@2/h+50ms (each card twice an hour)";
    const char *at = strrchr(item, '@'), *plus = at != NULL ? strchr(at, '+') : NULL;
    if (plus == NULL)
        return refuse(error, "flap", item, remedy);
    StepFlap flap = {0};
    g_autofree char *when = g_strndup(at + 1, (gsize)(plus - at - 1));
    g_autofree char *where = g_strndup(item, (gsize)(at - item));
    if (!units_parse(UNITS_TIME, plus + 1, &flap.for_ns, NULL) || flap.for_ns == 0)
        return refuse(error, "flap", item, remedy);
    if (g_str_has_suffix(when, "/h")) {
        char *end;
        flap.per_hour = g_ascii_strtod(when, &end);
        flap.where.kind = strcmp(where, "nvlink") == 0 ? STEP_WHERE_NVLINK : STEP_WHERE_NIC;
        if (end == when || strcmp(end, "/h") != 0 ||
            !(flap.per_hour > 0 && flap.per_hour <= MOST_PER_HOUR) ||
            strcmp(where, where_names[flap.where.kind]) != 0)
            return refuse(error, "flap", item, remedy);
        *ret = flap;
        return TRUE;
    }
    if (!units_parse(UNITS_TIME, when, &flap.at_ns, NULL))
        return refuse(error, "flap", item, remedy);
    if (!parse_where("flap", where, &flap.where, error))
        return FALSE;
    if (flap.where.kind == STEP_WHERE_GPU || flap.where.kind == STEP_WHERE_NODE) {
        return refuse(error, "flap", item,
                      "is no link; write nic:5.2, nvlink:17 or a link as the report names it");
    }
    *ret = flap;
    return TRUE;
}

gboolean
step_noise_parse_flaps(StepNoise *noise, const char *text, GError **error)
{
    g_autoptr(GPtrArray) items = split(text, '@');
    guint before = noise->flaps->len;
    for (guint i = 0; i < items->len; i++) {
        StepFlap flap;
        if (!parse_flap(items->pdata[i], &flap, error)) {
            g_array_set_size(noise->flaps, before);
            return FALSE;
        }
        g_array_append_val(noise->flaps, flap);
    }
    return TRUE;
}

static gboolean
parse_daemon(const char *item, StepDaemon *ret, GError **error)
{
    StepDaemon daemon = {.victim = STEP_DAEMON_NODE};
    const char *times = item;
    for (guint i = 0; i < STEP_N_DAEMONS; i++) {
        gsize n = strlen(victim_names[i]);
        if (strncmp(item, victim_names[i], n) != 0 || item[n] != ':')
            continue;
        daemon.victim = i;
        times = item + n + 1;
    }
    const char *slash = strchr(times, '/');
    g_autofree char *takes = g_strndup(times, slash != NULL ? (gsize)(slash - times) : 0);
    if (slash == NULL || !units_parse(UNITS_TIME, takes, &daemon.takes_ns, NULL) ||
        !units_parse(UNITS_TIME, slash + 1, &daemon.every_ns, NULL) || daemon.takes_ns < 1 ||
        daemon.takes_ns >= daemon.every_ns)
        return refuse(error, "daemon", item,
                      "is no part of a period; write 10ms/1s (10 ms of every second, all hosts of "
                      "a node at once), rank:10ms/1s (each by itself) or gpu:1ms/1s (kernels)");
    *ret = daemon;
    return TRUE;
}

gboolean
step_noise_parse_daemons(StepNoise *noise, const char *text, GError **error)
{
    g_autoptr(GPtrArray) items = split(text, '/');
    guint before = noise->daemons->len;
    for (guint i = 0; i < items->len; i++) {
        StepDaemon daemon;
        if (!parse_daemon(items->pdata[i], &daemon, error)) {
            g_array_set_size(noise->daemons, before);
            return FALSE;
        }
        g_array_append_val(noise->daemons, daemon);
    }
    return TRUE;
}

static gboolean
check_where(const char *option, const StepWhere *where, const Plan *plan, GError **error)
{
    const ClusterSystem *s = plan->system;
    guint nodes = plan->n_nodes, gpus = nodes * (guint)s->gpus_per_node;
    g_autofree char *name = step_where_name(where);
    if (where->kind == STEP_WHERE_LINK)
        return TRUE;
    gboolean of_gpu = where->kind == STEP_WHERE_GPU || where->kind == STEP_WHERE_NVLINK;
    if (where->index >= (of_gpu ? gpus : nodes)) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_VALUE,
                    "--%s: %s is outside of the plan's %u %s; write a number from 0 to %u", option,
                    name, of_gpu ? gpus : nodes, of_gpu ? "GPUs" : "nodes",
                    (of_gpu ? gpus : nodes) - 1);
        return FALSE;
    }
    if (where->kind == STEP_WHERE_NIC && where->nic >= s->nics_per_node) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_VALUE,
                    "--%s: %s: a node of %s has %" G_GINT64_FORMAT
                    " cards; write a card from 0 to %" G_GINT64_FORMAT,
                    option, name, s->name, s->nics_per_node, s->nics_per_node - 1);
        return FALSE;
    }
    return TRUE;
}

gboolean
step_noise_check(const StepNoise *noise, const Plan *plan, GError **error)
{
    for (guint i = 0; i < noise->slow->len; i++)
        if (!check_where("slow", &g_array_index(noise->slow, StepSlow, i).where, plan, error))
            return FALSE;
    for (guint i = 0; i < noise->flaps->len; i++) {
        const StepFlap *flap = &g_array_index(noise->flaps, StepFlap, i);
        if (flap->per_hour <= 0 && !check_where("flap", &flap->where, plan, error))
            return FALSE;
    }
    return TRUE;
}

gboolean
step_noise_is_random(const StepNoise *noise)
{
    for (guint i = 0; i < noise->flaps->len; i++)
        if (g_array_index(noise->flaps, StepFlap, i).per_hour > 0)
            return TRUE;
    return noise->gpu_spread_frac > 0 || noise->jitter_frac > 0 || noise->daemons->len > 0;
}

gboolean
step_noise_names_links(const StepNoise *noise)
{
    for (guint i = 0; i < noise->slow->len; i++)
        if (g_array_index(noise->slow, StepSlow, i).where.kind == STEP_WHERE_LINK)
            return TRUE;
    for (guint i = 0; i < noise->flaps->len; i++)
        if (g_array_index(noise->flaps, StepFlap, i).where.kind == STEP_WHERE_LINK)
            return TRUE;
    return FALSE;
}

gboolean
step_noise_is_everywhere(const StepNoise *noise)
{
    return step_noise_is_random(noise) || step_noise_names_links(noise);
}

char *
step_where_name(const StepWhere *where)
{
    if (where->kind == STEP_WHERE_LINK)
        return g_strdup(where->link);
    if (where->kind == STEP_WHERE_NIC)
        return g_strdup_printf("nic:%u.%u", where->index, where->nic);
    return g_strdup_printf("%s:%u", where_names[where->kind], where->index);
}
