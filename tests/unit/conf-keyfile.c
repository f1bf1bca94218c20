/* Key files: typed values, precise complaints, and a printed form that reads back the same. */
#include "config.h"

#include "conf/complaint.h"
#include "conf/keyfile.h"

#include <string.h>

static const char *const kinds[] = {"ring", "tree", NULL};

static const ConfKey keys[] = {
    {"gpu", "name", CONF_KEY_TEXT, 0, "", NULL, "name of the GPU"},
    {"gpu", "memory", CONF_KEY_QUANTITY, UNITS_BYTES, NULL, NULL, "HBM of one GPU"},
    {"gpu", "hbm", CONF_KEY_QUANTITY, UNITS_RATE, "1555GBps", NULL, "HBM bandwidth"},
    {"node", "gpus", CONF_KEY_QUANTITY, UNITS_COUNT, "8", NULL, "GPUs of a node"},
    {"node", "loss", CONF_KEY_FRACTION, 0, "5%", NULL, "share of the rate lost"},
    {"node", "numa", CONF_KEY_BOOL, 0, "no", NULL, "has NUMA domains"},
    {"node", "shape", CONF_KEY_CHOICE, 0, "tree", kinds, "how GPUs are joined"},
    {NULL},
};

static void
test_reads(void)
{
    static const char text[] = "# a machine\r\n"
                               "[gpu]\r\n"
                               "name = A100 80G   # as sold\n"
                               "memory=80GB\n"
                               "\n"
                               "[ node ]\n"
                               "  loss = 0.25\n"
                               "numa = true\n"
                               "shape = ring\n"
                               "[gpu]\n"
                               "hbm = 2039GBps";
    GError *error = NULL;
    g_autoptr(ConfKeyfile) file = conf_keyfile_parse("x.conf", text, keys, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(conf_keyfile_text(file, "gpu", "name"), ==, "A100 80G");
    g_assert_cmpint(conf_keyfile_quantity(file, "gpu", "memory"), ==, 80000000000);
    g_assert_cmpint(conf_keyfile_quantity(file, "gpu", "hbm"), ==, 2039000000000);
    g_assert_cmpint(conf_keyfile_quantity(file, "node", "gpus"), ==, 8);
    g_assert_cmpfloat(conf_keyfile_fraction(file, "node", "loss"), ==, 0.25);
    g_assert_true(conf_keyfile_bool(file, "node", "numa"));
    g_assert_cmpint(conf_keyfile_choice(file, "node", "shape"), ==, 0);
}

static void
test_complains(void)
{
    static const struct {
        const char *text;
        ConfError code;
        const char *message;
    } cases[] = {
        {"", CONF_ERROR_MISSING,
         "x: [gpu] memory: is missing; write memory = VALUE (HBM of one GPU)"},
        {"[gpu]\nmemory = 80\n", CONF_ERROR_VALUE, "x: [gpu] memory: '80' has no unit; write 80GB"},
        {"[gpu]\nmemroy = 80GB\n", CONF_ERROR_UNKNOWN,
         "x: [gpu] memroy: unknown key; did you mean 'memory'?"},
        {"[gpu]\ngpus = 8\n", CONF_ERROR_UNKNOWN,
         "x: [gpu] gpus: unknown key; it belongs to [node]"},
        {"[gpu]\nzzzzzzzzz = 8\n", CONF_ERROR_UNKNOWN,
         "x: [gpu] zzzzzzzzz: unknown key; keys are name, memory, hbm"},
        {"[nod]\n", CONF_ERROR_UNKNOWN, "x: [nod]: unknown section; did you mean 'node'?"},
        {"[elsewhere]\n", CONF_ERROR_UNKNOWN,
         "x: [elsewhere]: unknown section; sections are gpu, node"},
        {"memory = 80GB\n", CONF_ERROR_SYNTAX,
         "x:1: memory: stands before any section; write [section] above it"},
        {"[gpu]\nmemory 80GB\n", CONF_ERROR_SYNTAX,
         "x:2: 'memory 80GB' is neither a section nor a key; write [section] or key = value"},
        {"[gpu\n", CONF_ERROR_SYNTAX, NULL},
        {"[]\n", CONF_ERROR_SYNTAX, NULL},
        {"[gpu]\n= 3\n", CONF_ERROR_SYNTAX, NULL},
        {"[gpu]\nmemory = 1GB\nmemory = 2GB\n", CONF_ERROR_SYNTAX,
         "x: [gpu] memory: given twice, in lines 2 and 3; keep one"},
        {"[gpu]\nmemory = 1GB\n[node]\nnuma = 2\n", CONF_ERROR_VALUE,
         "x: [node] numa: '2' is neither true nor false"},
        {"[gpu]\nmemory = 1GB\n[node]\nshape = star\n", CONF_ERROR_VALUE,
         "x: [node] shape: 'star' is not a choice; write one of ring, tree"},
        {"[gpu]\nmemory = 1GB\n[node]\nloss = 2\n", CONF_ERROR_VALUE, NULL},
        {"[gpu]\nname = \377\n", CONF_ERROR_SYNTAX, "x:2: not a text file (invalid UTF-8)"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(conf_keyfile_parse("x", cases[i].text, keys, &error));
        g_test_message("%s", error->message);
        g_assert_error(error, CONF_ERROR, (int)cases[i].code);
        if (cases[i].message != NULL)
            g_assert_cmpstr(error->message, ==, cases[i].message);
    }
}

static void
test_set(void)
{
    static const struct {
        const char *assignment;
        const char *message; /* NULL: it works */
    } cases[] = {
        {"gpu.memory=40GB", NULL},
        {"gpu.name=a=b.c", NULL},
        {"gpu.name=", NULL},
        {"gpu.memory=40", "--set: [gpu] memory: '40' has no unit; write 40GB"},
        {"gpu.memroy=40GB", "--set: [gpu] memroy: unknown key; did you mean 'memory'?"},
        {"gpuu.memory=40GB", "--set: [gpuu]: unknown section; did you mean 'gpu'?"},
        {"memory=40GB", "--set: 'memory=40GB' is no assignment; write SECTION.KEY=VALUE"},
        {"gpu.memory", "--set: 'gpu.memory' is no assignment; write SECTION.KEY=VALUE"},
        {".=", "--set: '.=' is no assignment; write SECTION.KEY=VALUE"},
        {"gpu.name=a #b",
         "--set: [gpu] name: 'a #b' holds a line end or a comment; write the value alone"},
    };
    g_autoptr(ConfKeyfile) file = conf_keyfile_parse("x", "[gpu]\nmemory = 80GB\n", keys, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        gboolean done = conf_keyfile_set(file, cases[i].assignment, &error);
        g_assert_cmpint(done, ==, cases[i].message == NULL);
        if (!done)
            g_assert_cmpstr(error->message, ==, cases[i].message);
    }
    g_assert_cmpint(conf_keyfile_quantity(file, "gpu", "memory"), ==, 40000000000);
    g_assert_cmpstr(conf_keyfile_text(file, "gpu", "name"), ==, "");
}

static void
test_print(void)
{
    g_autoptr(ConfKeyfile) file =
        conf_keyfile_parse("x", "[node]\nloss = 1%\n[gpu]\nmemory = 80GB\n", keys, NULL);
    g_autofree char *text = conf_keyfile_print(file);
    g_assert_cmpstr(text, ==,
                    "[gpu]\nname =\nmemory = 80GB\nhbm = 1555GBps\n"
                    "\n[node]\ngpus = 8\nloss = 1%\nnuma = no\nshape = tree\n");
    g_autoptr(ConfKeyfile) again = conf_keyfile_parse("y", text, keys, NULL);
    g_autofree char *same = conf_keyfile_print(again);
    g_assert_cmpstr(same, ==, text);
}

/* Sections and keys in any order give the same content. */
static void
test_order(void)
{
    static const char *const lines[] = {"[gpu]\nmemory = 80GB\n", "[gpu]\nname = x\n",
                                        "[node]\nnuma = yes\n", "[node]\ngpus = 4\n"};
    g_autofree char *first = NULL;
    for (int round = 0; round < 50; round++) {
        const char *shuffled[5] = {lines[0], lines[1], lines[2], lines[3], NULL};
        for (int i = 3; i > 0; i--) {
            int j = g_test_rand_int_range(0, i + 1);
            const char *held = shuffled[i];
            shuffled[i] = shuffled[j];
            shuffled[j] = held;
        }
        g_autofree char *text = g_strjoinv("", (char **)shuffled);
        g_autoptr(ConfKeyfile) file = conf_keyfile_parse("x", text, keys, NULL);
        g_autofree char *printed = conf_keyfile_print(file);
        if (first == NULL)
            first = g_strdup(printed);
        g_assert_cmpstr(printed, ==, first);
    }
}

static void
test_load(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(conf_keyfile_load("/nowhere/x.conf", keys, &error));
    g_assert_error(error, CONF_ERROR, CONF_ERROR_IO);
    conf_keyfile_free(NULL);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/conf/keyfile/reads-typed-values", test_reads);
    g_test_add_func("/conf/keyfile/says-place-and-remedy", test_complains);
    g_test_add_func("/conf/keyfile/set-has-the-same-checks", test_set);
    g_test_add_func("/conf/keyfile/prints-a-valid-input", test_print);
    g_test_add_func("/conf/keyfile/order-of-keys-does-not-matter", test_order);
    g_test_add_func("/conf/keyfile/tells-missing-files", test_load);
    return g_test_run();
}
