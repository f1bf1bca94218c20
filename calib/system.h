/* system.conf: the machine as it describes itself, and what its rows say. */
#pragma once

#include "calib/store.h"

/* The whole text; caller frees. Each key has a comment before it that says where its value is from: measured, driver,
 * data sheet, or a default where nothing was measured. */
char *calib_system_text(const CalibMachine *machine, const CalibStore *rows);
