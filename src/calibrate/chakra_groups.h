/* Groups of ranks that a trace of PyTorch lists in its node of metadata. */
#pragma once

#include <glib.h>

typedef struct {
    gint64 size;
    char *ranks; /* "0, 8, 16"; the first of many, as profiles list them */
} CalibrateChakraGroup;

/* name -> CalibrateChakraGroup, and "" -> the group of all ranks; looked up only. */
GHashTable *calibrate_chakra_groups_new(void);
/* Ranks of the group that lists none, which is all of them; -1: there is none. */
gint64 calibrate_chakra_groups_world(const GHashTable *groups);
/* `text`: JSON, [{"pg_name": "0", "ranks": [0, 1], "group_size": 2}, ...]. What is none adds nothing. */
void calibrate_chakra_groups_add(GHashTable *groups, const char *text);
