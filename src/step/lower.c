/* From a schedule to a program: messages and waits of the p2p models M0..M4. */
#include "config.h"

#include "step/lower.h"

#define FORWARD 0
#define BACKWARD 1

static const guint send_slot[2] = {STEP_SLOT_SEND_F, STEP_SLOT_SEND_B};
static const guint recv_slot[2] = {STEP_SLOT_RECV_F, STEP_SLOT_RECV_B};
static const guint send_wire[2] = {STEP_WIRE_SEND_F, STEP_WIRE_SEND_B};
static const guint recv_wire[2] = {STEP_WIRE_RECV_F, STEP_WIRE_RECV_B};

/* The state of lowering one rank. */
typedef struct {
    const StepLowering *in;
    StepLowered *out;
    const GArray *tokens;
    const SimTemplate **wires; /* [chunk * STEP_N_WIRES + wire], made on demand */
    const SimTemplate *sync;
    guint *sent; /* [tokens] count on the send slot that completes the token's message; 0: none */
    guint *received; /* [tokens] the same for its input */
    gboolean *posted;
    guint *remaining; /* [4 * stages] tokens still to come, to know the last one */
    gboolean *seen;   /* [4 * stages] kind has run on the stage */
    guint *chunk;     /* [replicas * stages] */
    guint n_run[2];   /* tokens of each direction that ran */
} Lowering;

static int
direction_of(ScheduleToken token)
{
    return token.kind == SCHEDULE_F ? FORWARD : BACKWARD;
}

static ScheduleToken
token_at(const Lowering *l, guint index)
{
    return g_array_index(l->tokens, ScheduleToken, index);
}

static gboolean
is_eager(const Lowering *l)
{
    return l->in->p2p == PLAN_P2P_IDEAL || l->in->p2p == PLAN_P2P_ASYNC;
}

/* One op on a send or receive slot that joins the message of a microbatch. */
static const SimTemplate *
wire_template(Lowering *l, ScheduleToken token, gboolean send)
{
    int direction = direction_of(token);
    guint wire = send ? send_wire[direction] : recv_wire[direction];
    guint replica = l->in->schedule->replica_of[token.microbatch];
    guint chunk = l->chunk[replica * l->in->schedule->n_stages + token.stage];
    const SimTemplate **place = &l->wires[chunk * STEP_N_WIRES + wire];
    if (*place)
        return *place;
    int peer = send ? step_token_target(l->in->schedule, token)
                    : step_token_source(l->in->schedule, token);
    SimWork work = l->in->wire(l->in->user, replica, MIN((guint)peer, token.stage));
    if (l->in->p2p == PLAN_P2P_IDEAL)
        work = (SimWork){0};
    SimTemplate *t = sim_template_new();
    guint op = sim_template_add(t, send ? send_slot[direction] : recv_slot[direction], work,
                                l->in->wire_tag);
    SimJoin join = !is_eager(l) ? SIM_JOIN_ALL : send ? SIM_JOIN_SEND : SIM_JOIN_RECV;
    sim_template_join(t, op, join, step_wire_port(chunk, wire), TRUE);
    if (send || !is_eager(l))
        sim_template_wait_slot(t, op, STEP_SLOT_COMPUTE);
    g_ptr_array_add(l->out->templates, t);
    return *place = t;
}

static void
post_send(Lowering *l, guint index)
{
    ScheduleToken token = token_at(l, index);
    if (!step_token_sends(l->in->schedule, l->in->rank, token))
        return;
    sim_program_call(l->out->program, wire_template(l, token, TRUE), token.microbatch, 0);
    l->sent[index] = sim_program_launched(l->out->program, send_slot[direction_of(token)]);
}

static void
post_receive(Lowering *l, guint index)
{
    if (index >= l->tokens->len || l->posted[index])
        return;
    ScheduleToken token = token_at(l, index);
    l->posted[index] = TRUE;
    if (!step_token_receives(l->in->schedule, l->in->rank, token))
        return;
    sim_program_call(l->out->program, wire_template(l, token, FALSE), token.microbatch, 0);
    l->received[index] = sim_program_launched(l->out->program, recv_slot[direction_of(token)]);
}

static void
await_send(Lowering *l, guint slot, guint index)
{
    if (l->sent[index])
        sim_program_wait(l->out->program, slot, send_slot[direction_of(token_at(l, index))],
                         l->sent[index]);
}

static void
await_receive(Lowering *l, guint slot, guint index)
{
    if (index < l->tokens->len && l->received[index])
        sim_program_wait(l->out->program, slot, recv_slot[direction_of(token_at(l, index))],
                         l->received[index]);
}

static void
synchronise(Lowering *l)
{
    if (l->in->sync_ns > 0)
        sim_program_call(l->out->program, l->sync, 0, 0);
}

/* Tokens of a kind still to come on a stage.  B and W count together: both complete weight gradients, and a
 * stage may run some microbatches as B and others as I and W. */
static guint *
remaining_of(const Lowering *l, ScheduleToken token)
{
    guint kind = token.kind == SCHEDULE_W ? SCHEDULE_B : token.kind;
    return &l->remaining[kind * l->in->schedule->n_stages + token.stage];
}

/* Counts a token; is it the first, or the last, of its kind on its stage here? */
static void
count_token(Lowering *l, ScheduleToken token, gboolean *ret_first, gboolean *ret_last)
{
    gsize place = (gsize)token.kind * l->in->schedule->n_stages + token.stage;
    *ret_first = !l->seen[place];
    l->seen[place] = TRUE;
    *ret_last = --*remaining_of(l, token) == 0;
}

static void
run_token(Lowering *l, guint index)
{
    ScheduleToken token = token_at(l, index);
    gboolean first, last;
    count_token(l, token, &first, &last);
    if (token.kind != SCHEDULE_W)
        l->n_run[direction_of(token)]++;
    guint begin = sim_program_n_calls(l->out->program);
    l->in->run(l->in->user, l->out->program, token, first, last, index + 1);
    l->out->calls[index] = begin;
    l->out->n_calls[index] = sim_program_n_calls(l->out->program) - begin;
    if (l->in->after)
        l->in->after(l->in->user, l->out->program, index, token, last);
}

static gboolean
is_unit(const Lowering *l, guint index)
{
    return token_at(l, index).pair == SCHEDULE_PAIR_FIRST && index + 1 < l->tokens->len;
}

static void
run_pair(Lowering *l, guint index)
{
    ScheduleToken x = token_at(l, index), y = token_at(l, index + 1);
    gboolean first, last[2];
    count_token(l, x, &first, &last[0]);
    count_token(l, y, &first, &last[1]);
    l->n_run[FORWARD]++;
    l->n_run[BACKWARD]++;
    for (guint i = 0; l->in->before_pair && i < 2; i++)
        l->in->before_pair(l->in->user, l->out->program, i == 0 ? x : y, index + 1 + i);
    const SimTemplate *t = l->in->pair(l->in->user, x, y);
    guint call = sim_program_call(l->out->program, t, x.microbatch, index + 1);
    l->out->calls[index] = l->out->calls[index + 1] = call;
    l->out->n_calls[index] = l->out->n_calls[index + 1] = 1;
    for (guint i = 0; l->in->after && i < 2; i++)
        l->in->after(l->in->user, l->out->program, index + i, i == 0 ? x : y, last[i]);
}

/* M0, M1: a receive is posted where it is needed; sends are not waited for. */
static void
lower_asynchronous(Lowering *l)
{
    for (guint i = 0, next; i < l->tokens->len; i = next) {
        next = i + (is_unit(l, i) ? 2 : 1);
        for (guint k = i; k < next; k++) {
            post_receive(l, k);
            await_receive(l, STEP_SLOT_COMPUTE, k);
        }
        if (next == i + 2)
            run_pair(l, i);
        else
            run_token(l, i);
        for (guint k = i; k < next; k++)
            post_send(l, k);
    }
}

/* M2: between two tokens one fused batch {send, receive} when they go in opposite directions (both
 * messages are then exchanged with the same neighbour), two batches in turn when they do not. */
static void
lower_blocking(Lowering *l)
{
    for (guint i = 0; i < l->tokens->len; i++) {
        if (!l->posted[i]) {
            post_receive(l, i);
            await_receive(l, STEP_SLOT_COMPUTE, i);
            if (l->received[i])
                synchronise(l);
        }
        run_token(l, i);
        guint next = i + 1;
        gboolean fused = next < l->tokens->len &&
                         direction_of(token_at(l, i)) != direction_of(token_at(l, next));
        post_send(l, i);
        if (fused)
            post_receive(l, next);
        await_send(l, STEP_SLOT_COMPUTE, i);
        if (fused)
            await_receive(l, STEP_SLOT_COMPUTE, next);
        if (l->sent[i] || (fused && l->received[next]))
            synchronise(l);
        else
            continue;
        if (!fused &&
            next < l->tokens->len) /* the next receive is posted after this send is over */
            await_send(l, recv_slot[direction_of(token_at(l, next))], i);
    }
}

/* Forwards before the first backward, less the one that is paired with it. */
static guint
n_warm_up(const Lowering *l)
{
    guint leading = 0, forwards = 0;
    while (leading < l->tokens->len && token_at(l, leading).kind == SCHEDULE_F)
        leading++;
    for (guint i = 0; i < l->tokens->len; i++)
        forwards += token_at(l, i).kind == SCHEDULE_F;
    return leading == forwards ? leading : leading - 1;
}

static guint
next_of_direction(const Lowering *l, guint index)
{
    int direction = direction_of(token_at(l, index));
    for (guint i = index + 1; i < l->tokens->len; i++)
        if (token_at(l, i).kind != SCHEDULE_W && direction_of(token_at(l, i)) == direction)
            return i;
    return l->tokens->len;
}

/* The token whose input comes while the one at `index` is next in its direction. Where a microbatch group is
 * larger than the pipeline, the rank at which a direction enters gets what the last rank sends P steps later,
 * and needs it only after the group has run: until then it is kept. */
static guint
receive_ahead(const Lowering *l, guint index)
{
    const ScheduleParams *p = &l->in->schedule->params;
    if (index >= l->tokens->len || p->vpp == 1 || p->group <= p->pp)
        return index;
    int direction = direction_of(token_at(l, index));
    guint position = l->n_run[direction];
    if (l->in->rank != (direction == FORWARD ? 0 : p->pp - 1) || position < p->pp)
        return index;
    guint first = (position - p->pp) / (p->group * p->vpp) * p->group;
    guint ahead = MIN(p->group, p->microbatches - first) - p->pp;
    for (guint i = 0; i < ahead && index < l->tokens->len; i++)
        index = next_of_direction(l, index);
    return index;
}

static guint
first_backward(const Lowering *l)
{
    guint i = 0;
    while (i < l->tokens->len && token_at(l, i).kind == SCHEDULE_F)
        i++;
    return i;
}

/* Under M3 a pair is a unit where that hides something; else its tokens send as soon as each is done. */
static gboolean
is_overlapped_unit(const Lowering *l, guint index)
{
    return is_unit(l, index) && l->in->as_unit &&
           l->in->as_unit(l->in->user, token_at(l, index), token_at(l, index + 1));
}

/* State of M3: where the steady state is, and the token before in each direction. */
typedef struct {
    guint warm_up, last_forward, previous[2];
} Steady;

/* After a token has run: its message leaves, and the next input of its direction is asked for. */
static void
exchange_overlapped(Lowering *l, Steady *steady, guint i)
{
    int direction = direction_of(token_at(l, i));
    if (token_at(l, i).kind == SCHEDULE_W)
        return;
    guint next = next_of_direction(l, i);
    post_send(l, i);
    post_receive(l, receive_ahead(l, next));
    if (i + 1 == steady->warm_up && steady->last_forward + 1 > steady->warm_up)
        post_receive(l, first_backward(l));
    if (i < steady->warm_up || i > steady->last_forward + 1) {
        await_send(l, STEP_SLOT_COMPUTE, i);
        await_receive(l, STEP_SLOT_COMPUTE, next);
    } else if (steady->previous[direction] < l->tokens->len) {
        await_send(l, STEP_SLOT_COMPUTE, steady->previous[direction]);
    }
    steady->previous[direction] = i;
}

/* M3: in the steady state the transfer of the next input of a direction overlaps the op of the other
 * direction, and a send is waited for one op of its direction later; warm-up and cool-down exchanges
 * block. */
static void
lower_overlapped(Lowering *l)
{
    guint n = l->tokens->len;
    Steady steady = {.warm_up = n_warm_up(l), .previous = {n, n}};
    for (guint i = 0; i < n; i++)
        if (token_at(l, i).kind == SCHEDULE_F)
            steady.last_forward = i;
    for (guint i = 0, next; i < n; i = next) {
        next = i + (is_overlapped_unit(l, i) ? 2 : 1);
        for (guint k = i; k < next; k++) {
            post_receive(l, k);
            await_receive(l, STEP_SLOT_COMPUTE, k);
        }
        if (next == i + 2)
            run_pair(l, i);
        else
            run_token(l, i);
        for (guint k = i; k < next; k++)
            exchange_overlapped(l, &steady, k);
    }
}

/* A forward and the backward that runs in the same step; not when that is its own and comes back from another
 * rank. */
static gboolean
is_pair(const Lowering *l, guint index, guint warm_up)
{
    if (index < warm_up || index + 1 >= l->tokens->len)
        return FALSE;
    ScheduleToken forward = token_at(l, index), backward = token_at(l, index + 1);
    if (forward.kind != SCHEDULE_F || backward.kind == SCHEDULE_F)
        return FALSE;
    gboolean own = forward.stage == backward.stage && forward.microbatch == backward.microbatch;
    return !own || !step_token_receives(l->in->schedule, l->in->rank, backward);
}

/* M4: after each step (a warm-up F, a pair F B, a cool-down B) one blocking exchange of all that the step
 * sends and all that the next step receives. */
static void
lower_fused(Lowering *l)
{
    guint warm_up = n_warm_up(l), n = l->tokens->len;
    for (guint i = 0, next; i < n; i = next) {
        next = i + (is_pair(l, i, warm_up) ? 2 : 1);
        for (guint j = i; j < next; j++) {
            post_receive(l, j);
            await_receive(l, STEP_SLOT_COMPUTE, j);
        }
        for (guint j = i; j < next; j++)
            run_token(l, j);
        guint end = MIN(n, next + (is_pair(l, next, warm_up) ? 2 : 1));
        for (guint j = i; j < next; j++)
            post_send(l, j);
        for (guint j = next; j < end; j++)
            post_receive(l, receive_ahead(l, j));
        for (guint j = i; j < next; j++)
            await_send(l, STEP_SLOT_COMPUTE, j);
        for (guint j = next; j < end; j++)
            await_receive(l, STEP_SLOT_COMPUTE, receive_ahead(l, j));
        synchronise(l);
    }
}

static void
count_tokens(Lowering *l)
{
    for (guint i = 0; i < l->tokens->len; i++)
        ++*remaining_of(l, token_at(l, i));
}

static void
lower_by_model(Lowering *l)
{
    switch (l->in->p2p) {
    case PLAN_P2P_IDEAL:
    case PLAN_P2P_ASYNC:
        lower_asynchronous(l);
        break;
    case PLAN_P2P_BLOCKING:
        lower_blocking(l);
        break;
    case PLAN_P2P_OVERLAPPED:
        lower_overlapped(l);
        break;
    case PLAN_P2P_FUSED:
        lower_fused(l);
        break;
    case PLAN_P2P_AUTO:
        g_assert_not_reached();
    }
}

StepLowered *
step_lower(const StepLowering *in)
{
    const GArray *tokens = in->schedule->ranks[in->rank];
    StepLowered *out = g_new0(StepLowered, 1);
    out->program = sim_program_new();
    out->templates = g_ptr_array_new_with_free_func((GDestroyNotify)sim_template_free);
    out->calls = g_new0(guint, tokens->len);
    out->n_calls = g_new0(guint, tokens->len);
    guint n_chunks = in->schedule->n_replicas * in->schedule->n_stages; /* never more on a rank */
    Lowering l = {
        .in = in,
        .out = out,
        .tokens = tokens,
        .wires = g_new0(const SimTemplate *, (gsize)n_chunks *STEP_N_WIRES),
        .sent = g_new0(guint, tokens->len),
        .received = g_new0(guint, tokens->len),
        .posted = g_new0(gboolean, tokens->len),
        .remaining = g_new0(guint, (gsize)in->schedule->n_stages * 4),
        .seen = g_new0(gboolean, (gsize)in->schedule->n_stages * 4),
        .chunk = g_new0(guint, n_chunks),
    };
    for (guint i = 0; i < n_chunks; i++)
        l.chunk[i] =
            step_chunk_of(in->schedule, i / in->schedule->n_stages, i % in->schedule->n_stages);
    if (in->sync_ns > 0) {
        SimTemplate *sync = sim_template_new();
        guint op = sim_template_add(sync, STEP_SLOT_COMPUTE, (SimWork){.duration_ns = in->sync_ns},
                                    in->sync_tag);
        guint host = sim_template_add(sync, STEP_SLOT_HOST, (SimWork){0}, in->sync_tag);
        sim_template_wait_op(sync, host, op);
        g_ptr_array_add(out->templates, sync);
        l.sync = sync;
    }
    count_tokens(&l);
    lower_by_model(&l);
    g_free(l.wires);
    g_free(l.sent);
    g_free(l.received);
    g_free(l.posted);
    g_free(l.remaining);
    g_free(l.seen);
    g_free(l.chunk);
    return out;
}

void
step_lowered_free(StepLowered *lowered)
{
    if (!lowered)
        return;
    g_clear_pointer(&lowered->program, sim_program_free);
    g_clear_pointer(&lowered->templates, g_ptr_array_unref);
    g_free(lowered->calls);
    g_free(lowered->n_calls);
    g_free(lowered);
}
