/* Lists a book's sweeps. */
#include "config.h"

#include "net/coverage.h"

#include "net/book.h"

GArray *
net_book_coverage(const NetBook *book)
{
    GArray *groups = g_array_new(FALSE, FALSE, sizeof(NetCovered));
    for (guint i = 0; i < book->sweeps->len; i++) {
        const NetSweep *s = &g_array_index(book->sweeps, NetSweep, i);
        NetCovered covered = {s->op, s->group.ranks, s->group.nodes, net_curve_n_points(s->curve)};
        g_array_append_val(groups, covered);
    }
    return groups;
}
