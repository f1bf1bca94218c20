/* The calibrator built without CUDA: there is nothing to measure on. */
#include "config.h"

#include "calib/backend.h"

#include <stdio.h>

CalibOpened
calib_backend_open(const CalibLaunch *launch, CalibBackend *ret, CalibError *error)
{
    (void)launch;
    (void)ret;
    snprintf(error->text, sizeof error->text,
             "no GPU: built without CUDA; build with --with-cuda=DIR, or make -C calib -f calib.mk "
             "CUDA=DIR");
    return CALIB_NO_GPU;
}
