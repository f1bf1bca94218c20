/* Writing a result in one piece, and noticing when that fails. */
#include "config.h"

#include "cli/output.h"

#include "cli/command.h"
#include "conf/complaint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

gboolean
cli_output_write(const char *path, const GString *text, GError **error)
{
    if (path != NULL && strcmp(path, "-") != 0)
        return conf_write_text(path, text->str, (gssize)text->len, error);
    if (fwrite(text->str, 1, text->len, stdout) == text->len && fflush(stdout) == 0)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_OUTPUT,
                "standard output: %s; write to a place that has room", g_strerror(errno));
    return FALSE;
}
