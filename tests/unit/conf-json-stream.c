/* Tokens of JSON: what they say, whole files in small pieces, gzip, and complaints with their place. */
#include "config.h"

#include "conf/complaint.h"
#include "conf/json_stream.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>

static gboolean
note(const ConfJsonToken *token, gpointer user, G_GNUC_UNUSED GError **error)
{
    static const char marks[] = "{}[]:\"0?-";
    g_string_append_printf(user, "%u%c%.*s ", token->depth, marks[token->kind], (int)token->length,
                           token->text);
    return TRUE;
}

static char *
tokens_of(const char *text, GError **error)
{
    GString *out = g_string_new(NULL);
    if (conf_json_stream_parse("t.json", text, strlen(text), note, out, error))
        return g_string_free(out, FALSE);
    g_string_free(out, TRUE);
    return NULL;
}

static void
test_tokens(void)
{
    static const struct {
        const char *text, *tokens;
    } cases[] = {
        {"{}", "0{ 0} "},
        {" [ 1 , -2.50e3 ] ", "0[ 101 10-2.50e3 0] "},
        {"{\"a\": {\"b\": [true, false, null]}}", "0{ 1:a 1{ 2:b 2[ 3?true 3?false 3- 2] 1} 0} "},
        {"\"x\\n\\u00e9\\\"\"", "0\"x\n\303\251\" "},
        {"17", "0017 "},
        {"{\"\": \"\"}", "0{ 1: 1\" 0} "},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        GError *error = NULL;
        g_autofree char *tokens = tokens_of(cases[i].text, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(tokens, ==, cases[i].tokens);
    }
}

static void
test_complaints(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\n\"a\": 1,\n\"b\": nan}", "t.json:3: no JSON: invalid string in json text"},
        {"{\"a\" 1}", "t.json:1: no JSON: object key and value must be separated by a colon (':')"},
        {"[1, 2", "t.json: ends in the middle, after 5 bytes of text; is it copied whole?"},
        {"", "t.json: ends in the middle, after 0 bytes of text; is it copied whole?"},
        {"{} {}", "t.json:1: no JSON: trailing garbage"},
        {"[\"\xff\"]", "t.json:1: no JSON: invalid bytes in UTF8 string"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(tokens_of(cases[i].text, &error));
        g_assert_error(error, CONF_ERROR, CONF_ERROR_SYNTAX);
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
}

static void
test_place_in_long_lines(void)
{
    g_autofree char *blanks = g_strnfill(1000, ' ');
    g_autofree char *text = g_strdup_printf("[\n%s x]", blanks);
    g_autoptr(GError) error = NULL;
    g_assert_null(tokens_of(text, &error));
    g_assert_true(g_str_has_prefix(error->message, "t.json: byte 100"));
}

static void
test_depth(void)
{
    g_autofree char *text = g_strnfill(100000, '[');
    g_autoptr(GError) error = NULL;
    g_assert_null(tokens_of(text, &error));
    g_assert_nonnull(strstr(error->message, "more than 512 brackets"));
}

static gboolean
refuse(const ConfJsonToken *token, G_GNUC_UNUSED gpointer user, GError **error)
{
    if (token->kind != CONF_JSON_NUMBER)
        return TRUE;
    g_set_error_literal(error, CONF_ERROR, CONF_ERROR_VALUE, "no numbers");
    return FALSE;
}

static void
test_refusal(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(conf_json_stream_parse("t.json", "[\"a\", 1, 2]", 11, refuse, NULL, &error));
    g_assert_error(error, CONF_ERROR, CONF_ERROR_VALUE);
    g_autoptr(GError) at_end = NULL; /* a number that only the end of the text ends */
    g_assert_false(conf_json_stream_parse("t.json", "12", 2, refuse, NULL, &at_end));
    g_assert_error(at_end, CONF_ERROR, CONF_ERROR_VALUE);
}

static void
gzip_to(const char *path, const char *text, gsize length)
{
    GError *error = NULL;
    g_autoptr(GFile) file = g_file_new_for_path(path);
    g_autoptr(GFileOutputStream) raw =
        g_file_replace(file, NULL, FALSE, G_FILE_CREATE_NONE, NULL, &error);
    g_assert_no_error(error);
    g_autoptr(GZlibCompressor) zip = g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, 1);
    g_autoptr(GOutputStream) out =
        g_converter_output_stream_new(G_OUTPUT_STREAM(raw), G_CONVERTER(zip));
    g_assert_true(g_output_stream_write_all(out, text, length, NULL, NULL, &error));
    g_assert_true(g_output_stream_close(out, NULL, &error));
}

/* Longer than the reader's blocks, so that words lie across them; the twin reads the same text at once. */
static void
test_files(void)
{
    g_autoptr(GString) text = g_string_new("[");
    for (guint i = 0; i < 40000; i++)
        g_string_append_printf(text, "%s{\"k%u\":\"%x\\t\",\"v\":%d.5}", i > 0 ? "," : "", i % 7,
                               (guint)g_test_rand_int(), g_test_rand_int_range(-9999, 9999));
    g_string_append(text, "]");
    GError *error = NULL;
    g_autofree char *expected = tokens_of(text->str, &error);
    g_assert_no_error(error);
    g_autofree char *folder = g_dir_make_tmp("dtsim-json-XXXXXX", NULL);
    g_autofree char *plain = g_build_filename(folder, "plain.json", NULL);
    g_autofree char *zipped = g_build_filename(folder, "zipped", NULL);
    g_assert_true(g_file_set_contents(plain, text->str, (gssize)text->len, NULL));
    gzip_to(zipped, text->str, text->len);
    const char *const paths[] = {plain, zipped};
    for (guint i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autoptr(GString) out = g_string_new(NULL);
        g_assert_true(conf_json_stream_load(paths[i], note, out, &error));
        g_assert_no_error(error);
        g_assert_cmpstr(out->str, ==, expected);
    }
    /* cut */
    g_autofree char *bytes = NULL;
    gsize length;
    g_assert_true(g_file_get_contents(zipped, &bytes, &length, NULL));
    g_assert_true(g_file_set_contents(zipped, bytes, (gssize)length / 2, NULL));
    g_autoptr(GString) half = g_string_new(NULL);
    g_assert_false(conf_json_stream_load(zipped, note, half, &error));
    g_assert_nonnull(strstr(error->message, "/zipped: "));
    g_clear_error(&error);
    g_unlink(zipped);
    g_assert_false(conf_json_stream_load(zipped, note, half, &error));
    g_assert_error(error, CONF_ERROR, CONF_ERROR_IO);
    g_clear_error(&error);
    g_unlink(plain);
    g_rmdir(folder);
}

/* Text of a token has no NUL behind it. */
static void
test_copy(void)
{
    const char text[] = {'n', 'a', 'm', 'e', '!', '!'};
    char word[8], short_word[4];
    const ConfJsonToken token = {CONF_JSON_KEY, 1, text, 4};
    conf_json_token_copy(&token, word, sizeof word);
    g_assert_cmpstr(word, ==, "name");
    conf_json_token_copy(&token, short_word, sizeof short_word);
    g_assert_cmpstr(short_word, ==, "nam");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("Tokens of JSON of any length, and where it is wrong");
    g_test_add_func("/conf/json-stream/tokens", test_tokens);
    g_test_add_func("/conf/json-stream/complaints", test_complaints);
    g_test_add_func("/conf/json-stream/place-in-long-lines", test_place_in_long_lines);
    g_test_add_func("/conf/json-stream/depth", test_depth);
    g_test_add_func("/conf/json-stream/copy-of-a-token", test_copy);
    g_test_add_func("/conf/json-stream/refusal", test_refusal);
    g_test_add_func("/conf/json-stream/files", test_files);
    return g_test_run();
}
