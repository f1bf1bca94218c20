/* Durations of textbook mode: read as fractions, brought to a common denominator.
 *
 * Any two of the backward's B, I, W give the third (B = I + W); B alone is split into halves; nothing of the
 * backward given: B = 2 F. */
#include "config.h"

#include "cli/units.h"

#include "cli/command.h"

#include <string.h>

#define DENOMINATOR_MOST 1000000000
#define UNITS_MOST 1000000000000 /* of one duration, after scaling: sums of many stay below 2^63 */

typedef struct {
    gint64 n, d;
} Fraction;

enum { F, I, W, PAIR, COMM, B, N_NAMES };
#define N_USED B /* B is I + W */
static const char *const names[] = {"F", "I", "W", "pair", "comm", "B"};

static gint64
gcd(gint64 a, gint64 b)
{
    while (b != 0) {
        gint64 r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static Fraction
reduced(gint64 n, gint64 d)
{
    gint64 g = MAX(gcd(n, d), 1);
    return (Fraction){n / g, d / g};
}

/* Digits with at most one point; at most 9 of them on either side. */
static gboolean
decimal_parse(const char *text, Fraction *ret)
{
    gint64 n = 0, d = 1;
    gboolean point = FALSE, any = FALSE;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '.' && !point) {
            point = TRUE;
            continue;
        }
        if (!g_ascii_isdigit(*p) || n >= DENOMINATOR_MOST || d >= DENOMINATOR_MOST)
            return FALSE;
        n = 10 * n + (*p - '0');
        d = point ? 10 * d : d;
        any = TRUE;
    }
    *ret = reduced(n, d);
    return any;
}

static gboolean
fraction_parse(const char *text, Fraction *ret)
{
    const char *slash = strchr(text, '/');
    if (slash == NULL)
        return decimal_parse(text, ret);
    g_autofree char *above = g_strndup(text, (gsize)(slash - text));
    Fraction a, b;
    if (!decimal_parse(above, &a) || !decimal_parse(slash + 1, &b) || a.d != 1 || b.d != 1 ||
        b.n == 0)
        return FALSE;
    *ret = reduced(a.n, b.n);
    return TRUE;
}

static gboolean
part_parse(const char *part, Fraction *values, gboolean *given, GError **error)
{
    const char *equals = strchr(part, '=');
    for (guint i = 0; equals != NULL && i < N_NAMES; i++) {
        if (strncmp(part, names[i], (gsize)(equals - part)) != 0 ||
            strlen(names[i]) != (gsize)(equals - part))
            continue;
        if (given[i]) {
            g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--unit: %s is there twice; remove one",
                        names[i]);
            return FALSE;
        }
        if (fraction_parse(equals + 1, &values[i])) {
            given[i] = TRUE;
            return TRUE;
        }
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--unit: %s: '%s' is not a number of 0 or more; write a decimal or a fraction, "
                    "as %s=5/2",
                    names[i], equals + 1, names[i]);
        return FALSE;
    }
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "--unit: '%s' is not F, B, I, W, pair or comm with a value; write for example "
                "--unit F=1,I=1,W=1,comm=0",
                part);
    return FALSE;
}

static Fraction
difference(Fraction a, Fraction b)
{
    return reduced(a.n * b.d - b.n * a.d, a.d * b.d);
}

static gboolean
complete(Fraction *v, const gboolean *given, GError **error)
{
    if (!given[F])
        v[F] = (Fraction){1, 1};
    if (given[B] && given[I] && given[W]) {
        g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                            "--unit: B is I + W; write B, or I and W, not all three");
        return FALSE;
    }
    if (given[B] && given[I]) {
        v[W] = difference(v[B], v[I]);
    } else if (given[B] && given[W]) {
        v[I] = difference(v[B], v[W]);
    } else if (given[B]) {
        v[I] = v[W] = reduced(v[B].n, 2 * v[B].d);
    } else if (!given[I] && !given[W]) {
        v[I] = v[W] = v[F];
    }
    if (v[I].n >= 0 && v[W].n >= 0)
        return TRUE;
    g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                        "--unit: B is less than its part; write a B that is at least I (and W)");
    return FALSE;
}

/* Integers over one denominator; FALSE where they would not stay small enough. */
static gboolean
bring_to_common(const Fraction *v, gint64 *ret_scale, gint64 *ret_scaled)
{
    gint64 scale = 1;
    for (guint i = 0; i < N_USED; i++) {
        g_assert(v[i].d > 0);
        scale = scale / gcd(scale, v[i].d) * v[i].d;
        if (scale > DENOMINATOR_MOST)
            return FALSE;
    }
    for (guint i = 0; i < N_USED; i++) {
        if (v[i].n > UNITS_MOST / (scale / v[i].d))
            return FALSE;
        ret_scaled[i] = v[i].n * (scale / v[i].d);
    }
    *ret_scale = scale;
    return TRUE;
}

gboolean
cli_units_parse(const char *text, CliUnits *ret_units, GError **error)
{
    Fraction v[N_NAMES];
    for (guint i = 0; i < N_NAMES; i++)
        v[i] = (Fraction){0, 1};
    gboolean given[N_NAMES] = {FALSE};
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);
    if (parts[0] == NULL) {
        g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                            "--unit: is empty; write for example --unit F=1,I=1,W=1,comm=0");
        return FALSE;
    }
    for (guint i = 0; parts[i] != NULL; i++)
        if (!part_parse(parts[i], v, given, error))
            return FALSE;
    if (!complete(v, given, error))
        return FALSE;
    gint64 scale = 1, scaled[N_USED];
    if (!bring_to_common(v, &scale, scaled)) {
        g_set_error(
            error, CLI_ERROR, CLI_ERROR_USAGE,
            "--unit: '%s' is too large or too finely divided; write numbers with fewer digits",
            text);
        return FALSE;
    }
    if (scaled[0] + scaled[1] + scaled[2] == 0) {
        g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                            "--unit: F, I and W are all zero; write a duration for one of them");
        return FALSE;
    }
    if (given[PAIR] && scaled[PAIR] == 0) {
        g_set_error_literal(
            error, CLI_ERROR, CLI_ERROR_USAGE,
            "--unit: pair is 0; write how long an overlapped F and B take together, "
            "or leave it out (F + B)");
        return FALSE;
    }
    *ret_units = (CliUnits){{.F = scaled[F],
                             .I = scaled[I],
                             .W = scaled[W],
                             .pair = scaled[PAIR],
                             .comm = scaled[COMM],
                             .p2p = PLAN_P2P_ASYNC},
                            scale};
    return TRUE;
}
