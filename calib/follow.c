/* Orders of rank 0 to all ranks. */
#include "config.h"

#include "calib/follow.h"

#include "calib/case.h"
#include "calib/statistics.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    int size; /* of this struct: all ranks must run the same build */
    bool over, failed;
    CalibCase what;
    CalibTiming timing;
    CalibError failure;
} Order;

CalibStatus
calib_run(const CalibBackend *backend, int world, const CalibCase *what, const CalibTiming *timing,
          double *us, CalibError *error)
{
    if (world > 1 && calib_case_is_shared(what)) {
        Order order;
        memset(&order, 0, sizeof order); /* padding, too: it is sent */
        order.size = (int)sizeof order;
        order.what = *what;
        order.timing = *timing;
        CalibStatus status = backend->share(backend->state, &order, sizeof order, error);
        if (status != CALIB_OK)
            return status;
    }
    return backend->run(backend->state, what, timing, us, error);
}

CalibStatus
calib_dismiss(const CalibBackend *backend, int world, const CalibError *failure, CalibError *error)
{
    if (world <= 1)
        return CALIB_OK;
    Order order;
    memset(&order, 0, sizeof order);
    order.size = (int)sizeof order;
    order.over = true;
    order.failed = failure != NULL;
    if (failure != NULL)
        order.failure = *failure;
    return backend->share(backend->state, &order, sizeof order, error);
}

CalibStatus
calib_follow(const CalibBackend *backend, CalibError *error)
{
    double us[CALIB_OVERLAP_TIMES * CALIB_MAX_SAMPLES];
    for (;;) {
        Order order;
        memset(&order, 0, sizeof order);
        CalibStatus status = backend->share(backend->state, &order, sizeof order, error);
        if (status != CALIB_OK)
            return status;
        if (order.size != (int)sizeof order) {
            snprintf(error->text, sizeof error->text,
                     "rank 0 runs another build of dtsim-calibrate; start the same program on all "
                     "ranks");
            return CALIB_FAILED;
        }
        if (order.failed)
            *error = order.failure;
        if (order.over)
            return order.failed ? CALIB_FAILED : CALIB_OK;
        /* what this machine cannot do no rank can: go on */
        status = backend->run(backend->state, &order.what, &order.timing, us, error);
        if (status == CALIB_FAILED)
            return status;
    }
}
