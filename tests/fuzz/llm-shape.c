/* A config.json of any bytes: an error or a shape whose print reads back and whose arithmetic is
 * defined. */
#include "config.h"

#include "llm/shape.h"

#include "llm/flops.h"
#include "llm/parameters.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(LlmShape) shape = llm_shape_parse("fuzz.json", text, &error);
    g_assert((shape == NULL) == (error != NULL));
    if (shape != NULL) {
        g_assert(llm_shape_check(shape, NULL));
        g_assert(llm_parameters(shape).total > 0);
        g_assert(llm_flops_per_token(shape, shape->max_positions, LLM_FLOPS_MEGATRON) > 0);
        g_autofree char *printed = llm_shape_print(shape);
        g_autoptr(LlmShape) again = llm_shape_parse("fuzz.json", printed, NULL);
        g_assert(again != NULL && llm_parameters(again).total == llm_parameters(shape).total);
    }
    return 0;
}
