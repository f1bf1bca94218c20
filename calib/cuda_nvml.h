/* What NVML, the driver's management library, knows of a GPU; nothing is ever set. */
#pragma once

#include "calib/backend.h"

typedef struct CalibNvml CalibNvml;

/* Of the GPU at a PCI address ("0000:18:00.0"); NULL: there is no NVML, or it does not know this GPU. All functions below
 * take NULL for that. */
CalibNvml *calib_nvml_open(const char *address);
void calib_nvml_close(CalibNvml *nvml);

/* Fills driver, nvlinks, nvlink_GBps, nvswitch, pcie_generation and pcie_width; leaves as it is what NVML does not say. */
void calib_nvml_describe(const CalibNvml *nvml, CalibMachine *machine);
/* Fills `mesh`: links between each two of `n` GPUs. */
void calib_nvml_describe_mesh(const CalibNvml *nvml, const char (*addresses)[32], int n,
                              CalibMachine *machine);

/* A name of what NVLink joins beyond this host ("..., clique 1"); empty: nothing. */
void calib_nvml_links_name(const CalibNvml *nvml, char *text, size_t size);

/* Looks at the clock while kernels run, at most a few times a second. */
void calib_nvml_look(CalibNvml *nvml);
/* What was seen: "1744 MHz on average while kernels ran, 1305 at least; ..."; empty where nothing was. */
void calib_nvml_tell(const CalibNvml *nvml, char *text, size_t size);
