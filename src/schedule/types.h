/* The schedules, one file each; the list that offers them is in schedule.c. */
#pragma once

#include "schedule/schedule.h"

extern const ScheduleType schedule_naive, schedule_gpipe, schedule_gpipe_lifo, schedule_1f1b,
    schedule_interleaved_megatron, schedule_interleaved_torch, schedule_interleaved_ep_overlap,
    schedule_interleaved_zb_torch, schedule_looped_bfs, schedule_zb_h1, schedule_zb_h2,
    schedule_zbv_torch, schedule_dualpipe, schedule_dualpipev, schedule_chimera;

extern const ScheduleType schedule_v_half, schedule_v_min, schedule_hanayo_greedy, schedule_zb_1p,
    schedule_zb_2p, schedule_pipedream, schedule_pipedream_2bw;

/* Loop placement: stage s on rank s mod P, as its chunk s div P. */
void schedule_place_in_loop(const ScheduleParams *p, guint *rank_of);
void schedule_append(GArray *tokens, ScheduleKind kind, guint stage, guint microbatch);
/* An overlapped pair: a forward and a whole backward. */
void schedule_append_pair(GArray *tokens, guint forward_stage, guint forward_microbatch,
                          guint backward_stage, guint backward_microbatch);
/* Wave placement: there and back again, stage s on rank s mod P in even waves and on P-1 - s mod P in odd
 * ones; with two chunks a V. */
void schedule_place_in_waves(const ScheduleParams *p, guint *rank_of);
/* Two copies in opposite directions: stage s on rank s, and of the other copy on rank P-1 - s. */
void schedule_place_both_ways(const ScheduleParams *p, guint *rank_of);

/* --- shared by interleaved_megatron and interleaved_ep_overlap ------------------------------------ */
char *schedule_refuse_megatron(const ScheduleParams *p);
/* min(2(P-1-r) + (V-1)N + extra, M V) */
guint schedule_warmup_megatron(const ScheduleParams *p, guint rank, guint extra);
/* `paired`: each steady forward and backward run as one pair. */
void schedule_build_megatron(const ScheduleParams *p, guint rank, guint warmup, gboolean paired,
                             GArray *ret_tokens);

/* --- shared by interleaved_torch and interleaved_zb_torch ------------------------------------------ */
/* max(1, M div P) rounds; why M does not divide into them, or NULL. */
guint schedule_torch_rounds(const ScheduleParams *p);
char *schedule_refuse_torch(const ScheduleParams *p);

/* --- shared by dualpipe and dualpipev -------------------------------------------------------------- */
typedef struct {
    guint half, from_end; /* H and h: length of a half pipe, and where in it the rank is */
    guint microbatches;   /* in each phase */
    guint stage[2];       /* of phase 0 and 1 */
    guint first[2];       /* the first microbatch of each phase */
} ScheduleDual;
void schedule_build_dual(const ScheduleDual *dual, GArray *ret_tokens);

/* --- shared by the schedules that are searched for ------------------------------------------------- */
/* Time of an op of the stage from params.costs; 1 for F, I and W when all are 0. B is I and W. */
gint64 schedule_cost_of(const ScheduleParams *p, ScheduleKind kind, guint stage);
/* zb_1p and zb_2p: at most `cap` activations on a rank, each counted until the end of its W. */
void schedule_build_automatic(const ScheduleParams *p, guint cap, GArray **ret_ranks);
/* (3M + P - 1)F when the order was searched for equal times and F = I = W; else -1. */
double schedule_makespan_automatic(const ScheduleParams *p, guint least_microbatches, double F,
                                   double I, double W);
