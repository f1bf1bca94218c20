/* JSON out. */
#include "config.h"

#include "report/json_number.h"

#include <math.h>

void
report_json_int(JsonBuilder *b, const char *key, gint64 value)
{
    json_builder_set_member_name(b, key);
    json_builder_add_int_value(b, value);
}

void
report_json_double(JsonBuilder *b, const char *key, double value)
{
    if (key != NULL)
        json_builder_set_member_name(b, key);
    if (isfinite(value))
        json_builder_add_double_value(b, value);
    else
        json_builder_add_null_value(b);
}

void
report_json_text(JsonBuilder *b, const char *key, const char *value)
{
    json_builder_set_member_name(b, key);
    if (value != NULL)
        json_builder_add_string_value(b, value);
    else
        json_builder_add_null_value(b);
}

void
report_json_bool(JsonBuilder *b, const char *key, gboolean value)
{
    json_builder_set_member_name(b, key);
    json_builder_add_boolean_value(b, value);
}

void
report_json_object(JsonBuilder *b, const char *key)
{
    if (key != NULL)
        json_builder_set_member_name(b, key);
    json_builder_begin_object(b);
}

void
report_json_array(JsonBuilder *b, const char *key)
{
    if (key != NULL)
        json_builder_set_member_name(b, key);
    json_builder_begin_array(b);
}

void
report_json_print(JsonBuilder *b, GString *out)
{
    g_autoptr(JsonNode) root = json_builder_get_root(b);
    g_autoptr(JsonGenerator) generator = json_generator_new();
    json_generator_set_root(generator, root);
    json_generator_set_pretty(generator, TRUE);
    json_generator_set_indent(generator, 2);
    g_autofree char *text = json_generator_to_data(generator, NULL);
    g_string_append(out, text);
    g_string_append_c(out, '\n');
}
