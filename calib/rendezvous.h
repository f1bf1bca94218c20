/* Where rank 0 of a run listens, as it writes it into a file that all ranks see. */
#pragma once

#include "calib/backend.h"

enum { CALIB_MOST_ADDRESSES = 16 };
typedef struct {
    int world, port, n_addresses;
    char run[64]; /* told by whoever joins */
    char addresses[CALIB_MOST_ADDRESSES]
                  [64]; /* names and numbers of rank 0's host, likeliest first */
} CalibRendezvous;

/* This host's addresses, and a run that no other has. */
void calib_rendezvous_init(int world, int port, CalibRendezvous *ret);

typedef enum {
    CALIB_RENDEZVOUS_READ,
    CALIB_RENDEZVOUS_NOT_YET, /* there is no such file */
    CALIB_RENDEZVOUS_WRONG    /* `error` says why */
} CalibRendezvousStatus;
CalibRendezvousStatus calib_rendezvous_read(const char *path, CalibRendezvous *ret,
                                            CalibError *error);
/* Of the whole file's text. */
bool calib_rendezvous_parse(const char *text, CalibRendezvous *ret);
/* The file appears whole, readable by its owner only, or not at all; one that is there already is left there. */
bool calib_rendezvous_write(const char *path, const CalibRendezvous *rendezvous, CalibError *error);
