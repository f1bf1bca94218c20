/* DeepSpeed's own keys, which GPT-NeoX's files hold as well: what is cut and put aside, batch, optimizer. */
#include "config.h"

#include "cli/config_file.h"

#include <string.h>

#define ZERO "zero_optimization."

/* Newer files name a device, older ones had a switch for the CPU. */
static gboolean
read_offload(CliConfig *c, GError **error)
{
    static const char *const devices[] = {"none", "cpu", "nvme", NULL};
    gboolean cpu = FALSE;
    if (!cli_config_flag(c, ZERO "cpu_offload", &cpu, error))
        return FALSE;
    if (cpu)
        cli_config_say(c, ZERO "cpu_offload", "offload-optimizer", "cpu");
    return cli_config_say_word(c, ZERO "offload_optimizer.device", "offload-optimizer", devices,
                               devices, error) &&
           cli_config_say_word(c, ZERO "offload_param.device", "offload-params", devices, devices,
                               error);
}

/* Of DeepSpeed 0 elements are none, of --live-elements any: 1 is the least that is a cap. */
static gboolean
read_live(CliConfig *c, const char *path, GError **error)
{
    gint64 live = -1;
    if (!cli_config_elements(c, path, &live, error))
        return FALSE;
    if (live >= 0)
        cli_config_say_count(c, path, "live-elements", MAX(live, 1));
    return TRUE;
}

static gboolean
read_stage_3(CliConfig *c, GError **error)
{
    gint64 group = 1;
    const char *const live = ZERO "stage3_max_live_parameters";
    const char *const old_live = ZERO "max_live_parameters";
    if (!read_live(c, cli_config_find(c, live) != NULL ? live : old_live, error) ||
        !cli_config_elements(c, ZERO "sub_group_size", &group, error))
        return FALSE;
    const char *device = NULL;
    if (!cli_config_text(c, ZERO "offload_optimizer.device", &device, error))
        return FALSE;
    if (group == 0 || (g_strcmp0(device, "nvme") == 0 && cli_config_find(c, ZERO "sub_group_size")))
        cli_config_warn(c, ZERO "sub_group_size",
                        "not modelled: the optimizer steps through all that a rank owns at the "
                        "speed of its device");
    return TRUE;
}

gboolean
cli_config_read_zero(CliConfig *c, gint64 *ret_stage, GError **error)
{
    gint64 stage = 0, shard = 0;
    const char *const path = ZERO "stage";
    if (!cli_config_count(c, path, 0, &stage, error))
        return FALSE;
    if (stage > 3)
        return cli_config_refuse(
            c, path, error, "there is no stage %" G_GINT64_FORMAT "; write 0, 1, 2 or 3", stage);
    cli_config_say_count(c, path, "zero", stage);
    *ret_stage = stage = cli_config_effective(c, "zero", stage);
    JsonNode *mics = cli_config_find(c, ZERO "mics_shard_size");
    gboolean off = mics != NULL && JSON_NODE_HOLDS_VALUE(mics) && json_node_get_int(mics) == -1;
    if (!off && !cli_config_count(c, ZERO "mics_shard_size", 1, &shard, error))
        return FALSE;
    if (shard > 0)
        cli_config_say_count(c, ZERO "mics_shard_size", "shard-size", shard);
    return read_offload(c, error) && (stage < 3 || read_stage_3(c, error));
}

/* --- batch -------------------------------------------------------------------------------------- */

#define GLOBAL "train_batch_size"
#define MICRO "train_micro_batch_size_per_gpu"
#define STEPS "gradient_accumulation_steps"

/* global = micro x steps x replicas, with 1 step where neither is said; micro is what is missing here. */
static gboolean
derive_micro(CliConfig *c, gint64 global, gint64 steps, gint64 replicas, GError **error)
{
    if (cli_config_is_typed(c, "micro-batch-size"))
        return TRUE;
    if (replicas == 0)
        return cli_config_refuse(c, GLOBAL, error,
                                 "the microbatch follows from it and the number of replicas, which "
                                 "is not known; write --gpus or --micro-batch-size");
    if (global % (steps * replicas) != 0)
        return cli_config_refuse(
            c, GLOBAL, error,
            "%" G_GINT64_FORMAT " sequences are not a multiple of %" G_GINT64_FORMAT
            " steps x %" G_GINT64_FORMAT " replicas; write --micro-batch-size, or other --gpus",
            global, steps, replicas);
    cli_config_say_count(c, GLOBAL, "micro-batch-size", global / (steps * replicas));
    return TRUE;
}

/* "auto" in the place of what neither the file's other numbers nor typed ones decide. */
static void
warn_of_autos(CliConfig *c, gint64 global, gint64 micro, gint64 steps)
{
    gboolean all = global > 0 || cli_config_is_typed(c, "global-batch-size");
    gboolean some = steps > 0 || cli_config_is_typed(c, "microbatches");
    gboolean one = micro > 0 || cli_config_is_typed(c, "micro-batch-size");
    if (!one && !(all && some) && cli_config_is_open(c, MICRO))
        cli_config_warn(c, MICRO,
                        "'auto' is given elsewhere: 1 is taken; write --micro-batch-size");
    if (!some && !all && cli_config_is_open(c, STEPS))
        cli_config_warn(c, STEPS,
                        "'auto' is given elsewhere: the global batch is chosen; write "
                        "--microbatches or --global-batch-size");
}

gboolean
cli_config_read_batch(CliConfig *c, gint64 tp, gint64 pp, gint64 cp, GError **error)
{
    gint64 global = 0, micro = 0, steps = 0;
    if (!cli_config_count(c, GLOBAL, 1, &global, error) ||
        !cli_config_count(c, MICRO, 1, &micro, error) ||
        !cli_config_count(c, STEPS, 1, &steps, error))
        return FALSE;
    if (micro > 0)
        cli_config_say_count(c, MICRO, "micro-batch-size", micro);
    if (steps > 0)
        cli_config_say_count(c, STEPS, "microbatches", steps);
    if (global > 0)
        cli_config_say_count(c, GLOBAL, "global-batch-size", global);
    warn_of_autos(c, global, micro, steps);
    steps = cli_config_effective(c, "microbatches", steps);
    if (global > 0 && micro == 0 && (steps > 0 || !cli_config_is_open(c, MICRO)))
        return derive_micro(c, global, MAX(steps, 1), cli_config_replicas(c, tp, pp, cp), error);
    if (micro > 0 && global == 0 && steps == 0 && !cli_config_is_open(c, STEPS))
        cli_config_say_count(c, MICRO, "microbatches", 1);
    return TRUE;
}

/* --- optimizer ---------------------------------------------------------------------------------- */

gboolean
cli_config_read_optimizer(CliConfig *c, GError **error)
{
    static const struct {
        const char *type, *optimizer;
    } types[] = {{"adam", "adam"},      {"adamw", "adam"},
                 {"fusedadam", "adam"}, {"deepspeedcpuadam", "adam"},
                 {"cpu_adam", "adam"},  {"sgd", "sgd"},
                 {"muon", "muon"},      {"adafactor", "adafactor"}};
    const char *type = NULL;
    if (!cli_config_text(c, "optimizer.type", &type, error))
        return FALSE;
    for (guint i = 0; type != NULL && i < G_N_ELEMENTS(types); i++) {
        if (g_ascii_strcasecmp(types[i].type, type) == 0) {
            cli_config_say(c, "optimizer.type", "optimizer", types[i].optimizer);
            return TRUE;
        }
    }
    if (type != NULL && !cli_config_is_typed(c, "optimizer"))
        cli_config_warn(c, "optimizer.type",
                        "'%s' is not modelled: adam is taken; write --optimizer", type);
    return TRUE;
}

gboolean
cli_config_read_clip(CliConfig *c, const char *path, double fallback, GError **error)
{
    double norm = cli_config_is_null(c, path) ? 0 : fallback;
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    if (!cli_config_number(c, path, &norm, error))
        return FALSE;
    if (!cli_config_is_open(c, path)) /* "auto" was warned of */
        cli_config_say(c, path, "clip", g_ascii_formatd(text, sizeof text, "%.15g", norm));
    return TRUE;
}

void
cli_config_warn_of_fp32(CliConfig *c)
{
    if (!cli_config_is_typed(c, "dtype"))
        cli_config_warn(c, NULL, "enables neither fp16 nor bf16: fp32 is taken; write --dtype");
}
