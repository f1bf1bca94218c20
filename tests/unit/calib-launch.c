/* Environments of launchers, as tables. */
#include "config.h"

#include "calib/launch.h"

#include <glib.h>
#include <string.h>

typedef struct {
    const char *name, *value;
} Variable;

enum { MOST_VARIABLES = 10 };
typedef struct {
    const char *title;
    Variable variables[MOST_VARIABLES];
    bool has_mpi;
    CalibMeet meet;
    int rank, world, port, expected;
    const char *host, *run;
} Good;

static const char *
look(const void *data, const char *name)
{
    for (const Variable *v = data; v->name != NULL; v++)
        if (strcmp(v->name, name) == 0)
            return v->value;
    return NULL;
}

static const Good good[] = {
    {.title = "nothing said", .world = 1},
    {.title = "torchrun-like",
     .variables =
         {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}},
     .meet = CALIB_MEET_PORT,
     .rank = 3,
     .world = 8,
     .port = 29500,
     .host = "node1",
     .run = "torchrun "},
    {.title = "torchrun itself, whose store has the port",
     .variables = {{"RANK", "0"},
                   {"WORLD_SIZE", "2"},
                   {"MASTER_ADDR", "10.0.0.1"},
                   {"MASTER_PORT", "29500"},
                   {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                   {"TORCHELASTIC_RUN_ID", "42"}},
     .meet = CALIB_MEET_PORT,
     .world = 2,
     .port = 29501,
     .host = "10.0.0.1",
     .run = "torchrun 42"},
    {.title = "one process of torchrun needs no address",
     .variables = {{"RANK", "0"}, {"WORLD_SIZE", "1"}},
     .world = 1},
    /* 20000 + (31 x 1234567 + 2) modulo 10000: 31 x 4567 = 141577 */
    {.title = "a step of Slurm",
     .variables = {{"SLURM_JOB_ID", "1234567"},
                   {"SLURM_STEP_ID", "2"},
                   {"SLURM_PROCID", "15"},
                   {"SLURM_NTASKS", "999"},
                   {"SLURM_STEP_NUM_TASKS", "16"},
                   {"SLURM_STEP_NODELIST", "gpu[07-08]"}},
     .meet = CALIB_MEET_PORT,
     .rank = 15,
     .world = 16,
     .port = 21579,
     .host = "gpu07",
     .run = "slurm 1234567.2"},
    {.title = "a step of Slurm that is told where to meet",
     .variables = {{"SLURM_JOB_ID", "7"},
                   {"SLURM_STEP_ID", "0"},
                   {"SLURM_PROCID", "1"},
                   {"SLURM_NTASKS", "2"},
                   {"SLURM_STEP_NODELIST", "a,b"},
                   {"MASTER_ADDR", "b"},
                   {"MASTER_PORT", "4000"}},
     .meet = CALIB_MEET_PORT,
     .rank = 1,
     .world = 2,
     .port = 4000,
     .host = "b",
     .run = "slurm 7.0"},
    {.title = "a batch script outside of any step is one process",
     .variables = {{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}},
     .world = 1},
    {.title = "Open MPI, built in",
     .variables = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}},
     .has_mpi = true,
     .meet = CALIB_MEET_MPI,
     .expected = 4,
     .world = 1},
    {.title = "MPI below srun goes before Slurm",
     .variables = {{"PMIX_RANK", "1"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_ID", "0"}},
     .has_mpi = true,
     .meet = CALIB_MEET_MPI,
     .world = 1},
    {.title = "MPI below srun, which says how many there are",
     .variables = {{"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "16"}, {"SLURM_NTASKS", "32"}},
     .has_mpi = true,
     .meet = CALIB_MEET_MPI,
     .expected = 16,
     .world = 1},
    {.title = "Open MPI, not built in, told where to meet",
     .variables = {{"OMPI_COMM_WORLD_RANK", "1"},
                   {"OMPI_COMM_WORLD_SIZE", "4"},
                   {"MASTER_ADDR", "n1"},
                   {"MASTER_PORT", "3000"}},
     .meet = CALIB_MEET_PORT,
     .rank = 1,
     .world = 4,
     .port = 3000,
     .host = "n1",
     .run = "mpi"},
    {.title = "one process below mpirun is alone",
     .variables = {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}},
     .world = 1},
};

static void
test_good(void)
{
    const CalibLaunch none = {.rank = -1, .world = -1};
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        const Good *g = &good[i];
        CalibPlace place;
        CalibError error = {{0}};
        g_test_message("%s", g->title);
        g_assert_true(calib_launch_find(&none, g->has_mpi, look, g->variables, &place, &error));
        g_assert_cmpint(place.meet, ==, g->meet);
        g_assert_cmpint(place.rank, ==, g->rank);
        g_assert_cmpint(place.world, ==, g->world);
        g_assert_cmpint(place.port, ==, g->port);
        g_assert_cmpint(place.expected, ==, g->expected);
        g_assert_cmpstr(place.host, ==, g->host != NULL ? g->host : "");
        g_assert_cmpstr(place.run, ==, g->run != NULL ? g->run : "");
    }
}

/* `says`: a part of the complaint. */
static const struct {
    Variable variables[MOST_VARIABLES];
    const char *says;
} bad[] = {
    {{{"RANK", "8"}, {"WORLD_SIZE", "8"}}, "RANK: '8' is not below"},
    {{{"RANK", "x"}, {"WORLD_SIZE", "8"}}, "RANK: 'x' is no number"},
    {{{"RANK", "-1"}, {"WORLD_SIZE", "8"}}, "RANK: '-1'"},
    {{{"RANK", "0"}, {"WORLD_SIZE", "0"}}, "WORLD_SIZE: '0'"},
    {{{"RANK", "0"}, {"WORLD_SIZE", "2"}}, "MASTER_ADDR: ''"},
    {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "99999"}},
     "MASTER_PORT: '99999' is no port"},
    {{{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}}, "SLURM_NTASKS: ''"},
    {{{"SLURM_STEP_ID", "0"},
      {"SLURM_PROCID", "0"},
      {"SLURM_NTASKS", "2"},
      {"SLURM_STEP_NODELIST", "a[1"}},
     "SLURM_STEP_NODELIST: 'a[1'"},
    {{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}, "not built in"},
};

static void
test_bad(void)
{
    const CalibLaunch none = {.rank = -1, .world = -1};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        CalibPlace place = {.world = 77};
        CalibError error = {{0}};
        g_assert_false(calib_launch_find(&none, false, look, bad[i].variables, &place, &error));
        g_assert_nonnull(strstr(error.text, bad[i].says));
        g_assert_cmpint(place.world, ==, 77);
    }
}

static void
test_options(void)
{
    const CalibLaunch given = {.rank = 2, .world = 3, .rendezvous = "there"};
    const Variable variables[] = {{"RANK", "0"}, {"WORLD_SIZE", "8"}, {NULL, NULL}};
    CalibPlace place;
    CalibError error;
    g_assert_true(calib_launch_find(&given, true, look, variables, &place, &error));
    g_assert_cmpint(place.meet, ==, CALIB_MEET_FILE);
    g_assert_cmpint(place.rank, ==, 2);
    g_assert_cmpint(place.world, ==, 3);
    g_assert_cmpstr(place.file, ==, "there");
}

static void
test_hosts(void)
{
    static const struct {
        const char *list, *first;
    } hosts[] = {{"a", "a"},
                 {"a,b", "a"},
                 {"gpu[01-04,07],x", "gpu01"},
                 {"gpu[3,5]", "gpu3"},
                 {"r[1-2]n[3-4].x", "r1n3.x"},
                 {"", NULL},
                 {",a", NULL},
                 {"a[1", NULL},
                 {"0123456789abcdefghij", NULL}};
    for (size_t i = 0; i < G_N_ELEMENTS(hosts); i++) {
        char text[16];
        bool found = calib_launch_first_host(hosts[i].list, text, sizeof text);
        g_assert_cmpint(found, ==, hosts[i].first != NULL);
        if (found)
            g_assert_cmpstr(text, ==, hosts[i].first);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("launchers tell rank, world and where to meet, each in its own way");
    g_test_add_func("/calib/launch/environments", test_good);
    g_test_add_func("/calib/launch/what-is-refused", test_bad);
    g_test_add_func("/calib/launch/options-go-first", test_options);
    g_test_add_func("/calib/launch/first-host-of-a-list", test_hosts);
    return g_test_run();
}
