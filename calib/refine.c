/* Cells, candidates, surprises. */
#include "config.h"

#include "calib/refine.h"

#include "calib/grow.h"

#include <math.h>
#include <string.h>

typedef struct {
    double centre[3], width;
    double weight, expected; /* expected < 0: not known yet */
} Cell;

/* A guess that was checked. */
typedef struct {
    double x[3], width, error;
} Surprise;

struct CalibRefine {
    CalibRefineBox box;
    CalibSurface surface;
    Cell *cells;
    Surprise *surprises;
    size_t n_cells, cell_room, n_surprises, surprise_room, best;
};

/* In units of the distance: how the experience of a cell fades with it; and what the bend of the surface counts beside
 * one surprise at hand. */
#define FADE2 0.25
#define BEND_WEIGHT 1.0

static double
distance2(const double a[3], const double b[3])
{
    double sum = 0;
    for (int axis = 0; axis < 3; axis++)
        sum += (a[axis] - b[axis]) * (a[axis] - b[axis]);
    return sum;
}

static void
add_cell(CalibRefine *r, const double centre[3], double width)
{
    double weight = r->box.weight(r->box.context, centre);
    for (int axis = 0; axis < 3; axis++)
        if (centre[axis] > r->box.high[axis] || centre[axis] < r->box.low[axis])
            return;
    if (!(weight > 0))
        return;
    r->cells = calib_grow(r->cells, r->n_cells, &r->cell_room, sizeof *r->cells);
    Cell *cell = &r->cells[r->n_cells++];
    *cell = (Cell){.width = width, .weight = weight, .expected = -1};
    memcpy(cell->centre, centre, sizeof cell->centre);
}

CalibRefine *
calib_refine_new(const CalibRefineBox *box)
{
    CalibRefine *r = calloc(1, sizeof *r);
    if (r == NULL)
        abort();
    r->box = *box;
    double half = box->coarse / 2, at[3];
    for (at[0] = box->low[0] + half; at[0] < box->high[0]; at[0] += box->coarse)
        for (at[1] = box->low[1] + half; at[1] < box->high[1]; at[1] += box->coarse)
            for (at[2] = box->low[2] + half; at[2] < box->high[2]; at[2] += box->coarse)
                add_cell(r, at, box->coarse);
    return r;
}

void
calib_refine_free(CalibRefine *r)
{
    if (r == NULL)
        return;
    calib_surface_clear(&r->surface);
    free(r->cells);
    free(r->surprises);
    free(r);
}

const CalibSurface *
calib_refine_surface(const CalibRefine *r)
{
    return &r->surface;
}

/* An interpolation errs in proportion to the width of a cell where the surface is rough, as GEMMs' is, and to its square
 * where it is smooth. */
static double
scaled(const Surprise *s, double width)
{
    return s->error * width / s->width;
}

/* More shapes lie in a wide cell; its root, since neither the largest error nor the mean is all that counts. */
static double
score_of(const CalibRefine *r, const Cell *cell)
{
    return cell->expected * cell->weight * sqrt(cell->width / r->box.coarse);
}

static double
expected_error(const CalibRefine *r, const Cell *cell)
{
    double sum = BEND_WEIGHT * calib_surface_at(&r->surface, cell->centre).residual;
    double weights = BEND_WEIGHT;
    for (size_t i = 0; i < r->n_surprises; i++) {
        double far2 = distance2(r->surprises[i].x, cell->centre);
        if (far2 > 16 * cell->width * cell->width)
            continue;
        double w = FADE2 / (far2 + FADE2);
        w *= w;
        sum += w * scaled(&r->surprises[i], cell->width);
        weights += w;
    }
    return sum / weights;
}

void
calib_refine_tell(CalibRefine *r, const double x[3], double y)
{
    calib_surface_add(&r->surface, x, y);
    for (size_t i = 0; i < r->n_cells; i++) {
        Cell *cell = &r->cells[i];
        if (distance2(cell->centre, x) < 4 * cell->width * cell->width)
            cell->expected = -1;
    }
}

double
calib_refine_best(CalibRefine *r, double ret_x[3])
{
    double best = 0;
    if (r->surface.n == 0)
        return 0;
    for (size_t i = 0; i < r->n_cells; i++) {
        Cell *cell = &r->cells[i];
        if (cell->expected < 0)
            cell->expected = expected_error(r, cell);
        if (score_of(r, cell) > best) {
            best = score_of(r, cell);
            r->best = i;
        }
    }
    if (best > 0)
        memcpy(ret_x, r->cells[r->best].centre, sizeof r->cells[r->best].centre);
    return best;
}

/* The cell at `best` gives way to the last one: order does not matter but is always the same. */
static Cell
take_best(CalibRefine *r)
{
    Cell cell = r->cells[r->best];
    r->cells[r->best] = r->cells[--r->n_cells];
    return cell;
}

void
calib_refine_drop(CalibRefine *r)
{
    take_best(r);
}

void
calib_refine_cut(CalibRefine *r, const double x[3], double y)
{
    Cell cell = take_best(r);
    double error = fabs(calib_surface_at(&r->surface, x).y - y);
    r->surprises =
        calib_grow(r->surprises, r->n_surprises, &r->surprise_room, sizeof *r->surprises);
    Surprise *surprise = &r->surprises[r->n_surprises++];
    *surprise = (Surprise){.width = cell.width, .error = error};
    memcpy(surprise->x, x, sizeof surprise->x);
    calib_refine_tell(r, x, y);
    if (cell.width / 2 < r->box.least)
        return;
    for (int corner = 0; corner < 8; corner++) {
        double centre[3];
        for (int axis = 0; axis < 3; axis++)
            centre[axis] = cell.centre[axis] + (corner >> axis & 1 ? 0.25 : -0.25) * cell.width;
        add_cell(r, centre, cell.width / 2);
    }
}
