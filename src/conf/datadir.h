/* Where dtsim's data lie: $DTSIM_DATA, else the source tree it was built in, else the installed place.
 * A path is found if the file or folder exists. */
#pragma once

#include <glib.h>

/* `relative` as "models" or "calib/systems/dgx-a100-80g". Caller frees; NULL when nowhere. */
char *conf_datadir_find(const char *relative);
