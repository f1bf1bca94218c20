/* The generator of V-Half and V-Min: a pattern repeated every six slots, then squeezed. Private to
 * schedule. */
#pragma once

#include "schedule/schedule.h"

/* Slots of the four passes of microbatch 0 on one rank, in the order in which they depend on each
 * other. */
typedef enum {
    V_F0, /* forward of chunk 0: ranks 0 to P-1 */
    V_F1, /* forward of chunk 1: ranks P-1 to 0 */
    V_I1, /* input gradient of chunk 1: ranks 0 to P-1 */
    V_I0, /* input gradient of chunk 0: ranks P-1 to 0 */
    V_W1, /* weight gradients; while squeezing, V_W1 stands for either */
    V_W0,
    V_N_PASSES = V_W1
} VPass;

/* Microbatch m passes 6 m slots later. At most one pass may fall on a slot. */
typedef void (*VPattern)(guint pp, guint rank, guint ret_slots[V_N_PASSES]);

void schedule_build_v(const ScheduleParams *p, VPattern pattern, GArray **ret_ranks);
