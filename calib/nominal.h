/* What a GPU can do on paper: rooflines and estimates before anything is measured, and the peaks of system.conf. */
#pragma once

#include "calib/case.h"

typedef struct {
    double peak_flops[CALIB_N_DTYPES]; /* dense; 0: has no such unit */
    double memory_Bps;                 /* nominal; `memory_frac` of it is what a long copy gets */
    double memory_frac;
    double clock_Hz; /* that the peaks are of */
    double sms;
    double floor_us;         /* no kernel is shorter */
    double nvlink_Bps;       /* of a GPU and direction; 0: has none, or no one says so */
    double nvlink_sheet_Bps; /* of this generation's cards that have links */
    double pcie_Bps;
    double nic_Bps; /* of a GPU's share of the cards */
    bool memory_known,
        clock_of_sheet; /* from the driver; from the data sheet and not from the driver */
} CalibNominal;

CalibNominal calib_nominal(const CalibMachine *machine);
/* A machine for plans where there is no GPU: one node of 8 H100. */
CalibMachine calib_nominal_machine(void);

/* Least time of one call, in us: rooflines with tiles and waves, as src/cost/roofline.c has them, so that efficiency
 * against them is smooth. What the simulator adds to them (cost_gemm_reference_ns) is not needed to choose points:
 * calib/refine_gemm.c has figures. */
double calib_gemm_roofline_us(const CalibNominal *gpu, const CalibGemm *gemm);
/* A guess of one call of everything that a sample of the case times, for plans. */
double calib_case_guess_us(const CalibNominal *gpu, const CalibCase *what);
