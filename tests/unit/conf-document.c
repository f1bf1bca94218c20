/* JSON and YAML as documents: trees with the line of each value, keys that stand twice, complaints. */
#include "config.h"

#include "conf/complaint.h"
#include "conf/document.h"

#include <math.h>

#include <glib/gstdio.h>

static char *
print(const ConfDocument *document)
{
    g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);
    json_node_set_object(root, conf_document_root(document));
    return json_to_string(root, FALSE);
}

typedef struct {
    const char *text, *printed;
} Good;

static void
check_good(const ConfSyntax *syntax, const Good *cases, guint n)
{
    for (guint i = 0; i < n; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(ConfDocument) d = conf_document_parse("f", syntax, cases[i].text, &error);
        g_assert_no_error(error);
        g_autofree char *printed = print(d);
        g_assert_cmpstr(printed, ==, cases[i].printed);
        g_assert_cmpuint(conf_document_remarks(d)->len, ==, 0);
    }
}

typedef struct {
    const char *text, *message;
} Bad;

static void
check_bad(const ConfSyntax *syntax, const Bad *cases, guint n)
{
    for (guint i = 0; i < n; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(ConfDocument) d = conf_document_parse("f", syntax, cases[i].text, &error);
        g_assert_null(d);
        g_assert_cmpint((int)error->domain, ==, (int)CONF_ERROR);
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
}

/* What PyYAML's SafeLoader makes of each. */
static void
test_yaml_scalars(void)
{
    static const Good cases[] = {
        {"a: yes\nb: Off\nc: ON\nd: true\ne: False\nf: y\ng: TrUe",
         "{\"a\":true,\"b\":false,\"c\":true,\"d\":true,\"e\":false,\"f\":\"y\",\"g\":\"TrUe\"}"},
        {"a: ~\nb: null\nc:\nd: Null\ne: ''\nf: NONE",
         "{\"a\":null,\"b\":null,\"c\":null,\"d\":null,\"e\":\"\",\"f\":\"NONE\"}"},
        {"a: 12\nb: -0x1f\nc: 017\nd: 0b101\ne: 1_000\nf: +5\ng: 08\nh: 0\ni: 00",
         "{\"a\":12,\"b\":-31,\"c\":15,\"d\":5,\"e\":1000,\"f\":5,\"g\":\"08\",\"h\":0,\"i\":0}"},
        {"a: 1.5\nb: -.5\nc: 5.\nd: 1.5e+3\ne: 1e9\nf: 1.0e9\ng: 1.5.2\nh: 1:30",
         "{\"a\":1.5,\"b\":-0.5,\"c\":5.0,\"d\":1500.0,\"e\":\"1e9\",\"f\":\"1.0e9\",\"g\":\"1.5.2\","
         "\"h\":\"1:30\"}"},
        {"a: '12'\nb: \"true\"\nc: !!str 12\nd: !!int 12\ne: 2020-01-01",
         "{\"a\":\"12\",\"b\":\"true\",\"c\":\"12\",\"d\":12,\"e\":\"2020-01-01\"}"},
    };
    check_good(&conf_yaml_syntax, cases, G_N_ELEMENTS(cases));
    static const char *const infinite[] = {".inf", ".Inf", ".INF", "-.Inf"};
    for (guint i = 0; i < G_N_ELEMENTS(infinite); i++) {
        g_autofree char *text = g_strconcat("a: ", infinite[i], NULL);
        g_autoptr(ConfDocument) d = conf_document_parse("f", &conf_yaml_syntax, text, NULL);
        double value = json_node_get_double(conf_document_find(d, "a"));
        g_assert_cmpfloat(value, ==, text[3] == '-' ? -INFINITY : INFINITY);
    }
}

static void
test_yaml_trees(void)
{
    static const Good cases[] = {
        {"{ # flow\n \"a\": True, \"b\": [1, 2,], \"c\": {\"d\": 2.5e-1,},\n}",
         "{\"a\":true,\"b\":[1,2],\"c\":{\"d\":0.25}}"},
        {"a:\n  b:\n  - 1\n  - c: x\n    d: y\ne: |\n  two\n  lines\n",
         "{\"a\":{\"b\":[1,{\"c\":\"x\",\"d\":\"y\"}]},\"e\":\"two\\nlines\\n\"}"},
        {"a: &x [1, 2]\nb: *x\nc: &y 3\nd: *y", "{\"a\":[1,2],\"b\":[1,2],\"c\":3,\"d\":3}"},
        {"--- # one document\na: 1\n...\n", "{\"a\":1}"},
    };
    check_good(&conf_yaml_syntax, cases, G_N_ELEMENTS(cases));
}

static void
test_yaml_complaints(void)
{
    static const Bad cases[] = {
        {"", "f:1: is empty; write key: value"},
        {"5", "f:1: a single value, where keys and values are expected"},
        {"# c\n- 1", "f:2: a list, where keys and values are expected"},
        {"a: 1\n---\nb: 2", "f:2: a second document begins; write one in a file"},
        {"a: *x", "f:1: *x: there is no &x before it"},
        {"a: &x {b: *x}", "f:1: *x: there is no &x before it"},
        {"b: 1\n<<: {a: 1}", "f:2: merge keys are not read; write the keys themselves"},
        {"? [1]\n: 2", "f:1: a map or list as a key; write a word"},
        {"a: !mine 3", "f:1: tag '!mine' is not known; leave it out"},
        {"a: b: c", "f:1: not YAML: mapping values are not allowed in this context"},
        {"a: 1\nb: [1, 2", "f:3: not YAML: did not find expected ',' or ']'"},
        {"a: \"\\0\"", "f:1: a NUL byte in a text"},
    };
    check_bad(&conf_yaml_syntax, cases, G_N_ELEMENTS(cases));
}

/* Ten times ten times ... of an alias would be a billion values. */
static void
test_yaml_bounds(void)
{
    g_autoptr(GString) laughs = g_string_new("a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n");
    for (guint i = 1; i < 10; i++)
        g_string_append_printf(laughs, "a%u: &a%u [*a%u,*a%u,*a%u,*a%u,*a%u,*a%u,*a%u,*a%u]\n", i,
                               i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    g_autoptr(GString) deep = g_string_new("a: ");
    for (guint i = 0; i < 64; i++)
        g_string_append_c(deep, '[');
    const Bad cases[] = {
        {laughs->str, "f:6: more than 200000 values"},
        {deep->str, "f:1: nested too deep; at most 64 maps and lists in each other"},
    };
    check_bad(&conf_yaml_syntax, cases, G_N_ELEMENTS(cases));
}

static void
test_json(void)
{
    static const Good good[] = {
        {"{\"a\": 1e14, \"b\": [null, true, \"x\\\"}A\"], \"c\": {\"d\": -2}}",
         "{\"a\":100000000000000.0,\"b\":[null,true,\"x\\\"}A\"],\"c\":{\"d\":-2}}"},
        {"{}", "{}"},
    };
    static const Bad bad[] = {
        {"{\n\"a\" : BATCH_SIZE,\n\"b\": MORE}",
         "f:2: not JSON: BATCH_SIZE stands for a value that was not put in; write the value, in "
         "quotes where it is text"},
        {"{\"a\":\n\n True}", "f:3: not JSON: True is Python's; write true"},
        {"{\"a\": 1,}", "f:1: no JSON: invalid object key (must be a string)"},
        {"[1]", "f:1: a list, where keys and values are expected"},
        {" \n", "f:1: is empty; write { \"key\": value, ... }"},
        {"{\"a\": 1", "f: ends in the middle, after 7 bytes of text; is it copied whole?"},
    };
    check_good(&conf_json_syntax, good, G_N_ELEMENTS(good));
    check_bad(&conf_json_syntax, bad, G_N_ELEMENTS(bad));
}

/* The last of two counts, as in Python, and both lines are told. */
static void
test_twice(void)
{
    static const struct {
        const ConfSyntax *syntax;
        const char *text, *remark;
    } cases[] = {
        {&conf_yaml_syntax, "m:\n  x: null\n  y: 1\n  x:\n    n: 8\n",
         "f:4: key m.x stands in line 2, too; the last one counts"},
        {&conf_json_syntax, "{\"m\": {\"x\": null,\n\"x\":\n{\"n\": 8}}}",
         "f:2: key m.x stands in line 1, too; the last one counts"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(ConfDocument) d = conf_document_parse("f", cases[i].syntax, cases[i].text, NULL);
        g_assert_cmpint(json_node_get_int(conf_document_find(d, "m.x.n")), ==, 8);
        g_assert_cmpuint(conf_document_remarks(d)->len, ==, 1);
        g_assert_cmpstr(conf_document_remarks(d)->pdata[0], ==, cases[i].remark);
    }
}

static void
test_lines(void)
{
    static const struct {
        const ConfSyntax *syntax;
        const char *text;
    } cases[] = {
        {&conf_yaml_syntax, "# c\na: 1\nb:\n  c:\n    [2,\n     3]\n"},
        {&conf_json_syntax, "{\n\"a\": 1,\n\"b\": {\n\"c\":\n[2,\n3]}}"},
        {&conf_toml_syntax, "# c\na = 1\n[b]\nc = [2,\n\n3]\n"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(ConfDocument) d = conf_document_parse("f", cases[i].syntax, cases[i].text, NULL);
        JsonNode *list = conf_document_find(d, "b.c");
        g_assert_cmpuint(conf_document_line(d, conf_document_find(d, "a")), ==, 2);
        g_assert_cmpuint(conf_document_line(d, conf_document_find(d, "b")), ==, 3);
        g_assert_cmpuint(conf_document_line(d, list), ==, 4);
        JsonNode *three = json_array_get_element(json_node_get_array(list), 1);
        g_assert_cmpuint(conf_document_line(d, three), ==, 6);
        g_assert_null(conf_document_find(d, "b.d"));
        g_assert_null(conf_document_find(d, "a.b"));
        g_assert_cmpstr(conf_document_name(d), ==, "f");
        g_assert_true(conf_document_syntax(d) == cases[i].syntax);
    }
}

/* Where - and _ are one letter, they are in every part of a path and in any mixture; as it is written comes first. */
static void
test_alike(void)
{
    static const struct {
        const char *path;
        gint64 alike, exact; /* 0: it is not there */
    } cases[] = {{"a_b.c_d_e", 1, 0}, {"a-b.c-d_e", 1, 1}, {"a_b.x_y", 2, 0},  {"a-b.x_y", 2, 2},
                 {"a_b.x-y", 3, 0},   {"a-b.x-y", 3, 3},   {"a_b.cd_e", 0, 0}, {"ab.x_y", 0, 0},
                 {"k.l", 0, 0} /* a key with a dot in itself */};
    g_autoptr(ConfDocument) d = conf_document_parse(
        "f", &conf_yaml_syntax, "a-b: {c-d_e: 1, x_y: 2, x-y: 3}\n'k.l': 4\n", NULL);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        JsonNode *alike = conf_document_find_alike(d, cases[i].path);
        JsonNode *exact = conf_document_find(d, cases[i].path);
        g_assert_cmpint(alike == NULL ? 0 : json_node_get_int(alike), ==, cases[i].alike);
        g_assert_cmpint(exact == NULL ? 0 : json_node_get_int(exact), ==, cases[i].exact);
    }
}

static void
test_endings(void)
{
    g_autofree char *folder = g_dir_make_tmp("dtsim-XXXXXX", NULL);
    static const char *const names[] = {"a.json", "a.toml", "a.yml", "a.yaml", "a.ini"};
    static const char *const texts[] = {"{\"a\": 1}", "a = 1", "a: 1", "a: 1", "a = 1"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(folder, names[i], NULL);
        g_autoptr(GError) error = NULL;
        g_assert_true(g_file_set_contents(path, texts[i], -1, NULL));
        g_autoptr(ConfDocument) d = conf_document_load(path, &error);
        g_assert_true((d != NULL) == (i < 4));
        if (d == NULL)
            g_assert_true(g_str_has_suffix(error->message,
                                           ": its ending says no syntax; name it with one of "
                                           ".json, .toml, .yml, .yaml"));
        g_unlink(path);
    }
    g_rmdir(folder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("JSON, YAML and TOML become one kind of tree that knows its lines");
    g_test_add_func("/conf/document/yaml-scalars-as-pyyaml-has-them", test_yaml_scalars);
    g_test_add_func("/conf/document/yaml-maps-lists-and-aliases", test_yaml_trees);
    g_test_add_func("/conf/document/yaml-complaints-say-the-line", test_yaml_complaints);
    g_test_add_func("/conf/document/yaml-stays-in-its-bounds", test_yaml_bounds);
    g_test_add_func("/conf/document/json-is-strict-and-names-placeholders", test_json);
    g_test_add_func("/conf/document/a-key-that-stands-twice-is-told", test_twice);
    g_test_add_func("/conf/document/values-know-their-lines", test_lines);
    g_test_add_func("/conf/document/dashes-for-underscores", test_alike);
    g_test_add_func("/conf/document/the-ending-says-the-syntax", test_endings);
    return g_test_run();
}
