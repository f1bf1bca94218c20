/* Errors of two times set against each other.
 *
 * A time errs by a sum of independent errors, each d_s with a sigma of its own (certainty.c).  Two times of one machine
 * share some of them: the same kernel, run a_s ns in the one and b_s ns in the other, errs by the same fraction in
 * both.  So the sigma of the difference is
 *
 *     sqrt(sum over sources (a_s - b_s)^2)
 *
 * and not the root of the sum of both squares, which would be right only if they had no source in common. */
#include "config.h"

#include "step/doubt.h"

#include <math.h>

static gint
by_source(gconstpointer a, gconstpointer b)
{
    const StepDoubt *x = a, *y = b;
    return x->source < y->source ? -1 : x->source > y->source;
}

void
step_doubts_sort(GArray *doubts)
{
    guint n = 0;
    g_array_sort(doubts, by_source);
    for (guint i = 0; i < doubts->len; i++) {
        StepDoubt doubt = g_array_index(doubts, StepDoubt, i);
        if (n > 0 && g_array_index(doubts, StepDoubt, n - 1).source == doubt.source)
            g_array_index(doubts, StepDoubt, n - 1).ns += doubt.ns;
        else
            g_array_index(doubts, StepDoubt, n++) = doubt;
    }
    g_array_set_size(doubts, n);
}

double
step_doubt_of_difference(const GArray *x, double x_scale, const GArray *y, double y_scale)
{
    guint n = x->len, m = y != NULL ? y->len : 0, i = 0, k = 0;
    double variance = 0;
    while (i < n || k < m) {
        const StepDoubt *a = i < n ? &g_array_index(x, StepDoubt, i) : NULL;
        const StepDoubt *b = k < m ? &g_array_index(y, StepDoubt, k) : NULL;
        gboolean first = a != NULL && (b == NULL || a->source <= b->source);
        gboolean second = b != NULL && (a == NULL || b->source <= a->source);
        double ns = (first ? x_scale * a->ns : 0) - (second ? y_scale * b->ns : 0);
        variance += ns * ns;
        i += first;
        k += second;
    }
    return sqrt(variance);
}
