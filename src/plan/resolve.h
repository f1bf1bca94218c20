/* The steps from a PlanSpec with gaps to a resolved one; each refuses what cannot run. */
#pragma once

#include "plan/plan.h"

#define PLAN_D "%" G_GINT64_FORMAT

/* Degrees, GPUs, and whether the model can be cut that way. */
gboolean plan_resolve_degrees(PlanSpec *spec, const LlmShape *shape, const ClusterSystem *system,
                              GPtrArray *remarks, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* What follows from the framework, the ZeRO stage and the pipeline (framework.c). */
void plan_resolve_framework(PlanSpec *spec);
/* ZeRO stage, shards, reduction, offload, optimizer; needs the degrees (sharding.c, offload.c). */
gboolean plan_resolve_sharding(PlanSpec *spec, GPtrArray *remarks,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean plan_resolve_offload(PlanSpec *spec, const ClusterSystem *system,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean plan_resolve_optimizer(PlanSpec *spec, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Context parallelism; needs sequence length and attention (context.c). */
gboolean plan_resolve_context(PlanSpec *spec, const LlmShape *shape,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Experts: degrees, dispatch, overlap (experts.c); needs the degrees. */
gboolean plan_resolve_experts(PlanSpec *spec, const LlmShape *shape, GPtrArray *remarks,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Tokens of the most loaded expert-parallel rank over the mean, dropped ones not counted; 1: balanced. */
double plan_expert_load(const PlanSpec *spec, const LlmShape *shape);
/* What is recomputed; needs the layers of each stage (stages.c). */
gboolean plan_resolve_recompute(PlanSpec *spec, const gint64 *layers,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* "1, 2, 4": what divides n, up to the limit; caller frees. */
char *plan_list_divisors(gint64 n, gint64 limit);
/* Sequence length, micro-batch, microbatches, global batch; needs the degrees. */
gboolean plan_resolve_batch(PlanSpec *spec, const LlmShape *shape, GPtrArray *remarks,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Layers of each global stage, [pp*vpp]; caller frees. */
gboolean plan_fill_layout(const PlanSpec *spec, gint64 layers, gint64 *ret,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT; /* from spec->layout */
gint64 *plan_resolve_layers(const PlanSpec *spec, const LlmShape *shape, GError **error);

/* Axes of the grid of ranks, and the order they are dealt out in (order.c); needs the degrees of experts. */
typedef enum {
    PLAN_AXIS_TP,
    PLAN_AXIS_CP,
    PLAN_AXIS_EP,
    PLAN_AXIS_DP,
    PLAN_AXIS_PP,
    PLAN_N_AXES
} PlanAxis;
gboolean plan_resolve_order(PlanSpec *spec, const LlmShape *shape, GPtrArray *remarks,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Of a resolved order, or of NULL: the default. */
void plan_order_axes(const char *order, guint ret_axes[PLAN_N_AXES]);
/* Which nodes of a fabric a job of n nodes gets, ascending (allocation.c): GArray of guint, caller frees. Fills
 * spec->allocation and spec->fabric_nodes. */
GArray *plan_allocate_nodes(PlanSpec *spec, gint64 n, GError **error);
/* Which slot each rank has, how many nodes there are, and the links between them; remarks on groups that are torn
 * apart (placement.c). */
gboolean plan_place_ranks(Plan *plan, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Nodes that a group of this kind is on, and its ranks on one of them, at most. */
typedef struct {
    gint64 nodes, ranks_per_node;
    gint64 groups, torn; /* groups there are; those on several nodes */
} PlanSpread;
PlanSpread plan_group_spread(const Plan *plan, PlanGroup group);
/* Remarks on what was given and decides nothing (unused.c). */
void plan_remark_unused(const PlanSpec *given, const PlanSpec *resolved, gboolean experts,
                        GPtrArray *remarks);

void plan_remark(GPtrArray *remarks, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Sets PLAN_ERROR_ILLEGAL and returns FALSE. */
gboolean plan_refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Of `layers` on a pipeline rank: what is freed but still held by a stream of communication. */
gint64 plan_run_ahead_bytes(const Plan *plan, gint64 pp_rank, gint64 layers);
