/* The domain of calibrate's errors. */
#include "config.h"

#include "calibrate/error.h"

G_DEFINE_QUARK(calibrate_error_quark, calibrate_error)
