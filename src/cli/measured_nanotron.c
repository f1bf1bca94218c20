/* Where nanotron puts layers: by the matrix multiplications of blocks in model order (nanotron
 * src/nanotron/models/base.py build_model and models/llama.py get_block_compute_costs). */
#include "config.h"

#include "cli/measured_read.h"

/* A stage between the ends needs a layer here; nanotron may leave it only the head, or nothing. It gets one
 * of the nearest stage before it that has two, the first stage last. */
static gboolean
borrow(gint64 *layers, gint64 stages)
{
    for (gint64 s = stages - 2; s > 0; s--) {
        gint64 from = s;
        while (layers[s] == 0 && from >= 0 && layers[from] < 2)
            from--;
        if (from < 0)
            return FALSE;
        if (layers[s] == 0) {
            layers[from]--;
            layers[s]++;
        }
    }
    return TRUE;
}

char *
cli_measured_nanotron_layers(const LlmShape *shape, gint64 pp, gboolean ties)
{
    double hidden = (double)shape->hidden;
    double layer =
        4.0 * (double)(shape->heads * shape->head_dim) * hidden + 3.0 * (double)shape->ffn * hidden;
    double total = layer * (double)shape->layers + (double)shape->vocab * hidden, cost = 0;
    g_autofree gint64 *layers = g_new0(gint64, pp);
    gint64 stage = 0;
    for (gint64 i = 0; i < shape->layers; i++) {
        double share = total * ((double)(stage + 1) / (double)pp);
        layers[stage]++;
        cost += layer;
        if (stage < pp - 1 && (ties ? cost >= share : cost > share))
            stage++;
    }
    if (!borrow(layers, pp))
        return NULL;
    GString *text = g_string_new(NULL);
    for (gint64 s = 0; s < pp; s++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, s > 0 ? "," : "", layers[s]);
    return g_string_free(text, FALSE);
}
