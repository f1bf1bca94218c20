/* Lists, turns, refinement. */
#include "config.h"

#include "calib/plan.h"

#include "calib/grow.h"
#include "calib/measure.h"
#include "calib/refine_gemm.h"

#include <string.h>

/* Of the GPU's free memory, for the buffers of one case without rotation. */
#define BUFFER_FRAC 0.4
/* Grid points of which one call takes longer than this are worth too many others. */
#define LONGEST_US 60000

static const CalibSweep *const sweeps[] = {&calib_sweep_gemm, &calib_sweep_memory,
                                           &calib_sweep_attention, &calib_sweep_collective,
                                           &calib_sweep_overlap};
enum { N_SWEEPS = sizeof sweeps / sizeof *sweeps };

/* The points of one kind, by stage. */
typedef struct {
    CalibPoints points;
    size_t next;
    double used_s, share;
} Lane;

struct CalibPlan {
    CalibSweepSpec spec;
    Lane lanes[CALIB_N_CASES];
    CalibRefineGemm *refine;
    CalibPoint asked;
};

const char *
calib_stage_name(CalibStage stage)
{
    static const char *const names[CALIB_N_STAGES] = {"device", "named", "coarse",
                                                      "middle", "fine",  "refine"};
    return names[stage];
}

/* --- points ------------------------------------------------------------------------------------- */

bool
calib_points_fits(const CalibSweepSpec *spec, const CalibCase *what)
{
    return (double)calib_case_footprint_bytes(what) <=
           BUFFER_FRAC * (double)spec->machine->memory_free_bytes;
}

bool
calib_sweep_gemm_worth(const CalibSweepSpec *spec, const CalibGemm *gemm)
{
    return calib_gemm_roofline_us(&spec->gpu, gemm) <= LONGEST_US;
}

double
calib_points_guess_s(const CalibSweepSpec *spec, const CalibCase *what)
{
    double seconds = 0;
    CalibCase variant;
    for (unsigned i = 0; calib_row_variant(what, i, &variant); i++)
        seconds += calib_measure_estimate_s(calib_case_guess_us(&spec->gpu, &variant));
    return seconds;
}

CalibDtype
calib_sweep_dtype(const CalibSweepSpec *spec)
{
    static const CalibDtype order[] = {CALIB_BF16, CALIB_FP16, CALIB_FP32};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (spec->dtypes[order[i]])
            return order[i];
    return spec->machine->compute_capability >= 80 ? CALIB_BF16 : CALIB_FP16;
}

void
calib_points_add(CalibPoints *points, const CalibSweepSpec *spec, CalibCase what, CalibStage stage)
{
    if (stage != CALIB_STAGE_NAMED && !calib_points_fits(spec, &what))
        return;
    points->points = calib_grow(points->points, points->n, &points->room, sizeof *points->points);
    points->points[points->n++] = (CalibPoint){what, stage, calib_points_guess_s(spec, &what)};
}

/* --- lanes -------------------------------------------------------------------------------------- */

typedef struct {
    CalibPoint point;
    size_t index;
} Ordered;

static int
compare_cases(const void *a, const void *b)
{
    const Ordered *p = a, *q = b;
    int order = calib_case_compare(&p->point.what, &q->point.what);
    if (order != 0)
        return order;
    if (p->point.stage != q->point.stage)
        return p->point.stage < q->point.stage ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

static int
compare_turns(const void *a, const void *b)
{
    const Ordered *p = a, *q = b;
    if (p->point.stage != q->point.stage)
        return p->point.stage < q->point.stage ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

/* Each case once, at its first stage; stages in order, within one as listed. */
static void
put_in_order(CalibPoints *points)
{
    Ordered *ordered = calloc(points->n + 1, sizeof *ordered);
    if (ordered == NULL)
        abort();
    for (size_t i = 0; i < points->n; i++)
        ordered[i] = (Ordered){points->points[i], i};
    qsort(ordered, points->n, sizeof *ordered, compare_cases);
    size_t kept = 0;
    for (size_t i = 0; i < points->n; i++)
        if (kept == 0 ||
            calib_case_compare(&ordered[kept - 1].point.what, &ordered[i].point.what) != 0)
            ordered[kept++] = ordered[i];
    qsort(ordered, kept, sizeof *ordered, compare_turns);
    for (size_t i = 0; i < kept; i++)
        points->points[i] = ordered[i].point;
    points->n = kept;
    free(ordered);
}

typedef struct {
    const CalibShape *shape;
    double weight; /* time in a step */
} Wanted;

static int
compare_wanted(const void *a, const void *b)
{
    const Wanted *p = a, *q = b;
    if (p->weight > q->weight || p->weight < q->weight)
        return p->weight > q->weight ? -1 : 1;
    return calib_case_compare(&p->shape->what, &q->shape->what);
}

/* The costliest first: where the budget ends early, the others are interpolated. */
static void
list_named(CalibPlan *plan)
{
    const CalibShapes *named = plan->spec.named;
    Wanted *wanted = calloc(named->n + 1, sizeof *wanted);
    if (wanted == NULL)
        abort();
    for (size_t i = 0; i < named->n; i++) {
        const CalibShape *shape = &named->shapes[i];
        wanted[i] =
            (Wanted){shape, shape->calls * calib_case_guess_us(&plan->spec.gpu, &shape->what)};
    }
    qsort(wanted, named->n, sizeof *wanted, compare_wanted);
    for (size_t i = 0; i < named->n; i++) {
        const CalibCase *what = &wanted[i].shape->what;
        if (plan->spec.kinds[what->kind])
            calib_points_add(&plan->lanes[what->kind].points, &plan->spec, *what,
                             CALIB_STAGE_NAMED);
    }
    free(wanted);
}

CalibPlan *
calib_plan_new(const CalibSweepSpec *spec)
{
    CalibPlan *plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        abort();
    plan->spec = *spec;
    list_named(plan);
    for (int i = 0; i < N_SWEEPS; i++) {
        Lane *lane = &plan->lanes[sweeps[i]->kind];
        lane->share = sweeps[i]->share;
        if (spec->kinds[sweeps[i]->kind])
            sweeps[i]->list(&plan->spec, &lane->points);
        put_in_order(&lane->points);
    }
    if (spec->kinds[CALIB_CASE_GEMM])
        plan->refine = calib_refine_gemm_new(&plan->spec);
    return plan;
}

void
calib_plan_free(CalibPlan *plan)
{
    if (plan == NULL)
        return;
    for (int kind = 0; kind < CALIB_N_CASES; kind++)
        free(plan->lanes[kind].points.points);
    calib_refine_gemm_free(plan->refine);
    free(plan);
}

/* --- turns -------------------------------------------------------------------------------------- */

/* The next point of a lane; false: it is through. */
static bool
peek(CalibPlan *plan, CalibKind kind, CalibPoint *ret)
{
    Lane *lane = &plan->lanes[kind];
    if (lane->next < lane->points.n) {
        *ret = lane->points.points[lane->next];
        return true;
    }
    return kind == CALIB_CASE_GEMM && plan->refine != NULL &&
           calib_refine_gemm_next(plan->refine, ret);
}

/* Grids and refinement take turns; the device and what was named come before all of them. */
static int
rank_of(CalibStage stage)
{
    return stage < CALIB_STAGE_COARSE ? (int)stage : (int)CALIB_STAGE_COARSE;
}

bool
calib_plan_next(CalibPlan *plan, CalibPoint *ret)
{
    bool found = false;
    double best_used = 0;
    for (int kind = 0; kind < CALIB_N_CASES; kind++) {
        CalibPoint point;
        const Lane *lane = &plan->lanes[kind];
        if (!peek(plan, (CalibKind)kind, &point))
            continue;
        double used = lane->used_s / lane->share;
        int order = found ? rank_of(point.stage) - rank_of(ret->stage) : -1;
        if (order < 0 || (order == 0 && used < best_used)) {
            found = true;
            best_used = used;
            *ret = point;
        }
    }
    if (found)
        plan->asked = *ret;
    return found;
}

void
calib_plan_tell(CalibPlan *plan, const CalibRow *row, double seconds)
{
    Lane *lane = &plan->lanes[plan->asked.what.kind];
    if (plan->asked.stage >= CALIB_STAGE_COARSE)
        lane->used_s += seconds;
    if (plan->asked.stage == CALIB_STAGE_REFINE) {
        calib_refine_gemm_answer(plan->refine, row);
        return;
    }
    lane->next++;
    if (row != NULL && plan->refine != NULL)
        calib_refine_gemm_tell(plan->refine, row);
}

/* --- sums --------------------------------------------------------------------------------------- */

CalibPlanSum
calib_plan_sum(const CalibPlan *plan, CalibKind kind, CalibStage stage)
{
    CalibPlanSum sum = {0};
    const CalibPoints *points = &plan->lanes[kind].points;
    for (size_t i = 0; i < points->n; i++)
        if (points->points[i].stage == stage) {
            sum.n++;
            sum.seconds += points->points[i].guess_s;
        }
    return sum;
}

CalibPlanSum
calib_plan_left(const CalibPlan *plan)
{
    CalibPlanSum sum = {0};
    for (int kind = 0; kind < CALIB_N_CASES; kind++) {
        const Lane *lane = &plan->lanes[kind];
        for (size_t i = lane->next; i < lane->points.n; i++) {
            sum.n++;
            sum.seconds += lane->points.points[i].guess_s;
        }
    }
    return sum;
}

unsigned
calib_plan_n_named_left(const CalibPlan *plan)
{
    unsigned n = 0;
    for (int kind = 0; kind < CALIB_N_CASES; kind++) {
        const Lane *lane = &plan->lanes[kind];
        for (size_t i = lane->next; i < lane->points.n; i++)
            n += lane->points.points[i].stage == CALIB_STAGE_NAMED;
    }
    return n;
}

bool
calib_plan_refines(const CalibPlan *plan)
{
    return plan->refine != NULL;
}
