/* Options, the backend, rank 0's work or a follower's, and what is said at the end. */
#include "config.h"

#include "calib/command.h"

#include "calib/case.h"
#include "calib/dry_run.h"
#include "calib/follow.h"
#include "calib/interrupt.h"
#include "calib/options.h"
#include "calib/progress.h"
#include "calib/session.h"

#include <stdio.h>
#include <string.h>

enum { DONE = 0, FAILED = 1, WRONG = 2, NO_GPU = 77 };

static int
complain(const CalibError *error, int status)
{
    fprintf(stderr, "dtsim-calibrate: %s\n", error->text);
    return status;
}

/* What a GPU trains in, where the user does not say. */
static void
choose_dtypes(CalibOptions *o, const CalibMachine *m)
{
    if (o->dtypes_given)
        return;
    bool ampere = m->compute_capability >= 80;
    o->dtypes[CALIB_BF16] = o->dtypes[CALIB_TF32] = ampere;
    o->dtypes[CALIB_FP16] = o->dtypes[CALIB_FP32] = !ampere;
    o->dtypes[CALIB_FP8] = m->compute_capability >= 89;
}

static CalibSweepSpec
spec_of(const CalibOptions *o, const CalibMachine *m, const CalibShapes *named)
{
    CalibSweepSpec spec = {.machine = m, .gpu = calib_nominal(m), .named = named};
    memcpy(spec.kinds, o->kinds, sizeof spec.kinds);
    memcpy(spec.dtypes, o->dtypes, sizeof spec.dtypes);
    return spec;
}

/* The last part of a path, without slashes at its end. */
static void
last_part(const char *path, char *text, size_t size)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    snprintf(text, size, "%.*s", (int)(end - begin), path + begin);
}

static int
tell_result(const CalibOptions *o, const CalibSession *session, const CalibSessionResult *result,
            const CalibError *error)
{
    char took[32];
    unsigned named = calib_plan_n_named_left(session->plan);
    calib_format_duration(result->seconds, took, sizeof took);
    if (result->end == CALIB_SESSION_FAILED)
        return complain(error, FAILED);
    if (result->end == CALIB_SESSION_INTERRUPTED) {
        fprintf(stderr, "dtsim-calibrate: interrupted: %s keeps %u rows; go on with --resume\n",
                o->directory, calib_store_n_rows(session->store));
        return FAILED;
    }
    printf("%s: %u rows, %u of them measured now in %s (%u unsteady, %u left out)\n", o->directory,
           calib_store_n_rows(session->store), result->n_measured, took, result->n_unsteady,
           result->n_left_out);
    if (named > 0)
        printf("%s: %u of the named shapes were not reached; go on with --resume\n", o->directory,
               named);
    return DONE;
}

static int
lead(const CalibOptions *o, const CalibBackend *backend, const CalibMachine *m,
     const CalibShapes *named)
{
    char name[128];
    CalibError error = {{0}}, ignored;
    CalibStoreSpec where = {.directory = o->directory,
                            .version = PACKAGE_VERSION,
                            .name = o->name,
                            .machine = m,
                            .resume = o->resume};
    last_part(o->directory, name, sizeof name);
    if (where.name == NULL)
        where.name = name;
    CalibStore *store;
    CalibStoreStatus opened = calib_store_open(&where, &store, &error);
    if (opened != CALIB_STORE_OK) {
        calib_dismiss(backend, m->world, &error, &ignored);
        return complain(&error, opened == CALIB_STORE_REFUSED ? WRONG : FAILED);
    }
    CalibSweepSpec spec = spec_of(o, m, named);
    CalibSession session = {.backend = backend,
                            .machine = m,
                            .plan = calib_plan_new(&spec),
                            .store = store,
                            .budget_s = o->budget_s};
    CalibSessionResult result = calib_session_run(&session, &error);
    int status = tell_result(o, &session, &result, &error);
    calib_plan_free(session.plan);
    calib_store_free(store);
    return status;
}

static int
run(CalibOptions *o, const CalibBackend *backend, const CalibShapes *named)
{
    CalibMachine machine = {0};
    CalibError error = {{0}};
    if (backend->describe(backend->state, &machine, &error) != CALIB_OK)
        return complain(&error, FAILED);
    choose_dtypes(o, &machine);
    calib_interrupt_watch();
    if (machine.rank == 0)
        return lead(o, backend, &machine, named);
    return calib_follow(backend, &error) == CALIB_OK ? DONE : complain(&error, FAILED);
}

static int
dry_run(CalibOptions *o, const CalibBackend *backend, const CalibShapes *named)
{
    CalibError error = {{0}};
    CalibMachine machine = calib_nominal_machine();
    if (backend != NULL && backend->describe(backend->state, &machine, &error) != CALIB_OK)
        return complain(&error, FAILED);
    choose_dtypes(o, &machine);
    CalibSweepSpec spec = spec_of(o, &machine, named);
    CalibPlan *plan = calib_plan_new(&spec);
    calib_dry_run_print(stdout, plan, &spec, o->budget_s, backend == NULL);
    calib_plan_free(plan);
    return DONE;
}

static int
open_and_run(CalibOptions *o, CalibOpener opener, const CalibShapes *named)
{
    CalibBackend backend;
    CalibError error = {{0}};
    CalibOpened opened = opener(&o->launch, &backend, &error);
    if (opened == CALIB_NO_GPU && o->dry_run)
        return dry_run(o, NULL, named);
    if (opened != CALIB_OPENED)
        return complain(&error, opened == CALIB_NO_GPU ? NO_GPU : FAILED);
    int status = o->dry_run ? dry_run(o, &backend, named) : run(o, &backend, named);
    backend.close(backend.state);
    return status;
}

int
calib_command(int argc, char **argv, CalibOpener opener)
{
    CalibOptions options;
    CalibError error = {{0}};
    CalibShapes named = {0};
    switch (calib_options_parse(argc, argv, &options, &error)) {
    case CALIB_OPTIONS_SHOWN:
        return DONE;
    case CALIB_OPTIONS_WRONG:
        return complain(&error, WRONG);
    case CALIB_OPTIONS_RUN:
        break;
    }
    if (options.shapes != NULL && !calib_shapes_load(options.shapes, &named, &error))
        return complain(&error, WRONG);
    int status = open_and_run(&options, opener, &named);
    calib_shapes_clear(&named);
    return status;
}
