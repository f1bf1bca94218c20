/* [nccl]: which of NCCL's choices are open. */
#include "config.h"

#include "cluster/read.h"

#include "cluster/error.h"

#include <string.h>

/* the words of NCCL_ALGO and NCCL_PROTO, in lower case */
static const char *const algorithms[] = {"ring",          "tree",         "nvls", "nvlstree",
                                         "collnetdirect", "collnetchain", "pat",  NULL};
static const char *const protocols[] = {"ll", "ll128", "simple", NULL};

#define MAX_CHANNELS 64 /* NCCL's MAXCHANNELS */

static gboolean
read_version(ClusterSystem *s, const char *where, GError **error)
{
    const char *text = conf_keyfile_text(s->conf, "nccl", "version");
    guint64 part[3] = {0};
    guint n = 0;
    const char *at = text;
    for (; n < 3 && g_ascii_isdigit(*at); n++) {
        char *end;
        part[n] = g_ascii_strtoull(at, &end, 10);
        at = *end == '.' && n < 2 ? end + 1 : end;
    }
    if (*at != '\0' || n < 2 || (at > text && at[-1] == '.') || part[0] != 2 || part[1] < 4 ||
        part[1] > 99 || part[2] > 99) {
        g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                    "%s: [nccl] version: '%s' is no version from 2.4 on; write for example 2.27",
                    where, text);
        return FALSE;
    }
    s->nccl_version = (guint)(part[0] * 10000 + part[1] * 100);
    return TRUE;
}

/* The list in lower case without blanks; NULL: a word is none of `words`. */
static char *
read_list(const ClusterSystem *s, const char *where, const char *key, const char *const *words,
          GError **error)
{
    g_autofree char *text = g_ascii_strdown(conf_keyfile_text(s->conf, "nccl", key), -1);
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);
    for (guint i = 0; parts[i] != NULL; i++) {
        g_strstrip(parts[i]);
        if (g_strv_contains(words, parts[i]))
            continue;
        g_autofree char *all = g_strjoinv(", ", (char **)words);
        g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                    "%s: [nccl] %s: '%s' is none; write some of %s with commas between, or nothing",
                    where, key, parts[i], all);
        return NULL;
    }
    return g_strjoinv(",", parts);
}

gboolean
cluster_read_nccl(ClusterSystem *s, const char *where, GError **error)
{
    s->sharp = conf_keyfile_bool(s->conf, "nccl", "sharp");
    s->pxn = conf_keyfile_bool(s->conf, "nccl", "pxn");
    s->channels = conf_keyfile_quantity(s->conf, "nccl", "channels");
    if (s->channels > MAX_CHANNELS) {
        g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                    "%s: [nccl] channels: more than %d; write 0 for NCCL's choice", where,
                    MAX_CHANNELS);
        return FALSE;
    }
    if (!read_version(s, where, error))
        return FALSE;
    s->nccl_algo = read_list(s, where, "algo", algorithms, error);
    if (s->nccl_algo == NULL)
        return FALSE;
    s->nccl_proto = read_list(s, where, "proto", protocols, error);
    return s->nccl_proto != NULL;
}

gboolean
cluster_list_allows(const char *list, const char *word)
{
    if (list == NULL || *list == '\0')
        return TRUE;
    gsize length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return TRUE;
    return FALSE;
}
