/* Fields of a message of Protocol Buffers, one after the other, as they lie in memory.
 * https://protobuf.dev/programming-guides/encoding: a field is a varint of number * 8 + type, then a varint (type 0),
 * eight bytes (1), a length and as many bytes (2), or four bytes (5). */
#pragma once

#include <glib.h>

typedef enum {
    CALIBRATE_WIRE_VARINT = 0,
    CALIBRATE_WIRE_FIXED64 = 1,
    CALIBRATE_WIRE_BYTES = 2,
    CALIBRATE_WIRE_FIXED32 = 5,
} CalibrateWireType;

typedef struct {
    const guint8 *begin, *at, *end; /* borrowed */
    const char *fault;              /* what is wrong at `at`; NULL: nothing so far */
} CalibrateMessage;

typedef struct {
    guint number;
    CalibrateWireType type;
    guint64 value;       /* of all but bytes */
    const guint8 *bytes; /* borrowed from the message */
    gsize n_bytes;
} CalibrateField;

CalibrateMessage calibrate_message(const guint8 *bytes, gsize n);
/* FALSE at the end and at a fault. */
gboolean calibrate_message_next(CalibrateMessage *message, CalibrateField *ret_field);

typedef enum {
    CALIBRATE_VARINT_DONE,
    CALIBRATE_VARINT_MORE,
    CALIBRATE_VARINT_LONG
} CalibrateVarint;
/* Adds one byte of a varint, the `n`th from 0, to *value. More than 64 bits are too long. */
CalibrateVarint calibrate_varint_add(guint8 byte, guint n, guint64 *value);
