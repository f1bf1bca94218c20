/* Chakra traces from any bytes: a trace or an error, never both; counts that add up; times that profiles can be made of. */
#include "config.h"

#include "calibrate/chakra.h"
#include "calibrate/import.h"
#include "calibrate/profile.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
    const uint8_t *data;
    size_t size;
    CalibrateChakra about;
} Input;

static gboolean
source(const char *path, CalibrateEventFunc func, gpointer func_user, CalibrateHeader *header,
       gpointer user, GError **error)
{
    Input *input = user;
    const CalibrateChakraWish wish = {8, "bf16"};
    return calibrate_chakra_parse(path, input->data, input->size, &wish, func, func_user, header,
                                  &input->about, error);
}

static void
check_counts(const CalibrateChakra *about)
{
    guint64 n = 0;
    for (guint i = 0; i < CALIBRATE_CHAKRA_N_TYPES; i++)
        n += about->n_of[i];
    g_assert_cmpuint(n, ==, about->n_nodes);
    g_assert_cmpuint(about->n_kernels + about->n_given, <=, about->n_timed);
    g_assert_cmpuint(about->n_timed, <=, about->n_nodes);
    g_assert_cmpuint(about->n_begun, <=, about->n_kernels);
    g_autofree char *text = calibrate_chakra_text(about);
    g_assert_true(g_utf8_validate(text, -1, NULL));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {.data = data, .size = size};
    g_autoptr(GError) error = NULL;
    g_autoptr(CalibrateTrace) trace = calibrate_trace_gather("fuzz.0.et", source, &input, &error);
    g_assert_true((trace == NULL) == (error != NULL));
    check_counts(&input.about);
    calibrate_chakra_clear(&input.about);
    if (trace == NULL)
        return 0;
    CalibrateProfile p = calibrate_profile(trace);
    g_assert_cmpint(p.busy_ns, <=, p.span_ns);
    g_assert_cmpint(p.exposed_ns, >=, 0);
    g_auto(CalibrateImport) import;
    calibrate_import_init(&import);
    import.per_node = 8;
    g_assert_true(calibrate_import_trace(&import, trace, NULL));
    return 0;
}
