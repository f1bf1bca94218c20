/* The wire format of Protocol Buffers. */
#include "config.h"

#include "calibrate/protobuf.h"

CalibrateMessage
calibrate_message(const guint8 *bytes, gsize n)
{
    bytes = bytes != NULL ? bytes : (const guint8 *)""; /* an empty array has none */
    return (CalibrateMessage){.begin = bytes, .at = bytes, .end = bytes + n};
}

/* Seven bits a byte, the least first; ten bytes hold 70, of which the last may have one. */
CalibrateVarint
calibrate_varint_add(guint8 byte, guint n, guint64 *value)
{
    if (n > 9 || (n == 9 && byte > 1))
        return CALIBRATE_VARINT_LONG;
    *value |= (guint64)(byte & 0x7f) << (7 * n);
    return byte & 0x80 ? CALIBRATE_VARINT_MORE : CALIBRATE_VARINT_DONE;
}

static gboolean
read_varint(CalibrateMessage *m, guint64 *ret)
{
    guint64 value = 0;
    for (guint n = 0; m->at + n < m->end; n++) {
        CalibrateVarint state = calibrate_varint_add(m->at[n], n, &value);
        if (state == CALIBRATE_VARINT_LONG) {
            m->fault = "a number of more than 64 bits";
            return FALSE;
        }
        if (state == CALIBRATE_VARINT_DONE) {
            m->at += n + 1;
            *ret = value;
            return TRUE;
        }
    }
    m->fault = "a number that is cut off";
    return FALSE;
}

static gboolean
read_fixed(CalibrateMessage *m, guint n, guint64 *ret)
{
    if ((gsize)(m->end - m->at) < n) {
        m->fault = "a number that is cut off";
        return FALSE;
    }
    *ret = 0;
    for (guint i = 0; i < n; i++)
        *ret |= (guint64)m->at[i] << (8 * i);
    m->at += n;
    return TRUE;
}

static gboolean
read_bytes(CalibrateMessage *m, CalibrateField *f)
{
    guint64 n;
    const guint8 *at = m->at;
    if (!read_varint(m, &n))
        return FALSE;
    if (n > (guint64)(m->end - m->at)) {
        m->at = at;
        m->fault = "a field that is longer than its message";
        return FALSE;
    }
    f->bytes = m->at;
    f->n_bytes = (gsize)n;
    m->at += n;
    return TRUE;
}

gboolean
calibrate_message_next(CalibrateMessage *m, CalibrateField *ret_field)
{
    guint64 tag;
    const guint8 *at = m->at;
    if (m->fault != NULL || m->at == m->end || !read_varint(m, &tag))
        return FALSE;
    CalibrateField f = {.number = (guint)(tag >> 3), .type = (CalibrateWireType)(tag & 7)};
    if (tag >> 3 == 0 || tag >> 3 >= 1u << 29) {
        m->at = at;
        m->fault = "a field without a number";
        return FALSE;
    }
    gboolean done;
    switch (tag & 7) {
    case CALIBRATE_WIRE_VARINT:
        done = read_varint(m, &f.value);
        break;
    case CALIBRATE_WIRE_FIXED64:
        done = read_fixed(m, 8, &f.value);
        break;
    case CALIBRATE_WIRE_BYTES:
        done = read_bytes(m, &f);
        break;
    case CALIBRATE_WIRE_FIXED32:
        done = read_fixed(m, 4, &f.value);
        break;
    default:
        m->at = at;
        m->fault = "a field of no known kind";
        return FALSE;
    }
    if (done)
        *ret_field = f;
    return done;
}
