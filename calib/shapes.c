/* Reads lists of shapes. */
#include "config.h"

#include "calib/shapes.h"

#include "calib/file.h"
#include "calib/grow.h"
#include "calib/row.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_WORDS = 10 };
#define MOST INT32_MAX /* of a dimension, as the simulator reads it */

typedef struct {
    const char *name; /* of the file */
    unsigned line;
    CalibError *error;
} Reader;

static bool
complain(const Reader *r, const char *what, const char *text, const char *remedy)
{
    snprintf(r->error->text, sizeof r->error->text, "%s:%u: %s '%s'; write %s", r->name, r->line,
             what, text, remedy);
    return false;
}

static bool
read_dtype(const Reader *r, const char *text, CalibDtype *ret)
{
    int dtype = calib_dtype_find(text);
    if (dtype < 0)
        return complain(r, "no dtype:", text, "fp32, tf32, fp16, bf16 or fp8");
    *ret = (CalibDtype)dtype;
    return true;
}

static bool
read_size(const Reader *r, const char *text, int64_t most, int64_t *ret)
{
    if (!calib_parse_count(text, ret) || *ret < 1 || *ret > most)
        return complain(r, "no size:", text, "a whole number of at least 1");
    return true;
}

static bool
read_sizes(const Reader *r, char *const *words, unsigned n, int64_t *const *ret)
{
    for (unsigned i = 0; i < n; i++)
        if (!read_size(r, words[i], MOST, ret[i]))
            return false;
    return true;
}

static bool
read_gemm(const Reader *r, char *const *words, CalibCase *ret)
{
    CalibGemm *g = &ret->gemm;
    ret->kind = CALIB_CASE_GEMM;
    int pass = calib_pass_find(words[1]);
    if (pass < 0)
        return complain(r, "no pass:", words[1], "forward, dgrad or wgrad");
    g->pass = (CalibPass)pass;
    int64_t *const sizes[] = {&g->m, &g->n, &g->k, &g->batch, &g->groups};
    if (!read_dtype(r, words[0], &g->dtype) || !read_sizes(r, words + 2, 5, sizes))
        return false;
    if (g->groups > 1 && g->batch > 1)
        return complain(r, "batch and groups both above 1:", words[5], "1 for one of them");
    return true;
}

static bool
read_attention(const Reader *r, char *const *words, CalibCase *ret)
{
    CalibAttention *a = &ret->attention;
    ret->kind = CALIB_CASE_ATTENTION;
    int64_t *const sizes[] = {&a->batch, &a->heads, &a->kv_heads, &a->head_dim, &a->seq};
    if (!read_dtype(r, words[0], &a->dtype) || !read_sizes(r, words + 1, 5, sizes))
        return false;
    if (a->heads % a->kv_heads != 0)
        return complain(r, "no divisor of heads:", words[3],
                        "kv_heads that heads are a multiple of");
    if (strcmp(words[6], "0") != 0 && strcmp(words[6], "1") != 0)
        return complain(r, "neither causal nor not:", words[6], "0 or 1");
    a->causal = *words[6] == '1';
    return true;
}

static bool
read_memory(const Reader *r, char *const *words, CalibCase *ret)
{
    ret->kind = CALIB_CASE_MEMORY;
    int kernel = calib_kernel_find(words[0]);
    if (kernel < 0 || kernel >= CALIB_N_TABLE_KERNELS)
        return complain(r, "no kernel:", words[0],
                        "copy, norm, softmax, add, adam or another of memory.tsv");
    ret->memory.kernel = (CalibKernel)kernel;
    return read_size(r, words[1], INT64_MAX, &ret->memory.bytes);
}

static bool
read_collective(const Reader *r, char *const *words, CalibCase *ret)
{
    CalibCollective *c = &ret->collective;
    ret->kind = CALIB_CASE_COLLECTIVE;
    int op = calib_op_find(words[0]);
    if (op < 0 || op == CALIB_COPY_ENGINE)
        return complain(
            r, "no collective:", words[0],
            "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast or send_recv");
    c->op = (CalibOp)op;
    int64_t ranks, nodes;
    if (!read_dtype(r, words[1], &c->dtype) || !read_size(r, words[2], MOST, &ranks) ||
        !read_size(r, words[3], MOST, &nodes) || !read_size(r, words[4], INT64_MAX, &c->bytes))
        return false;
    if (ranks < 2 || ranks % nodes != 0)
        return complain(r, "no group of as many ranks on each node:", words[2],
                        "a multiple of nodes, at least 2");
    c->ranks = (int)ranks;
    c->nodes = (int)nodes;
    return true;
}

static const struct {
    const char *word, *columns;
    unsigned n_words; /* after the first, without calls */
    bool (*read)(const Reader *r, char *const *words, CalibCase *ret);
} lines[] = {
    {"gemm", "gemm dtype pass m n k batch groups [calls]", 7, read_gemm},
    {"attention", "attention dtype batch heads kv_heads head_dim seq causal [calls]", 7,
     read_attention},
    {"memory", "memory kernel bytes [calls]", 2, read_memory},
    {"collective", "collective op dtype ranks nodes bytes [calls]", 5, read_collective},
};
enum { N_LINES = sizeof lines / sizeof *lines };

static unsigned
split_words(char *line, char *words[MAX_WORDS])
{
    unsigned n = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " \t\r", &rest); word != NULL && n < MAX_WORDS;
         word = strtok_r(NULL, " \t\r", &rest))
        words[n++] = word;
    return n;
}

/* An empty line reads as a shape of no calls. */
static bool
read_line(const Reader *r, char *line, CalibShape *ret)
{
    char *words[MAX_WORDS];
    CalibShape shape;
    memset(&shape, 0, sizeof shape);
    unsigned n = split_words(line, words), i = 0;
    *ret = shape;
    if (n == 0)
        return true;
    while (i < N_LINES && strcmp(words[0], lines[i].word) != 0)
        i++;
    if (i == N_LINES)
        return complain(r, "no kind of shape:", words[0],
                        "gemm, attention, memory or collective first");
    if (n != lines[i].n_words + 1 && n != lines[i].n_words + 2)
        return complain(r, "too few or too many words after", words[0], lines[i].columns);
    shape.calls = 1;
    if (n == lines[i].n_words + 2 &&
        (!calib_parse_number(words[n - 1], &shape.calls) || !(shape.calls > 0)))
        return complain(r, "no number of calls:", words[n - 1], "a number above 0");
    if (!lines[i].read(r, words + 1, &shape.what))
        return false;
    *ret = shape;
    return true;
}

bool
calib_shapes_parse(const char *name, char *text, CalibShapes *ret, CalibError *error)
{
    Reader reader = {.name = name, .error = error};
    CalibShapes shapes = {0};
    for (char *line = text; line != NULL;) {
        char *end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        reader.line++;
        CalibShape shape;
        if (*line != '#') {
            if (!read_line(&reader, line, &shape)) {
                calib_shapes_clear(&shapes);
                return false;
            }
            if (shape.calls > 0) {
                shapes.shapes =
                    calib_grow(shapes.shapes, shapes.n, &shapes.room, sizeof *shapes.shapes);
                shapes.shapes[shapes.n++] = shape;
            }
        }
        line = end != NULL ? end + 1 : NULL;
    }
    *ret = shapes;
    return true;
}

bool
calib_shapes_load(const char *path, CalibShapes *ret, CalibError *error)
{
    char *text = calib_file_read(path);
    if (text == NULL) {
        snprintf(error->text, sizeof error->text, "%s: %s", path, strerror(errno));
        return false;
    }
    bool done = calib_shapes_parse(path, text, ret, error);
    if (done && ret->n == 0) {
        snprintf(error->text, sizeof error->text,
                 "%s: holds no shape; write lines as 'gemm bf16 forward 4096 4096 4096 1 1'", path);
        calib_shapes_clear(ret);
        done = false;
    }
    free(text);
    return done;
}

void
calib_shapes_clear(CalibShapes *shapes)
{
    free(shapes->shapes);
    *shapes = (CalibShapes){0};
}
