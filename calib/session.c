/* The loop: ask the plan, measure, write, tell the plan. */
#include "config.h"

#include "calib/session.h"

#include "calib/follow.h"
#include "calib/interrupt.h"
#include "calib/measure.h"
#include "calib/progress.h"
#include "calib/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A case that does not get steady is given up after so long, or after this part of what is left. */
#define CASE_LIMIT_S 3.0
#define CASE_LIMIT_FRAC 0.1

typedef struct {
    const CalibSession *s;
    CalibSessionResult result;
    CalibProgress progress;
    CalibError *error;
    double begin_s;
} Run;

static double
now_s(const Run *run)
{
    return run->s->backend->now_s(run->s->backend->state) - run->begin_s;
}

static void
show(Run *run, const CalibCase *what)
{
    char text[512];
    double left = run->s->budget_s - now_s(run), listed = calib_plan_left(run->s->plan).seconds;
    if (!calib_plan_refines(run->s->plan) && listed < left)
        left = listed;
    calib_case_describe(what, text, sizeof text);
    calib_progress_show(&run->progress, now_s(run), text, calib_store_n_rows(run->s->store), left);
}

/* Each variant of a row. CALIB_CANNOT: not even the first one; `error` has the reason. */
static CalibStatus
measure_row(Run *run, const CalibCase *what, CalibRow *ret)
{
    const CalibSession *s = run->s;
    CalibRow row = {.what = *what, .us = {NAN, NAN, NAN, NAN}, .steady = true};
    CalibCase variant;
    for (unsigned i = 0; calib_row_variant(what, i, &variant); i++) {
        CalibTime time;
        double left = (s->budget_s - now_s(run)) * CASE_LIMIT_FRAC;
        bool cold = run->result.n_measured == 0 && i == 0;
        CalibStatus status =
            calib_measure(s->backend, s->machine->world, &variant, cold,
                          left < CASE_LIMIT_S ? left : CASE_LIMIT_S, &time, run->error);
        if (status == CALIB_FAILED || (status == CALIB_CANNOT && i == 0))
            return status;
        if (status == CALIB_CANNOT)
            continue;
        for (unsigned t = 0; t < calib_case_n_times(&variant); t++)
            row.us[i + t] = time.us[t];
        row.spread_frac = fmax(row.spread_frac, time.spread_frac);
        row.samples = i == 0 || time.samples < row.samples ? time.samples : row.samples;
        row.steady = row.steady && time.steady;
    }
    *ret = row;
    return CALIB_OK;
}

/* False: it is over. */
static bool
take(Run *run, const CalibPoint *point)
{
    const CalibSession *s = run->s;
    double before = now_s(run);
    CalibRow row;
    CalibStatus status = measure_row(run, &point->what, &row);
    if (status == CALIB_FAILED) {
        run->result.end = CALIB_SESSION_FAILED;
        return false;
    }
    CalibStoreStatus stored =
        status == CALIB_OK ? calib_store_add(s->store, &row, run->error)
                           : calib_store_note(s->store, &point->what, run->error->text, run->error);
    if (stored != CALIB_STORE_OK) {
        run->result.end = CALIB_SESSION_FAILED;
        return false;
    }
    run->result.n_measured += status == CALIB_OK;
    run->result.n_unsteady += status == CALIB_OK && !row.steady;
    run->result.n_left_out += status != CALIB_OK;
    calib_plan_tell(s->plan, status == CALIB_OK ? &row : NULL, now_s(run) - before);
    return true;
}

static void
measure_all(Run *run)
{
    CalibPoint point;
    run->result.end = CALIB_SESSION_DONE;
    while (calib_plan_next(run->s->plan, &point)) {
        const CalibRow *known = calib_store_find(run->s->store, &point.what);
        if (known != NULL) {
            calib_plan_tell(run->s->plan, known, 0);
            continue;
        }
        if (calib_interrupt_seen()) {
            run->result.end = CALIB_SESSION_INTERRUPTED;
            return;
        }
        if (now_s(run) >= run->s->budget_s) {
            run->result.end = CALIB_SESSION_BUDGET;
            return;
        }
        show(run, &point.what);
        if (!take(run, &point))
            return;
    }
}

static bool
write_results(const CalibSession *s, CalibError *error)
{
    if (calib_store_finish(s->store, error) != CALIB_STORE_OK)
        return false;
    CalibMachine machine = *s->machine;
    if (s->backend->conclude != NULL)
        s->backend->conclude(s->backend->state, &machine);
    char *text = calib_system_text(&machine, s->store);
    CalibStoreStatus status = calib_store_write_text(s->store, "system.conf", text, error);
    free(text);
    return status == CALIB_STORE_OK;
}

CalibSessionResult
calib_session_run(const CalibSession *session, CalibError *error)
{
    Run run = {.s = session,
               .error = error,
               .progress = calib_progress_new(stderr),
               .begin_s = session->backend->now_s(session->backend->state)};
    measure_all(&run);
    calib_progress_end(&run.progress);
    CalibError ignored;
    if (run.result.end == CALIB_SESSION_FAILED) /* the first complaint counts */
        calib_dismiss(session->backend, session->machine->world, error, &ignored);
    else if (calib_dismiss(session->backend, session->machine->world, NULL, error) != CALIB_OK)
        run.result.end = CALIB_SESSION_FAILED;
    if (run.result.end < CALIB_SESSION_INTERRUPTED && !write_results(session, error))
        run.result.end = CALIB_SESSION_FAILED;
    run.result.seconds = now_s(&run);
    return run.result;
}
