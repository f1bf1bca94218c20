/* TOML: what the specification's version 1.0 allows and forbids, section by section. */
#include "config.h"

#include "conf/complaint.h"
#include "conf/document.h"

static char *
print(const char *text, GError **error)
{
    g_autoptr(ConfDocument) d = conf_document_parse("f", &conf_toml_syntax, text, error);
    if (d == NULL)
        return NULL;
    g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);
    json_node_set_object(root, conf_document_root(d));
    return json_to_string(root, FALSE);
}

typedef struct {
    const char *text, *printed;
} Good;

static void
check(const Good *cases, guint n)
{
    for (guint i = 0; i < n; i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *printed = print(cases[i].text, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(printed, ==, cases[i].printed);
    }
}

static void
test_numbers(void)
{
    static const Good cases[] = {
        {"a = +99\nb = 42\nc = 0\nd = -17\ne = 1_000\nf = 5_349_221\ng = 1_2_3\nh = -0",
         "{\"a\":99,\"b\":42,\"c\":0,\"d\":-17,\"e\":1000,\"f\":5349221,\"g\":123,\"h\":0}"},
        {"a = 0xDEADBEEF\nb = 0xdead_beef\nc = 0o01234567\nd = 0b1101_0110",
         "{\"a\":3735928559,\"b\":3735928559,\"c\":342391,\"d\":214}"},
        {"a = +1.0\nb = 3.25\nc = -0.5\nd = 5e+2\ne = 1e06\nf = -2E-2\ng = 6.5e3\nh = 9_224.5_0",
         "{\"a\":1.0,\"b\":3.25,\"c\":-0.5,\"d\":500.0,\"e\":1000000.0,\"f\":-0.02,\"g\":6500.0,"
         "\"h\":9224.5}"},
        {"a = 9223372036854775807\nb = -9223372036854775808",
         "{\"a\":9223372036854775807,\"b\":-9223372036854775808}"},
        {"a = true\nb = false # c", "{\"a\":true,\"b\":false}"},
    };
    check(cases, G_N_ELEMENTS(cases));
    g_autoptr(ConfDocument) d = conf_document_parse(
        "f", &conf_toml_syntax, "a = inf\nb = +inf\nc = -inf\nd = nan\ne = -nan", NULL);
    g_assert_cmpfloat(json_node_get_double(conf_document_find(d, "b")), ==, G_MAXDOUBLE * 2);
    g_assert_cmpfloat(json_node_get_double(conf_document_find(d, "c")), ==, -G_MAXDOUBLE * 2);
    double nan = json_node_get_double(conf_document_find(d, "e"));
    g_assert_true(nan != nan);
}

static void
test_texts(void)
{
    static const Good cases[] = {
        {"a = \"\\b\\t\\n\\f\\r\\\"\\\\\"", "{\"a\":\"\\b\\t\\n\\f\\r\\\"\\\\\"}"},
        {"a = \"\\u00e9\\U0001F600\"", "{\"a\":\"\303\251\360\237\230\200\"}"},
        {"a = 'C:\\n \"x\"'", "{\"a\":\"C:\\\\n \\\"x\\\"\"}"},
        {"a = \"\"\"\nRoses\nViolets\"\"\"", "{\"a\":\"Roses\\nViolets\"}"},
        {"a = \"\"\"The quick \\\n\n   brown \\\r\n   fox.\"\"\"",
         "{\"a\":\"The quick brown fox.\"}"},
        {"a = \"\"\"x\"\"\"\"\"", "{\"a\":\"x\\\"\\\"\"}"},
        {"a = '''\nraw \\ 'here' '''", "{\"a\":\"raw \\\\ 'here' \"}"},
        {"a = \"\"\nb = ''\nc = \"\"\"\"\"\"", "{\"a\":\"\",\"b\":\"\",\"c\":\"\"}"},
        {"a = \"# no comment\" # comment", "{\"a\":\"# no comment\"}"},
    };
    check(cases, G_N_ELEMENTS(cases));
}

static void
test_keys(void)
{
    static const Good cases[] = {
        {"bare_key = 1\nbare-key = 2\n1234 = 3", "{\"bare_key\":1,\"bare-key\":2,\"1234\":3}"},
        {"\"127.0.0.1\" = 1\n'quoted \"x\"' = 2\n\"\" = 3",
         "{\"127.0.0.1\":1,\"quoted \\\"x\\\"\":2,\"\":3}"},
        {"a.b = 1\na . \"c d\" = 2\n3.14 = 'pi'",
         "{\"a\":{\"b\":1,\"c d\":2},\"3\":{\"14\":\"pi\"}}"},
        {"apple.type = 1\norange.type = 2\napple.skin = 3",
         "{\"apple\":{\"type\":1,\"skin\":3},\"orange\":{\"type\":2}}"},
        {"\t a\t=\t1\t\r\n\n\r\n# c\r\nb = 2", "{\"a\":1,\"b\":2}"},
        {"", "{}"},
    };
    check(cases, G_N_ELEMENTS(cases));
}

static void
test_tables(void)
{
    static const Good cases[] = {
        {"[a]\nx = 1\n[ b . \"c\" ]\ny = 2\n[a.d]\nz = 3",
         "{\"a\":{\"x\":1,\"d\":{\"z\":3}},\"b\":{\"c\":{\"y\":2}}}"},
        {"[x.y.z.w]\n[x]\nk = 1", "{\"x\":{\"y\":{\"z\":{\"w\":{}}},\"k\":1}}"},
        {"[fruit]\napple.color = 1\napple.taste.sweet = true\n[fruit.apple.texture]\nsmooth = 2",
         "{\"fruit\":{\"apple\":{\"color\":1,\"taste\":{\"sweet\":true},\"texture\":{\"smooth\":2}}}}"},
        {"[a.b.c]\n[a]\nb.d = 1", "{\"a\":{\"b\":{\"c\":{},\"d\":1}}}"},
        {"[[p]]\nn = 1\n[[p]]\n[[p]]\nn = 2\n[p.q]\nr = 3",
         "{\"p\":[{\"n\":1},{},{\"n\":2,\"q\":{\"r\":3}}]}"},
        {"[[f]]\n[[f.v]]\na = 1\n[[f.v]]\na = 2\n[[f]]\n[[f.v]]\na = 3",
         "{\"f\":[{\"v\":[{\"a\":1},{\"a\":2}]},{\"v\":[{\"a\":3}]}]}"},
        {"a = { x = 1, y.z = [ {}, { k = 'v' } ] }",
         "{\"a\":{\"x\":1,\"y\":{\"z\":[{},{\"k\":\"v\"}]}}}"},
        {"a = [ 1, 2, # c\n\n  3, ]\nb = [[1], ['x', 0.5]]\nc = []",
         "{\"a\":[1,2,3],\"b\":[[1],[\"x\",0.5]],\"c\":[]}"},
    };
    check(cases, G_N_ELEMENTS(cases));
}

/* Each is invalid by the specification; the message says the line. */
static void
test_refusals(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a = 1\na = 2", "f:2: not TOML: a is there since line 1, and cannot be given again"},
        {"a.b = 1\na = 2", "f:2: not TOML: a is there since line 1, and cannot be given again"},
        {"a = 1\na.b = 2", "f:2: not TOML: a is there since line 1, and cannot be given again"},
        {"[a]\n\n[a]", "f:3: not TOML: a is there since line 1, and cannot be given again"},
        {"[a]\nb = 1\n[a.b]",
         "f:3: not TOML: a.b is there since line 2, and cannot be given again"},
        {"[f]\na.c = 1\n[f.a]", "f:3: not TOML: f.a is there since line 2, and cannot be given "
                                "again"},
        {"[a.b.c]\nz = 9\n[a]\nb.c.t = 1",
         "f:4: not TOML: b.c is there since line 1, and cannot be given again"},
        {"a = {b = 1}\n[a.c]", "f:2: not TOML: a is there since line 1, and cannot be given again"},
        {"a = {b = 1}\na.c = 2",
         "f:2: not TOML: a is there since line 1, and cannot be given again"},
        {"a = []\n[[a]]", "f:2: not TOML: a is there since line 1, and cannot be given again"},
        {"[[a]]\n[a]", "f:2: not TOML: a is there since line 1, and cannot be given again"},
        {"[a]\n[[a]]", "f:2: not TOML: a is there since line 1, and cannot be given again"},
        {"a = 01", "f:1: not TOML: a number that begins with 0; leave that out"},
        {"a = 1__0", "f:1: not TOML: '1__0' is no value; write texts in quotes"},
        {"a = 1_", "f:1: not TOML: '1_' is no value; write texts in quotes"},
        {"a = .7", "f:1: not TOML: '.7' is no value; write texts in quotes"},
        {"a = 7.", "f:1: not TOML: '7.' is no value; write texts in quotes"},
        {"a = 3.e+20", "f:1: not TOML: '3.e+20' is no value; write texts in quotes"},
        {"a = True", "f:1: not TOML: 'True' is no value; write texts in quotes"},
        {"a = 0xg", "f:1: not TOML: a number with wrong digits"},
        {"a = +0xf", "f:1: not TOML: '+0xf' is no value; write texts in quotes"},
        {"a = 9223372036854775808", "f:1: not TOML: a whole number of more than 64 bits"},
        {"a = 1979-05-27", "f:1: not TOML: dates and times are not read; write them in quotes"},
        {"a = 07:32:00", "f:1: not TOML: dates and times are not read; write them in quotes"},
        {"a = \"x\ny\"", "f:1: not TOML: a text is not closed in its line"},
        {"a = '''x", "f:1: not TOML: a text is not closed"},
        {"a = \"\\q\"", "f:1: not TOML: a backslash before something else than b t n f r \" \\ u "
                        "U; write two"},
        {"a = \"\\ud800\"", "f:1: not TOML: \\u stands for no character"},
        {"a = \"\\u12\"", "f:1: not TOML: \\u has four hexadecimal digits, \\U eight"},
        {"a = \"\001\"", "f:1: not TOML: a control character in a text; write \\u and four digits"},
        {"# \001", "f:1: not TOML: a control character in a comment"},
        {"\n = 1", "f:2: not TOML: a key is expected; write letters, digits, _ and -, or quotes"},
        {"a", "f:1: not TOML: '=' is expected behind the key"},
        {"a = ", "f:1: not TOML: a value is expected behind '='"},
        {"a = 1 b = 2", "f:1: not TOML: a line ends after its value; write one a line"},
        {"[a", "f:1: not TOML: ']' is expected behind the name of the table"},
        {"[[a]", "f:1: not TOML: ']]' is expected behind the name of the tables"},
        {"a = [1 2]", "f:1: not TOML: ',' or ']' is expected in a list"},
        {"a = {b = 1,}", "f:1: not TOML: a key is expected; write letters, digits, _ and -, or "
                         "quotes"},
        {"a = {b = 1\n}", "f:1: not TOML: ',' or '}' is expected in a table of one line"},
        {"\"\"\"a\"\"\" = 1", "f:1: not TOML: a key in three quotes; write one on each side"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(print(cases[i].text, &error));
        g_assert_cmpint((int)error->domain, ==, (int)CONF_ERROR);
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
}

static void
test_depth(void)
{
    g_autoptr(GString) lists = g_string_new("a = "), dots = g_string_new("a");
    for (guint i = 0; i < 100; i++) {
        g_string_append(lists, "[");
        g_string_append(dots, ".a");
    }
    g_string_append(dots, " = 1");
    g_autoptr(GError) first = NULL, second = NULL;
    g_assert_null(print(lists->str, &first));
    g_assert_cmpstr(first->message, ==, "f:1: not TOML: lists and tables nested too deep");
    g_assert_null(print(dots->str, &second));
    g_assert_cmpstr(second->message, ==, "f:1: not TOML: a key with too many dots");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("TOML 1.0 but for dates: what is valid is read, what is not is refused");
    g_test_add_func("/conf/toml/numbers", test_numbers);
    g_test_add_func("/conf/toml/texts", test_texts);
    g_test_add_func("/conf/toml/keys", test_keys);
    g_test_add_func("/conf/toml/tables-and-lists", test_tables);
    g_test_add_func("/conf/toml/refusals-say-the-line", test_refusals);
    g_test_add_func("/conf/toml/depth-is-bounded", test_depth);
    return g_test_run();
}
