/* Events of a Chrome trace as PyTorch's profiler (Kineto) writes it, one after the other. */
#pragma once

#include "calibrate/header.h"

/* The arguments that are kept. */
typedef enum {
    CALIBRATE_ARG_EXTERNAL_ID,
    CALIBRATE_ARG_CORRELATION,
    CALIBRATE_ARG_INPUT_DIMS,
    CALIBRATE_ARG_INPUT_TYPE,
    CALIBRATE_ARG_INPUT_STRIDES,
    CALIBRATE_ARG_CONCRETE_INPUTS,
    CALIBRATE_ARG_COLLECTIVE_NAME,
    CALIBRATE_ARG_IN_NELEMS,
    CALIBRATE_ARG_OUT_NELEMS,
    CALIBRATE_ARG_GROUP_SIZE,
    CALIBRATE_ARG_GROUP_RANKS,
    CALIBRATE_ARG_DTYPE,
    CALIBRATE_N_ARGS
} CalibrateArg;

/* All text is borrowed until the next event. */
typedef struct {
    const char *name, *category;  /* "" where there is none */
    char phase;                   /* 'X': has a duration */
    gboolean timed;               /* times are there and can be, no length negative */
    gint64 begin_ns, duration_ns; /* from the trace's own origin */
    guint64 thread;               /* of process and thread, whatever these are */
    /* "" where there is none; elements of a list have a tab between them */
    const char *args[CALIBRATE_N_ARGS];
} CalibrateEvent;

typedef gboolean (*CalibrateEventFunc)(const CalibrateEvent *event, gpointer user, GError **error);

/* `ret_header` comes with the last event; it is to be cleared in any case. */
gboolean calibrate_events_load(const char *path, CalibrateEventFunc func, gpointer user,
                               CalibrateHeader *ret_header,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean calibrate_events_parse(const char *name, const char *text, gsize length,
                                CalibrateEventFunc func, gpointer user, CalibrateHeader *ret_header,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Microseconds as they are written -> ns, exactly to the third decimal. */
gboolean calibrate_ns_of_us(const char *text, gsize length, gint64 *ret_ns);
