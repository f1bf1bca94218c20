/* Asks the true cuDNN whether its engines know our graphs of attention, for an H100 that is not there: plan PROPERTIES.
 *
 * Prints a line for each graph that they do not know. Without a GPU a plan ends where its kernel, compiled, would be
 * loaded (CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER). Status 77: there is no cuDNN, or none that knows such a GPU. */
#include "config.h"

#include "calib/cuda_attention_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *
read_all(const char *path)
{
    char *text = calloc(1, 4096);
    FILE *file = fopen(path, "r");
    if (file == NULL || fread(text, 1, 4095, file) == 0)
        exit(2);
    fclose(file);
    return text;
}

static bool
has_engine(const CalibCudnn *cudnn, cudnnBackendDescriptor_t device,
           const CalibAttention *attention)
{
    CalibGraph *graph = malloc(sizeof *graph);
    CalibFusedSlots slots;
    CalibError error = {{0}};
    calib_graph_init(graph, cudnn, NULL, 0);
    graph->device = device;
    if (attention->backward)
        calib_fused_backward(graph, attention, &slots);
    else
        calib_fused_forward(graph, attention, &slots);
    bool known =
        calib_graph_finish(graph, &error) == CALIB_OK || strstr(error.text, "CUDA_DRIVER") != NULL;
    if (!known)
        printf("seq %d, %d of %d heads, %s: %s\n", (int)attention->seq, (int)attention->kv_heads,
               (int)attention->heads, attention->backward ? "backward" : "forward", error.text);
    calib_graph_clear(graph);
    free(graph);
    return known;
}

int
main(int argc, char **argv)
{
    static const CalibAttention attentions[] = {
        {CALIB_BF16, 2, 16, 16, 128, 2048, true, false},
        {CALIB_BF16, 1, 32, 4, 128, 4096, true, true},
        {CALIB_FP16, 8, 32, 32, 64, 2048, false, false},
        {CALIB_FP16, 2, 16, 16, 64, 2048, false, true},
    };
    CalibCudnn cudnn;
    cudnnBackendDescriptor_t device;
    if (argc != 2 || !calib_cudnn_load(&cudnn))
        return 77;
    char *text = read_all(argv[1]);
    if (cudnn.create_descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &device) != 0 ||
        cudnn.set(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                  (int64_t)strlen(text), text) != 0 ||
        cudnn.finalize(device) != 0)
        return 77;
    bool known = true;
    for (size_t i = 0; i < sizeof attentions / sizeof *attentions; i++)
        known = has_engine(&cudnn, device, &attentions[i]) && known;
    free(text);
    cudnn.destroy_descriptor(device);
    calib_cudnn_unload(&cudnn);
    return !known;
}
