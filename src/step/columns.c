/* Which columns of ranks are simulated beside the representatives of classes.
 *
 * Cards. Whatever goes through a card that a simulated rank uses has to be there. Ranks of one stage behind a card
 * share it evenly where they are of one class, and one stands for all (engine.c multiplies what it sends); where
 * they are not, each has to be there itself. Other stages behind that card need one rank too. A rank that is slow on
 * its own counts as alike here: it sends the same bytes, if later than what is taken for its neighbours' (some
 * millionths of an iteration, where GPUs share a card).
 *
 * Links above cards: what crowds.h says.
 *
 * Waiting. A rank is late, and those that meet it wait. Ranks meet along axes of the grid: tensor parallel groups
 * along tp, groups of cp, dp and experts along cp and dp (and tp), pipelines within a column. With T, C and D the
 * coordinates of what is simulated so far, all of T x C x D is simulated: then each of these ranks has, on each
 * axis, one rank at every coordinate where something special is, meets it in the same groups as in truth, and so
 * waits for it, directly or through others that it meets as often as in truth. A rank outside of the product is like
 * one inside of it that has the coordinates of its representatives: what reaches that one reaches it at the same
 * time. Groups of experts that hold a special rank and none of the representatives wait for it at every layer, and
 * all its members are then as late as it is: it stands for them. */
#include "config.h"

#include "step/columns.h"

#include "step/crowds.h"

guint
step_column_rank(const StepBuild *b, const StepColumns *columns, guint column, guint pp_rank)
{
    return plan_rank(b->plan, (PlanPlace){.tp = column % columns->tp,
                                          .cp = column / columns->tp % columns->cp,
                                          .dp = column / columns->tp / columns->cp,
                                          .pp = pp_rank});
}

static guint
column_of(const StepColumns *columns, PlanPlace place)
{
    return (guint)(place.tp + columns->tp * (place.cp + columns->cp * place.dp));
}

/* A rank behind a card. */
typedef struct {
    guint column, pp_rank;
} Neighbour;

/* All ranks behind the card of this one; GArray of Neighbour, caller frees. */
static GArray *
behind_card(const StepBuild *b, const StepColumns *columns, guint rank)
{
    const ClusterSystem *system = b->plan->system;
    GArray *all = g_array_new(FALSE, FALSE, sizeof(Neighbour));
    guint slot = plan_slot(b->plan, rank), nic = cluster_nic_of(system, slot);
    guint from = cluster_node_of(system, slot) * (guint)system->gpus_per_node;
    for (guint s = from; s < from + (guint)system->gpus_per_node; s++) {
        guint other;
        if (cluster_nic_of(system, s) != nic || !plan_find_rank(b->plan, s, &other))
            continue;
        PlanPlace place = plan_place(b->plan, other);
        Neighbour neighbour = {column_of(columns, place), (guint)place.pp};
        g_array_append_val(all, neighbour);
    }
    return all;
}

static const StepClass *
class_of(const StepBuild *b, const StepColumns *columns, Neighbour at)
{
    guint class = columns->class[at.column * columns->pp + at.pp_rank];
    return &g_array_index(b->classes, StepClass, class);
}

static void
add_column(StepColumns *columns, guint column, GArray *queue)
{
    if (columns->is_simulated[column])
        return;
    columns->is_simulated[column] = TRUE;
    g_array_append_val(queue, column);
}

/* Of the ranks behind a card, those of one stage: all where they differ, else one. */
static void
add_stage(const StepBuild *b, StepColumns *columns, const GArray *all, guint pp_rank, GArray *queue)
{
    const Neighbour *first = NULL;
    gboolean mixed = FALSE, any = FALSE;
    for (guint i = 0; i < all->len; i++) {
        const Neighbour *at = &g_array_index(all, Neighbour, i);
        if (at->pp_rank != pp_rank)
            continue;
        if (first == NULL)
            first = at;
        mixed = mixed || !step_class_equal(class_of(b, columns, *first), class_of(b, columns, *at));
        any = any || columns->is_simulated[at->column];
    }
    for (guint i = 0; i < all->len && mixed; i++)
        if (g_array_index(all, Neighbour, i).pp_rank == pp_rank)
            add_column(columns, g_array_index(all, Neighbour, i).column, queue);
    if (!any)
        add_column(columns, first->column, queue);
}

static void
add_neighbours(const StepBuild *b, StepColumns *columns, guint rank, GArray *queue)
{
    g_autoptr(GArray) all = behind_card(b, columns, rank);
    for (guint i = 0; i < all->len && all->len > 1; i++)
        add_stage(b, columns, all, g_array_index(all, Neighbour, i).pp_rank, queue);
}

/* All of T x C x D. */
static void
add_product(StepColumns *columns, GArray *queue)
{
    guint tp = columns->tp, cp = columns->cp;
    g_autofree guint8 *in_t = g_new0(guint8, tp), *in_c = g_new0(guint8, cp);
    g_autofree guint8 *in_d = g_new0(guint8, columns->dp);
    for (guint c = 0; c < columns->n; c++)
        if (columns->is_simulated[c])
            in_t[c % tp] = in_c[c / tp % cp] = in_d[c / tp / cp] = 1;
    for (guint c = 0; c < columns->n; c++)
        if (in_t[c % tp] && in_c[c / tp % cp] && in_d[c / tp / cp])
            add_column(columns, c, queue);
}

static void
add_crowds(StepColumns *columns, StepCrowds *crowds, GArray *queue)
{
    g_autoptr(GArray) missing = step_crowds_missing(crowds);
    for (guint i = 0; i < missing->len; i++)
        add_column(columns, g_array_index(missing, guint, i), queue);
}

void
step_columns_close(const StepBuild *b, StepColumns *columns, StepRanks ranks)
{
    StepCrowds *crowds = ranks == STEP_RANKS_CLASSES ? step_crowds_new(b, columns) : NULL;
    g_autoptr(GArray) queue = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint c = 0; c < columns->n; c++)
        if (columns->is_simulated[c])
            g_array_append_val(queue, c);
    for (guint i = 0; i < queue->len; i++) {
        guint column = g_array_index(queue, guint, i);
        for (guint r = 0; r < columns->pp && ranks == STEP_RANKS_CLASSES; r++)
            add_neighbours(b, columns, step_column_rank(b, columns, column, r), queue);
        step_crowds_add(crowds, column);
        if (i + 1 == queue->len)
            add_product(columns, queue);
        if (i + 1 == queue->len)
            add_crowds(columns, crowds, queue);
    }
    step_crowds_free(crowds);
}
