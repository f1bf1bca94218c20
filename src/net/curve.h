/* A measured sweep: time against bytes of one (op, ranks, nodes), made monotone.
 *
 * Rows of the same size (within 0.5 %) become their geometric median; then the least-squares monotone
 * fit in log time (pool adjacent violators) takes out what noise made fall. Between sizes time is
 * linear in bytes: exact for latency + bytes / rate. */
#pragma once

#include <glib.h>

typedef struct NetCurve NetCurve;

typedef struct {
    double bytes, ns;
} NetSample;

/* n >= 1 samples of bytes > 0 and ns > 0 in any order (borrowed). */
NetCurve *net_curve_new(const NetSample *samples, guint n);
NetCurve *net_curve_copy(const NetCurve *curve);
void net_curve_free(NetCurve *curve);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NetCurve, net_curve_free)

/* The curve's points: size by size, made monotone. */
guint net_curve_n_points(const NetCurve *curve);
NetSample net_curve_point(const NetCurve *curve, guint i);
double net_curve_first_bytes(const NetCurve *curve);
double net_curve_last_bytes(const NetCurve *curve);
/* Bytes beyond an end are taken as that end. `ret_hit`: a measured size; `ret_spread_frac`: relative
 * spread of the rows there (0: one row). Both may be NULL. */
double net_curve_ns(const NetCurve *curve, double bytes, gboolean *ret_hit,
                    double *ret_spread_frac);
/* One sigma of what is read between measured sizes, as points tell that are left out. */
double net_curve_error_frac(const NetCurve *curve, double bytes);
