/* What NVML, the driver's management library, knows of a GPU; nothing is ever set. */
#pragma once

#include "calib/backend.h"

/* Fills driver, nvlinks, nvlink_GBps, nvswitch, pcie_generation and pcie_width of the GPU at a PCI address ("0000:18:00.0");
 * leaves them as they are where there is no NVML, or where it does not say. */
void calib_nvml_describe(const char *address, CalibMachine *machine);
