/* A main for fuzz targets without libFuzzer: feeds every file of the target's corpus to it.
 * Files come from the arguments or from $DTSIM_TEST_CORPUS/NAME. Prints TAP. */
#include "config.h"

#include <glib.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return g_strcmp0(*(char *const *)a, *(char *const *)b);
}

static GPtrArray *
list_corpus(const char *program)
{
    g_autofree char *name = g_path_get_basename(program);
    const char *root = g_getenv("DTSIM_TEST_CORPUS");
    g_autofree char *folder =
        g_build_filename(root != NULL ? root : "tests/fuzz/corpus", name, NULL);
    GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *entry;
    while (dir != NULL && (entry = g_dir_read_name(dir)) != NULL)
        g_ptr_array_add(paths, g_build_filename(folder, entry, NULL));
    g_ptr_array_sort(paths, compare_names);
    return paths;
}

int
main(int argc, char **argv)
{
    g_autoptr(GPtrArray) paths = list_corpus(argv[0]);
    if (argc > 1)
        g_ptr_array_set_size(paths, 0);
    for (int i = 1; i < argc; i++)
        g_ptr_array_add(paths, g_strdup(argv[i]));

    g_print("1..%u\n", paths->len + 1);
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    g_print("ok 1 - empty input\n");
    for (guint i = 0; i < paths->len; i++) {
        const char *path = g_ptr_array_index(paths, i);
        g_autofree char *base = g_path_get_basename(path);
        g_autofree char *text = NULL;
        gsize length = 0;
        gboolean read = g_file_get_contents(path, &text, &length, NULL);
        if (read)
            LLVMFuzzerTestOneInput((const uint8_t *)text, length);
        g_print("%s %u - %s\n", read ? "ok" : "not ok", i + 2, base);
    }
    return 0;
}
