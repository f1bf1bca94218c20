/* Hostfiles of all kinds become slots; bad ones are refused with file, line and remedy. */
#include "config.h"

#include <string.h>

#include "cluster/error.h"
#include "cluster/hostfile.h"

static char *
join(const GArray *slots)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < slots->len; i++)
        g_string_append_printf(text, "%s%u", i > 0 ? "," : "", g_array_index(slots, guint, i));
    return g_string_free(text, FALSE);
}

static void
test_good(void)
{
    static const struct {
        const char *text;
        gint64 fabric;
        const char *slots; /* of nodes with 4 GPUs */
    } good[] = {
        {"a slots=2\nb slots=1\n", 0, "0,1,4"},
        {"a:2\nb:1\n", 0, "0,1,4"},
        {"# all of both\na\n\n b # the second\n", 0, "0,1,2,3,4,5,6,7"},
        {"a\nb\na\nb\n", 0, "0,4,1,5"}, /* one line a rank */
        {"a\na\nb\n", 0, "0,1,4"},
        {"a slots=1\nb slots=4 max_slots=8\na slots=2\n", 0, "0,4,5,6,7,1,2"},
        {"a max_slots=2\nb\n", 0, "0,1,4,5,6,7"}, /* as many as there is room */
        {"rank 1=a slot=3\nrank 0 = b slots = 0\r\n", 0, "4,3"},
        /* numbers are places: node12 is two behind node10, which is the lowest */
        {"node12:1\nnode10:1\n", 0, "8,0"},
        {"node12:1\nnode10:1\n", 16, "48,40"}, /* counted from 0 */
        {"n016:1\nn001:1\n", 16, "60,0"},      /* from 1, since there is a 16th */
        {"node3.site:1\nnode1.site:1\n", 0, "8,0"},
        {"10.0.0.7:1\n10.0.0.5:1\n", 0, "8,0"},
        {"a7:1\nb5:1\n", 0, "0,4"}, /* not alike: in order of appearance */
        {"gpu-5:1\nlogin:1\n", 0, "0,4"},
        {"n99999999:1\nn1:1\n", 0, "0,4"}, /* too far apart to be places */
    };
    g_test_summary("every form of line, and where hosts are");
    for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GArray) slots =
            cluster_hostfile_parse("hosts", good[i].text, 4, good[i].fabric, &error);
        g_assert_no_error(error);
        g_autofree char *text = join(slots);
        g_assert_cmpstr(text, ==, good[i].slots);
    }
}

static void
test_bad(void)
{
    static const struct {
        const char *text;
        gint64 fabric;
        const char *says;
    } bad[] = {
        {"", 0, "hosts: names no host; write"},
        {"# nothing\n", 0, "names no host"},
        {"a slots=5\n", 0, "hosts:1: host 'a' has 5 ranks and its node 4 GPUs; write"},
        {"a\na\na\na\na\n", 0, "hosts:5: host 'a' has 5 ranks"},
        {"a slots=0\n", 0, "hosts:1: 'slots=0' is no count"},
        {"a slots=x\n", 0, "'slots=x' is no count"},
        {"a slots=3 max_slots=2\n", 0, "hosts:1: 3 ranks are more than max_slots=2; write"},
        {"a slots=2\na\nb\n", 0, "hosts:2: host 'a' has 6 ranks"},
        {"[all]\na\n", 0, "hosts:1: '[all]' is no host"},
        {"a slots 4\n", 0, "'slots' is not known"},
        {"a cpus=4\n", 0, "'cpus=4' is not known; write HOST slots=4"},
        {"a:\n", 0, "'a:' is no host"},
        {":4\n", 0, "':4' is no host"},
        {"slots=4\n", 0, "'slots=4' is no host"},
        {"a\nrank 0=a slot=0\n", 0, "hosts:2: ranks and hosts stand in one file"},
        {"rank 0=a\n", 0, "hosts:1: 'rank 0=a' is no rank; write"},
        {"rank 0=a slot=0-3\n", 0, "is no rank"},
        {"rank 0=a slot=4\n", 0, "slot 4 is not on the node of 4 GPUs; write 0 to 3"},
        {"rank 1=a slot=0\n", 0, "rank 1 of 1; write every rank"},
        {"rank 0=a slot=0\nrank 0=a slot=1\n", 0, "hosts:2: rank 0 is there twice"},
        {"rank 0=a slot=0\nrank 1=a slot=0\n", 0, "hosts:2: slot 0 of 'a' has a rank already"},
        {"node1\nnode01\n", 0, "hosts:2: hosts 'node1' and 'node01' have the same number"},
        {"node1\nnode17\n", 16, "hosts:2: host 'node17' is not in a fabric of 16 nodes"},
        {"a\nb\nc\n", 2, "hosts:3: host 'c' is one more than the 2 nodes of the fabric"},
        {"rank 99999999999=a slot=0\n", 0, "is no rank"},
    };
    g_test_summary("one line with the place and what to write; nothing comes of it");
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(cluster_hostfile_parse("hosts", bad[i].text, 4, bad[i].fabric, &error));
        g_assert_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE);
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, bad[i].says));
        g_assert_nonnull(strstr(error->message, "write"));
        g_assert_null(strchr(error->message, '\n'));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cluster/hostfile/every-form", test_good);
    g_test_add_func("/cluster/hostfile/bad-lines", test_bad);
    return g_test_run();
}
