/* How many links of the whole fabric are like those that the simulated ranks use.
 *
 * The *print* of a link says how much each crowd puts on it in truth.  Links of one print carry the same; one of them
 * that is simulated with all of its crowds speaks for all.  Where none is, as where the messages of replicas that are
 * not simulated go, what goes through follows from what one of each crowd sends. */
#include "config.h"

#include "step/links.h"

typedef struct {
    guint link;          /* the lowest */
    guint truth, crowds; /* links of the print, and crowds on each */
    guint simulated;     /* of them, with all of the crowds */
} Row;

struct StepLinkCensus {
    StepLinkUses *uses;
    guint64 *prints;    /* [links] */
    guint *crowds;      /* [links] */
    GHashTable *places; /* print -> index + 1 into rows; look-up only */
    GArray *rows;
};

static void
print_links(StepLinkCensus *c, guint n_links)
{
    c->prints = g_new0(guint64, n_links);
    c->crowds = g_new0(guint, n_links);
    for (guint k = 0; k < c->uses->crowds->len; k++) {
        const StepLinkCrowd *crowd = &g_array_index(c->uses->crowds, StepLinkCrowd, k);
        const double *truth = step_fabric_truth(c->uses->b->fabric, &crowd->crowd);
        for (guint i = 0; i < n_links; i++)
            if (truth[i] > 0) {
                guint64 rounded = (guint64)(truth[i] * 1e6 + 0.5);
                c->prints[i] = (c->prints[i] ^ (rounded << 20 | (k + 1))) *
                               G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
                c->crowds[i]++;
            }
    }
}

static Row *
row_of(StepLinkCensus *c, guint link)
{
    guint place = GPOINTER_TO_UINT(g_hash_table_lookup(c->places, &c->prints[link]));
    if (place == 0) {
        Row row = {.link = link, .crowds = c->crowds[link]};
        g_array_append_val(c->rows, row);
        place = c->rows->len;
        g_hash_table_insert(c->places, &c->prints[link], GUINT_TO_POINTER(place));
    }
    return &g_array_index(c->rows, Row, place - 1);
}

static guint
link_of(const StepLinkCensus *c, const StepLinkSpan *span)
{
    return g_array_index(c->uses->uses, StepLinkUse, span->from).link;
}

/* The link is simulated with all of its crowds. */
static gboolean
is_whole(StepLinkCensus *c, const StepLinkSpan *span)
{
    const StepLinkUse *uses = (const StepLinkUse *)(gconstpointer)c->uses->uses->data;
    guint n = 1;
    for (guint i = span->from + 1; i < span->end; i++)
        n += uses[i].crowd != uses[i - 1].crowd;
    return n == row_of(c, link_of(c, span))->crowds;
}

StepLinkCensus *
step_link_census_new(StepLinkUses *uses, const GArray *spans)
{
    StepLinkCensus *c = g_new0(StepLinkCensus, 1);
    guint n_links = cluster_topology_n_links(uses->b->plan->topology);
    c->uses = uses;
    c->places = g_hash_table_new(g_int64_hash, g_int64_equal);
    c->rows = g_array_new(FALSE, TRUE, sizeof(Row));
    print_links(c, n_links);
    for (guint i = 0; i < n_links; i++)
        if (c->crowds[i] > 0)
            row_of(c, i)->truth++;
    for (guint i = 0; i < spans->len; i++) {
        const StepLinkSpan *span = &g_array_index(spans, StepLinkSpan, i);
        if (is_whole(c, span))
            row_of(c, link_of(c, span))->simulated++;
    }
    return c;
}

double
step_link_census_alike(StepLinkCensus *c, const StepLinkSpan *span, guint n)
{
    const Row *row = row_of(c, link_of(c, span));
    return is_whole(c, span) ? (double)n * row->truth / row->simulated : 0;
}

static void
add_unseen(StepLinkCensus *c, const Row *row)
{
    StepBuild *b = c->uses->b;
    StepFabricLink link = {.resource = STEP_NO_RESOURCE,
                           .link = row->link,
                           .alike = row->truth,
                           .first_part = b->link_parts->len};
    for (guint k = 0; k < c->uses->crowds->len; k++) {
        const StepLinkCrowd *crowd = &g_array_index(c->uses->crowds, StepLinkCrowd, k);
        StepLinkPart part = {crowd->counter,
                             step_fabric_truth(b->fabric, &crowd->crowd)[row->link]};
        if (part.weight > 0)
            g_array_append_val(b->link_parts, part);
    }
    link.n_parts = b->link_parts->len - link.first_part;
    g_array_append_val(b->fabric_links, link);
}

void
step_link_census_end(StepLinkCensus *c)
{
    for (guint i = 0; i < c->rows->len; i++) {
        const Row *row = &g_array_index(c->rows, Row, i);
        if (row->simulated == 0)
            add_unseen(c, row);
    }
    g_hash_table_unref(c->places);
    g_array_unref(c->rows);
    g_free(c->prints);
    g_free(c->crowds);
    g_free(c);
}
