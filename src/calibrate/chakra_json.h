/* Execution traces of PyTorch in JSON: what Chakra's converter makes its files of. They are told of, and no more. */
#pragma once

#include <glib.h>

/* Both set *error: what the file is, how many nodes it has, and what to write instead. */
void calibrate_chakra_json_load(const char *path, GError **error);
void calibrate_chakra_json_parse(const char *name, const char *text, gsize n, GError **error);
