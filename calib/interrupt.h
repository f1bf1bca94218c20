/* Ctrl-C and SIGTERM: the measurement at hand ends, then the program. */
#pragma once

#include <stdbool.h>

/* The first signal is noted, a second one ends the program at once. A file that outgrows its limit fails instead of
 * ending the program. */
void calib_interrupt_watch(void);
bool calib_interrupt_seen(void);
