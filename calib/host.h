/* What the operating system says of a node: memory, sockets, network cards. */
#pragma once

#include "calib/backend.h"

/* Fills nics, nic_Gbps, sockets, host_memory_bytes and host. `sys`: where sysfs is mounted. */
void calib_host_describe(const char *sys, CalibMachine *machine);
