/* Key files ("[gpu] memory = 80GB") with typed access: GKeyFile under precise complaints.
 * `#` at the head of a line, after a blank or after `=` begins a comment; a section may be continued further down.
 * Messages: "FILE: [section] key: what is wrong; what to write". */
#pragma once

#include "units/quantity.h"

typedef struct ConfKeyfile ConfKeyfile;

/* One allowed key. The table of these drives parsing, unknown-key hints, --set, --show-config, docs. */
typedef struct {
    const char *section;
    const char *key;
    enum {
        CONF_KEY_TEXT,
        CONF_KEY_QUANTITY,
        CONF_KEY_FRACTION,
        CONF_KEY_BOOL,
        CONF_KEY_CHOICE
    } type;
    UnitsKind kind;             /* for CONF_KEY_QUANTITY */
    const char *fallback;       /* text form, or NULL: the key is required */
    const char *const *choices; /* for CONF_KEY_CHOICE, NULL-terminated */
    const char *what;           /* one phrase for docs and messages */
} ConfKey;

/* `keys` ends with an entry whose section is NULL and must outlive the result. Unknown sections and
 * keys, missing required keys, duplicate keys and bad values are errors. */
ConfKeyfile *conf_keyfile_load(const char *path, const ConfKey *keys, GError **error);
ConfKeyfile *conf_keyfile_parse(const char *name, const char *text, const ConfKey *keys,
                                GError **error);
void conf_keyfile_free(ConfKeyfile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ConfKeyfile, conf_keyfile_free)

/* "section.key=value" as given to --set; the same checks. */
gboolean conf_keyfile_set(ConfKeyfile *file, const char *assignment, GError **error);

/* The key must be in the table with that type; values were checked at load: these cannot fail.
 * _text gives the text as written of a key of any type. */
gint64 conf_keyfile_quantity(const ConfKeyfile *file, const char *section, const char *key);
double conf_keyfile_fraction(const ConfKeyfile *file, const char *section, const char *key);
gboolean conf_keyfile_bool(const ConfKeyfile *file, const char *section, const char *key);
const char *conf_keyfile_text(const ConfKeyfile *file, const char *section, const char *key);
int conf_keyfile_choice(const ConfKeyfile *file, const char *section, const char *key); /* index */

/* Complete resolved content in table order; a valid input. Caller frees. */
char *conf_keyfile_print(const ConfKeyfile *file);
