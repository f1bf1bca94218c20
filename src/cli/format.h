/* --format and --output, which every command has. */
#pragma once

#include <glib.h>

typedef struct {
    guint index;  /* in text, json, tsv */
    char *output; /* NULL: standard output */
} CliFormat;

/* The command's own group; the caller may add entries to it. The format that stands in `format` is the
 * default. */
GOptionGroup *cli_format_group(CliFormat *format);
const char *cli_format_name(const CliFormat *format);
void cli_format_clear(CliFormat *format);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CliFormat, cli_format_clear)
