/* JSON from arbitrary bytes: an error iff it failed; every member can be asked for. */
#include "config.h"

#include "conf/json.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
ask(const ConfJson *json, const char *key)
{
    g_autoptr(GError) no_int = NULL, no_bool = NULL, no_text = NULL, no_object = NULL;
    gint64 number = 0;
    gboolean flag = FALSE;
    const char *word = NULL;
    g_assert_true(conf_json_int(json, key, 0, &number, &no_int) == (no_int == NULL));
    g_assert_true(conf_json_bool(json, key, FALSE, &flag, &no_bool) == (no_bool == NULL));
    g_assert_true(conf_json_text(json, key, NULL, &word, &no_text) == (no_text == NULL));
    g_autoptr(ConfJson) inner = conf_json_find_object(json, key, &no_object);
    g_assert_true(inner == NULL || no_object == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfJson) json = conf_json_parse("fuzz", text, &error);
    g_assert_true((json == NULL) == (error != NULL));
    if (json == NULL)
        return 0;
    g_autoptr(GList) keys = json_object_get_members(conf_json_root(json));
    for (GList *at = keys; at != NULL; at = at->next)
        ask(json, at->data);
    return 0;
}
