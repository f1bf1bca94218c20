/* Reads overlap.tsv and interpolates over channels. */
#include "config.h"

#include "cost/overlap_table.h"

#include "conf/complaint.h"

/* A row of traffic that by the model slows hardly at all says nothing about other traffic: its excess is taken
 * against at least this. */
#define LEAST_EXCESS 0.01
#define MOST_SLOWDOWN 100
#define MOST_RATE_GBps 100000

typedef struct {
    double channels, value; /* value: mean of `n` rows of these channels */
    guint n;
} Point;

struct CostOverlapTable {
    GArray *excess[COST_N_WORKS][COST_N_TRAFFICS]; /* of Point, by channels; NULL: none */
    GArray *slowdown[COST_N_WORKS][COST_N_TRAFFICS];
    guint n_rows;
};

enum { WORK, TRAFFIC, CHANNELS, RATE, WORK_SLOWDOWN, TRAFFIC_SLOWDOWN, N_COLUMNS };
static const char *const column_names[N_COLUMNS] = {
    "work", "traffic", "channels", "rate_GBps", "work_slowdown", "traffic_slowdown"};

typedef struct {
    const ClusterSystem *system;
    const ConfTable *rows;
    guint columns[N_COLUMNS];
    guint row;
} Reader;

static const char *
work_name(guint i)
{
    return cost_work_name((CostWork)i);
}

static const char *
traffic_name(guint i)
{
    return cost_traffic_name((CostTraffic)i);
}

static gboolean
read_name(const Reader *r, guint which, const char *(*name)(guint), guint n, guint *ret,
          GError **error)
{
    const char *names[COST_N_WORKS + COST_N_TRAFFICS] = {NULL};
    const char *text = conf_table_text(r->rows, r->row, r->columns[which]);
    for (guint i = 0; i < n; i++) {
        names[i] = name(i);
        if (g_str_equal(text, names[i])) {
            *ret = i;
            return TRUE;
        }
    }
    g_autofree char *hint = conf_hint(text, names);
    g_autofree char *list = g_strjoinv(", ", (char **)names);
    conf_table_complain(r->rows, r->row, r->columns[which], error,
                        "'%s' is no kind of %s%s; write one of %s", text, column_names[which], hint,
                        list);
    return FALSE;
}

/* A number from `least` to `most`; `-`: 0, where 0 is not among them. */
static gboolean
read_number(const Reader *r, guint which, double least, double most, double *ret, GError **error)
{
    const char *text = conf_table_text(r->rows, r->row, r->columns[which]);
    *ret = 0;
    if (least > 0 && g_str_equal(text, "-"))
        return TRUE;
    if (!conf_table_double(r->rows, r->row, r->columns[which], ret, error))
        return FALSE;
    if (*ret >= least && *ret <= most)
        return TRUE;
    conf_table_complain(r->rows, r->row, r->columns[which], error, "must be from %g to %g%s", least,
                        most, least > 0 ? "; write - where it was not measured" : "");
    return FALSE;
}

/* What the links of the system achieve, a GPU. */
static double
usual_rate_Bps(const ClusterSystem *s, CostTraffic traffic)
{
    if (traffic == COST_TRAFFIC_NVLINK || traffic == COST_TRAFFIC_COPY)
        return (double)s->nvlink_Bps * s->nvlink_efficiency;
    return (double)s->nic_Bps * s->nic_efficiency * (double)s->nics_per_node /
           (double)s->gpus_per_node;
}

static void
add_point(GArray **points, double channels, double value)
{
    if (!*points)
        *points = g_array_new(FALSE, FALSE, sizeof(Point));
    guint i = 0;
    while (i < (*points)->len && g_array_index(*points, Point, i).channels < channels)
        i++;
    if (i < (*points)->len && !(g_array_index(*points, Point, i).channels > channels)) {
        Point *same = &g_array_index(*points, Point, i);
        same->value = (same->value * same->n + value) / (same->n + 1);
        same->n++;
        return;
    }
    Point point = {channels, value, 1};
    g_array_insert_val(*points, i, point);
}

static gboolean
read_row(const Reader *r, CostOverlapTable *t, GError **error)
{
    guint work = 0, traffic = 0;
    double channels = 0, rate = 0, slowdown = 0, traffic_slowdown = 0;
    double sms = (double)r->system->n_sms;
    if (!read_name(r, WORK, work_name, COST_N_WORKS, &work, error) ||
        !read_name(r, TRAFFIC, traffic_name, COST_N_TRAFFICS, &traffic, error) ||
        !read_number(r, CHANNELS, 0, sms - 1, &channels, error) ||
        !read_number(r, RATE, 1e-3, MOST_RATE_GBps, &rate, error) ||
        !read_number(r, WORK_SLOWDOWN, 1, MOST_SLOWDOWN, &slowdown, error) ||
        !read_number(r, TRAFFIC_SLOWDOWN, 1, MOST_SLOWDOWN, &traffic_slowdown, error))
        return FALSE;
    if (!(slowdown > 0) && !(traffic_slowdown > 0)) {
        conf_table_complain(r->rows, r->row, r->columns[WORK_SLOWDOWN], error,
                            "neither slowdown was measured; leave the row out");
        return FALSE;
    }
    double sent_Bps = rate > 0 ? rate * 1e9 : usual_rate_Bps(r->system, (CostTraffic)traffic);
    double hbm = cost_traffic_hbm_frac(r->system, (CostTraffic)traffic, sent_Bps, 1e9);
    double model = sms / (sms - channels) * (1 + hbm);
    if (slowdown > 0)
        add_point(&t->excess[work][traffic], channels,
                  (slowdown - 1) / MAX(model - 1, LEAST_EXCESS));
    if (traffic_slowdown > 0)
        add_point(&t->slowdown[work][traffic], channels, traffic_slowdown);
    return TRUE;
}

CostOverlapTable *
cost_overlap_table_new(const ClusterSystem *measured, const ConfTable *rows, GError **error)
{
    Reader reader = {.system = measured, .rows = rows};
    for (guint i = 0; i < N_COLUMNS; i++)
        if (!conf_table_need_column(rows, column_names[i], &reader.columns[i], error))
            return NULL;
    g_autoptr(CostOverlapTable) t = g_new0(CostOverlapTable, 1);
    t->n_rows = conf_table_n_rows(rows);
    for (; reader.row < t->n_rows; reader.row++)
        if (!read_row(&reader, t, error))
            return NULL;
    return g_steal_pointer(&t);
}

void
cost_overlap_table_free(CostOverlapTable *t)
{
    if (!t)
        return;
    for (guint work = 0; work < COST_N_WORKS; work++)
        for (guint traffic = 0; traffic < COST_N_TRAFFICS; traffic++) {
            g_clear_pointer(&t->excess[work][traffic], g_array_unref);
            g_clear_pointer(&t->slowdown[work][traffic], g_array_unref);
        }
    g_free(t);
}

guint
cost_overlap_table_n_rows(const CostOverlapTable *t)
{
    return t->n_rows;
}

static gboolean
look_up(const GArray *points, double channels, double *ret)
{
    if (!points)
        return FALSE;
    guint i = 0;
    while (i < points->len && g_array_index(points, Point, i).channels < channels)
        i++;
    const Point *high = &g_array_index(points, Point, MIN(i, points->len - 1));
    const Point *low = i > 0 ? &g_array_index(points, Point, i - 1) : high;
    double width = high->channels - low->channels;
    double x = width > 0 ? (channels - low->channels) / width : 0;
    *ret = low->value + x * (high->value - low->value);
    return TRUE;
}

gboolean
cost_overlap_table_excess(const CostOverlapTable *t, CostWork work, CostTraffic traffic,
                          double channels, double *ret)
{
    return look_up(t->excess[work][traffic], channels, ret);
}

gboolean
cost_overlap_table_slowdown(const CostOverlapTable *t, CostWork work, CostTraffic traffic,
                            double channels, double *ret)
{
    return look_up(t->slowdown[work][traffic], channels, ret);
}
