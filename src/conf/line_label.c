/* Labels of lines by their shapes. */
#include "config.h"

#include "conf/line_label.h"

#include <string.h>

/* torchrun --log-dir ... --tee 3 names a role and a local rank; "default" is the role of who names none. */
static const char *
role_end(const char *at)
{
    if (at[0] != '[' || !g_ascii_isalpha(at[1]))
        return NULL;
    gsize letters = 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    gsize digits = strspn(at + letters, "0123456789");
    const char *end = at + letters + digits;
    return digits > 0 && digits < 8 && end[0] == ']' && end[1] == ':' ? end : NULL;
}

const char *
conf_line_label(const char *line, const char **ret_label, gsize *ret_n)
{
    const char *p = line + strspn(line, " \t");
    gsize digits = strspn(p, "0123456789");
    *ret_label = "";
    *ret_n = 0;
    if (digits > 0 && digits < 8 && p[digits] == ':' &&
        (p[digits + 1] == ' ' || p[digits + 1] == '\0' || p[digits + 1] == '#')) {
        *ret_label = p;
        *ret_n = digits;
        return p + digits + 1;
    }
    gsize pair = p[0] == '[' ? strspn(p + 1, "0123456789,") : 0;
    if (pair > 0 && g_str_has_prefix(p + 1 + pair, "]<std")) {
        const char *end = strstr(p, ">:");
        *ret_label = p + 1;
        *ret_n = pair;
        return end != NULL ? end + 2 : p + strlen(p);
    }
    if (g_str_has_prefix(p, "[pod/")) {
        const char *end = strchr(p, ']');
        *ret_label = p + 1;
        *ret_n = end != NULL ? (gsize)(end - p - 1) : 0;
        return end != NULL ? end + 1 : p;
    }
    const char *role = role_end(p);
    if (role != NULL) {
        *ret_label = p + 1;
        *ret_n = (gsize)(role - p - 1);
        return role + 2;
    }
    return line;
}
