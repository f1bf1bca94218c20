/* Fitted values into the text of a system.conf. */
#include "config.h"

#include "calibrate/fit.h"
#include "cluster/system.h"
#include "conf/complaint.h"

#include <string.h>

/* "[gpu]": "gpu"; else NULL. Caller frees. */
static char *
section_of(const char *line)
{
    g_autofree char *text = g_strstrip(g_strdup(line));
    const char *end = *text == '[' ? strchr(text, ']') : NULL;
    return end != NULL ? g_strndup(text + 1, (gsize)(end - text) - 1) : NULL;
}

/* "key = value # why": whether it is that key. */
static gboolean
is_key(const char *line, const char *key)
{
    const char *equals = strchr(line, '=');
    if (equals == NULL)
        return FALSE;
    g_autofree char *name = g_strndup(line, (gsize)(equals - line));
    return strcmp(g_strstrip(name), key) == 0;
}

/* Where the comment of a line begins, after a blank or after '='; else its end. */
static const char *
comment_of(const char *line)
{
    for (const char *at = strchr(line, '='); at != NULL && *at != '\0'; at++)
        if (*at == '#' && strchr(" \t=", at[-1]) != NULL)
            return at;
    return line + strlen(line);
}

/* Lines may end in CR LF, of which LF has been cut. */
static const char *
ending_of(const char *line)
{
    return g_str_has_suffix(line, "\r") ? "\r" : "";
}

/* The line with another value; its own comment stays, unless a fit wrote it. */
static char *
line_with(const char *line, const CalibrateKey *key)
{
    const char *comment = comment_of(line);
    g_autofree char *head = g_strndup(line, (gsize)(strchr(line, '=') - line));
    g_strchomp(head);
    if (*comment != '\0' && !g_str_has_prefix(comment, "# fitted to "))
        return g_strdup_printf("%s = %s %s", head, key->text, comment);
    return g_strdup_printf("%s = %s # fitted to %s%s", head, key->text, key->from, ending_of(line));
}

/* A new line after the last key of the section, or a section at the end. */
static void
insert(GPtrArray *lines, const CalibrateKey *key)
{
    g_autofree char *now = NULL;
    int last = -1;
    for (guint i = 0; i < lines->len; i++) {
        char *section = section_of(lines->pdata[i]);
        if (section != NULL) {
            g_free(now);
            now = section;
        }
        const char *line = lines->pdata[i];
        gboolean has_key = strchr(line, '=') != NULL && *line != '#';
        if (now != NULL && strcmp(now, key->section) == 0 && (section != NULL || has_key))
            last = (int)i;
    }
    const char *ending = lines->len > 0 ? ending_of(lines->pdata[MAX(last, 0)]) : "";
    char *line =
        g_strdup_printf("%s = %s # fitted to %s%s", key->key, key->text, key->from, ending);
    if (last >= 0) {
        g_ptr_array_insert(lines, last + 1, line);
        return;
    }
    while (lines->len > 0 && *(const char *)lines->pdata[lines->len - 1] == '\0')
        g_ptr_array_remove_index(lines, lines->len - 1);
    g_ptr_array_add(lines, g_strdup(ending));
    g_ptr_array_add(lines, g_strdup_printf("[%s]%s", key->section, ending));
    g_ptr_array_add(lines, line);
    g_ptr_array_add(lines, g_strdup(""));
}

static void
set_key(GPtrArray *lines, const CalibrateKey *key)
{
    g_autofree char *now = NULL;
    for (guint i = 0; i < lines->len; i++) {
        const char *line = lines->pdata[i];
        char *section = section_of(line);
        if (section != NULL) {
            g_free(now);
            now = section;
        }
        if (now == NULL || strcmp(now, key->section) != 0 || !is_key(line, key->key))
            continue;
        char *changed = line_with(line, key);
        g_free(lines->pdata[i]);
        lines->pdata[i] = changed;
        return;
    }
    insert(lines, key);
}

char *
calibrate_fit_conf(const CalibrateFit *fit, const char *text)
{
    g_auto(GStrv) split = g_strsplit(text, "\n", -1);
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; split[i] != NULL; i++)
        g_ptr_array_add(lines, g_strdup(split[i]));
    for (guint i = 0; i < fit->keys->len; i++) {
        const CalibrateKey *key = &g_array_index(fit->keys, CalibrateKey, i);
        if (key->refused == NULL)
            set_key(lines, key);
    }
    g_ptr_array_add(lines, NULL);
    return g_strjoinv("\n", (char **)lines->pdata);
}

gboolean
calibrate_fit_write(const CalibrateFit *fit, const char *path, guint *ret_n, GError **error)
{
    guint n = 0;
    for (guint i = 0; i < fit->keys->len; i++)
        n += g_array_index(fit->keys, CalibrateKey, i).refused == NULL;
    g_autofree char *text = conf_read_text(path, NULL, error);
    if (text == NULL)
        return FALSE;
    g_autofree char *changed = calibrate_fit_conf(fit, text);
    g_autoptr(ClusterSystem) system = cluster_system_parse(path, changed, NULL, error);
    if (system == NULL || (n > 0 && !conf_write_text(path, changed, -1, error)))
        return FALSE;
    *ret_n = n;
    return TRUE;
}
