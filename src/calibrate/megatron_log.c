/* Megatron's logs, line by line. */
#include "config.h"

#include "calibrate/megatron_log.h"

#include "calibrate/error.h"
#include "conf/line_label.h"
#include "conf/lines.h"

#include <math.h>
#include <string.h>

#define MOST_ARGUMENTS 10000
#define MOST_RANKS 100000
#define MOST_NOTES 20
#define MOST_S 1e6

typedef struct {
    CalibrateMegatronLog *log;
    CalibrateTraining *run; /* the last, owned by the log */
    gboolean in_arguments, pauses;
    guint start;
} Parser;

static void
training_free(gpointer data)
{
    CalibrateTraining *run = data;
    g_hash_table_unref(run->arguments);
    g_hash_table_unref(run->ranks);
    g_array_unref(run->iterations);
    g_free(run);
}

static void
begin_run(Parser *p, guint line)
{
    gint64 vocab = p->run != NULL ? p->run->vocab : 0; /* some say it at the first start only */
    p->run = g_new0(CalibrateTraining, 1);
    p->run->line = line;
    p->run->vocab = vocab;
    p->run->arguments = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    p->run->iterations = g_array_new(FALSE, FALSE, sizeof(CalibrateIteration));
    p->run->ranks = g_hash_table_new(NULL, NULL);
    g_ptr_array_add(p->log->runs, p->run);
    p->start++;
}

const char *
calibrate_training_argument(const CalibrateTraining *run, const char *name)
{
    const char *value = g_hash_table_lookup(run->arguments, name);
    return value == NULL || strcmp(value, "None") == 0 ? "" : value;
}

/* --- parts of lines ----------------------------------------------------------------------------- */

/* The number behind a key: "loss scale: 1.0 |", "13372.8/13364.7" (this and the mean), "(size: 50257)". One that ends with
 * the line may have lost digits, but where a line ends so when it is whole. */
static gboolean
number_behind(const char *text, const char *key, gboolean may_end_line, double *ret)
{
    const char *at = strstr(text, key);
    char *end = NULL;
    if (at == NULL)
        return FALSE;
    at += strlen(key);
    at += strspn(at, ": ");
    if (!g_ascii_isdigit(*at))
        return FALSE;
    *ret = g_ascii_strtod(at, &end);
    end += strspn(end, " \t");
    return isfinite(*ret) && (*end == '\0' ? may_end_line : strchr("|/)", *end) != NULL);
}

static gint64
count_behind(const char *text, const char *key, gint64 otherwise)
{
    double value;
    return number_behind(text, key, FALSE, &value) && value < 1e15 ? (gint64)value : otherwise;
}

/* "iteration    12/  1000 |": the number; what follows the stroke. NULL: the line has no such thing. */
static const char *
iteration_of(const char *text, gint64 *ret)
{
    for (const char *at = strstr(text, "iteration"); at != NULL; at = strstr(at + 1, "iteration")) {
        const char *digits = at + strlen("iteration");
        digits += strspn(digits, " ");
        gsize n = strspn(digits, "0123456789");
        const char *after = digits + n + strspn(digits + n, " ");
        if (n == 0 || n > 15 || *after != '/')
            continue;
        after = strchr(after, '|');
        if (after == NULL)
            continue;
        *ret = g_ascii_strtoll(digits, NULL, 10);
        return after + 1;
    }
    return NULL;
}

/* Two lines in one, of which the number may be the first's and the time the second's. */
static gboolean
is_of_two(const char *fields)
{
    static const char *const once[] = {"consumed samples", "elapsed time per iteration",
                                       "global batch size"};
    gint64 other;
    for (guint i = 0; i < G_N_ELEMENTS(once); i++) {
        const char *first = strstr(fields, once[i]);
        if (first != NULL && strstr(first + 1, once[i]) != NULL)
            return TRUE;
    }
    return iteration_of(fields, &other) != NULL;
}

static gboolean
seconds_of(const char *fields, double *ret_s)
{
    if (number_behind(fields, "elapsed time per iteration (ms)", FALSE, ret_s))
        *ret_s /= 1e3;
    else if (!number_behind(fields, "elapsed time per iteration (s)", FALSE, ret_s))
        return FALSE;
    return *ret_s > 0 && *ret_s < MOST_S;
}

static void
note(Parser *p, guint line, const char *text)
{
    if (p->log->notes->len < MOST_NOTES)
        g_ptr_array_add(p->log->notes, g_strdup_printf("%s:%u: %s", p->log->name, line, text));
}

/* --- lines -------------------------------------------------------------------------------------- */

static void
add_iteration(Parser *p, guint line, gint64 iteration, const char *fields)
{
    CalibrateIteration it = {.line = line, .iteration = iteration, .tflops = NAN};
    if (is_of_two(fields) || !seconds_of(fields, &it.s)) {
        if (strstr(fields, "elapsed time") != NULL)
            note(p, line, "the line of an iteration is cut or torn by another, and left out");
        return;
    }
    if (p->run == NULL)
        begin_run(p, 0);
    GArray *all = p->run->iterations;
    const CalibrateIteration *last =
        all->len > 0 ? &g_array_index(all, CalibrateIteration, all->len - 1) : NULL;
    if (last != NULL && last->iteration == iteration && last->s == it.s)
        return; /* two streams of one process, or two copies of one stream */
    if (last != NULL && last->start == p->start && iteration <= last->iteration)
        p->start++;
    it.start = p->start;
    it.global_batch = count_behind(fields, "global batch size", -1);
    it.skipped = count_behind(fields, "number of skipped iterations", 0) +
                 count_behind(fields, "number of nan iterations", 0);
    if (!number_behind(fields, "throughput per GPU (TFLOP/s/GPU)", FALSE, &it.tflops) &&
        !number_behind(fields, "TFLOPs", FALSE, &it.tflops))
        it.tflops = NAN;
    it.after_pause = p->pauses;
    p->pauses = FALSE;
    g_array_append_val(all, it);
}

/* "  tensor_model_parallel_size ...................... 4" */
static void
add_argument(Parser *p, const char *text)
{
    const char *name = text + strspn(text, " ");
    gsize n = 0;
    while (g_ascii_isalnum(name[n]) || name[n] == '_')
        n++;
    const char *dots = name + n;
    gsize n_dots = *dots == ' ' ? strspn(dots + 1, ".") : 0;
    if (n == 0 || n_dots == 0 || (dots[1 + n_dots] != ' ' && dots[1 + n_dots] != '\0') ||
        g_hash_table_size(p->run->arguments) >= MOST_ARGUMENTS)
        return;
    g_hash_table_insert(p->run->arguments, g_strndup(name, n),
                        g_strstrip(g_strdup(dots + 1 + n_dots)));
}

/* "[Rank 2] (after 20 iterations) memory (MB) | ... | max reserved: 2608.0": MB of 1024 x 1024 bytes. */
static void
add_memory(Parser *p, const char *text)
{
    const char *at = strstr(text, "[Rank ");
    double mib;
    if (at == NULL || p->run == NULL || !number_behind(text, "max reserved", TRUE, &mib) ||
        mib > 1e9)
        return;
    gint64 rank = g_ascii_strtoll(at + 6, NULL, 10);
    if (rank < 0 || rank >= MOST_RANKS)
        return;
    g_hash_table_add(p->run->ranks, GINT_TO_POINTER((gint)rank + 1));
    p->run->reserved_bytes = MAX(p->run->reserved_bytes, mib * 1048576);
}

/* What stands between iterations. */
static void
read_other(Parser *p, const char *text)
{
    static const char *const pauses[] = {"validation loss at", "saving checkpoint",
                                         "successfully saved checkpoint", "Evaluating on"};
    for (guint i = 0; i < G_N_ELEMENTS(pauses); i++)
        p->pauses |= strstr(text, pauses[i]) != NULL;
    if (strstr(text, "[before the start of training step]") != NULL)
        p->start++;
    if (strstr(text, "memory (MB)") != NULL)
        add_memory(p, text);
    if (p->run != NULL && strstr(text, "padded vocab (size:") != NULL)
        p->run->vocab = count_behind(text, "padded vocab (size", p->run->vocab);
    if (p->run != NULL && strstr(text, "DeepSpeedEngine configuration") != NULL)
        p->run->deepspeed = TRUE;
}

static gboolean
read_line(const char *line, guint number, gpointer user, G_GNUC_UNUSED GError **error)
{
    Parser *p = user;
    const char *label;
    gsize n_label;
    gint64 iteration;
    const char *text = conf_line_label(line, &label, &n_label);
    const char *fields = iteration_of(text, &iteration);
    if (fields != NULL) {
        p->in_arguments = FALSE;
        add_iteration(p, number, iteration, fields);
    } else if (strstr(text, "--- end of arguments ---") != NULL) {
        p->in_arguments = FALSE;
    } else if (strstr(text, "--- arguments ---") != NULL) {
        begin_run(p, number);
        p->in_arguments = TRUE;
        p->pauses = FALSE;
    } else if (p->in_arguments) {
        add_argument(p, text);
    } else {
        read_other(p, text);
    }
    return TRUE;
}

/* --- whole files -------------------------------------------------------------------------------- */

static void
parser_init(Parser *p, const char *name)
{
    *p = (Parser){.log = g_new0(CalibrateMegatronLog, 1)};
    p->log->name = g_strdup(name);
    p->log->runs = g_ptr_array_new_with_free_func(training_free);
    p->log->notes = g_ptr_array_new_with_free_func(g_free);
}

/* Starts that came to no iteration are forgotten. */
static CalibrateMegatronLog *
parser_finish(Parser *p, gboolean done, GError **error)
{
    g_autoptr(CalibrateMegatronLog) log = p->log;
    for (guint i = log->runs->len; i > 0; i--) {
        const CalibrateTraining *run = log->runs->pdata[i - 1];
        if (run->iterations->len == 0)
            g_ptr_array_remove_index(log->runs, i - 1);
    }
    if (done && log->runs->len > 0)
        return g_steal_pointer(&log);
    if (done)
        g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_EMPTY,
                    "%s: has no line of an iteration; write a log of Megatron with lines as "
                    "'iteration 1/ 1000 | ... | elapsed time per iteration (ms): 128903.1 | ...'",
                    log->name);
    return NULL;
}

CalibrateMegatronLog *
calibrate_megatron_log_load(const char *path, GError **error)
{
    Parser p;
    parser_init(&p, path);
    return parser_finish(&p, conf_lines_load(path, read_line, &p, error), error);
}

CalibrateMegatronLog *
calibrate_megatron_log_parse(const char *name, const char *text, gsize n, GError **error)
{
    Parser p;
    parser_init(&p, name);
    return parser_finish(&p, conf_lines_parse(text, n, read_line, &p, error), error);
}

void
calibrate_megatron_log_free(CalibrateMegatronLog *log)
{
    if (log == NULL)
        return;
    g_free(log->name);
    g_ptr_array_unref(log->runs);
    g_ptr_array_unref(log->notes);
    g_free(log);
}
