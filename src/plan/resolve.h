/* The steps from a PlanSpec with gaps to a resolved one; each refuses what cannot run. */
#pragma once

#include "plan/plan.h"

#define PLAN_D "%" G_GINT64_FORMAT

/* Degrees, GPUs, and whether the model can be cut that way. */
gboolean plan_resolve_degrees(PlanSpec *spec, const LlmShape *shape, const ClusterSystem *system,
                              GPtrArray *remarks, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Sequence length, micro-batch, microbatches, global batch; needs the degrees. */
gboolean plan_resolve_batch(PlanSpec *spec, const LlmShape *shape, GPtrArray *remarks,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Layers of each global stage, [pp*vpp]; caller frees. */
gboolean plan_fill_layout(const PlanSpec *spec, gint64 layers, gint64 *ret,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT; /* from spec->layout */
gint64 *plan_resolve_layers(const PlanSpec *spec, const LlmShape *shape, GError **error);

void plan_remark(GPtrArray *remarks, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Sets PLAN_ERROR_ILLEGAL and returns FALSE. */
gboolean plan_refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
