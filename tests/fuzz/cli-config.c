/* Configuration files of frameworks: the first line names the syntax. An error iff it failed; what a file says are
 * options that there are, and a file that was taken once is taken in the same words again. */
#include "config.h"

#include "cli/config_file.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *
said(const ConfDocument *document)
{
    g_autoptr(CliInputs) in = cli_inputs_new();
    g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) error = NULL;
    const ClusterSystem system = {.gpus_per_node = 8};
    gboolean ok = cli_inputs_set(in, "gpus", "64", NULL) &&
                  cli_config_put(in, &system, document, warnings, &error);
    g_assert_true(ok == (error == NULL));
    GString *text = g_string_new(NULL);
    for (guint i = 0; in->said != NULL && i < in->said->len; i++) {
        const CliSaying *s = in->said->pdata[i];
        const char *bare = g_str_has_prefix(s->option, "no-") ? s->option + 3 : s->option;
        g_assert_nonnull(cli_option_find(bare));
        g_string_append_printf(text, "%s %s\n", s->option, s->value);
    }
    return g_string_free(text, FALSE);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ConfSyntax *const syntaxes[] = {&conf_json_syntax, &conf_toml_syntax,
                                                 &conf_yaml_syntax};
    g_autofree char *text = g_strndup((const char *)data, size);
    const char *body = strchr(text, '\n');
    for (guint i = 0; body != NULL && i < G_N_ELEMENTS(syntaxes); i++) {
        if (!g_str_has_prefix(text, syntaxes[i]->name))
            continue;
        g_autoptr(ConfDocument) document =
            conf_document_parse("fuzz.x", syntaxes[i], body + 1, NULL);
        if (document == NULL)
            continue;
        g_autofree char *once = said(document), *again = said(document);
        g_assert_cmpstr(once, ==, again);
    }
    return 0;
}
