/* The one variable of the program: a signal handler has nowhere else to leave its note. */
#include "config.h"

#include "calib/interrupt.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t seen;

static void
note(int signal_number)
{
    (void)signal_number;
    seen = 1;
}

void
calib_interrupt_watch(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = note;
    action.sa_flags = SA_RESETHAND | SA_RESTART;
    seen = 0;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = SIG_IGN;
    action.sa_flags = 0;
    sigaction(SIGXFSZ, &action, NULL);
    sigaction(SIGPIPE, &action, NULL);
}

bool
calib_interrupt_seen(void)
{
    return seen != 0;
}
