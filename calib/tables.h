/* The tables of a system directory, and one that is for system.conf alone (device.tsv). */
#pragma once

#include "calib/row.h"

extern const CalibTable calib_table_gemm, calib_table_grouped, calib_table_memory,
    calib_table_device, calib_table_attention, calib_table_collective, calib_table_overlap;
