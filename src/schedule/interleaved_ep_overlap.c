/* Interleaved 1F1B as Megatron-LM runs it when expert all-to-all overlaps compute.
 *
 * One more forward of warm-up makes the forward and the backward of a steady step independent, and
 * they run as one pair, whose all-to-all of one hides behind the compute of the other. One more live
 * chunk than without; the same makespan when a pair takes F + B. A single rank with one chunk does it
 * too: F0, (F1;B0), ... (SPEC.md 3.15). */
#include "config.h"

#include "schedule/types.h"

static char *
refuse(const ScheduleParams *p)
{
    if (p->pp > 1 && p->vpp == 1)
        return g_strdup("with more than one pipeline rank it needs at least 2 chunks a rank and "
                        "--vpp is 1; write --vpp 2");
    if (p->pp == 1 && p->vpp == 1)
        return NULL;
    return schedule_refuse_megatron(p);
}

static guint
warmup_of(const ScheduleParams *p, guint rank)
{
    return schedule_warmup_megatron(p, rank, 1);
}

static void
build(const ScheduleParams *p, guint rank, GArray *ret_tokens)
{
    schedule_build_megatron(p, rank, warmup_of(p, rank), TRUE, ret_tokens);
}

static double
makespan(const ScheduleParams *p, double F, double I, double W)
{
    return ((double)p->microbatches * p->vpp + p->pp - 1) * (F + I + W);
}

static guint
peak(const ScheduleParams *p, guint rank)
{
    return MIN(warmup_of(p, rank) + 1, p->microbatches * p->vpp);
}

const ScheduleType schedule_interleaved_ep_overlap = {
    .name = "interleaved_ep_overlap",
    .summary = "Megatron's interleaved 1F1B whose F and B run as one, to hide expert all-to-all",
    .min_vpp = 1,
    .max_vpp = G_MAXUINT16,
    .refuse = refuse,
    .placement = schedule_place_in_loop,
    .build = build,
    .makespan = makespan,
    .peak = peak,
    .grouped = TRUE,
};
