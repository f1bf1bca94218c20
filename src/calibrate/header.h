/* What a trace says beside its events: of its machine, its rank, its clock. */
#pragma once

#include "conf/json_stream.h"

typedef struct {
    gboolean has_events; /* "traceEvents", or the file is a list */
    gboolean has_nodes;  /* "nodes": an execution trace */
    char *schema;        /* of an execution trace; NULL */
    char *device;        /* name of the first GPU; NULL */
    guint n_devices;
    char *backend;           /* "nccl"; NULL */
    gint64 rank, world_size; /* -1: it does not say */
    gint64 base_ns;          /* of the trace's origin since 1970; 0: its times are since then */
    char *contents;          /* of another kind of file: how many of what; NULL */
    gint64 step_ns;          /* times are cut off to whole multiples; 0: they are not */
    gboolean sums_only;      /* kernels that do not say when they began, one after the other here */
    GPtrArray *keys;         /* of char*: names at the top, at most 12, for complaints */
} CalibrateHeader;
void calibrate_header_clear(CalibrateHeader *header);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CalibrateHeader, calibrate_header_clear)

/* Sections at the top of the file. */
typedef enum {
    CALIBRATE_SECTION_OTHER,
    CALIBRATE_SECTION_EVENTS,
    CALIBRATE_SECTION_DEVICES,
    CALIBRATE_SECTION_DISTRIBUTED,
    CALIBRATE_SECTION_BASE,
    CALIBRATE_SECTION_SCHEMA
} CalibrateSection;

typedef struct {
    CalibrateHeader *header;
    CalibrateSection section;
    char word[32]; /* the last key inside of it */
} CalibrateHeaderReader;

void calibrate_header_init(CalibrateHeader *header);
/* A key at the top: what follows is of that section. */
void calibrate_header_key(CalibrateHeaderReader *reader, const ConfJsonToken *token);
/* A token in a section that is not the events'. */
void calibrate_header_take(CalibrateHeaderReader *reader, const ConfJsonToken *token);
/* Where the file has no events, what kind of file is it? */
gboolean calibrate_header_check(const char *name, const CalibrateHeader *header,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
