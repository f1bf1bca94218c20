/* Lines of mamf-finder:
 *
 *        12 |  21.4(mean)  21.5(median)  22.6(max) @ 3328x4096x4096        | best:  21.6(mean) ...
 *        12 |  674.3 TFLOPS @ 3328x4096x4096                  | best: ...          (older versions)
 *     median: 21.7 TFLOPS @ 19200x4096x4096 (MxNxK)                                (where there are no such lines)
 *
 * A line that is overwritten ends in a carriage return. */
#include "config.h"

#include "calibrate/error.h"
#include "calibrate/import.h"
#include "conf/complaint.h"

#include <math.h>
#include <string.h>

#define MAX_TFLOPS 1e6

typedef struct {
    gint64 m, n, k;
    double tflops; /* NAN: there is none */
} Line;

static const char *
dtype_in(const char *text)
{
    static const char *const names[][2] = {
        {"bfloat16", "bf16"}, {"float16", "fp16"}, {"float8", "fp8"}, {"float32", "fp32"}};
    static const char *const places[] = {"--dtype ", "--dtype=", "torch.", "Dtype: "};
    for (guint p = 0; p < G_N_ELEMENTS(places); p++)
        for (const char *at = strstr(text, places[p]); at != NULL; at = strstr(at + 1, places[p]))
            for (guint i = 0; i < G_N_ELEMENTS(names); i++)
                if (g_str_has_prefix(at + strlen(places[p]), names[i][0]))
                    return names[i][1];
    return NULL;
}

/* name='NVIDIA H100 80GB HBM3' of torch's device properties; caller frees. */
static char *
device_in(const char *text)
{
    static const char word[] = "name='";
    const char *at = strstr(text, word);
    return at != NULL ? g_strndup(at + strlen(word), MIN(strcspn(at + strlen(word), "'\n"), 80))
                      : NULL;
}

/* "3328x4096x4096" */
static gboolean
read_shape(const char *at, Line *ret)
{
    gint64 *const into[] = {&ret->m, &ret->n, &ret->k};
    for (guint i = 0; i < 3; i++) {
        gsize digits = strspn(at, "0123456789");
        if (digits == 0 || digits > 9 || (i < 2 && at[digits] != 'x'))
            return FALSE;
        *into[i] = g_ascii_strtoll(at, NULL, 10);
        if (*into[i] < 1)
            return FALSE;
        at += digits + (i < 2);
    }
    return TRUE;
}

/* The number before `word`; NAN: there is none. */
static double
number_before(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    if (at == NULL)
        return NAN;
    while (at > text && g_ascii_isspace(at[-1]))
        at--;
    const char *from = at;
    while (from > text && (g_ascii_isdigit(from[-1]) || from[-1] == '.'))
        from--;
    g_autofree char *number = g_strndup(from, (gsize)(at - from));
    char *end;
    double value = g_ascii_strtod(number, &end);
    return end != number && *end == '\0' ? value : NAN;
}

/* Is it a line with a rate and a shape; of all shapes (`running`), or a summary? */
static gboolean
read_line(const char *text, gboolean running, Line *ret)
{
    const char *bar = strchr(text, '|');
    gboolean counted = FALSE;
    if (bar != NULL) {
        const char *first = text + strspn(text, " \t");
        gsize digits = strspn(first, "0123456789");
        counted = digits > 0 && first + digits + strspn(first + digits, " \t") == bar;
    }
    const char *summary = strstr(text, "median:");
    if (summary == NULL && strstr(text, "best outcome was") != NULL)
        summary = text;
    if (running ? !counted : counted || summary == NULL)
        return FALSE;
    g_autofree char *part = running ? g_strdup(bar + 1) : g_strdup(summary);
    char *best = strchr(part, '|');
    if (best != NULL)
        *best = '\0';
    char *shape = strchr(part, '@');
    if (shape == NULL)
        return FALSE;
    if (!read_shape(shape + 1 + strspn(shape + 1, " "), ret))
        return FALSE;
    *shape = '\0';
    ret->tflops = number_before(part, "(median)");
    if (isnan(ret->tflops))
        ret->tflops = number_before(part, "(mean)");
    if (isnan(ret->tflops))
        ret->tflops = number_before(part, "TFLOPS");
    return TRUE;
}

static gboolean
add_line(CalibrateImport *import, const char *name, guint number, const char *dtype,
         const Line *line, GError **error)
{
    if (!(line->tflops > 0 && line->tflops < MAX_TFLOPS)) {
        g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_VALUE,
                    "%s:%u: a shape without a rate that can be; write for example 674.3 TFLOPS @ "
                    "4096x4096x4096",
                    name, number);
        return FALSE;
    }
    double us = 2.0 * (double)line->m * (double)line->n * (double)line->k / line->tflops * 1e-6;
    char m[24], n[24], k[24];
    g_snprintf(m, sizeof m, "%" G_GINT64_FORMAT, line->m);
    g_snprintf(n, sizeof n, "%" G_GINT64_FORMAT, line->n);
    g_snprintf(k, sizeof k, "%" G_GINT64_FORMAT, line->k);
    const char *const keys[] = {dtype, m, n, k, "1", "forward"};
    us = MAX(us, 0.001);
    calibrate_rows_add(import->rows, CALIBRATE_TABLE_GEMM, keys, &us);
    return TRUE;
}

static gboolean
add_lines(CalibrateImport *import, const char *name, const char *text, const char *dtype,
          gboolean running, guint *ret_rows, GError **error)
{
    guint number = 1;
    for (const char *at = text; *at != '\0';) {
        gsize length = strcspn(at, "\r\n");
        g_autofree char *part = g_strndup(at, length);
        Line line = {0};
        if (read_line(part, running, &line)) {
            if (!add_line(import, name, number, dtype, &line, error))
                return FALSE;
            ++*ret_rows;
        }
        number += at[length] == '\n';
        at += length + (at[length] != '\0');
    }
    return TRUE;
}

gboolean
calibrate_import_mamf(CalibrateImport *import, const char *name, const char *text, GError **error)
{
    const char *dtype = import->dtype != NULL ? import->dtype : dtype_in(text);
    g_autofree char *device = device_in(text);
    guint rows = 0;
    if (!calibrate_import_gpu(import, name, device, error))
        return FALSE;
    if (dtype == NULL && strstr(text, "TFLOPS") != NULL) {
        g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_EMPTY,
                    "%s: does not say what dtype was multiplied; write --dtype bf16", name);
        return FALSE;
    }
    if (dtype == NULL)
        dtype = ""; /* there is no line that it is of */
    if (!add_lines(import, name, text, dtype, TRUE, &rows, error) ||
        (rows == 0 && !add_lines(import, name, text, dtype, FALSE, &rows, error)))
        return FALSE;
    if (rows == 0) {
        g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_EMPTY,
                    "%s: no line like '12 | 674.3 TFLOPS @ 4096x4096x4096'; write what mamf-finder "
                    "printed",
                    name);
        return FALSE;
    }
    calibrate_import_source(import, name, "mamf-finder, torch.mm, %s, %s, %u shapes", dtype,
                            device != NULL ? device : "device not named", rows);
    return TRUE;
}
