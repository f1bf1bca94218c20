/* What can be wrong with measurements that come in. */
#pragma once

#include <glib.h>

#define CALIBRATE_ERROR (calibrate_error_quark())
GQuark calibrate_error_quark(void);
typedef enum {
    CALIBRATE_ERROR_KIND,    /* another kind of file */
    CALIBRATE_ERROR_VALUE,   /* a figure that cannot be */
    CALIBRATE_ERROR_EMPTY,   /* nothing to take */
    CALIBRATE_ERROR_MACHINE, /* of another machine */
} CalibrateError;
