/* JSON out: json-glib's builder with finite numbers and a fixed order of keys. */
#pragma once

#include <json-glib/json-glib.h>

void report_json_int(JsonBuilder *b, const char *key, gint64 value);
void report_json_double(JsonBuilder *b, const char *key, double value); /* null when not finite */
void report_json_text(JsonBuilder *b, const char *key, const char *value); /* null when NULL */
void report_json_bool(JsonBuilder *b, const char *key, gboolean value);
void report_json_object(JsonBuilder *b, const char *key); /* begins; `key` NULL in an array */
void report_json_array(JsonBuilder *b, const char *key);
/* The whole document, indented, with a newline at the end. */
void report_json_print(JsonBuilder *b, GString *out);
