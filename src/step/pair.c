/* Overlapped pairs: a forward and a backward of another microbatch as one unit. */
#include "config.h"

#include "step/build.h"

gboolean
step_pair_interleaves(const StepBuild *b, ScheduleToken x, ScheduleToken y)
{
    (void)b, (void)x, (void)y;
    return FALSE;
}

/* An overlapped pair of a dense model: the kernels of one after those of the other on the compute stream; what
 * it can hide is communication between experts. */
SimTemplate *
step_pair_template(StepBuild *b, StepClass *class, ScheduleToken x, ScheduleToken y)
{
    SimTemplate *t = sim_template_new();
    step_add_token(b, t, class, x, FALSE);
    step_add_token(b, t, class, y, FALSE);
    g_ptr_array_add(b->templates, t);
    return t;
}
