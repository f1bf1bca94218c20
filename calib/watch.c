/* One thread for jobs; the caller's waits and looks around. */
#include "config.h"

#include "calib/watch.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 50000000

struct CalibWatch {
    CalibWatchSpec spec;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    CalibJob job; /* NULL: nothing to do */
    void *data;
    bool over, stuck, stopping;
    CalibStatus status;
    CalibError error;
};

static struct timespec
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t;
}

static double
seconds_since(const struct timespec *begin)
{
    struct timespec t = now();
    return (double)(t.tv_sec - begin->tv_sec) + 1e-9 * (double)(t.tv_nsec - begin->tv_nsec);
}

static void *
work(void *data)
{
    CalibWatch *w = data;
    pthread_mutex_lock(&w->mutex);
    for (;;) {
        while (w->job == NULL && !w->over)
            pthread_cond_wait(&w->changed, &w->mutex);
        if (w->over)
            break;
        CalibJob job = w->job;
        CalibError error = {{0}};
        pthread_mutex_unlock(&w->mutex);
        CalibStatus status = job(w->data, &error);
        pthread_mutex_lock(&w->mutex);
        w->status = status;
        w->error = error;
        w->job = NULL;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

/* Signals are for the caller's thread. */
static bool
start(pthread_t *ret, void *(*run)(void *), void *data)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(ret, NULL, run, data);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0;
}

CalibWatch *
calib_watch_new(const CalibWatchSpec *spec)
{
    CalibWatch *w = calloc(1, sizeof *w);
    pthread_condattr_t attributes;
    if (w == NULL)
        return NULL;
    w->spec = *spec;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (start(&w->thread, work, w))
        return w;
    free(w);
    return NULL;
}

void
calib_watch_free(CalibWatch *w)
{
    if (w == NULL)
        return;
    pthread_mutex_lock(&w->mutex);
    w->over = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->mutex);
    free(w);
}

/* With the mutex held; for a moment at most. */
static void
wait_a_moment(CalibWatch *w)
{
    struct timespec t = now();
    t.tv_nsec += LOOK_NS;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&w->changed, &w->mutex, &t);
}

/* With the mutex held. */
static bool
wait_until_over(CalibWatch *w, double limit_s)
{
    struct timespec begin = now();
    while (w->job != NULL && seconds_since(&begin) < limit_s)
        wait_a_moment(w);
    return w->job == NULL;
}

/* With the mutex held, and given back around the question. False: `error` has the trouble. */
static bool
wait_while_well(CalibWatch *w, CalibError *error)
{
    struct timespec begin = now();
    while (w->job != NULL) {
        wait_a_moment(w);
        if (w->job == NULL)
            break;
        pthread_mutex_unlock(&w->mutex);
        bool well = w->spec.is_well(w->spec.data, error);
        pthread_mutex_lock(&w->mutex);
        if (!well)
            return false;
        if (w->job != NULL && seconds_since(&begin) >= w->spec.limit_s) {
            snprintf(error->text, sizeof error->text, "nothing came of %s in %g s", w->spec.name,
                     w->spec.limit_s);
            return false;
        }
    }
    return true;
}

static void *
call_stop(void *data)
{
    CalibWatch *w = data;
    w->spec.stop(w->spec.data);
    pthread_mutex_lock(&w->mutex);
    w->stopping = false;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

/* What hangs may keep `stop` from returning, too. */
static void
stop(CalibWatch *w)
{
    pthread_t thread;
    if (wait_until_over(w, w->spec.grace_s))
        return;
    w->stopping = start(&thread, call_stop, w);
    if (w->stopping)
        pthread_detach(thread);
    struct timespec begin = now();
    while ((w->job != NULL || w->stopping) && seconds_since(&begin) < w->spec.grace_s)
        wait_a_moment(w);
    w->stuck = w->job != NULL || w->stopping;
}

CalibStatus
calib_watch_run(CalibWatch *w, CalibJob job, void *data, CalibError *error)
{
    if (w->stuck)
        return CALIB_FAILED;
    pthread_mutex_lock(&w->mutex);
    w->job = job;
    w->data = data;
    pthread_cond_broadcast(&w->changed);
    CalibStatus status = CALIB_FAILED;
    if (wait_while_well(w, error)) {
        status = w->status;
        if (status != CALIB_OK)
            *error = w->error;
    } else {
        stop(w);
    }
    pthread_mutex_unlock(&w->mutex);
    return status;
}

bool
calib_watch_is_stuck(const CalibWatch *w)
{
    return w->stuck;
}

/* --- the end ---------------------------------------------------------------------------------- */

typedef struct {
    double limit_s;
    int status;
} End;

static void *
wait_and_end(void *data)
{
    End end = *(End *)data;
    free(data);
    struct timespec begin = now();
    for (double left; (left = end.limit_s - seconds_since(&begin)) > 0;)
        nanosleep(&(struct timespec){(time_t)left, (long)(1e9 * (left - floor(left)))}, NULL);
    _exit(end.status);
}

void
calib_watch_end_after(double limit_s, int status)
{
    pthread_t thread;
    End *end = malloc(sizeof *end);
    if (end == NULL)
        abort();
    *end = (End){limit_s, status};
    if (start(&thread, wait_and_end, end))
        pthread_detach(thread);
    else
        free(end);
}
