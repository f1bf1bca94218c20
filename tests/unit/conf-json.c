/* JSON: typed access, and complaints with the path of the key. */
#include "config.h"

#include "conf/complaint.h"
#include "conf/json.h"

static const char text[] = "{ \"layers\": 96, \"rate\": 32.0, \"big\": 1e3, \"half\": 0.5,\n"
                           "  \"none\": null, \"name\": \"gpt\", \"tied\": true,\n"
                           "  \"moe\": { \"experts\": 8, \"inner\": { \"x\": \"y\" } } }";

static void
test_reads(void)
{
    GError *error = NULL;
    g_autoptr(ConfJson) json = conf_json_parse("c.json", text, &error);
    g_assert_no_error(error);
    gint64 n = 0;
    g_assert_true(conf_json_need_int(json, "layers", &n, NULL));
    g_assert_cmpint(n, ==, 96);
    g_assert_true(conf_json_int(json, "rate", 0, &n, NULL));
    g_assert_cmpint(n, ==, 32);
    g_assert_true(conf_json_int(json, "big", 0, &n, NULL));
    g_assert_cmpint(n, ==, 1000);
    g_assert_true(conf_json_int(json, "absent", 5, &n, NULL));
    g_assert_cmpint(n, ==, 5);
    g_assert_true(conf_json_int(json, "none", 6, &n, NULL));
    g_assert_cmpint(n, ==, 6);
    gboolean tied = FALSE;
    g_assert_true(conf_json_bool(json, "tied", FALSE, &tied, NULL));
    g_assert_true(tied);
    const char *name = NULL;
    g_assert_true(conf_json_text(json, "name", NULL, &name, NULL));
    g_assert_cmpstr(name, ==, "gpt");
    g_assert_true(conf_json_text(json, "absent", "other", &name, NULL));
    g_assert_cmpstr(name, ==, "other");
    g_assert_true(conf_json_has(json, "layers"));
    g_assert_false(conf_json_has(json, "none"));
    g_assert_false(conf_json_has(json, "absent"));
    g_assert_cmpstr(conf_json_name(json), ==, "c.json");
    g_assert_true(json_object_has_member(conf_json_root(json), "half"));
}

static void
test_nested(void)
{
    ConfJson *json = conf_json_parse("c.json", text, NULL);
    g_autoptr(ConfJson) moe = conf_json_find_object(json, "moe", NULL);
    g_autoptr(ConfJson) inner = conf_json_find_object(moe, "inner", NULL);
    g_autoptr(GError) error = NULL, wrong = NULL;
    g_assert_null(conf_json_find_object(json, "absent", &error));
    g_assert_no_error(error);
    g_assert_null(conf_json_find_object(json, "layers", &wrong));
    g_assert_cmpstr(wrong->message, ==, "c.json: key layers: expected an object, got 96");
    conf_json_free(json); /* the inner objects keep the document alive */

    gint64 n = -7;
    g_assert_false(conf_json_int(inner, "x", 0, &n, &error));
    g_assert_cmpstr(error->message, ==, "c.json: key moe.inner.x: expected an integer, got \"y\"");
    g_assert_cmpint(n, ==, -7);
}

static void
test_complains(void)
{
    static const struct {
        const char *text;
        const char *message; /* the head of it */
    } cases[] = {
        {"", "x: not an object"},
        {"[1]", "x: not an object"},
        {"{\n \"a\": 1,\n \"b\" 2 }", "x:3: not JSON: "},
        {"{ \"a\": 1", "x:1: not JSON: "},
        {"{ \"a\": 99999999999999999999 }", "x:1: an integer has over 18 digits"},
        {"{ \"a\": \"\377\" }", "x:1: not a text file"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(conf_json_parse("x", cases[i].text, &error));
        g_test_message("%s", error->message);
        g_assert_error(error, CONF_ERROR, CONF_ERROR_SYNTAX);
        g_assert_true(g_str_has_prefix(error->message, cases[i].message));
    }
    GString *deep = g_string_new("{\"a\":");
    for (int i = 0; i < 100000; i++)
        g_string_append_c(deep, '[');
    g_autoptr(GError) error = NULL;
    g_assert_null(conf_json_parse("x", deep->str, &error));
    g_assert_cmpstr(error->message, ==, "x:1: nested too deep");
    g_string_free(deep, TRUE);
}

static void
test_types(void)
{
    g_autoptr(ConfJson) json = conf_json_parse("c", text, NULL);
    gint64 n = -7;
    gboolean flag = FALSE;
    const char *word = NULL;
    g_autoptr(GError) half = NULL, name = NULL, tied = NULL, missing = NULL;
    g_assert_false(conf_json_int(json, "half", 0, &n, &half));
    g_assert_cmpstr(half->message, ==, "c: key half: expected an integer, got 0.5");
    g_assert_false(conf_json_bool(json, "name", FALSE, &flag, &name));
    g_assert_cmpstr(name->message, ==, "c: key name: expected true or false, got \"gpt\"");
    g_assert_false(conf_json_text(json, "tied", NULL, &word, &tied));
    g_assert_cmpstr(tied->message, ==, "c: key tied: expected a text in quotes, got true");
    g_assert_false(conf_json_need_int(json, "layer", &n, &missing));
    g_assert_error(missing, CONF_ERROR, CONF_ERROR_MISSING);
    g_assert_cmpstr(missing->message, ==,
                    "c: key layer: is missing; write \"layer\": INTEGER; did you mean 'layers'?");
    g_assert_cmpint(n, ==, -7);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/conf/json/reads-typed-values", test_reads);
    g_test_add_func("/conf/json/inner-objects-name-their-path", test_nested);
    g_test_add_func("/conf/json/refuses-what-is-not-json", test_complains);
    g_test_add_func("/conf/json/refuses-wrong-types", test_types);
    return g_test_run();
}
