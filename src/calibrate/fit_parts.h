/* The inside of a fit: each table adds its models. */
#pragma once

#include "calibrate/fit.h"
#include "conf/table.h"

/* Fits the line to `points` (of CalibratePoint; sorted by nobody) and adds a model without constants. NULL: there are
 * no points. Takes `of`. The result holds until the next call. */
CalibrateModel *calibrate_fit_add(CalibrateFit *fit, ClusterTable table, char *of,
                                  const char *formula, const GArray *points, CalibrateForm form,
                                  CalibrateLine *ret);
void calibrate_model_constant(CalibrateModel *model, CalibrateConstant constant);

void calibrate_fit_held_out_add(CalibrateFit *fit, ClusterTable table, char *of, GArray *errors);

gboolean calibrate_fit_gemm(CalibrateFit *fit, const ClusterSystem *system, const ConfTable *table,
                            GError **error);
gboolean calibrate_fit_attention(CalibrateFit *fit, const ClusterSystem *system,
                                 const ConfTable *table, GError **error);
gboolean calibrate_fit_memory(CalibrateFit *fit, const ClusterSystem *system,
                              const ConfTable *table, GError **error);
gboolean calibrate_fit_overlap(CalibrateFit *fit, const ClusterSystem *system,
                               const ConfTable *table, GError **error);
gboolean calibrate_fit_collective(CalibrateFit *fit, const ClusterSystem *system,
                                  const ConfTable *table, GError **error);

/* Every table but overlap.tsv. */
gboolean calibrate_fit_hold_out(CalibrateFit *fit, const ClusterSystem *system, ClusterTable id,
                                const ConfTable *table, GError **error);

/* A fraction of system.conf: what was fitted over the nominal rate. `fault`: why it is not to be written; NULL. */
void calibrate_fit_key_fraction(CalibrateFit *fit, const char *section, const char *key,
                                double value, double error, double today,
                                const CalibrateModel *model, const char *fault);
void calibrate_fit_key_time(CalibrateFit *fit, const char *section, const char *key, double ns,
                            double error_ns, gint64 today_ns, const CalibrateModel *model);
