/* Shares out GPUs. */
#include "config.h"

#include "calib/seats.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool
complain(CalibError *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

static bool
same_host(const CalibSeatsHello *a, const CalibSeatsHello *b)
{
    return strcmp(a->boot, b->boot) == 0;
}

static bool
same_node(const CalibSeatsHello *a, const CalibSeatsHello *b)
{
    return same_host(a, b) || (*a->links != '\0' && strcmp(a->links, b->links) == 0);
}

static bool
sees(const CalibSeatsHello *hello, const char *gpu)
{
    for (int i = 0; i < hello->n_gpus; i++)
        if (strcmp(hello->gpus[i], gpu) == 0)
            return true;
    return false;
}

typedef enum { APART, ALIKE, MIXED } Sight;

/* Do two processes see the same GPUs in the same order, or none of each other's? */
static Sight
compare(const CalibSeatsHello *a, const CalibSeatsHello *b)
{
    int common = 0;
    bool alike = a->n_gpus == b->n_gpus;
    for (int i = 0; i < a->n_gpus; i++) {
        common += sees(b, a->gpus[i]);
        alike = alike && strcmp(a->gpus[i], b->gpus[i]) == 0;
    }
    return alike ? ALIKE : common == 0 ? APART : MIXED;
}

/* Of a host: its processes, the place of `rank` among them, and how they see GPUs. */
typedef struct {
    int processes, place;
    Sight sight;
    int gpus, gpus_before; /* that all of them see; that those before `rank` see */
} Host;

static bool
survey(const CalibSeatsHello *all, int world, int rank, Host *ret, CalibError *error)
{
    Host host = {.sight = ALIKE};
    for (int i = 0; i < world; i++) {
        if (!same_host(&all[i], &all[rank]))
            continue;
        for (int j = 0; j < i; j++) {
            if (!same_host(&all[j], &all[i]))
                continue;
            Sight sight = compare(&all[j], &all[i]);
            if (host.processes > 1 && sight != host.sight)
                sight = MIXED;
            if (sight == MIXED)
                return complain(error,
                                "ranks %d and %d on %s see some of each other's GPUs; let each "
                                "process see all of them, or its own only (CUDA_VISIBLE_DEVICES)",
                                j, i, all[i].host);
            host.sight = sight;
        }
        host.place += i < rank;
        host.gpus_before += i < rank ? all[i].n_gpus : 0;
        host.gpus += all[i].n_gpus;
        host.processes++;
    }
    if (host.sight == ALIKE)
        host.gpus = all[rank].n_gpus;
    *ret = host;
    return true;
}

/* GPUs of `host` are `before` to `before` + host->gpus - 1 of their node. */
static bool
seat_process(const CalibSeatsHello *all, int rank, const Host *host, int before, CalibSeats *seats,
             CalibError *error)
{
    int first = 0, n = all[rank].n_gpus, slot = before + host->gpus_before;
    assert(host->processes > 0); /* this one */
    if (host->sight == ALIKE) {
        if (host->gpus % host->processes != 0)
            return complain(error, "%d processes on %s for %d GPUs; start one a GPU, or one a node",
                            host->processes, all[rank].host, host->gpus);
        n = host->gpus / host->processes;
        first = host->place * n;
        slot = before + first;
    }
    seats->n = n;
    for (int i = 0; i < n; i++)
        seats->seats[i] = (CalibSeat){first + i, seats->node, slot + i};
    return true;
}

typedef bool (*Same)(const CalibSeatsHello *a, const CalibSeatsHello *b);

static int
first_of(const CalibSeatsHello *all, int rank, Same same)
{
    int first = 0;
    while (!same(&all[first], &all[rank]))
        first++;
    return first;
}

/* Hosts and GPUs of the node that `rank` is in, and how many of those GPUs are of hosts before its own. */
typedef struct {
    int hosts, gpus, before;
} Node;

static bool
add_up(const CalibSeatsHello *all, int world, int rank, Node *ret, CalibError *error)
{
    Node node = {0};
    int mine = first_of(all, rank, same_host);
    for (int i = 0; i < world; i++) {
        Host host = {.processes = 1};
        if (!same_node(&all[i], &all[rank]) || first_of(all, i, same_host) != i)
            continue;
        if (!survey(all, world, i, &host, error))
            return false;
        node.hosts++;
        node.gpus += host.gpus;
        node.before += i < mine ? host.gpus : 0;
    }
    *ret = node;
    return true;
}

static bool
check_node(const CalibSeatsHello *all, int rank, const Node *node, const CalibSeats *seats,
           CalibError *error)
{
    if (node->gpus != seats->gpus || node->hosts != seats->hosts)
        return complain(error,
                        "%s has %d GPUs, %s %d; calibrate nodes of one kind, with as many "
                        "processes on each",
                        all[0].host, seats->gpus, all[rank].host, node->gpus);
    return true;
}

static bool
check_kinds(const CalibSeatsHello *all, int world, CalibError *error)
{
    for (int i = 1; i < world; i++)
        if (strcmp(all[i].kind, all[0].kind) != 0)
            return complain(error, "%s has %.80s, %s %.80s; calibrate nodes of one kind",
                            all[0].host, all[0].kind, all[i].host, all[i].kind);
    return true;
}

bool
calib_seats_find(const CalibSeatsHello *all, int world, int rank, CalibSeats *ret,
                 CalibError *error)
{
    CalibSeats seats = {0};
    Node node;
    Host host = {.processes = 1};
    int first = first_of(all, rank, same_node);
    if (!check_kinds(all, world, error) || !add_up(all, world, 0, &node, error))
        return false;
    seats.gpus = node.gpus;
    seats.hosts = node.hosts;
    for (int i = 0; i < world; i++) {
        if (first_of(all, i, same_node) != i)
            continue;
        seats.nodes++;
        seats.node += i < first;
        if (!add_up(all, world, i, &node, error) || !check_node(all, i, &node, &seats, error))
            return false;
    }
    if (!add_up(all, world, rank, &node, error) || !survey(all, world, rank, &host, error) ||
        !seat_process(all, rank, &host, node.before, &seats, error))
        return false;
    *ret = seats;
    return true;
}

int
calib_seats_rank(const CalibSeat *seat, int ranks, int nodes)
{
    int each = ranks / nodes;
    if (seat->node >= nodes || seat->slot >= each)
        return -1;
    return seat->node * each + seat->slot;
}
