/* Key files from arbitrary bytes: an error iff it failed; what is printed reads back the same. */
#include "config.h"

#include "conf/keyfile.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const words[] = {"one", "two", NULL};

static const ConfKey keys[] = {
    {"a", "text", CONF_KEY_TEXT, 0, "", NULL, "any text"},
    {"a", "size", CONF_KEY_QUANTITY, UNITS_BYTES, "1GB", NULL, "a size"},
    {"b", "part", CONF_KEY_FRACTION, 0, "10%", NULL, "a fraction"},
    {"b", "flag", CONF_KEY_BOOL, 0, "no", NULL, "a flag"},
    {"b", "word", CONF_KEY_CHOICE, 0, "one", words, "a word"},
    {.section = NULL},
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfKeyfile) file = conf_keyfile_parse("fuzz", text, keys, &error);
    g_assert_true((file == NULL) == (error != NULL));
    if (file == NULL)
        return 0;
    g_autofree char *printed = conf_keyfile_print(file);
    g_autoptr(ConfKeyfile) again = conf_keyfile_parse("again", printed, keys, NULL);
    g_assert_nonnull(again);
    g_autofree char *same = conf_keyfile_print(again);
    g_assert_cmpstr(same, ==, printed);

    g_autoptr(GError) wrong = NULL;
    g_assert_true(conf_keyfile_set(file, text, &wrong) == (wrong == NULL));
    return 0;
}
