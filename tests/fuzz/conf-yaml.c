/* YAML from arbitrary bytes: an error iff it failed; what was read can be printed and its remarks are whole lines. */
#include "config.h"

#include "conf/document.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfDocument) document = conf_document_parse("fuzz", &conf_yaml_syntax, text, &error);
    g_assert_true((document == NULL) == (error != NULL));
    if (document == NULL)
        return 0;
    for (guint i = 0; i < conf_document_remarks(document)->len; i++)
        g_assert_true(g_str_has_prefix(conf_document_remarks(document)->pdata[i], "fuzz:"));
    g_autoptr(GList) keys = json_object_get_members(conf_document_root(document));
    for (GList *at = keys; at != NULL; at = at->next)
        g_assert_cmpuint(conf_document_line(document, json_object_get_member(
                                                          conf_document_root(document), at->data)),
                         >=, 1);
    return 0;
}
