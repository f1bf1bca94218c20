/* How fast schedules are made and checked: seconds of CPU time, peak memory and tokens of every type at 64
 * ranks, 1024 microbatches and 4 chunks a rank, or as near to it as the type has.
 * Usage: schedules [NAME]; a process for each type, so that the memory is its own. */
#include "config.h"

#include "schedule/schedule.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double
cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void
run(const ScheduleType *type)
{
    ScheduleParams params = {
        .pp = 64, .microbatches = 1024, .vpp = CLAMP(4, type->min_vpp, type->max_vpp)};
    g_autoptr(GError) error = NULL;
    double begin = cpu_seconds();
    g_autoptr(Schedule) s = schedule_new(type, &params, &error);
    double made = cpu_seconds();

    if (s == NULL || !schedule_check(s, &error)) {
        printf("schedule %-23s %s\n", type->name, error->message);
        return;
    }
    double checked = cpu_seconds();
    guint64 n_tokens = 0;
    for (guint r = 0; r < params.pp; r++)
        n_tokens += s->ranks[r]->len;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("schedule %-23s P %u M %u V %u %8" G_GUINT64_FORMAT
           " tokens made in %6.3f s, checked in %6.3f s, peak %4ld MB\n",
           type->name, params.pp, params.microbatches, params.vpp, n_tokens, made - begin,
           checked - made, usage.ru_maxrss / 1024);
}

int
main(int argc, char **argv)
{
    for (guint i = 0; schedule_types[i] != NULL; i++) {
        if (argc > 1 && g_strcmp0(argv[1], schedule_types[i]->name) != 0)
            continue;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            run(schedule_types[i]);
            fflush(stdout);
            _exit(0);
        }
        if (child < 0 || waitpid(child, NULL, 0) < 0)
            g_error("cannot run a process for %s", schedule_types[i]->name);
    }
    return 0;
}
