/* Noise of one run: who is simulated, and what is attached to the engine. */
#include "config.h"

#include "step/disturb.h"

StepRanks
step_ranks_of(const StepOptions *options)
{
    const StepNoise *noise = options->noise;
    if (options->all_ranks || noise == NULL || !step_noise_is_everywhere(noise))
        return options->all_ranks ? STEP_RANKS_ALL : options->ranks;
    /* A link by name may be any rank's: a lane has only its first rank's. */
    gboolean lanes = options->fused && !step_noise_names_links(noise);
    return lanes ? STEP_RANKS_TP_LANES : STEP_RANKS_ALL;
}

void
step_build_as(StepBuild *b, const StepOptions *options)
{
    g_autoptr(GArray) special =
        options->noise != NULL ? step_noise_special(options->noise, b->plan) : NULL;
    StepRanks ranks = step_ranks_of(options);
    b->fused = options->fused;
    gboolean ok = step_background_parse(options->background, &b->background, NULL);
    g_assert(ok); /* step_run looks at it first */
    step_build_classes(b, ranks, ranks == STEP_RANKS_CLASSES ? special : NULL);
    if (ranks == STEP_RANKS_TP_LANES && b->fused && options->noise != NULL)
        b->chain_Bps = step_ports_free_Bps(b, options->noise);
    b->chained = b->chain_Bps > 0;
    step_build_programs(b);
    b->portless = b->chained && step_ports_are_free(b);
}

gboolean
step_disturb(StepDisturbance *d, const StepBuild *b, const StepOptions *options, SimEngine *engine,
             GError **error)
{
    *d = (StepDisturbance){NULL, NULL, NULL};
    if (options->noise == NULL)
        return TRUE;
    if (!step_noise_check(options->noise, b->plan, error))
        return FALSE;
    d->pacing = step_pacing_new(b, options->noise, step_ranks_of(options) == STEP_RANKS_TP_LANES);
    d->pace = step_pace_new(d->pacing, options->noise->sample);
    d->faults = step_faults_draw(d->pacing, options->noise->sample);
    step_pace_attach(d->pace, engine);
    return step_faults_attach(d->faults, d->pacing, b, engine, error);
}

void
step_disturbance_clear(StepDisturbance *d)
{
    step_pace_free(d->pace);
    step_pacing_free(d->pacing);
    g_clear_pointer(&d->faults, g_array_unref);
}
