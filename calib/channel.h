/* Short messages between two processes over TCP. */
#pragma once

#include "calib/backend.h"

typedef enum {
    CALIB_FRAME_HELLO = 1,
    CALIB_FRAME_WELCOME,
    CALIB_FRAME_REFUSED,
    CALIB_FRAME_DATA,
    CALIB_FRAME_VOTE,
    CALIB_FRAME_VERDICT
} CalibFrameKind;

/* What goes before each message; both ends run the same build. */
typedef struct {
    uint32_t magic, kind;
    int32_t status; /* CalibStatus */
    uint32_t size;  /* of what follows */
} CalibFrame;

typedef enum {
    CALIB_RECEIVED,
    CALIB_NOTHING, /* in time */
    CALIB_GONE,    /* the other end is closed, lost, or no dtsim-calibrate */
} CalibReceived;

/* On a port that is free (0) or this one; -1: `error` says why. */
int calib_channel_listen(int port, int *ret_port, CalibError *error);
int calib_channel_accept(int listener, double limit_s); /* -1: no one came */
int calib_channel_connect(const char *host, int port, double limit_s);
bool calib_channel_send(int channel, CalibFrameKind kind, CalibStatus status, const void *data,
                        size_t size);
/* True: a message or the end has come. */
bool calib_channel_wait(int channel, double limit_s);
/* A message in two parts. A limit below 0: as long as it takes. */
CalibReceived calib_channel_receive_frame(int channel, double limit_s, CalibFrame *ret);
CalibReceived calib_channel_receive_data(int channel, double limit_s, void *data, size_t size);
/* Both; CALIB_GONE also where it is not of `size` bytes. */
CalibReceived calib_channel_receive(int channel, double limit_s, CalibFrame *ret, void *data,
                                    size_t size);
/* Looks at a message that has come, and leaves it there; `size` bytes of it at most. Of a channel that is closed after a message it
 * gives the message. */
CalibReceived calib_channel_peek(int channel, CalibFrame *ret, void *data, size_t size);
