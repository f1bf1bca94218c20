/* Names of GPUs word by word. */
#include "config.h"

#include "calibrate/machine.h"

#include <string.h>

typedef struct {
    char model[24];  /* "H100" */
    char memory[16]; /* "80" */
    char form;       /* 'S', 'P'; '\0': not said */
} Gpu;

static gboolean
is_memory(const char *word)
{
    gsize digits = strspn(word, "0123456789");
    return digits > 0 && (strcmp(word + digits, "GB") == 0 || strcmp(word + digits, "G") == 0);
}

static Gpu
read_name(const char *name)
{
    Gpu gpu = {0};
    g_autofree char *high = g_ascii_strup(name, -1);
    g_strdelimit(high, "-_/(),", ' ');
    g_auto(GStrv) words = g_strsplit(high, " ", -1);
    for (guint i = 0; words[i] != NULL; i++) {
        const char *word = words[i];
        if (g_str_has_prefix(word, "SXM"))
            gpu.form = 'S';
        else if (g_str_has_prefix(word, "PCI"))
            gpu.form = 'P';
        else if (is_memory(word)) {
            if (gpu.memory[0] == '\0')
                g_strlcpy(gpu.memory, word, MIN(sizeof gpu.memory, strspn(word, "0123456789") + 1));
        } else if (gpu.model[0] == '\0' && g_ascii_isalpha(word[0]) &&
                   word[strcspn(word, "0123456789")] != '\0' && !g_str_has_prefix(word, "HBM"))
            g_strlcpy(gpu.model, word, sizeof gpu.model);
    }
    if (g_str_has_prefix(gpu.model, "GH") || g_str_has_prefix(gpu.model, "GB"))
        gpu.memory[0] = '\0'; /* may be that of the CPU */
    return gpu;
}

gboolean
calibrate_gpus_agree(const char *a, const char *b)
{
    Gpu p = read_name(a), q = read_name(b);
    if (p.model[0] == '\0' || q.model[0] == '\0')
        return g_ascii_strcasecmp(a, b) == 0;
    return strcmp(p.model, q.model) == 0 &&
           (p.memory[0] == '\0' || q.memory[0] == '\0' || strcmp(p.memory, q.memory) == 0) &&
           (p.form == '\0' || q.form == '\0' || p.form == q.form);
}

char *
calibrate_gpu_of_comment(const char *comment)
{
    static const char word[] = "# gpu: ";
    g_auto(GStrv) lines = g_strsplit(comment, "\n", -1);
    for (guint i = 0; lines[i] != NULL; i++) {
        if (!g_str_has_prefix(lines[i], word))
            continue;
        const char *name = lines[i] + strlen(word);
        gsize digits = strspn(name, "0123456789");
        if (digits > 0 && g_str_has_prefix(name + digits, " x "))
            name += digits + 3;
        char *gpu = g_strstrip(g_strdup(name));
        if (*gpu != '\0' && strcmp(gpu, "none") != 0)
            return gpu;
        g_free(gpu);
    }
    return NULL;
}
