/* Which stages a token's messages go between, the ports of a rank for them, and when a token ran. */
#include "config.h"

#include "step/lower.h"

const char *
step_slot_name(guint slot)
{
    static const char *const names[STEP_N_SLOTS] = {"compute",
                                                    "tensor parallel",
                                                    "data parallel",
                                                    "send forward",
                                                    "receive forward",
                                                    "send backward",
                                                    "receive backward",
                                                    "pipeline group",
                                                    "host",
                                                    "context parallel",
                                                    "expert parallel",
                                                    "gather",
                                                    "replicate",
                                                    "host to device",
                                                    "device to host",
                                                    "nvme"};
    g_assert(slot < STEP_N_SLOTS);
    return names[slot];
}

guint
step_wire_port(guint chunk, guint wire)
{
    return STEP_PORT_WIRES + chunk * STEP_N_WIRES + wire;
}

guint
step_chunk_of(const Schedule *schedule, guint replica, guint stage)
{
    guint chunk = 0, home = replica * schedule->n_stages + stage;
    for (guint i = 0; i < home; i++)
        chunk += schedule->rank_of[i] == schedule->rank_of[home];
    return chunk;
}

guint
step_n_wires(const Schedule *schedule)
{
    return 2 * schedule->n_replicas * schedule->n_stages;
}

guint
step_n_ports(const Schedule *schedule)
{
    return step_wire_port(schedule->n_replicas * schedule->n_stages, 0);
}

void
step_bind_wires(const Schedule *schedule, guint rank, const guint32 *wires, guint32 *ports)
{
    guint chunk = 0;
    for (guint i = 0; i < schedule->n_replicas * schedule->n_stages; i++) {
        if (schedule->rank_of[i] != rank)
            continue;
        if (i % schedule->n_stages > 0) {
            ports[step_wire_port(chunk, STEP_WIRE_RECV_F)] = wires[2 * (i - 1)];
            ports[step_wire_port(chunk, STEP_WIRE_SEND_B)] = wires[2 * (i - 1) + 1];
        }
        ports[step_wire_port(chunk, STEP_WIRE_SEND_F)] = wires[2 * i];
        ports[step_wire_port(chunk, STEP_WIRE_RECV_B)] = wires[2 * i + 1];
        chunk++;
    }
}

int
step_token_source(const Schedule *schedule, ScheduleToken token)
{
    if (token.kind == SCHEDULE_W)
        return -1;
    if (token.kind == SCHEDULE_F)
        return (int)token.stage - 1;
    return token.stage + 1u < schedule->n_stages ? token.stage + 1 : -1;
}

int
step_token_target(const Schedule *schedule, ScheduleToken token)
{
    if (token.kind == SCHEDULE_W)
        return -1;
    if (token.kind == SCHEDULE_F)
        return token.stage + 1u < schedule->n_stages ? token.stage + 1 : -1;
    return (int)token.stage - 1;
}

gboolean
step_token_receives(const Schedule *schedule, guint rank, ScheduleToken token)
{
    int source = step_token_source(schedule, token);
    return source >= 0 && schedule_rank_of(schedule, (guint)source, token.microbatch) != rank;
}

gboolean
step_token_sends(const Schedule *schedule, guint rank, ScheduleToken token)
{
    int target = step_token_target(schedule, token);
    return target >= 0 && schedule_rank_of(schedule, (guint)target, token.microbatch) != rank;
}

gint64
step_token_span(const StepLowered *lowered, const SimEngine *engine, guint rank, guint index,
                gint64 *ret_start_ns, gint64 *ret_end_ns)
{
    gint64 busy_ns = 0;
    *ret_start_ns = *ret_end_ns = -1;
    for (guint i = 0; i < lowered->n_calls[index]; i++) {
        gint64 start, end;
        sim_engine_call_span(engine, rank, lowered->calls[index] + i, &start, &end);
        if (start < 0)
            continue;
        busy_ns += end - start;
        *ret_start_ns = *ret_start_ns < 0 ? start : *ret_start_ns;
        *ret_end_ns = end;
    }
    return busy_ns;
}
