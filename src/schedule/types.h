/* The schedules, one file each; the list that offers them is in schedule.c. */
#pragma once

#include "schedule/schedule.h"

extern const ScheduleType schedule_naive, schedule_gpipe, schedule_gpipe_lifo, schedule_1f1b,
    schedule_interleaved_megatron, schedule_interleaved_torch;

/* Loop placement: stage s on rank s mod P, as its chunk s div P. */
void schedule_place_in_loop(const ScheduleParams *p, guint *rank_of);
void schedule_append(GArray *tokens, ScheduleKind kind, guint stage, guint microbatch);
/* Wave placement: there and back again, stage s on rank s mod P in even waves and on P-1 - s mod P in odd
 * ones; with two chunks a V. */
void schedule_place_in_waves(const ScheduleParams *p, guint *rank_of);
