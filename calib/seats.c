/* Shares out GPUs. */
#include "config.h"

#include "calib/seats.h"

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
same_node(const CalibSeatsHello *a, const CalibSeatsHello *b)
{
    return strcmp(a->node, b->node) == 0;
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

/* Of a node: its processes, the place of `rank` among them, and how they see GPUs. */
typedef struct {
    int processes, place;
    Sight sight;
    int gpus, gpus_before; /* that all of them see; that those before `rank` see */
} Node;

static bool
survey(const CalibSeatsHello *all, int world, int rank, Node *ret, CalibError *error)
{
    Node node = {.sight = ALIKE};
    for (int i = 0; i < world; i++) {
        if (!same_node(&all[i], &all[rank]))
            continue;
        for (int j = 0; j < i; j++) {
            if (!same_node(&all[j], &all[i]))
                continue;
            Sight sight = compare(&all[j], &all[i]);
            if (node.processes > 1 && sight != node.sight)
                sight = MIXED;
            if (sight == MIXED)
                return complain(error,
                                "ranks %d and %d on %s see some of each other's GPUs; let each "
                                "process see all of them, or its own only (CUDA_VISIBLE_DEVICES)",
                                j, i, all[i].host);
            node.sight = sight;
        }
        node.place += i < rank;
        node.gpus_before += i < rank ? all[i].n_gpus : 0;
        node.gpus += all[i].n_gpus;
        node.processes++;
    }
    if (node.sight == ALIKE)
        node.gpus = all[rank].n_gpus;
    *ret = node;
    return true;
}

static bool
seat_process(const CalibSeatsHello *all, int rank, const Node *node, CalibSeats *seats,
             CalibError *error)
{
    int first = 0, n = all[rank].n_gpus, slot = node->gpus_before;
    if (node->sight == ALIKE) {
        if (node->gpus % node->processes != 0)
            return complain(error, "%d processes on %s for %d GPUs; start one a GPU, or one a node",
                            node->processes, all[rank].host, node->gpus);
        n = node->gpus / node->processes;
        first = slot = node->place * n;
    }
    seats->n = n;
    for (int i = 0; i < n; i++)
        seats->seats[i] = (CalibSeat){first + i, seats->node, slot + i};
    return true;
}

static int
first_of_node(const CalibSeatsHello *all, int rank)
{
    int first = 0;
    while (!same_node(&all[first], &all[rank]))
        first++;
    return first;
}

bool
calib_seats_find(const CalibSeatsHello *all, int world, int rank, CalibSeats *ret,
                 CalibError *error)
{
    CalibSeats seats = {0};
    Node mine = {.processes = 1};
    for (int i = 0; i < world; i++) {
        Node node = {.processes = 1};
        bool is_first = first_of_node(all, i) == i;
        if (strcmp(all[i].kind, all[0].kind) != 0)
            return complain(error, "%s has %.80s, %s %.80s; calibrate nodes of one kind",
                            all[0].host, all[0].kind, all[i].host, all[i].kind);
        seats.nodes += is_first;
        if (!is_first && i != rank)
            continue;
        if (!survey(all, world, i, &node, error))
            return false;
        if (i == 0)
            seats.gpus = node.gpus;
        if (node.gpus != seats.gpus)
            return complain(error,
                            "%s has %d GPUs, %s %d; calibrate nodes of one kind, with as many "
                            "processes on each",
                            all[0].host, seats.gpus, all[i].host, node.gpus);
        if (i == rank)
            mine = node;
    }
    int first = first_of_node(all, rank);
    for (int i = 0; i < first; i++)
        seats.node += first_of_node(all, i) == i;
    if (!seat_process(all, rank, &mine, &seats, error))
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
