/* Configuration files of frameworks as tables: what is typed beside a text, and what both come to. */
#pragma once

#include "cli/command.h"
#include "cli/config_file.h"
#include "cluster/system.h"

#include <string.h>

static const ClusterSystem system_of_8 = {.gpus_per_node = 8};

/* "--tp 2 --pp 4" as it is typed. */
static inline CliInputs *
typed(const char *text)
{
    CliInputs *in = cli_inputs_new();
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    for (guint i = 0; words[i] != NULL && words[i][0] != '\0'; i++) {
        gboolean flag = words[i + 1] == NULL || words[i + 1][0] == '-';
        g_autoptr(GError) error = NULL;
        g_assert_true(cli_inputs_set(in, words[i] + 2, flag ? "" : words[i + 1], &error));
        i += flag ? 0 : 1;
    }
    return in;
}

static inline ConfDocument *
document(const ConfSyntax *syntax, const char *text)
{
    g_autoptr(GError) error = NULL;
    ConfDocument *d = conf_document_parse("f", syntax, text, &error);
    g_assert_no_error(error);
    return d;
}

/* What counts, as it would be typed. */
static inline char *
said(const CliInputs *in)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < in->said->len; i++) {
        const CliSaying *s = in->said->pdata[i];
        if (s->counts)
            g_string_append_printf(text, "%s--%s%s%s", text->len > 0 ? " " : "", s->option,
                                   s->value[0] != '\0' ? " " : "", s->value);
    }
    return g_string_free(text, FALSE);
}

typedef struct {
    const char *typed, *text, *contains; /* options next to each other */
    const char *warning;                 /* a part of one; NULL: none at all */
} Case;

static inline void
check(const ConfSyntax *syntax, const Case *cases, guint n)
{
    for (guint i = 0; i < n; i++) {
        g_autoptr(CliInputs) in = typed(cases[i].typed);
        g_autoptr(ConfDocument) d = document(syntax, cases[i].text);
        g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GError) error = NULL;
        gboolean ok = cli_config_put(in, &system_of_8, d, warnings, &error);
        g_assert_no_error(error);
        g_assert_true(ok);
        g_autofree char *options = said(in);
        if (strstr(options, cases[i].contains) == NULL)
            g_error("case %u: '%s' is not in '%s'", i, cases[i].contains, options);
        gboolean found = cases[i].warning == NULL && warnings->len == 0;
        for (guint w = 0; w < warnings->len; w++)
            found |= cases[i].warning != NULL && strstr(warnings->pdata[w], cases[i].warning);
        if (!found)
            g_error("case %u: warnings are not as expected: '%s'", i,
                    warnings->len > 0 ? (char *)warnings->pdata[0] : "none");
    }
}

typedef struct {
    const char *typed, *text, *message;
} Refusal;

static inline void
check_refusals(const ConfSyntax *syntax, const Refusal *cases, guint n)
{
    for (guint i = 0; i < n; i++) {
        g_autoptr(CliInputs) in = typed(cases[i].typed);
        g_autoptr(ConfDocument) d = document(syntax, cases[i].text);
        g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GError) error = NULL;
        g_assert_false(cli_config_put(in, &system_of_8, d, warnings, &error));
        g_assert_cmpstr(error->message, ==, cases[i].message);
        g_assert_null(in->said);
        g_assert_null(in->config_model);
    }
}

/* A file of torchtitan's that every layout of its keys has. */
#define LLAMA "[model]\nflavor = '8B'\n[training]\nlocal_batch_size = 6\n"
