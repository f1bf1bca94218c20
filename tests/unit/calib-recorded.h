/* A machine whose timings are written down: what each case takes, the noise of its samples, and the accidents of a run.
 * Its clock moves only when it measures. */
#pragma once

#include "calib/case.h"
#include "calib/nominal.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* Deviations of 40 samples in turn, in percent: mostly quiet, one hiccup of another process, two short ones. */
static const double recorded_noise_percent[] = {
    0.1,  -0.3, 0.2, 0.0,  0.4, -0.2, 0.1, -0.1, 0.3,  0.0, 38.0, 0.2, -0.4, 0.1,
    0.0,  0.2,  5.1, -0.2, 0.1, 0.3,  0.0, -0.1, -0.3, 0.2, 0.1,  0.4, 0.0,  -0.2,
    -0.1, 12.4, 0.1, 0.2,  0.0, -0.3, 0.1, 0.3,  -0.1, 0.0, 0.2,  -0.2};

typedef struct {
    CalibMachine machine;
    CalibNominal gpu;
    double noise;         /* times the deviations above */
    double ramp_us;       /* a case that ran for less is slowed by up to 20 % */
    double resolution_us; /* of a whole sample's time */
    gboolean restless;    /* no two samples are alike */
    unsigned n_runs, n_shared, fail_at, raise_at; /* runs counted from 1; 0: never */
    int raise;                                    /* this signal, in run raise_at */
    unsigned exit_at;                             /* _exit in this run */
    double now_s;
    CalibTiming last;
    GByteArray *orders; /* of share, as sent; NULL: none kept */
    guint n_played;     /* of their bytes, by a follower */
} Recorded;

/* A surface with saturation, a ridge and a cliff: what GEMMs of libraries have. */
static inline double
recorded_gemm_frac(const CalibGemm *g)
{
    double m = log2((double)g->m), n = log2((double)g->n), k = log2((double)g->k);
    double large = 1 / (1 + exp2(9.0 - k)) / (1 + exp2(8.5 - fmin(m, n)));
    double cliff = 1 - 0.35 / (1 + exp(-6 * (k - 12.3))) / (1 + exp(6 * (fmin(m, n) - 10.2)));
    return (0.75 * large + 0.05) * cliff * (g->pass == CALIB_FORWARD ? 1 : 0.9);
}

static inline double
recorded_us(const Recorded *r, const CalibCase *what, unsigned which)
{
    if (what->kind == CALIB_CASE_GEMM)
        return r->gpu.floor_us +
               calib_gemm_roofline_us(&r->gpu, &what->gemm) / recorded_gemm_frac(&what->gemm);
    if (what->kind == CALIB_CASE_MEMORY && what->memory.bytes == 0)
        return what->memory.kernel == CALIB_LAUNCH  ? 2.25
               : what->memory.kernel == CALIB_EVENT ? 1.5
                                                    : 9.75;
    if (what->kind == CALIB_CASE_OVERLAP) {
        static const double times[CALIB_OVERLAP_TIMES] = {1000, 800, 1230, 1000};
        return times[which];
    }
    return calib_case_guess_us(&r->gpu, what) *
           (what->kind == CALIB_CASE_COLLECTIVE && what->collective.in_place ? 0.97 : 1.0);
}

static inline CalibStatus
recorded_describe(void *state, CalibMachine *ret, CalibError *error)
{
    (void)error;
    *ret = ((Recorded *)state)->machine;
    return CALIB_OK;
}

static inline double
recorded_sample(Recorded *r, const CalibTiming *timing, double us, double *warm_us, unsigned i)
{
    double noise = recorded_noise_percent[i % G_N_ELEMENTS(recorded_noise_percent)];
    double slow = *warm_us < r->ramp_us ? 0.2 * (1 - *warm_us / r->ramp_us) : 0;
    double each = us * (1 + slow + r->noise * noise / 100 + (r->restless ? 0.1 * (i % 5) : 0));
    double whole = each * timing->calls;
    *warm_us += whole;
    if (r->resolution_us > 0)
        whole = r->resolution_us * round(whole / r->resolution_us);
    return whole / timing->calls;
}

static inline CalibStatus
recorded_run(void *state, const CalibCase *what, const CalibTiming *timing, double *us,
             CalibError *error)
{
    Recorded *r = state;
    r->n_runs++;
    r->last = *timing;
    if (r->exit_at == r->n_runs)
        _exit(99);
    if (r->raise_at == r->n_runs)
        raise(r->raise);
    if (r->fail_at == r->n_runs) {
        g_strlcpy(error->text, "recorded.c:1: ncclAllReduce: rank 3 is lost", sizeof error->text);
        return CALIB_FAILED;
    }
    if (what->kind == CALIB_CASE_GEMM && !(r->gpu.peak_flops[what->gemm.dtype] > 0)) {
        g_snprintf(error->text, sizeof error->text, "this GPU has no %s",
                   calib_dtype_name(what->gemm.dtype));
        return CALIB_CANNOT;
    }
    if (what->kind == CALIB_CASE_COLLECTIVE && what->collective.in_place &&
        what->collective.op >= CALIB_ALL_TO_ALL) {
        g_strlcpy(error->text, "not in place", sizeof error->text);
        return CALIB_CANNOT;
    }
    double warm_us = timing->warm_us;
    for (unsigned t = 0; t < calib_case_n_times(what); t++)
        for (unsigned i = 0; i < timing->samples; i++) {
            us[t * timing->samples + i] =
                recorded_sample(r, timing, recorded_us(r, what, t), &warm_us, i);
            r->now_s += 1e-6 * us[t * timing->samples + i] * timing->calls;
        }
    r->now_s += 1e-6 * timing->warm_us + 2e-3;
    return CALIB_OK;
}

static inline CalibStatus
recorded_share(void *state, void *data, size_t size, CalibError *error)
{
    Recorded *r = state;
    (void)error;
    r->n_shared++;
    if (r->orders != NULL)
        g_byte_array_append(r->orders, data, (guint)size);
    return CALIB_OK;
}

static inline double
recorded_now(void *state)
{
    return ((Recorded *)state)->now_s;
}

static inline void
recorded_close(void *state)
{
    (void)state;
}

static inline CalibBackend
recorded_backend(Recorded *r)
{
    return (CalibBackend){.name = "recorded",
                          .state = r,
                          .describe = recorded_describe,
                          .run = recorded_run,
                          .share = recorded_share,
                          .now_s = recorded_now,
                          .close = recorded_close};
}

/* A node of `gpus` H100 with quiet timings. */
static inline Recorded
recorded_new(int gpus)
{
    Recorded r = {.machine = calib_nominal_machine(), .noise = 1};
    r.machine.gpus = gpus;
    r.machine.nics = gpus;
    g_strlcpy(r.machine.driver, "570.1", sizeof r.machine.driver);
    g_strlcpy(r.machine.cuda, "13.0", sizeof r.machine.cuda);
    g_strlcpy(r.machine.cublas, "13.1", sizeof r.machine.cublas);
    g_strlcpy(r.machine.nccl, "2.28.9", sizeof r.machine.nccl);
    g_strlcpy(r.machine.host, "node1", sizeof r.machine.host);
    g_strlcpy(r.machine.attention, "cuDNN 9.1 fused", sizeof r.machine.attention);
    r.gpu = calib_nominal(&r.machine);
    return r;
}
