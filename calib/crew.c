/* Shares, gathers and agrees. */
#include "config.h"

#include "calib/crew.h"

#include "calib/channel.h"
#include "calib/crew_join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often rank 0 looks at all ranks while it waits for one. */
#define LOOK_S 0.1

typedef struct {
    CalibError error;
    uint32_t n;
    double values[CALIB_MOST_VALUES];
} Vote;

static CalibStatus
lost(CalibError *error, int rank)
{
    snprintf(error->text, sizeof error->text,
             "rank %d is lost: it ended, or its node cannot be reached", rank);
    return CALIB_FAILED;
}

static CalibStatus
late(const CalibCrew *crew, CalibError *error, int rank)
{
    snprintf(error->text, sizeof error->text, "rank %d did not answer in %g s", rank,
             crew->limits.answer_s);
    return CALIB_FAILED;
}

/* To all other ranks; of those that are gone no one is told. */
static void
send_verdict(CalibCrew *crew, CalibStatus status, const Vote *verdict)
{
    for (int rank = 1; rank < crew->world; rank++)
        if (crew->channels[rank] >= 0)
            calib_channel_send(crew->channels[rank], CALIB_FRAME_VERDICT, status, verdict,
                               sizeof *verdict);
}

void
calib_crew_fail(CalibCrew *crew, const CalibError *error)
{
    Vote verdict = {.error = *error};
    if (crew->rank == 0)
        send_verdict(crew, CALIB_FAILED, &verdict);
}

/* --- is all well? ----------------------------------------------------------------------------- */

static bool
is_well(CalibCrew *crew, int rank, CalibError *error)
{
    CalibFrame frame;
    CalibError told = {{0}}; /* a vote and a verdict begin with it */
    CalibReceived seen = calib_channel_peek(crew->channels[rank], &frame, &told, sizeof told);
    if (seen == CALIB_GONE) {
        lost(error, rank);
        return false;
    }
    if (seen == CALIB_NOTHING || frame.status != CALIB_FAILED)
        return true;
    told.text[sizeof told.text - 1] = '\0';
    *error = told;
    return false;
}

bool
calib_crew_is_whole(CalibCrew *crew, CalibError *error)
{
    if (crew == NULL)
        return true;
    if (crew->rank > 0)
        return is_well(crew, 0, error);
    for (int rank = 1; rank < crew->world; rank++)
        if (!is_well(crew, rank, error))
            return false;
    return true;
}

/* --- share and gather ------------------------------------------------------------------------- */

static CalibStatus
share_out(CalibCrew *crew, const void *data, size_t size, CalibError *error)
{
    bool whole = calib_crew_is_whole(crew, error);
    for (int rank = 1; rank < crew->world && whole; rank++)
        if (!calib_channel_send(crew->channels[rank], CALIB_FRAME_DATA, CALIB_OK, data, size)) {
            lost(error, rank);
            whole = false;
        }
    if (whole)
        return CALIB_OK;
    calib_crew_fail(crew, error);
    return CALIB_FAILED;
}

/* What rank 0 says instead of data is that a rank has failed. */
static CalibStatus
receive_failure(CalibCrew *crew, const CalibFrame *frame, CalibError *error)
{
    Vote verdict;
    if (frame->size != sizeof verdict ||
        calib_channel_receive_data(crew->channels[0], crew->limits.answer_s, &verdict,
                                   sizeof verdict) != CALIB_RECEIVED)
        return lost(error, 0);
    verdict.error.text[sizeof verdict.error.text - 1] = '\0';
    *error = verdict.error;
    return CALIB_FAILED;
}

static CalibStatus
receive_from_lead(CalibCrew *crew, double limit_s, void *data, size_t size, CalibError *error)
{
    CalibFrame frame;
    CalibReceived seen = calib_channel_receive_frame(crew->channels[0], limit_s, &frame);
    if (seen == CALIB_NOTHING)
        return late(crew, error, 0);
    if (seen == CALIB_RECEIVED && frame.status == CALIB_FAILED)
        return receive_failure(crew, &frame, error);
    if (seen != CALIB_RECEIVED || frame.size != size ||
        calib_channel_receive_data(crew->channels[0], crew->limits.answer_s, data, size) !=
            CALIB_RECEIVED)
        return lost(error, 0);
    return (CalibStatus)frame.status;
}

CalibStatus
calib_crew_share(CalibCrew *crew, void *data, size_t size, CalibError *error)
{
    if (crew == NULL)
        return CALIB_OK;
    if (crew->rank == 0)
        return share_out(crew, data, size, error);
    return receive_from_lead(crew, -1, data, size, error);
}

CalibStatus
calib_crew_gather(CalibCrew *crew, const void *mine, size_t size, void *all, CalibError *error)
{
    if (crew == NULL || crew->rank == 0)
        memcpy(all, mine, size);
    if (crew == NULL)
        return CALIB_OK;
    if (crew->rank > 0) {
        if (!calib_channel_send(crew->channels[0], CALIB_FRAME_DATA, CALIB_OK, mine, size))
            return lost(error, 0);
        return receive_from_lead(crew, crew->limits.answer_s, all, (size_t)crew->world * size,
                                 error);
    }
    for (int rank = 1; rank < crew->world; rank++) {
        CalibFrame frame;
        CalibReceived seen = calib_channel_receive(crew->channels[rank], crew->limits.answer_s,
                                                   &frame, (char *)all + (size_t)rank * size, size);
        if (seen == CALIB_RECEIVED)
            continue;
        CalibStatus status = seen == CALIB_GONE ? lost(error, rank) : late(crew, error, rank);
        calib_crew_fail(crew, error);
        return status;
    }
    return share_out(crew, all, (size_t)crew->world * size, error);
}

/* --- agree ------------------------------------------------------------------------------------ */

static CalibStatus
take_vote(CalibCrew *crew, int rank, Vote *worst, CalibStatus status)
{
    Vote vote;
    CalibFrame frame;
    CalibReceived seen = calib_channel_receive(crew->channels[rank], crew->limits.answer_s, &frame,
                                               &vote, sizeof vote);
    if (seen == CALIB_GONE)
        return lost(&worst->error, rank);
    if (seen == CALIB_NOTHING)
        return late(crew, &worst->error, rank);
    for (uint32_t i = 0; i < worst->n && i < CALIB_MOST_VALUES; i++)
        if (!(worst->values[i] >= vote.values[i]))
            worst->values[i] = vote.values[i];
    if (frame.status <= (int32_t)status)
        return status;
    worst->error = vote.error;
    return (CalibStatus)frame.status;
}

/* False: this rank is late, or any has failed or is lost meanwhile. */
static bool
wait_for_vote(CalibCrew *crew, int rank, CalibError *error)
{
    for (double waited_s = 0; waited_s < crew->limits.answer_s; waited_s += LOOK_S) {
        if (calib_channel_wait(crew->channels[rank], LOOK_S))
            return true;
        if (!calib_crew_is_whole(crew, error))
            return false;
    }
    late(crew, error, rank);
    return false;
}

/* A failure is told at once: the ranks whose votes are still to come may wait for the one that has it, in NCCL. */
static CalibStatus
collect(CalibCrew *crew, CalibStatus status, Vote *worst)
{
    for (int rank = 1; rank < crew->world && status != CALIB_FAILED; rank++)
        status = wait_for_vote(crew, rank, &worst->error) ? take_vote(crew, rank, worst, status)
                                                          : CALIB_FAILED;
    send_verdict(crew, status, worst);
    return status;
}

static CalibStatus
cast(CalibCrew *crew, CalibStatus mine, Vote *vote)
{
    /* one that cannot be sent: rank 0 has ended, and may have said why */
    calib_channel_send(crew->channels[0], CALIB_FRAME_VOTE, mine, vote, sizeof *vote);
    return receive_from_lead(crew, crew->limits.answer_s, vote, sizeof *vote, &vote->error);
}

CalibStatus
calib_crew_agree(CalibCrew *crew, CalibStatus mine, double *worst, unsigned n, CalibError *error)
{
    Vote vote = {.n = n};
    if (crew == NULL)
        return mine;
    if (mine != CALIB_OK)
        vote.error = *error;
    if (mine == CALIB_OK && n > 0)
        memcpy(vote.values, worst, n * sizeof *worst);
    CalibStatus status = crew->rank == 0 ? collect(crew, mine, &vote) : cast(crew, mine, &vote);
    if (status == CALIB_OK && n > 0)
        memcpy(worst, vote.values, n * sizeof *worst);
    if (status != CALIB_OK)
        *error = vote.error;
    return status;
}
