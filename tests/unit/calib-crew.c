/* Real processes that find each other in a file, agree, and lose one another. */
#include "config.h"

#include "calib/crew.h"
#include "calib/watch.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORLD = 8, DONE = 0, JOIN_FAILED = 10, LOST = 11, WRONG = 12 };

typedef struct {
    char *folder, *file;
} Room;

static Room
room_new(void)
{
    g_autoptr(GError) error = NULL;
    Room room = {.folder = g_dir_make_tmp("calib-crew-XXXXXX", &error)};
    g_assert_no_error(error);
    room.file = g_build_filename(room.folder, "meet", NULL);
    return room;
}

static void
room_clear(Room *room)
{
    g_unlink(room->file);
    g_assert_cmpint(g_rmdir(room->folder), ==, 0); /* nothing else was left there */
    g_free(room->file);
    g_free(room->folder);
}

static void
pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static CalibStatus
join(const Room *room, int rank, int world, double limit_s, CalibCrew **ret, CalibError *error)
{
    const CalibPlace place = {
        .rank = rank, .world = world, .meet = CALIB_MEET_FILE, .file = room->file};
    const CalibCrewLimits limits = {.join_s = limit_s, .answer_s = 20};
    return calib_crew_join(&place, &limits, NULL, ret, error);
}

typedef int (*Play)(const Room *room, int rank);

/* The exit status of each rank. */
static void
play_all(const Room *room, int world, Play play, int *statuses)
{
    pid_t children[WORLD];
    for (int rank = 0; rank < world; rank++) {
        children[rank] = fork();
        g_assert_cmpint(children[rank], >=, 0);
        if (children[rank] == 0)
            _exit(play(room, rank));
    }
    for (int rank = 0; rank < world; rank++) {
        int status;
        g_assert_cmpint(waitpid(children[rank], &status, 0), ==, children[rank]);
        statuses[rank] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
}

/* --- all is well ------------------------------------------------------------------------------ */

static int
talk(CalibCrew *crew, int rank)
{
    CalibError error = {{0}};
    int all[WORLD] = {0}, shared = rank == 0 ? 4711 : 0;
    double worst[2] = {rank, -rank};
    if (calib_crew_share(crew, &shared, sizeof shared, &error) != CALIB_OK || shared != 4711 ||
        calib_crew_gather(crew, &rank, sizeof rank, all, &error) != CALIB_OK)
        return WRONG;
    for (int i = 0; i < WORLD; i++)
        if (all[i] != i)
            return WRONG;
    if (calib_crew_agree(crew, CALIB_OK, worst, 2, &error) != CALIB_OK || worst[0] != WORLD - 1 ||
        worst[1] != 0)
        return WRONG;
    snprintf(error.text, sizeof error.text, "rank %d cannot", rank);
    if (calib_crew_agree(crew, rank == 5 ? CALIB_CANNOT : CALIB_OK, NULL, 0, &error) !=
            CALIB_CANNOT ||
        strcmp(error.text, "rank 5 cannot") != 0)
        return WRONG;
    return DONE;
}

/* One comes late; an older run's file lies there, whose rank 0 is no more. */
static int
play_well(const Room *room, int rank)
{
    CalibCrew *crew;
    CalibError error = {{0}};
    if (rank == 0)
        pause_ms(300);
    if (rank == 3)
        pause_ms(700);
    if (join(room, rank, WORLD, 20, &crew, &error) != CALIB_OK)
        return JOIN_FAILED;
    int status = talk(crew, rank);
    calib_crew_free(crew);
    return status;
}

static void
test_well(void)
{
    Room room = room_new();
    int statuses[WORLD];
    CalibError error = {{0}};
    CalibRendezvous old;
    calib_rendezvous_init(WORLD, 1, &old);
    g_assert_true(calib_rendezvous_write(room.file, &old, &error));
    play_all(&room, WORLD, play_well, statuses);
    for (int rank = 0; rank < WORLD; rank++)
        g_assert_cmpint(statuses[rank], ==, DONE);
    g_assert_false(g_file_test(room.file, G_FILE_TEST_EXISTS));
    room_clear(&room);
}

/* --- one is lost ------------------------------------------------------------------------------ */

/* Rank 6 dies between two steps; each of the others must hear its number. */
static int
play_death(const Room *room, int rank)
{
    CalibCrew *crew;
    CalibError error = {{0}};
    if (join(room, rank, WORLD, 20, &crew, &error) != CALIB_OK)
        return JOIN_FAILED;
    if (calib_crew_agree(crew, CALIB_OK, NULL, 0, &error) != CALIB_OK)
        return WRONG;
    if (rank == 6)
        _exit(DONE);
    CalibStatus status = calib_crew_agree(crew, CALIB_OK, NULL, 0, &error);
    calib_crew_free(crew);
    return status == CALIB_FAILED && strncmp(error.text, "rank 6 is lost", 14) == 0 ? LOST : WRONG;
}

static void
test_death(void)
{
    Room room = room_new();
    int statuses[WORLD];
    play_all(&room, WORLD, play_death, statuses);
    for (int rank = 0; rank < WORLD; rank++)
        g_assert_cmpint(statuses[rank], ==, rank == 6 ? DONE : LOST);
    room_clear(&room);
}

/* Rank 2 fails while all others are busy; who looks sees it, and all end with its complaint. */
static int
play_failure(const Room *room, int rank)
{
    CalibCrew *crew;
    CalibError error = {{0}};
    if (join(room, rank, WORLD, 20, &crew, &error) != CALIB_OK)
        return JOIN_FAILED;
    snprintf(error.text, sizeof error.text, "rank %d: it burns", rank);
    for (int i = 0; rank != 2 && calib_crew_is_whole(crew, &error); i++) {
        if (i == 200)
            return WRONG;
        if (rank == 0)
            pause_ms(50);
        else
            break; /* rank 0 looks; the others go on to agree */
    }
    CalibStatus status =
        calib_crew_agree(crew, rank == 2 || rank == 0 ? CALIB_FAILED : CALIB_OK, NULL, 0, &error);
    calib_crew_free(crew);
    return status == CALIB_FAILED && strcmp(error.text, "rank 2: it burns") == 0 ? LOST : WRONG;
}

static void
test_failure(void)
{
    Room room = room_new();
    int statuses[WORLD];
    play_all(&room, WORLD, play_failure, statuses);
    for (int rank = 0; rank < WORLD; rank++)
        g_assert_cmpint(statuses[rank], ==, LOST);
    room_clear(&room);
}

/* Rank 0 waits for rank 1, which waits for rank 2 in a collective; rank 2 dies. Rank 0 must not wait for its limit. */
static int
play_chain(const Room *room, int rank)
{
    CalibCrew *crew;
    CalibError error = {{0}};
    if (join(room, rank, 3, 20, &crew, &error) != CALIB_OK)
        return JOIN_FAILED;
    if (calib_crew_agree(crew, CALIB_OK, NULL, 0, &error) != CALIB_OK)
        return WRONG;
    if (rank == 2) {
        pause_ms(200);
        _exit(DONE);
    }
    for (int i = 0; rank == 1 && calib_crew_is_whole(crew, &error); i++) {
        if (i == 200)
            return WRONG;
        pause_ms(50);
    }
    CalibStatus status =
        calib_crew_agree(crew, rank == 1 ? CALIB_FAILED : CALIB_OK, NULL, 0, &error);
    calib_crew_free(crew);
    return status == CALIB_FAILED && strncmp(error.text, "rank 2 is lost", 14) == 0 ? LOST : WRONG;
}

static void
test_chain(void)
{
    Room room = room_new();
    int statuses[3];
    play_all(&room, 3, play_chain, statuses);
    g_assert_cmpint(statuses[0], ==, LOST);
    g_assert_cmpint(statuses[1], ==, LOST);
    g_assert_cmpint(statuses[2], ==, DONE);
    room_clear(&room);
}

/* Rank 1 gives up, and comes again before rank 2 has come at all. */
static int
play_again(const Room *room, int rank)
{
    CalibCrew *crew;
    CalibError error = {{0}};
    if (rank == 2)
        pause_ms(700);
    if (join(room, rank, 3, 20, &crew, &error) != CALIB_OK)
        return JOIN_FAILED;
    if (rank == 1) {
        calib_crew_free(crew);
        pause_ms(200);
        if (join(room, rank, 3, 20, &crew, &error) != CALIB_OK)
            return JOIN_FAILED;
    }
    CalibStatus status = calib_crew_agree(crew, CALIB_OK, NULL, 0, &error);
    calib_crew_free(crew);
    return status == CALIB_OK ? DONE : WRONG;
}

static void
test_again(void)
{
    Room room = room_new();
    int statuses[3];
    play_all(&room, 3, play_again, statuses);
    for (int rank = 0; rank < 3; rank++)
        g_assert_cmpint(statuses[rank], ==, DONE);
    room_clear(&room);
}

/* --- who does not come, or comes wrongly ------------------------------------------------------ */

static void
refuse(const Room *room, int rank, int world, const char *says)
{
    CalibCrew *crew;
    CalibError error = {{0}};
    g_assert_cmpint(join(room, rank, world, 0.3, &crew, &error), ==, CALIB_FAILED);
    g_assert_null(crew);
    if (strstr(error.text, says) == NULL)
        g_error("'%s' does not say '%s'", error.text, says);
}

static void
test_absent(void)
{
    Room room = room_new();
    CalibError error = {{0}};
    CalibRendezvous old;
    refuse(&room, 0, 3, "2 of 3 processes did not come in 0.3 s: ranks 1 2");
    refuse(&room, 1, 2, "rank 0 did not write it in 0.3 s");
    calib_rendezvous_init(2, 1, &old);
    g_assert_true(calib_rendezvous_write(room.file, &old, &error));
    refuse(&room, 1, 2, "an older run's");
    g_assert_true(g_file_set_contents(room.file, "my thesis\n", -1, NULL));
    refuse(&room, 1, 2, "not written by dtsim-calibrate");
    refuse(&room, 0, 2, "not written by dtsim-calibrate");
    g_autofree char *kept = NULL;
    g_assert_true(g_file_get_contents(room.file, &kept, NULL, NULL));
    g_assert_cmpstr(kept, ==, "my thesis\n");
    room_clear(&room);
}

/* Rank 1 thinks of a world of 3. */
static int
play_mismatch(const Room *room, int rank)
{
    CalibCrew *crew;
    CalibError error = {{0}};
    CalibStatus status = join(room, rank, rank == 0 ? 2 : 3, 20, &crew, &error);
    return status == CALIB_FAILED && strstr(error.text, "another --world") != NULL ? LOST : WRONG;
}

/* A second rank 0 must not take the first one's file. */
static int
play_two_leads(const Room *room, int rank)
{
    CalibCrew *crew;
    CalibError error = {{0}};
    if (rank == 1) {
        while (!g_file_test(room->file, G_FILE_TEST_EXISTS))
            pause_ms(10);
        if (join(room, 0, 2, 20, &crew, &error) == CALIB_OK ||
            strstr(error.text, "another run waits there") == NULL)
            return WRONG;
    }
    CalibStatus status = join(room, rank, 2, 20, &crew, &error);
    if (status == CALIB_OK) /* neither leaves before the other has seen it */
        status = calib_crew_agree(crew, CALIB_OK, NULL, 0, &error);
    calib_crew_free(crew);
    return status == CALIB_OK ? DONE : JOIN_FAILED;
}

static void
test_wrong(void)
{
    Room room = room_new();
    int statuses[2];
    play_all(&room, 2, play_mismatch, statuses);
    g_assert_cmpint(statuses[0], ==, LOST);
    g_assert_cmpint(statuses[1], ==, LOST);
    play_all(&room, 2, play_two_leads, statuses);
    g_assert_cmpint(statuses[0], ==, DONE);
    g_assert_cmpint(statuses[1], ==, DONE);
    room_clear(&room);
}

static void
test_files(void)
{
    CalibRendezvous r;
    const char *run = "run 0123456789abcdef0123456789abcdef\n";
    g_autofree char *good = g_strdup_printf(
        "dtsim-calibrate rendezvous 1\nworld 2\n%sport 80\naddress a\naddress b\n", run);
    g_assert_true(calib_rendezvous_parse(good, &r));
    g_assert_cmpint(r.n_addresses, ==, 2);
    g_assert_cmpstr(r.addresses[1], ==, "b");
    for (size_t length = 0; length < strlen(good) - strlen("address b\n"); length++) {
        g_autofree char *cut = g_strndup(good, length);
        bool whole = g_str_has_suffix(cut, "address a\n");
        g_assert_cmpint(calib_rendezvous_parse(cut, &r), ==, whole);
    }
}

/* --- watch ------------------------------------------------------------------------------------ */

typedef struct {
    gint trouble, stopped, hangs_for_good, stop_hangs;
} Watched;

static bool
is_well(void *data, CalibError *error)
{
    Watched *w = data;
    snprintf(error->text, sizeof error->text, "seen");
    return !g_atomic_int_get(&w->trouble);
}

static void
stop(void *data)
{
    Watched *w = data;
    while (g_atomic_int_get(&w->stop_hangs))
        pause_ms(5);
    g_atomic_int_set(&w->stopped, 1);
}

static CalibStatus
complain(void *data, CalibError *error)
{
    snprintf(error->text, sizeof error->text, "of %s", (const char *)data);
    return CALIB_CANNOT;
}

static CalibStatus
hang(void *data, CalibError *error)
{
    Watched *w = data;
    (void)error;
    while (!g_atomic_int_get(&w->stopped) || g_atomic_int_get(&w->hangs_for_good))
        pause_ms(5);
    return CALIB_FAILED;
}

static void
test_watch(void)
{
    Watched w = {0};
    char name[] = "a job";
    CalibError error = {{0}};
    const CalibWatchSpec spec = {"a collective", 0.2, 0.1, is_well, stop, &w};
    CalibWatch *watch = calib_watch_new(&spec);
    g_assert_cmpint(calib_watch_run(watch, complain, name, &error), ==, CALIB_CANNOT);
    g_assert_cmpstr(error.text, ==, "of a job");
    g_assert_cmpint(calib_watch_run(watch, hang, &w, &error), ==, CALIB_FAILED);
    g_assert_cmpstr(error.text, ==, "nothing came of a collective in 0.2 s");
    g_assert_false(calib_watch_is_stuck(watch));
    w = (Watched){.trouble = 1};
    g_assert_cmpint(calib_watch_run(watch, hang, &w, &error), ==, CALIB_FAILED);
    g_assert_cmpstr(error.text, ==, "seen");
    w = (Watched){.trouble = 1, .hangs_for_good = 1};
    g_assert_cmpint(calib_watch_run(watch, hang, &w, &error), ==, CALIB_FAILED);
    g_assert_true(calib_watch_is_stuck(watch));
    g_assert_cmpint(calib_watch_run(watch, complain, name, &error), ==, CALIB_FAILED);
    g_atomic_int_set(&w.hangs_for_good, 0);
    calib_watch_free(watch);
}

/* Aborting what hangs may hang, too. */
static void
test_stop_hangs(void)
{
    static Watched w = {.trouble = 1, .stop_hangs = 1};
    CalibError error = {{0}};
    const CalibWatchSpec spec = {"a collective", 0.2, 0.1, is_well, stop, &w};
    CalibWatch *watch = calib_watch_new(&spec);
    g_assert_cmpint(calib_watch_run(watch, hang, &w, &error), ==, CALIB_FAILED);
    g_assert_cmpstr(error.text, ==, "seen");
    g_assert_true(calib_watch_is_stuck(watch));
    g_atomic_int_set(&w.stop_hangs, 0);
    calib_watch_free(watch);
}

static void
test_end(void)
{
    if (g_test_subprocess()) {
        calib_watch_end_after(0.1, 7);
        pause_ms(20000);
        exit(0);
    }
    gint64 begin = g_get_monotonic_time();
    g_test_trap_subprocess(NULL, 0, 0);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, 15000000);
    g_test_trap_assert_failed();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("processes find each other or say who is missing; one that fails ends all");
    g_test_add_func("/calib/crew/one-late-and-a-stale-file", test_well);
    g_test_add_func("/calib/crew/one-dies", test_death);
    g_test_add_func("/calib/crew/one-dies-that-another-waits-for", test_chain);
    g_test_add_func("/calib/crew/one-comes-again", test_again);
    g_test_add_func("/calib/crew/one-fails", test_failure);
    g_test_add_func("/calib/crew/who-does-not-come", test_absent);
    g_test_add_func("/calib/crew/who-comes-wrongly", test_wrong);
    g_test_add_func("/calib/rendezvous/cut-files", test_files);
    g_test_add_func("/calib/watch/what-hangs-is-stopped", test_watch);
    g_test_add_func("/calib/watch/what-stops-it-may-hang", test_stop_hangs);
    g_test_add_func("/calib/watch/an-end-is-set", test_end);
    return g_test_run();
}
