/* The error domain of the layer cluster. */
#pragma once

#include <glib.h>

#define CLUSTER_ERROR (cluster_error_quark())
GQuark cluster_error_quark(void);

typedef enum {
    CLUSTER_ERROR_UNKNOWN, /* no such system or dtype */
    CLUSTER_ERROR_VALUE,   /* values that contradict each other or physics */
} ClusterError;
